"""The command line, called in this process."""

import json
import sys

import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm import cli
from jaxopt_svm.core import registry
from jaxopt_svm.data.extra import need

QUICK = ["--lams", "1,2", "--rtol", "0.2"]  # both stop together: no lanes are re-packed


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small csv file; every sweep below has its shape, so that one compilation serves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=40) > 0, 1, -1)
    path = tmp_path_factory.mktemp("data") / "small.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",")
    return str(path)


def refused(capsys, *argv) -> str:
    """What is said on stderr by a command that must fail, without a traceback."""
    assert cli.main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and "Traceback" not in err
    return err


@pytest.fixture
def no_solve(monkeypatch):
    """A sweep that fails the test when it starts."""

    def sweep(*args, **options):
        raise AssertionError("the solve began")

    monkeypatch.setattr(js, "sweep", sweep)


def test_the_table_has_a_row_for_each_lambda(capsys, small):
    assert cli.main(["sweep", small, *QUICK, "--holdout", "0.25"]) == 0
    summary, header, *rows = capsys.readouterr().out.splitlines()
    assert "30 rows x 3 columns (10 held out)" in summary and "sdca" in summary
    assert "2 of 2 lambdas certified" in summary
    assert "held-out error" in header and "support vectors" in header
    assert [row.split()[0] for row in rows] == ["1", "2"]


def test_json_plot_and_save_agree(capsys, small, tmp_path):
    plot, save = tmp_path / "new" / "sweep.png", tmp_path / "new" / "sweep.npz"
    html = tmp_path / "new" / "sweep.html"
    files = ["--plot", str(plot), "--save", str(save), "--html", str(html)]
    assert cli.main(["sweep", small, *QUICK, "--holdout", "0.25", "--json", *files]) == 0
    report = json.loads(capsys.readouterr().out)
    lanes, saved = report["lanes"], js.load(save)
    assert plot.read_bytes().startswith(b"\x89PNG")
    shown = html.read_text(encoding="utf-8")
    for lane in lanes:
        assert f"lane,{lane['lam']},{lane['passes']},,{lane['primal']}," in shown
    assert shown.count("\ntrace,") >= 4 and "https://" not in shown
    assert report["data"]["held_out_rows"] == 10 and report["method"] == "sdca"
    np.testing.assert_allclose([lane["primal"] for lane in lanes], saved.certificate.primal)
    for lane in lanes:
        assert lane["status"] == js.Status.CONVERGED and lane["relative_gap"] <= 0.2
        assert 0 <= lane["held_out_error"] <= 1 and 0 < lane["support_vectors"] <= 30


def test_float32_and_a_regression_loss(capsys, small):
    assert cli.main(["sweep", small, "--lams", "1", "--loss", "squared", "--float32"]) == 0
    out = capsys.readouterr().out
    assert "float32" in out and "train rmse" in out


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1e-3:1e-1:3", [1e-1, 1e-2, 1e-3]),
        ("1e-1:1e-3:2", [1e-1, 1e-3]),
        ("2,1", [2, 1]),
        ("3", [3]),
    ],
)
def test_lams(text, expected):
    np.testing.assert_allclose(cli.parse_lams(text), expected)


@pytest.mark.parametrize("text", ["", "a", "1:2", "1:2:0", "1:2:x", "0:1:3", "-1", "1,,2", "nan"])
def test_bad_lams(capsys, no_solve, text):
    assert "--lams" in refused(capsys, "sweep", f"--lams={text}")


def test_what_is_unknown_is_refused_before_the_solve(capsys, no_solve, small):
    assert "did you mean sdca" in refused(capsys, "sweep", "--method", "sdcaa")
    assert "hinge" in refused(capsys, "sweep", "--loss", "hinges")
    assert "did you mean wine" in refused(capsys, "sweep", "wined")
    assert "holdout" in refused(capsys, "sweep", small, "--holdout", "1.5")
    assert "choose" in refused(capsys, "swep")
    assert "required" in refused(capsys)
    refused(capsys, "sweep", "--max-passes", "many")


def test_what_the_library_refuses_is_said_in_words(capsys, small):
    assert "rtol" in refused(capsys, "sweep", small, "--rtol", "-1")
    assert "max_passes" in refused(capsys, "sweep", small, "--max-passes", "0")
    assert "free" in refused(capsys, "sweep", small, "--method", "sdca", "--intercept", "free")
    assert "two labels" in refused(capsys, "sweep", "diabetes")


def test_malformed_files_name_the_line(capsys, tmp_path):
    (tmp_path / "bad.csv").write_text("1,2,1\n1,x,1\n")
    (tmp_path / "bad.svm").write_text("1 1:1\n-1 1:x\n")
    for name in ("bad.csv", "bad.svm"):
        assert "line 2" in refused(capsys, "sweep", str(tmp_path / name))


def test_outputs_are_tried_before_the_solve(capsys, no_solve, tmp_path):
    (tmp_path / "file").write_text("")
    below = str(tmp_path / "file" / "out.png")
    assert "cannot write" in refused(capsys, "sweep", "--plot", below)
    assert "cannot write" in refused(capsys, "sweep", "--save", str(tmp_path))
    assert "ending" in refused(capsys, "sweep", "--plot", str(tmp_path / "out.what"))
    assert not (tmp_path / "out.what").exists()


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    with pytest.raises(
        ImportError, match=r'this needs scikit-learn: pip install "jaxopt_svm\[cli\]"'
    ):
        need("sklearn.svm", "this")


def test_methods_lists_every_name(capsys):
    assert cli.main(["methods", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == list(
        registry.list_methods()
    )
    assert cli.main(["methods"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(registry.list_methods())


def test_data_lists_every_set(capsys):
    assert cli.main(["data"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("breast_cancer", "a9a.t", "synthetic:N:D"))


# --- cv --------------------------------------------------------------------------------------

CV = ["--folds", "2", "--lams", "1,2", "--rtol", "0.2"]


def test_cv_prints_a_table_draws_and_agrees_with_the_library(capsys, small, tmp_path):
    picture = tmp_path / "cv.png"
    assert cli.main(["cv", small, *CV, "--plot", str(picture)]) == 0
    summary, header, *rows = capsys.readouterr().out.splitlines()
    assert "2 lambdas x 2 folds, 4 of 4 models certified" in summary and "loss" in header
    assert len(rows) == 2 and sum("<- best" in row for row in rows) == 1
    assert picture.stat().st_size > 10_000
    assert cli.main(["cv", small, *CV, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    table = np.loadtxt(small, delimiter=",")
    found = js.cross_validate(js.make_erm(table[:, :-1], table[:, -1]), [1.0, 2.0], 2, rtol=0.2)
    assert [row["error"] for row in report["lams"]] == list(found.errors.mean(axis=0))
    assert report["best_lam"] == found.best_lam and report["models"] == 4


def test_cv_refuses_before_it_solves(capsys, small, tmp_path):
    assert "--lams" in refused(capsys, "cv", small, "--lams", "none")
    assert "folds: 30 need at least 30 examples of class" in refused(
        capsys, "cv", small, *CV, "--folds", "30"
    )
    assert "cannot write" in refused(capsys, "cv", small, *CV, "--plot", str(tmp_path))


def test_rows_that_stay_on_disk(capsys, small, tmp_path):
    table = np.loadtxt(small, delimiter=",")
    rows, labels = tmp_path / "X.npy", tmp_path / "y.npy"
    np.save(rows, table[:, :-1])
    np.save(labels, table[:, -1])
    stay = ["sweep", str(rows), "--labels", str(labels), "--memory-rows"]
    assert cli.main([*stay, "0.5kB", *QUICK, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["rows"] == 40 and found["data"]["columns"] == 3
    assert all(lane["status"] == "converged" for lane in found["lanes"])
    assert all(0 < lane["train_error"] < 0.4 for lane in found["lanes"])
    assert "--memory-rows: expected a size such as 20MB" in refused(capsys, *stay, "much")
    assert "--holdout" in refused(capsys, *stay, "1kB", "--holdout", "0.2")
    assert "--labels: goes with" in refused(capsys, "sweep", small, "--labels", str(labels))
