r"""How fast is a pass of SDCA, SAGA, SVRG and dfSDCA for 16 lambdas, beside scikit-learn's SAGA?

The unit is ns per (row touched, lambda), float32, logistic loss, passes only: no certificates, no
compilation. An epoch of SVRG touches 3n rows (a full gradient and 2n visits). scikit-learn's epoch
is the difference of two fits of LogisticRegression(solver="saga") with different max_iter, at one
lambda, on the same float32 rows.
"""

import os
import statistics
import warnings
from typing import Any, NamedTuple

import numpy as np

import jaxopt_svm as js
from experiments.common import Found, compiled_passes, median_ratio, new_figure, rounds, set_up
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

METHODS = {"SDCA": js.SDCA(), "SAGA": js.SAGA(), "SVRG": js.SVRG(), "dfSDCA": js.DfSDCA()}
RANGE = (1e-5, 1e-1)


class Size(NamedTuple):
    """n: rows of the large set; the small one has a quarter of them."""

    n: int
    lanes: tuple[int, ...]
    passes: int
    repeats: int
    epochs: tuple[int, int]


FULL = Size(n=100_000, lanes=(1, 16), passes=4, repeats=5, epochs=(1, 5))
QUICK = Size(n=8_000, lanes=(1, 16), passes=4, repeats=3, epochs=(1, 9))


def rows_and_labels(n: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Covertype, or a stand-in of its shape that says so."""
    try:
        data = load("covtype-100k")
        return "covtype", np.asarray(data.X[:n], np.float32), data.y[:n]
    except FileNotFoundError:
        data = load(f"synthetic:{n}:54")
        return "synthetic for covtype", data.X.astype(np.float32), data.y


def scikit_learn(X, y, epochs: int):
    """Fit that many epochs of SAGA at one lambda."""
    model = need("sklearn.linear_model", "the comparison with SAGA").LogisticRegression(
        C=1.0 / (1e-4 * len(y)),
        solver="saga",
        tol=0.0,
        max_iter=epochs,
        fit_intercept=False,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged is the intention
        return model.fit(X, y)


def measure(size: Size) -> tuple[list[dict[str, Any]], dict[str, float]]:
    name, X, y = rows_and_labels(size.n)
    calls, labels = [], []
    for n in (size.n // 4, size.n):
        problem = js.make_erm(X[:n], y[:n], loss=js.Logistic())
        for lanes in size.lanes:
            lams = js.lam_grid(*RANGE, lanes)
            grid = problem.with_lam(lams[0] if lanes == 1 else lams)
            for solver, method in METHODS.items():
                call, seconds = compiled_passes(grid, method, size.passes)
                calls.append(call)
                labels.append((solver, n, lanes, method.spent(problem).work, seconds))
    first, last = size.epochs
    calls += [lambda: scikit_learn(X, y, first), lambda: scikit_learn(X, y, last)]
    *times, short, long = rounds(calls, size.repeats)
    found = []
    for (solver, n, lanes, work, seconds), mine in zip(labels, times):
        touched = n * lanes * size.passes * work
        row = {"solver": solver, "data": name, "n": n, "lambdas": lanes, "touches": work}
        row |= {"ns": statistics.median(mine) / touched * 1e9}
        found.append(row | {"fastest_ns": min(mine) / touched * 1e9, "compile_seconds": seconds})
    peer = (min(long) - min(short)) / (last - first) / size.n * 1e9
    solver = "scikit-learn SAGA"
    row = {"solver": solver, "data": name, "n": size.n, "lambdas": 1, "touches": 1.0}
    found.append(row | {"ns": peer, "fastest_ns": peer})
    of = {label[:3]: mine for label, mine in zip(labels, times)}
    facts = {}
    most = size.lanes[-1]
    for solver in METHODS:
        for lanes in size.lanes:
            ratio = median_ratio(of[solver, size.n, lanes], of[solver, size.n // 4, lanes])
            facts[f"{solver}: time(4n)/time(n), lambdas = {lanes}"] = ratio
        mine = next(
            r for r in found if (r["solver"], r["n"], r["lambdas"]) == (solver, size.n, most)
        )
        facts[f"scikit-learn's epoch / {solver}'s share of a pass for {most}"] = (
            peer / mine["fastest_ns"]
        )
    return found, facts


def draw(rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(figsize=(8, 3.2))
    axes = figure.subplots()
    largest = max(row["n"] for row in rows)
    shown = [row for row in rows if row["n"] == largest]
    names = list(dict.fromkeys(row["solver"] for row in shown))[::-1]
    lanes = sorted({row["lambdas"] for row in shown})
    for count, marker, colour in zip(lanes, "oD", ("#0072b2", "#d55e00")):
        mine = [row for row in shown if row["lambdas"] == count]
        places = [names.index(row["solver"]) for row in mine]
        plural = "" if count == 1 else "s"
        label = f"{count} lambda{plural}"
        axes.plot([row["fastest_ns"] for row in mine], places, marker, color=colour, label=label)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.5, len(names) - 0.5)
    axes.set_xlabel(f"ns per (row touched, lambda), {shown[0]['data']}, {largest:,} rows, float32")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper center", ncols=2)
    return figure


def main(*, quick: bool = False) -> Found:
    set_up(x64=False, cache=False)
    size = QUICK if quick else FULL
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)  # others' work: above 1, times are too long
    rows, facts = measure(size)
    facts = {"load per core at the start": busy, **facts}
    header = ["solver", "n", "lambdas", "ns", "fastest ns", "compile s"]
    body = [
        [
            row["solver"],
            f"{row['n']:,}",
            str(row["lambdas"]),
            f"{row['ns']:.0f}",
            f"{row['fastest_ns']:.0f}",
            f"{row['compile_seconds']:.1f}" if "compile_seconds" in row else "-",
        ]
        for row in rows
    ]
    lines = [f"{name}: {value:.3g}" for name, value in facts.items()]
    most = size.lanes[-1]
    ratios = {m: facts[f"scikit-learn's epoch / {m}'s share of a pass for {most}"] for m in METHODS}
    sentence = (
        f"At {most} lambdas scikit-learn's SAGA epoch takes, per lambda and row touched, "
        + ", ".join(f"{ratio:.1f} times {name}'s" for name, ratio in ratios.items())
        + "."
    )
    text = "\n".join([aligned([header, *body], left=(0,)), "", *lines])
    return Found(rows, facts, text, sentence, draw(rows))
