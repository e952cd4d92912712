"""Every numeric row of the errata names a claim; rows are complete and told apart by their ids."""

from proofs_checks import CLAIMS, errata

ROWS = [row for name in errata.__all__ if name.startswith("ERRATA_") for row in vars(errata)[name]]


def test_ids_are_unique():
    ids = [row.id for row in ROWS]
    assert len(ids) == len(set(ids))


def test_numeric_rows_name_a_claim_and_notation_rows_none():
    claims = {claim.name for claim in CLAIMS}
    assert {row.kind for row in ROWS} <= {"numeric", "notation"}
    for row in ROWS:
        assert row.claim in (claims if row.kind == "numeric" else {None}), row.id


def test_rows_say_where_what_and_what_instead():
    for row in ROWS:
        assert all((row.id, row.lecture, row.where, row.printed, row.correct)), row.id
        assert row.printed != row.correct, row.id
