"""The errata data: complete rows, and every numeric one points at a claim there is."""

from proofs_checks import CLAIMS
from proofs_checks.errata import ERRATA


def test_rows_are_complete_and_point_at_claims():
    names = {claim.name for claim in CLAIMS}
    assert len({row.id for row in ERRATA}) == len(ERRATA)
    for row in ERRATA:
        assert row.kind in ("numeric", "notation")
        assert (row.claim is not None) == (row.kind == "numeric")
        assert row.claim is None or row.claim in names
        assert row.printed != row.correct and all(row[:5])
