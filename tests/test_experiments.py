"""The runner of the experiments: files, answers, budgets, exit codes. None of them is run here."""

import json
import sys
import types

import pytest

from experiments import __main__ as runner
from experiments.budget import Budget, OutOfTime, budget, each, enough
from experiments.common import Found
from experiments.figures import bound, dress, mean_and_spread, new_figure


def fake(main) -> types.ModuleType:
    module = types.ModuleType("experiments.fake", doc="Is this a question?\n\nDetails.")
    module.main = main  # pyright: ignore[reportAttributeAccessIssue]
    return module


@pytest.fixture
def use(monkeypatch):
    """Makes a function the main of the only experiment there is."""

    def put(main):
        monkeypatch.setitem(sys.modules, "experiments.fake", fake(main))
        monkeypatch.setattr(runner, "names", lambda: ["fake"])

    return put


def answer(*, quick: bool) -> Found:
    figure = new_figure(figsize=(3, 2))
    ax = figure.subplots()
    mean_and_spread(ax, [1.0, 2.0], [[1.0, 0.5], [2.0, 1.0]], "measured", "C0")
    bound(ax, [1.0, 2.0], [3.0, 2.0], "bound")
    dress(ax, "steps", "P - P*")
    rows = [{"x": k, "y": k / 3} for k in each([1, 2], "k =")]
    return Found(rows, {"quick": quick}, "a table", "Yes.", figure)


def test_a_run_writes_table_figure_answer_and_overview(use, tmp_path, capsys):
    use(answer)
    assert runner.main(["fake", "--quick", "--json", "--out", str(tmp_path)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["sentence"] == "Yes." and said["quick"] is True and len(said["rows"]) == 2
    assert (tmp_path / "fake.csv").read_text() == "x,y\n1,0.333333\n2,0.666667\n"
    assert (tmp_path / "fake.png").stat().st_size > 0
    assert json.loads((tmp_path / "fake.json").read_text())["question"] == "Is this a question?"
    assert "Yes." in (tmp_path / "README.md").read_text()


def test_what_the_budget_leaves_out_is_said():
    with Budget(0.0) as clock:
        assert budget() is clock
        assert list(each([1, 2, 3], "k =")) == [1]  # the first is always given
        with pytest.raises(OutOfTime, match="k = 2, k = 3"):
            enough(False)
    assert "left out: k = 2, k = 3" in clock.said()
    assert budget() is not clock
    with Budget(1e9) as clock:
        assert list(each([1, 2])) == [1, 2]
    assert clock.said() == ""


@pytest.mark.parametrize(
    "error, code", [(FileNotFoundError("put it there"), 3), (OutOfTime("short"), 4)]
)
def test_no_data_and_no_time_have_codes_of_their_own(use, tmp_path, capsys, error, code):
    def main(*, quick):
        raise error

    use(main)
    assert runner.main(["fake", "--out", str(tmp_path)]) == code
    assert str(error) in capsys.readouterr().err


def test_the_peers_of_an_experiment_are_timed_anew_when_asked(use, tmp_path, capsys):
    asked = []

    def main(*, quick: bool, peers: bool = False) -> Found:
        asked.append(peers)
        return answer(quick=quick)

    use(main)
    assert runner.main(["fake", "--peers", "--out", str(tmp_path)]) == 0
    assert runner.main(["fake", "--out", str(tmp_path)]) == 0
    assert asked == [True, False]
    use(answer)  # has none
    capsys.readouterr()
    assert runner.main(["fake", "--peers", "--out", str(tmp_path)]) == 2
    assert "times no other package" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        runner.main(["--all", "--peers"])


def test_every_experiment_asks_a_question(capsys):
    assert runner.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(runner.names())
    assert all(line.rstrip(".").count("?") >= 1 or "by sample size" in line for line in lines), (
        lines
    )


def test_unknown_name_lists_the_known_ones(capsys):
    assert runner.main(["nothing"]) == 2
    assert "pegasos" in capsys.readouterr().err


@pytest.mark.parametrize("bad", [False, True])
def test_all_of_them_end_in_a_table_and_a_failure_is_heard(monkeypatch, tmp_path, capsys, bad):
    long = "A sentence that is too long for one line of a table. " * 4

    def run_apart(name, quick, out):
        line = {"name": name, "status": "ok", "seconds": 1.6, "answer": long.strip()}
        return line | ({"status": "failed", "said": "Traceback"} if bad and name == "b" else {})

    monkeypatch.setattr(runner, "run_apart", run_apart)
    monkeypatch.setattr(runner, "names", lambda: ["a", "b", "bench_c"])
    out = ["--out", str(tmp_path)]
    assert runner.main(["--all", "--quick", "--jobs", "2", *out]) == int(bad)
    said = capsys.readouterr()
    head, first, *_, last = said.out.splitlines()
    assert head.split() == ["name", "s", "answer"] and first.split()[:3] == ["a", "ok", "2"]
    assert max(map(len, said.out.splitlines())) <= 100
    assert last.startswith(f"2 experiments, {int(bad)} failed")
    assert ("b failed" in said.err) is bad
