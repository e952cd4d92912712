"""Every claim of proofs_checks holds, and its false variant fails."""

import json
from pathlib import Path

import pytest

import proofs_checks
from proofs_checks import CLAIMS
from proofs_checks.__main__ import COLUMNS, main
from proofs_checks.claims import Result

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.mark.parametrize("claim", [pytest.param(claim, id=claim.name) for claim in CLAIMS])
def test_claim_holds_and_its_false_variant_fails(claim):
    result = claim.check()
    assert claim.holds(result), result
    assert claim.false_variant_fails(result), result


def test_the_table_covers_every_file():
    folder = Path(proofs_checks.__file__).parent
    helpers = {"__init__", "__main__", "claims", "decided", "errata", "errata_page", "outcomes"}
    helpers |= {"kernel_toys", "structured_toys"}
    files = {path.stem for path in folder.glob("*.py")} - helpers
    assert files == {claim.name for claim in CLAIMS}
    assert len(CLAIMS) == len(files)


def test_command_line_prints_json(capsys):
    assert main(["--json", "primal_certificate"]) == 0
    (line,) = json.loads(capsys.readouterr().out)
    assert tuple(line) == COLUMNS
    assert line["name"] == "primal_certificate"
    assert line["holds"] and line["false_variant_fails"]


def test_command_line_prints_a_table(capsys):
    assert main(["primal_certificate"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == list(COLUMNS)
    # columns line up: the verdict starts under its heading
    assert line[header.index("holds") :].startswith("yes")


def test_command_line_lists_without_checking(capsys):
    assert main(["--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [claim.name for claim in CLAIMS]


def test_unknown_name_suggests_close_ones(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["conjugate"])
    assert stopped.value.code == 2
    assert "conjugates" in capsys.readouterr().err


def test_a_false_claim_gives_exit_code_1(monkeypatch, capsys):
    bad = CLAIMS[0]._replace(check=lambda: Result(-1.0, -1.0))
    monkeypatch.setattr("proofs_checks.__main__.CLAIMS", (bad,))
    assert main([]) == 1
    assert "no" in capsys.readouterr().out.split()
