r"""How many iterations, and how long, does each solver of the SVM lecture need, by n and by
epsilon?

The solver table of "Optimization Methods for SVMs" (Scheinberg), measured: a kernel SVM (RBF, C =
10, free intercept) on n points for SMO, decomposition, active set and interior point; the linear
SVM of the same points for the low-rank interior point, SVM-perf and Pegasos. Each method runs once
to a certified relative gap of 1e-6, and its trace says when it passed each larger epsilon. An
iteration is the method's own: a pair, a working set, a pivot, a Newton step, a cut, a visit.
Seconds are those of a second run, without compilation. Beside the counts: how they grow with n and
with 1/epsilon, what the lecture's table says (corrected where it errs), and for SVM-perf and
Pegasos the count after which a theorem promises epsilon (for Pegasos of P - P*, in the mean).
"""

from typing import Any, NamedTuple

import numpy as np

import jaxopt_svm as js
from experiments.budget import each, enough
from experiments.common import Found, set_up
from experiments.figures import dress, new_figure
from jaxopt_svm.report import aligned

EPSILONS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


class Solver(NamedTuple):
    """said: iterations by the lecture's table. size: of a working set, where the table counts
    these and the trace pairs."""

    name: str
    method: Any
    kernel: bool
    passes: int
    said: str
    size: int | None = None


PAIRS, NEWTON = "polynomial in n and 1/eps", "O(n log 1/eps), far fewer in practice"
SOLVERS = (
    Solver("SMO", js.SMO(), True, 2000, PAIRS),
    Solver("decomposition, q = 4", js.Decomposition(q=4, accuracy=1e-3), True, 2000, PAIRS, 4),
    Solver("decomposition, q = 20", js.Decomposition(q=20, accuracy=1e-3), True, 2000, PAIRS, 20),
    Solver("active set", js.ActiveSet(capacity=128), True, 400, "O(n) in practice, exact"),
    Solver("interior point", js.InteriorPoint(), True, 60, NEWTON),
    Solver("interior point, low rank", js.InteriorPointLowRank(), False, 60, NEWTON),
    Solver("SVM-perf", js.SVMPerf(capacity=256), False, 200, "O(R^2/(lam eps))"),
    Solver("Pegasos", js.Certified(js.pegasos()), False, 10_000, "O(R^2/(lam eps)) but for logs"),
)
FULL, QUICK = (100, 200, 400, 800), (60, 120)
SLOW = ("decomposition, q = 20", "active set", "interior point, low rank")  # to compile


def points(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes with a curved border and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.4 * rng.normal(size=n) > 0.8, 1, -1)


def promised(method: Any, problem: Any, gap: float) -> float | None:
    """After how many iterations its theorem promises the gap; None without a theorem."""
    t = np.geomspace(1.0, 1e12, 2000)
    bound = method.bound(problem, t)
    there = np.flatnonzero(np.asarray(bound) <= gap) if bound is not None else np.array([])
    return float(t[there[0]]) if there.size else None


def power(x: list[float], y: list[float | None]) -> float | None:
    """p where y grows like x^p, from the ends; None if one of them is missing."""
    if y[0] is None or y[-1] is None or len(x) < 2:
        return None
    return float(np.log(y[-1] / y[0]) / np.log(x[-1] / x[0]))


def measure(solver: Solver, n: int) -> list[dict[str, Any]]:
    X, y = points(n)
    problem = (
        js.make_kernel_svm(X, y, kernel=js.RBF(0.25), C=10.0, intercept="free")
        if solver.kernel
        else js.make_erm(X, y, C=10.0)
    )
    for _ in range(2):  # the second run has nothing to compile
        one = js.solve(problem, solver.method, rtol=EPSILONS[-1], max_passes=solver.passes)
    trace = one.trace
    relative = np.minimum.accumulate(trace.gap / np.abs(trace.primal))
    # work counts rows of K: a working set has ``size`` of them
    steps = trace.updates if solver.size is None else trace.work * n / solver.size
    rows = []
    for epsilon in EPSILONS:
        there = np.flatnonzero(relative <= epsilon)
        k = int(there[0]) if there.size else None
        rows.append(
            {
                "solver": solver.name,
                "n": n,
                "epsilon": epsilon,
                "iterations": None if k is None else float(steps[k]),
                "bound": promised(solver.method, problem, epsilon * float(one.certificate.primal)),
                "seconds": None if k is None else float(trace.seconds[k]),
                "certified_relative_gap": float(relative[-1 if k is None else k]),
                "status": str(one.status),
                "lecture": solver.said,
            }
        )
    return rows


def describe(rows: list[dict[str, Any]], names: list[str], sizes: tuple[int, ...]) -> str:
    """Iterations to 1e-3 by n, and to each epsilon at the largest n."""
    show = lambda value: "-" if value is None else f"{value:.0f}"
    at = {(r["solver"], r["n"], r["epsilon"]): r["iterations"] for r in rows}
    said = {s.name: s.said for s in SOLVERS}
    header = ["solver", *(f"n={n}" for n in sizes), *(f"eps={e:g}" for e in EPSILONS), "seconds"]
    header += ["n^", "(1/eps)^", "lecture"]
    ends = [1e-3, 1e-6]

    def grows(name: str) -> list[str]:
        by_n = power([float(n) for n in sizes], [at[name, n, 1e-3] for n in sizes])
        by_eps = power([1 / e for e in ends], [at[name, sizes[-1], e] for e in ends])
        return ["-" if p is None else f"{p:.2f}" for p in (by_n, by_eps)]

    seconds = {r["solver"]: r["seconds"] for r in rows if r["n"] == sizes[-1] and r["seconds"]}
    body = [
        [
            name,
            *(show(at[name, n, 1e-3]) for n in sizes),
            *(show(at[name, sizes[-1], e]) for e in EPSILONS),
            f"{seconds[name]:.3f}" if name in seconds else "-",
            *grows(name),
            said[name],
        ]
        for name in names
    ]
    return aligned([header, *body], left=(0, len(header) - 1))


def draw(rows: list[dict[str, Any]], sizes: tuple[int, ...]) -> Any:
    figure = new_figure(figsize=(10, 4.2))
    left, right = figure.subplots(1, 2)
    for k, solver in enumerate(SOLVERS):
        mine = [r for r in rows if r["solver"] == solver.name and r["iterations"]]
        by_n = [(r["n"], r["iterations"]) for r in mine if r["epsilon"] == 1e-3]
        by_epsilon = [(r["epsilon"], r["iterations"]) for r in mine if r["n"] == sizes[-1]]
        style = "-o" if solver.kernel else "--s"
        for ax, data in ((left, by_n), (right, by_epsilon)):
            if data:
                ax.plot(*zip(*data), style, color=f"C{k}", markersize=4, label=solver.name)
    asked, reached = "n, to a certified relative gap of 1e-3", "certified relative gap"
    dress(left, asked, "iterations of the method", legend=False)
    dress(right, f"{reached}, n = {sizes[-1]}", "", legend=False)
    right.invert_xaxis()
    left.set_xticks(sizes, [str(n) for n in sizes], minor=False)
    left.minorticks_off()
    handles = {
        label: h for ax in (left, right) for h, label in zip(*ax.get_legend_handles_labels())
    }
    words = "solid: kernel, dashed: linear"
    figure.legend(
        handles.values(), handles.keys(), loc="outside right center", fontsize=8, title=words,
        title_fontsize=8, frameon=False,
    )  # fmt: skip
    return figure


def main(*, quick: bool = False) -> Found:
    set_up()
    sizes = QUICK if quick else FULL
    solvers = [s for s in SOLVERS if not (quick and s.name in SLOW)]
    rows: list[dict[str, Any]] = []
    # small n first, so that a budget that is too short leaves out the largest
    cases = [(n, solver) for n in sizes for solver in solvers]
    for n, solver in each(cases, "", lambda case: f"{case[1].name} at n = {case[0]}"):
        rows += measure(solver, n)
    at = {(r["solver"], r["n"], r["epsilon"]): r["iterations"] for r in rows}
    sizes = tuple(n for n in sizes if all((s.name, n, 1e-3) in at for s in solvers))
    enough(len(sizes) > 0)
    n = sizes[-1]
    growth = {s.name: (at[s.name, n, 1e-3], at[s.name, n, 1e-6]) for s in solvers}
    ratios = {name: b / a for name, (a, b) in growth.items() if a and b}
    enough(len(ratios) > 1)
    facts: dict[str, Any] = {f"iterations 1e-6 / 1e-3, {k}": v for k, v in ratios.items()}
    least = min(ratios, key=lambda name: ratios[name])
    most = max(ratios, key=lambda name: ratios[name])
    sentence = (
        f"At n = {n}, a thousand times more accuracy (1e-3 to 1e-6) costs {least} a factor "
        f"{ratios[least]:.2g} in iterations and {most} a factor {ratios[most]:.2g}; "
    )
    if at.get(("active set", n, 1e-6)):
        pivots = facts["pivots of the active set / n"] = at["active set", n, 1e-6] / n
        sentence += f"the active set needs {pivots:.2f} n pivots; "
    known = [r for r in rows if r["bound"] and r["iterations"]]
    if known:
        share = max(r["iterations"] / r["bound"] for r in known)
        sentence += f"SVM-perf and Pegasos need at most {share:.2g} of what their theorems allow; "
    missed = [f"{s.name} ({s.passes:,} passes)" for s in solvers if growth[s.name][1] is None]
    sentence += f"1e-6 is not reached by {', '.join(missed) or 'none'}."
    names = [s.name for s in solvers]
    return Found(rows, facts, describe(rows, names, sizes), sentence, draw(rows, sizes))
