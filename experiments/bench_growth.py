r"""How does the time of a sweep grow with examples, lambdas and features, and what share of the
machine's matrix-product speed does it reach?

Growth: synthetic data, ``js.sweep(problem, lams)`` compiled before, hinge, 1e-6..1e-2, to a
relative gap of 1e-3; 20,000 x 54 and 16 lambdas, then four times the examples, four times the
features, and 8 against 64 lambdas. Small and large take turns, and a ratio is the median over the
rounds. A sweep on other data takes other iterations, so beside it stand five passes of block SDCA
and three iterations of ALM-Newton, by the lane and pass, and the passes that the sweep took.

Share: float32 on 60,000 x 784 (mnist, or synthetic), 32 lambdas, against one large matrix product
in the same process. Only flops that a path cannot do without count:

    a pass of block SDCA      4 n d a lane: margins of a block, and its rows added up; the Gram
                              matrices of its blocks, 2 n B d for all lanes, are told apart
    a certificate             4 n d a lane: X w and X'alpha
    an ALM-Newton iteration   2 n d for each product with X that a lane asked for, 2 d^2 for each
                              row of X'DX, d^3 / 3 where a sketch of it is factored
"""

import itertools
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxopt_svm as js
from experiments.budget import each, enough
from experiments.common import Found, median_ratio, rounds, set_up
from experiments.figures import dress, new_figure
from jaxopt_svm.core import lanes, programs
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.data import load
from jaxopt_svm.report import aligned

RANGE, RTOL, AIM = (1e-6, 1e-2), 1e-3, 0.3
PASSES, ITERATIONS = 5, 3


class Size(NamedTuple):
    n: int
    d: int
    lambdas: int


BASE = Size(20_000, 54, 16)
AXES = {
    "examples": (BASE, BASE._replace(n=80_000)),
    "lambdas": (BASE._replace(lambdas=8), BASE._replace(lambdas=64)),
    "features": (BASE, BASE._replace(d=216)),
}
SMALL = {"examples": (Size(1000, 10, 4), Size(4000, 10, 4))}
WHAT = ("sweep", "sdca pass", "alm_newton iteration")


class Clocked:
    """A function that keeps its processor seconds, call by call."""

    def __init__(self, function: Callable[[], Any]):
        self.function, self.own = function, []

    def __call__(self) -> Any:
        began = time.process_time()
        found = jax.block_until_ready(self.function())
        self.own.append(time.process_time() - began)
        return found


def grid_of(size: Size) -> tuple[js.ERM, np.ndarray]:
    data = load(f"synthetic:{size.n}:{size.d}")
    return js.make_erm(data.X.astype(np.float32), data.y), js.lam_grid(*RANGE, size.lambdas)


def started(problem: js.ERM, method: Any, start: Point | None = None) -> Any:
    """The state before the first pass, of every lane."""
    return programs.resume(problem, method, start)


def passes(problem: js.ERM, method: Any, count: int, start: Any = None) -> Callable[[], Any]:
    """A function that takes so many passes from a state and nothing else."""
    state = started(problem, method) if start is None else start
    key, program = jax.random.key(0), programs.program(method)
    return lambda: program(problem, method, state, key, 0, count)


def growth(axis: str, small: Size, large: Size, repeats: int) -> list[dict[str, Any]]:
    """For a sweep, passes and iterations: seconds of both sizes, and the ratio."""
    calls, units = [], []
    for size in (small, large):
        problem, lams = grid_of(size)
        grid = problem.with_lam(lams)
        solution = js.sweep(problem, lams, rtol=RTOL)
        calls += [
            Clocked(lambda problem=problem, lams=lams: js.sweep(problem, lams, rtol=RTOL).w),
            Clocked(passes(grid, js.SDCA(), PASSES)),
            Clocked(passes(grid, js.ALMNewton(), ITERATIONS)),
        ]
        units += [
            float(np.sum(solution.passes)),
            float(PASSES * size.lambdas),
            float(ITERATIONS * size.lambdas),
        ]
    times = rounds(calls, repeats)
    found = []
    for k, what in enumerate(WHAT):
        few, many = k, k + len(WHAT)
        own = [call.own[1:] for call in (calls[few], calls[many])]  # the first call compiles
        row = {"kind": "growth", "axis": axis, "what": what}
        row |= {"grown": max(b / a for a, b in zip(small, large))}
        row |= {"ratio": median_ratio(times[many], times[few])}
        row |= {"processor_ratio": median_ratio(own[1], own[0])}
        row |= {"lane_passes_ratio": units[many] / units[few]}
        for name, j in (("small", few), ("large", many)):
            seconds = statistics.median(times[j])
            row |= {f"seconds_{name}": seconds, f"lane_passes_{name}": units[j]}
            row |= {f"microseconds_a_lane_pass_{name}": 1e6 * seconds / units[j]}
        found.append(row)
    return found


# --- the share of the matrix-product speed ------------------------------------------------


def newton_flops(before: Any, after: Any, n: int, d: int) -> float:
    """Useful flops of one iteration, from the rows it says it has touched.

    It counts 3 products, 1 for what goes over the rows' curvature, the share of the rows in X'DX,
    and 2 for each step of conjugate gradients with products. So an even rest has steps and a share
    below one, and an odd one has no step and all of the rows.
    """
    counted = np.asarray(after.work, np.float64) - np.asarray(before.work, np.float64) - 4.0
    whole = np.floor(counted + 1e-4)  # sums in float32 are that close
    share = np.where(whole % 2 == 1, 1.0, np.maximum(counted - whole, 0.0))
    steps = np.where(whole % 2 == 1, 0.0, whole)
    factored = np.where(steps > 0, d**3 / 3, 0.0)
    return float(np.sum(2.0 * n * d * (3.0 + steps) + 2.0 * n * d * d * share + factored))


def shares(quick: bool, repeats: int) -> tuple[str, list[dict[str, Any]]]:
    """GFlop/s of each part beside those of one large product, all in the same rounds."""
    size, count, name = (1024, 8, "synthetic:2000:300") if quick else (4096, 32, "mnist")
    try:
        data = load(name)
    except FileNotFoundError:
        data = load("synthetic:60000:784")
    problem = js.make_erm(data.X.astype(np.float32), data.y)
    grid = problem.with_lam(js.lam_grid(*RANGE, count))
    n, d, block = problem.n, problem.d, js.SDCA().block
    A = jax.random.normal(jax.random.key(0), (size, size), jnp.float32)
    product = jax.jit(lambda A: A @ A)
    _, best, _ = programs.begin(grid, js.SDCA(), None)
    sdca = started(grid, js.SDCA())
    warm = passes(grid, js.SDCA(), PASSES, sdca)()
    point = lanes.over_lanes(lanes.certify, grid, None, 0)(grid, js.SDCA(), warm)[0]
    states = [started(grid, js.ALMNewton(), point)]
    for _ in range(ITERATIONS):
        states.append(passes(grid, js.ALMNewton(), 1, states[-1])())
    calls = [lambda: product(A), passes(grid, js.SDCA(), 1), lambda: programs.finish(grid, best)]
    calls += [passes(grid, js.ALMNewton(), 1, state) for state in states[:-1]]
    flops = [2.0 * size**3, 4.0 * n * d * count, 4.0 * n * d * count]
    flops += [newton_flops(a, b, n, d) for a, b in itertools.pairwise(states)]
    labels = ["one large product", "sdca pass", "certificate"]
    labels += [f"alm_newton iteration {k + 1}" for k in range(ITERATIONS)]
    times = [statistics.median(t) for t in rounds(calls, repeats)]
    peak = flops[0] / times[0]
    gram = {"sdca pass": 2.0 * n * block * d}
    rows = []
    for label, work, seconds in zip(labels, flops, times):
        row = {"kind": "share", "what": label, "seconds": seconds, "gflop": work / 1e9}
        row |= {"gflops_per_second": work / seconds / 1e9, "share": work / seconds / peak}
        extra = gram.get(label, 0.0)
        row |= {"share_with_gram": (work + extra) / seconds / peak}
        rows.append(row | {"n": n, "d": d, "lambdas": count})
    return data.name, rows


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    axes, repeats = (SMALL, 2) if quick else (AXES, 5)
    rows: list[dict[str, Any]] = []
    name = ""
    for part in each(["the share of the peak", *axes]):
        if part in axes:
            rows += growth(part, *axes[part], repeats)
        else:
            name, rows = shares(quick, repeats)
        jax.clear_caches()
    enough(any(row["kind"] == "growth" for row in rows))
    return told(name, rows)


def told(name: str, rows: list[dict[str, Any]]) -> Found:
    """The tables, the sentence and the figure, from the rows alone."""
    grown = [row for row in rows if row["kind"] == "growth"]
    shared = [row for row in rows if row["kind"] == "share"]
    table = [
        ["more", "what", "s", "s, grown", "ratio", "processor", "lane-passes", "us each", "grown"]
    ]
    table += [
        [
            f"{row['grown']:g} x {row['axis']}",
            row["what"],
            f"{row['seconds_small']:.3f}",
            f"{row['seconds_large']:.3f}",
            f"{row['ratio']:.2f}",
            f"{row['processor_ratio']:.2f}",
            f"{row['lane_passes_ratio']:.2f}",
            f"{row['microseconds_a_lane_pass_small']:.0f}",
            f"{row['microseconds_a_lane_pass_large']:.0f}",
        ]
        for row in grown
    ]
    speeds = [["what", "s", "useful GFlop", "GFlop/s", "share", "with Gram"]]
    speeds += [
        [
            row["what"],
            f"{row['seconds']:.3f}",
            f"{row['gflop']:.2f}",
            f"{row['gflops_per_second']:.1f}",
            f"{row['share']:.0%}",
            f"{row['share_with_gram']:.0%}",
        ]
        for row in shared
    ]
    text = f"{aligned(table, (0, 1))}\n\n{aligned(speeds, (0,))}"
    sweeps = [row for row in grown if row["what"] == "sweep"]
    facts: dict[str, Any] = {f"sweep, {row['axis']}": row["ratio"] for row in sweeps}
    facts |= {f"share, {row['what']}": row["share"] for row in shared}
    facts |= {"load per core": os.getloadavg()[0] / (os.cpu_count() or 1), "data": name}
    said = [
        f"{row['grown']:g} times the {row['axis']} take {row['ratio']:.1f} times the seconds "
        f"({row['lane_passes_ratio']:.1f} times the lane-passes)"
        for row in sweeps
    ]
    parts = [f"{row['what']} {row['share']:.0%}" for row in shared[1:]]
    sentence = (
        f"A sweep: {'; '.join(said)}. Of the {shared[0]['gflops_per_second']:.0f} GFlop/s of one "
        f"large product, on {name} ({shared[0]['d']} features, {shared[0]['lambdas']} lambdas): "
        f"{', '.join(parts)}; {sum(row['share'] >= AIM for row in shared[1:])} of "
        f"{len(shared) - 1} reach {AIM:.0%}."
    )
    return Found(rows, facts, text, sentence, draw(grown, shared))


def draw(grown: list[dict[str, Any]], shared: list[dict[str, Any]]) -> Any:
    figure = new_figure(figsize=(10, 4))
    left, right = figure.subplots(1, 2)
    axes = list(dict.fromkeys(row["axis"] for row in grown))
    for k, what in enumerate(WHAT):
        mine = [row for row in grown if row["what"] == what]
        at = [axes.index(row["axis"]) + 0.25 * (k - 1) for row in mine]
        left.bar(at, [row["ratio"] for row in mine], 0.22, color=f"C{k}", label=what)
    for row in grown:
        place = axes.index(row["axis"])
        left.plot([place - 0.4, place + 0.4], [row["grown"]] * 2, color="0.2", lw=1.0)
    factors = {row["axis"]: row["grown"] for row in grown}
    left.set_xticks(range(len(axes)), [f"{factors[axis]:g} x {axis}" for axis in axes])
    dress(left, "", "times the seconds", "growth; line: as much more of everything", log="")
    names = [row["what"] for row in shared[1:]][::-1]
    right.barh(names, [row["share"] for row in shared[1:]][::-1], color="C0")
    right.axvline(AIM, color="0.5", lw=0.8)
    dress(right, "share of the speed of one large product", "", log="")
    return figure
