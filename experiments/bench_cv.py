r"""How long does cross-validation take in one certified batch, beside GridSearchCV(LinearSVC)?

20 lambdas x 5 folds on a9a, 20 x 5 x 10 classes on usps and on 10,000 rows of MNIST: hinge,
penalised intercept (as LinearSVC), lambda from lam_max down by 1e-5, float32, every model certified
to a relative gap of 1e-3. GridSearchCV has the same folds, C = 1/(lambda rows), n_jobs=2, no refit.

Equal objectives: LinearSVC takes the loosest tol of a ladder at which none of its objectives, over
the classes and some of the lambdas of the first fold, is more than 1e-3 above ours (which are
within 1e-3 of the optimum by certificate), or the last of the ladder; the largest excess is
reported. Our time is given with and without compilation.
"""

import os
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned
from jaxopt_svm.selection.cross_validation import default_lams
from jaxopt_svm.selection.folds import fold_weights

RTOL = 1e-3
RATIO = 1e-5  # the best lambda of usps is 1e-5 to 1e-4 of lam_max
TOLS = (1e-1, 1e-2, 1e-3, 1e-4)
SETS = ("a9a", "usps", "mnist-10k")
STAND_IN = {"a9a": (32_561, 123, 2), "usps": (7_291, 256, 10), "mnist-10k": (10_000, 784, 10)}


class Size(NamedTuple):
    """rows: of each set, None for all. tried: lambdas on which LinearSVC's tol is chosen."""

    rows: int | None
    lams: int
    folds: int
    tried: int
    max_iter: int


FULL = Size(rows=None, lams=20, folds=5, tried=5, max_iter=20_000)
QUICK = Size(rows=1_500, lams=6, folds=3, tried=3, max_iter=20_000)


def rows_and_labels(name: str, rows: int | None) -> tuple[str, np.ndarray, np.ndarray]:
    """The real set, or a stand-in of its shape that says so."""
    try:
        data = load(name)
        X, y = data.X, np.asarray(data.y)
    except FileNotFoundError:
        n, d, K = STAND_IN[name]
        rng = np.random.default_rng(0)
        y = rng.integers(0, K, n)
        X = (rng.normal(size=(K, d))[y] + 4.0 * rng.normal(size=(n, d))) / np.sqrt(17.0 * d)
        name = f"Gaussians for {name}"
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float32)
    some = np.random.default_rng(0).permutation(len(y))[:rows]
    return name, X[some], y[some]


def peer_model(C: float, tol: float, max_iter: int) -> Any:
    svm = need("sklearn.svm", "the comparison with LinearSVC")
    return svm.LinearSVC(loss="hinge", C=C, tol=tol, max_iter=max_iter, random_state=0)


def excess(problem, X, y, train, found, tol: float, size: Size) -> np.ndarray:
    """(lams tried, classes) of the first fold: LinearSVC's P above ours, relative."""
    picked = np.unique(np.linspace(0, len(found.lams) - 1, size.tried).astype(int))
    K = len(problem.labels) if len(problem.labels) > 2 else 1
    ours = np.asarray(found.certificate.primal).reshape(size.folds, K, -1)[0]
    rows = np.append(X[train], np.ones((len(train), 1), X.dtype), axis=1).astype(np.float64)
    above = []
    for j in picked:
        lam = found.lams[j]
        model = peer_model(js.C_from_lam(lam, len(train)), tol, size.max_iter)
        model.fit(X[train], y[train])
        W = np.append(model.coef_, model.intercept_[:, None], axis=1)
        names = model.classes_ if K > 1 else model.classes_[1:]
        for k, (w, name) in enumerate(zip(W, names)):
            signs = np.where(y[train] == name, 1.0, -1.0)
            P = lam / 2 * w @ w + np.mean(np.maximum(0.0, 1.0 - signs * (rows @ w)))
            above.append((P - ours[k, j]) / ours[k, j])
    return np.array(above).reshape(len(picked), K)


def measure(name: str, size: Size) -> dict[str, Any]:
    name, X, y = rows_and_labels(name, size.rows)
    classes = np.unique(y).size
    make = js.make_erm if classes == 2 else js.make_one_vs_rest
    problem = make(X, y, intercept="penalised")
    lams = default_lams(problem, size.lams, RATIO)
    seconds = []
    for _ in range(2):  # the first time compiles
        started = time.perf_counter()
        found = js.cross_validate(problem, lams, size.folds, rtol=RTOL, max_passes=3000)
        seconds.append(time.perf_counter() - started)
    kept = fold_weights(problem, size.folds) > 0
    splits = [(np.flatnonzero(row), np.flatnonzero(~row)) for row in kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged shows in its objective
        for tol in TOLS:
            above = excess(problem, X, y, splits[0][0], found, tol, size)
            if above.max() <= RTOL:
                break
        search = need("sklearn.model_selection", "the comparison").GridSearchCV(
            peer_model(1.0, tol, size.max_iter),
            {"C": js.C_from_lam(lams, kept.sum(axis=1).mean())},
            cv=splits,
            n_jobs=2,
            refit=False,
        )
        started = time.perf_counter()
        search.fit(X, y)
        theirs = time.perf_counter() - started
    relative = np.asarray(found.certificate.gap) / np.asarray(found.certificate.primal)
    error = 1.0 - search.cv_results_["mean_test_score"]
    return {
        "data": name,
        "rows": len(y),
        "columns": X.shape[1],
        "models": relative.size,
        "certified": int(np.sum(found.status == "converged")),
        "largest_relative_gap": float(relative.max()),
        "seconds": seconds[1],
        "seconds_with_compilation": seconds[0],
        "linear_svc_seconds": theirs,
        "linear_svc_tol": tol,
        "linear_svc_largest_excess": float(above.max()),
        "ratio": theirs / seconds[1],
        "ratio_with_compilation": theirs / seconds[0],
        "best_lam": found.best_lam,
        "best_error": float(found.curve.min()),
        "linear_svc_best_error": float(error.min()),
        "largest_difference_of_error": float(np.abs(error - found.errors.mean(axis=0)).max()),
    }


def draw(rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(figsize=(7.5, 3.0))
    axes = figure.subplots()
    places = np.arange(len(rows))[::-1]
    for key, marker, colour, label in (
        ("linear_svc_seconds", "s", "#d55e00", "GridSearchCV(LinearSVC), n_jobs=2"),
        ("seconds_with_compilation", "o", "#0072b2", "one batch, with compilation"),
        ("seconds", "D", "#009e73", "one batch, compiled"),
    ):
        axes.plot([row[key] for row in rows], places, marker, color=colour, label=label)
    axes.set_xscale("log")
    axes.set_xticks([1, 3, 10, 30, 100], minor=False)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter("")
    axes.set_yticks(places, [f"{row['data']}\n{row['models']:,} models" for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel("seconds, every model within 1e-3 of its optimum (ours: certified)")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper center", ncols=3, fontsize=8)
    return figure


def main(*, quick: bool = False) -> Found:
    set_up(x64=False, cache=False)
    size = QUICK if quick else FULL
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)  # others' work: above 1, times are too long
    rows = [measure(name, size) for name in SETS]
    facts: dict[str, Any] = {"load per core at the start": busy}
    for row in rows:
        facts[f"{row['data']}: LinearSVC / ours"] = row["ratio"]
        facts[f"{row['data']}: LinearSVC / ours with compilation"] = row["ratio_with_compilation"]
    header = ["data", "models", "certified", "seconds", "with compilation", "LinearSVC", "ratio"]
    header += ["its tol", "its largest excess", "best error", "its"]
    body = [
        [
            row["data"],
            f"{row['models']:,}",
            f"{row['certified']:,}",
            f"{row['seconds']:.1f}",
            f"{row['seconds_with_compilation']:.1f}",
            f"{row['linear_svc_seconds']:.1f}",
            f"{row['ratio']:.1f}",
            f"{row['linear_svc_tol']:g}",
            f"{row['linear_svc_largest_excess']:.1e}",
            f"{row['best_error']:.4f}",
            f"{row['linear_svc_best_error']:.4f}",
        ]
        for row in rows
    ]
    sentence = "GridSearchCV(LinearSVC) on two cores takes " + ", ".join(
        f"{row['ratio']:.1f} times as long on {row['data']} "
        f"({row['ratio_with_compilation']:.1f} with compilation)"
        for row in rows
    )
    text = aligned([header, *body], left=(0,))
    return Found(rows, facts, text, sentence + ".", draw(rows))
