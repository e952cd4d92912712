"""Rows of the errata are complete, name a claim, have a number, and ERRATA.md is what they say."""

import math
from pathlib import Path

from proofs_checks import CLAIMS
from proofs_checks.decided import DECIDED
from proofs_checks.errata import every_row
from proofs_checks.errata_page import page

ROWS = every_row()


def test_all_entries_are_there_once():
    expected = [f"E{k}" for k in range(1, 15)] + [f"F{k}" for k in range(1, 20)]
    expected += [f"S{k}" for k in range(1, 16) if k != 12]  # there is no S12
    expected += [f"A{k}" for k in range(1, 21)] + ["A19b"] + [f"K{k}" for k in range(1, 18)]
    assert sorted(row.id for row in ROWS) == sorted(expected)


def test_numeric_rows_name_a_claim_and_notation_rows_none():
    claims = {claim.name for claim in CLAIMS}
    assert {row.kind for row in ROWS} <= {"numeric", "notation"}
    for row in ROWS:
        assert row.claim in (claims if row.kind == "numeric" else {None}), row.id


def test_rows_say_where_what_and_what_instead():
    for row in ROWS:
        assert all((row.id, row.lecture, row.where, row.printed, row.correct)), row.id
        assert row.printed != row.correct, row.id


def test_every_numeric_row_has_a_number_that_decides():
    assert {row.id for row in ROWS if row.kind == "numeric"} == set(DECIDED)
    for name, number in DECIDED.items():
        what, printed, true = number()
        assert what and math.isfinite(true), name
        # told apart by more than rounding; an infinite or undefined printed value is apart
        apart = abs(printed - true) > 0.05 * max(abs(printed), abs(true))
        assert apart or not math.isfinite(printed), name


def test_the_committed_page_is_up_to_date():
    committed = Path(__file__).parent.parent / "ERRATA.md"
    assert committed.read_text() == page(), "run: make errata"
