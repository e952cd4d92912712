r"""How fast is a pass of block SDCA, alone and for 32 lambdas at once?

The unit is ns per (example, lambda): seconds of a pass / (n lambdas). Only passes are timed: no
certificates, no compilation. The share of the peak counts the matrix products of the block
algorithm (Gram 2 B d, shared by the lambdas; margins and lift 2 d each, per example and lambda)
against a large float32 product measured in the same run. LinearSVC's epoch is the difference of
two fits with different numbers of iterations. Its shrinking, left on, makes later epochs visit
fewer rows: epochs 1 to 4 are nearly full ones, epochs 10 to 40 are what a hard lambda sees.
"""

import os
import statistics
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxopt_svm as js
from experiments.common import Found, compiled_passes, median_ratio, new_figure, rounds, set_up
from jaxopt_svm.cli import aligned
from jaxopt_svm.data import Dataset, load
from jaxopt_svm.data.extra import need

LANES = (1, 32)
RANGE = (1e-5, 1e-1)


class Size(NamedTuple):
    """How much to measure."""

    names: tuple[str, ...]
    longer: str  # the first synthetic set with four times the rows
    passes: int
    repeats: int
    fits: tuple[tuple[float, int, int], ...]  # for LinearSVC: lam, and between which epochs
    product: int


FULL = Size(
    names=("synthetic:20000:54", "synthetic:20000:784", "covtype-100k"),
    longer="synthetic:80000:54",
    passes=10,
    repeats=5,
    fits=((1e-2, 1, 4), (1e-4, 1, 4), (1e-6, 1, 4), (1e-6, 10, 40)),
    product=2048,
)
QUICK = Size(
    names=("synthetic:5000:54", "synthetic:2000:784"),
    longer="synthetic:20000:54",
    passes=5,
    repeats=3,
    fits=((1e-4, 1, 4), (1e-6, 10, 40)),
    product=1024,
)


class Timed(NamedTuple):
    """Functions to time, and what makes a row of their times (lists of seconds, one a round)."""

    calls: list[Callable[[], Any]]
    row: Callable[..., dict[str, Any]]


def large_product(size: Size) -> Callable[[], Any]:
    a = jnp.ones((size.product, size.product), jnp.float32)
    product = jax.jit(jnp.matmul)
    return lambda: product(a, a)


def sdca(data: Dataset, lanes: int, size: Size) -> Timed:
    """A pass of SDCA for ``lanes`` lambdas in one program."""
    problem, method = js.make_erm(data.X.astype(np.float32), data.y), js.SDCA()
    (n, d), block = data.X.shape, method.block_size(problem)
    lams = js.lam_grid(*RANGE, lanes)
    problem = problem.with_lam(lams[0] if lanes == 1 else lams)
    call, compile_seconds = compiled_passes(problem, method, size.passes)

    def row(times: list[float]) -> dict[str, Any]:
        seconds = statistics.median(times) / size.passes
        return {
            "solver": "SDCA",
            "data": data.name,
            "n": n,
            "d": d,
            "lambdas": lanes,
            "seconds": seconds,
            "ns": seconds / n / lanes * 1e9,
            "fastest_ns": min(times) / size.passes / n / lanes * 1e9,
            "gflops": n * d * (2 * block + 4 * lanes) / seconds / 1e9,
            "compile_seconds": compile_seconds,
        }

    return Timed([call], row)


def linear_svc(data: Dataset, lam: float, first: int, last: int) -> Timed:
    """An epoch of LinearSVC at one lambda, averaged over the epochs from first to last."""
    svm = need("sklearn.svm", "the comparison with LinearSVC")
    n, d = data.X.shape
    X = np.ascontiguousarray(data.X, np.float64)  # what it would convert to by itself

    def fit(epochs: int) -> int:
        model = svm.LinearSVC(
            C=1 / (lam * n),
            loss="hinge",
            tol=1e-12,
            max_iter=epochs,
            fit_intercept=False,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not converged is the intention
            model.fit(X, data.y)
        return int(model.n_iter_)

    epochs = max(1, fit(last) - fit(first))  # an easy lambda can be done before the last

    def row(short: list[float], long: list[float]) -> dict[str, Any]:
        # smallest times: the difference of two medians can drown in the noise of a busy machine
        seconds = (min(long) - min(short)) / epochs
        return {
            "solver": f"LinearSVC, epochs {first}-{last}",
            "data": data.name,
            "n": n,
            "d": d,
            "lambdas": 1,
            "lam": lam,
            "seconds": seconds,
            "ns": seconds / n * 1e9,
            "fastest_ns": seconds / n * 1e9,
        }

    return Timed([lambda: fit(first), lambda: fit(last)], row)


def measure(size: Size) -> tuple[list[dict[str, Any]], dict[str, float], list[str]]:
    """Rows, facts that are ratios within a round, and what was skipped."""
    timed: list[Timed] = []
    skipped = []
    for name in (size.longer, *size.names):
        try:
            data = load(name)
        except FileNotFoundError as error:
            skipped.append(f"skipped: {error}")
            continue
        timed += [sdca(data, lanes, size) for lanes in LANES]
        if name != size.longer:
            timed += [linear_svc(data, *fit) for fit in size.fits]
    product, *times = rounds(
        [large_product(size), *(call for one in timed for call in one.calls)], size.repeats
    )
    peak = 2 * size.product**3 / statistics.median(product) / 1e9
    rows, seconds, of = [], iter(times), {}
    for one in timed:
        mine = [next(seconds) for _ in one.calls]
        row = one.row(*mine)
        if "gflops" in row:
            row["share_of_peak"] = row["gflops"] / peak
            of[row["data"], row["lambdas"]] = mine[0]
        rows.append(row)
    small, (single, many) = size.names[0], LANES
    facts = {"GFlop/s of a large product": peak}
    for lanes in LANES:
        ratio = median_ratio(of[size.longer, lanes], of[small, lanes])
        facts[f"time(4n)/time(n), lambdas = {lanes}"] = ratio
    facts[f"time({many})/time({single}), d = 54"] = median_ratio(of[small, many], of[small, single])
    return rows, facts | against_linear_svc(rows), skipped


def against_linear_svc(rows: list[dict[str, Any]]) -> dict[str, float]:
    """LinearSVC's epoch over SDCA's pass, both per lambda and both the fastest of the rounds."""
    ours = {(r["data"], r["lambdas"]): r["fastest_ns"] for r in rows if r["solver"] == "SDCA"}
    facts = {}
    for lanes in LANES:
        for row in rows:
            if row["solver"] != "SDCA":
                name = f"{row['solver']} / SDCA with {lanes}, {row['data']}, lam = {row['lam']:g}"
                facts[name] = row["fastest_ns"] / ours[row["data"], lanes]
    return facts


def describe(rows: list[dict[str, Any]]) -> str:
    """The rows as a table."""
    header = "solver,data,lambdas,lam,ms a pass,ns,GFlop/s,of peak,compile s".split(",")
    show = lambda row, field, form: format(row[field], form) if row.get(field) is not None else "-"
    body = [
        [
            row["solver"],
            row["data"],
            str(row["lambdas"]),
            show(row, "lam", "g"),
            f"{1e3 * row['seconds']:.1f}",
            f"{row['ns']:.0f}",
            show(row, "gflops", ".1f"),
            show(row, "share_of_peak", ".0%"),
            show(row, "compile_seconds", ".1f"),
        ]
        for row in rows
    ]
    return aligned([header, *body], left=(0, 1))


def draw(rows: list[dict[str, Any]]) -> Any:
    """ns per (example, lambda), one line a data set."""
    figure = new_figure(figsize=(8, 3.6))
    axes = figure.subplots()
    names = list(dict.fromkeys(row["data"] for row in rows))[::-1]
    series = {
        "SDCA, 1 lambda": ("o", "#0072b2", lambda r: r["solver"] == "SDCA" and r["lambdas"] == 1),
        "SDCA, 32 lambdas": ("D", "#d55e00", lambda r: r["solver"] == "SDCA" and r["lambdas"] > 1),
        "LinearSVC, one fit a lambda": ("|", "0.3", lambda r: r["solver"] != "SDCA"),
    }
    for label, (marker, colour, mine) in series.items():
        points = [(row["fastest_ns"], names.index(row["data"])) for row in rows if mine(row)]
        width = {"markersize": 14, "markeredgewidth": 2} if marker == "|" else {"markersize": 8}
        axes.plot(*zip(*points), marker, color=colour, label=label, **width)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.5, len(names) - 0.5)
    axes.set_xlabel(
        "ns per (example, lambda) of a pass, fastest round; SDCA float32, LinearSVC float64"
    )
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper center", ncols=3)
    return figure


def main(quick: bool = False) -> Found:
    set_up(x64=False, cache=False)  # as users run, and compile times are part of the question
    size = QUICK if quick else FULL
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)  # others' work: above 1, times are too long
    rows, facts, skipped = measure(size)
    facts = {"load per core at the start": busy, **facts}
    lines = [f"{name}: {value:.3g}" for name, value in facts.items()]
    ours = [row for row in rows if row["solver"] == "SDCA" and row["data"] == size.names[0]]
    spans = []
    for lanes in LANES:
        ratios = [value for name, value in facts.items() if f"/ SDCA with {lanes}," in name]
        spans.append(f"{min(ratios):.2g} to {max(ratios):.2g}")
    sentence = (
        f"On {ours[0]['data']} a pass costs {ours[0]['ns']:.0f} ns per example for one lambda and "
        f"{ours[1]['ns']:.0f} ns per (example, lambda) for {LANES[1]}. Over all sets an epoch of "
        f"LinearSVC takes {spans[0]} times as long as a pass for one lambda, and {spans[1]} times "
        f"a lambda's share of a pass for {LANES[1]}."
    )
    how = (
        f"SDCA in float32: median of {size.repeats} rounds. LinearSVC in float64: difference of "
        "its fastest fits. Ratios to LinearSVC: fastest against fastest."
    )
    text = "\n".join([describe(rows), how, "", *lines, *skipped])
    return Found(rows, facts, text, sentence, draw(rows))
