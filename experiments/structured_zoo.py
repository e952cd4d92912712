"""Which structured solver is first to a good objective, and to a good test risk, on OCR?

The comparison of the lecture on online solvers: cutting planes, sequential dual ascent and
stochastic subgradients on the handwritten words (5,512 train, 1,365 test, 4,004 parameters),
a grid of lambdas as lanes of one program, float32. Drawn against decodings / n and seconds:
P above the best lower bound that any of them proved, and the share of test letters read wrong.
Expected: SGD and its averages first to a rough answer; SDM and FASOLE to a tight one; the
perceptron, which does not know lambda, good at the risk only. Without the data: synthetic words.
"""

import time
from typing import Any

import jax
import numpy as np

import jaxopt_svm as js
from experiments.budget import budget, each, enough
from experiments.common import Found, set_up
from experiments.figures import dress, new_figure
from jaxopt_svm.core.lanes import over_lanes
from jaxopt_svm.core.loop import Loop, next_record
from jaxopt_svm.data import load_structured
from jaxopt_svm.report import aligned

LAMS = np.array([1e-1, 1e-2, 1e-3])
ROUNDS = {"bmrm": 5, "oca": 2}  # rounds between records, where each is cheap beside its record
PASSES, CLOSE = 180, 5e-2

METHODS: dict[str, Any] = {
    "bmrm": js.BMRM(capacity=64),
    "oca": js.OCA(capacity=192),
    "frank-wolfe": js.FrankWolfe(capacity=64),
    "bcfw": js.BCFW(capacity=64),
    "sdm": js.SDM(capacity=64),
    "fasole": js.FASOLE(capacity=64),
    "sgd": js.StructuredSGD(capacity=64),
    "sgd nu-average": js.Averaged(js.StructuredSGD(capacity=0), js.PolynomialMean(3.0)),
    "sgd batch-16": js.StructuredSGD(batch=16, capacity=64),
    "perceptron": js.StructuredPerceptron(),
    "averaged perceptron": js.averaged_perceptron(),
    "adagrad": js.structured_adagrad(0.05, batch=16),
    "rmsprop": js.structured_rmsprop(0.02, batch=16),
    "adam": js.structured_adam(0.02, batch=16),
}
FAMILIES = {"bmrm": ":", "oca": ":", "frank-wolfe": "-", "bcfw": "-", "sdm": "-", "fasole": "-"}
ERRORS = (12, 15, 20, 30, 40, 60, 90)  # ticks, per cent
QUICK = ("fasole", "sgd", "averaged perceptron")


def words(n: int, m: int):
    """name, training and test problem of n and m words, and the mean length of a test word."""
    try:
        data = load_structured("ocr")
        name, classes = "OCR", data.classes
        parts = [(part.X[:k], part.y[:k]) for part, k in ((data.train, n), (data.test, m))]
    except FileNotFoundError:
        rng, name, classes = np.random.default_rng(0), "synthetic words", 26
        W = rng.normal(size=(128, 26))
        lengths = rng.integers(3, 15, n + m)
        X = [(rng.random((T, 128)) < 0.3).astype(np.float32) for T in lengths]
        y = [(x @ W + 2 * rng.normal(size=(len(x), 26))).argmax(1) for x in X]
        parts = [(X[:n], y[:n]), (X[n:], y[n:])]
    train, test = (js.make_chain(X, y, classes=classes) for X, y in parts)
    return f"{name}, {train.n:,} words", train, test, float(np.mean([len(y) for y in parts[1][1]]))


@jax.jit
def judge(problem, method, state, test):
    """(lanes,) errors a test word at the points of the lanes."""
    one = lambda problem, state: test.risk(method.point(problem, state).w)
    return over_lanes(one, problem, 0)(problem, state)


def follow(name: str, method, grid, test, length: float, seconds: float, passes: int):
    """A record for each lambda and each certificate, until the time (of compilation and judging
    too) or the passes are up; two records at least."""
    method.check(grid.with_lam(LAMS[0]))
    clock, rows, spent, first = budget(), [], 0.0, True
    until = clock.spent + seconds
    loop = Loop(grid, method, jax.random.key(0), None)
    in_time = lambda: clock.spent < until or len(rows) <= len(LAMS)
    while loop.r < passes and in_time():
        count = max(min(next_record(loop.r), passes - loop.r), ROUNDS.get(name, 1))
        started = time.perf_counter()
        loop.advance(count)
        took = time.perf_counter() - started
        # the first stretch compiles: what it computes is worth about what the next one takes
        spent += 0.0 if first else took
        first = False
        risk = np.asarray(judge(loop.problem, loop.method, loop.state, test)) / length
        record = loop.records[-1]
        a_pass = method.spent(grid.with_lam(LAMS[0])).oracle_calls
        calls: Any = record.get("oracle_calls", np.full(LAMS.shape, loop.r * a_pass))
        for k, lam in enumerate(LAMS):
            row = {"method": name, "lam": lam, "passes": loop.r, "calls": calls[k] / grid.n}
            row |= {"seconds": spent, "primal": record["primal"][k], "dual": record["dual"][k]}
            rows.append(row | {"risk": risk[k]})
    return rows


def picture(rows, names, title: str):
    figure = new_figure(figsize=(13, 11))
    axes = figure.subplots(3, len(LAMS), squeeze=False)
    handles = {}
    views = [("calls", "excess"), ("calls", "risk"), ("seconds", "risk")]
    units = {"calls": "decodings / n", "seconds": "seconds, all lambdas together"}
    units |= {"excess": "P / best lower bound - 1", "risk": "test letters wrong, %"}
    for i, (x, y) in enumerate(views):
        for j, lam in enumerate(LAMS):
            ax = axes[i, j]
            for k, name in enumerate(names):
                mine = [r for r in rows if (r["method"], r["lam"]) == (name, lam)]
                if x == "seconds":
                    mine = mine[1:]  # the first stretch is compilation
                # no two of the same colour are of one family
                look = {"color": f"C{k % 10}", "ls": FAMILIES.get(name, "--"), "lw": 1.5}
                values = np.maximum([r[y] for r in mine], 1e-4) * (100 if y == "risk" else 1)
                (line,) = ax.plot([r[x] for r in mine], values, **look)
                handles.setdefault(name, line)
            dress(ax, units[x], units[y] if j == 0 else "", f"lambda = {lam:g}")
            if y == "risk":
                ax.set_ylim(0.9 * 100 * min(r["risk"] for r in rows), 100)
                ax.set_yticks(ERRORS, [f"{e}" for e in ERRORS])
                ax.minorticks_off()
            else:
                ax.set_ylim(1e-4, 10)
    figure.suptitle(title)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=7)
    return figure


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    started, rows, clock = time.perf_counter(), [], budget()
    data, train, test, length = words(300, 150) if quick else words(5512, 1365)
    grid = train.with_lam(LAMS)
    methods = {n: METHODS[n] for n in QUICK} if quick else METHODS
    for k, (name, method) in enumerate(each(methods.items(), "", lambda pair: pair[0])):
        # an equal share of what is left for each of those to come
        share, passes = clock.left / (len(methods) - k), 8 if quick else PASSES
        rows += follow(name, method, grid, test, length, share, passes)
    ran = list(dict.fromkeys(row["method"] for row in rows))
    enough(len(ran) > 1)
    best = {lam: max(r["dual"] for r in rows if r["lam"] == lam) for lam in LAMS}
    for row in rows:
        row["excess"] = row["primal"] / best[row["lam"]] - 1
    text, sentence = summary(rows, ran, data)
    facts = {"seconds": time.perf_counter() - started}
    return Found(rows, facts, text, sentence, picture(rows, ran, data))


def summary(rows, names, data: str) -> tuple[str, str]:
    """Decodings / n to an objective within ``CLOSE``, the last excess and the last test error."""
    table = [["method", *(f"{what} {lam:g}" for lam in LAMS for what in ("calls", "P +", "err"))]]
    first: dict[float, tuple[float, list[str]]] = {}
    for name in names:
        line = [name]
        for lam in LAMS:
            mine = [r for r in rows if (r["method"], r["lam"]) == (name, lam)]
            reached = [r["calls"] for r in mine if r["excess"] <= CLOSE]
            if reached:
                known = first.setdefault(lam, (reached[0], []))
                if reached[0] < known[0]:
                    known = first[lam] = (reached[0], [])
                if reached[0] == known[0]:
                    known[1].append(name)
            line += [f"{reached[0]:.0f}" if reached else "-"]
            line += [f"{mine[-1]['excess']:.1e}", f"{100 * mine[-1]['risk']:.1f}%"]
        table.append(line)
    told = lambda lam: f"{', '.join(first[lam][1])} at lambda {lam:g} ({first[lam][0]:.0f} n)"
    winners = [told(lam) for lam in LAMS if lam in first]
    least = min(rows, key=lambda r: r["risk"])
    sentence = (
        f"Fewest decodings to P within {CLOSE:.0%} of the best lower bound: "
        f"{'; '.join(winners) or 'none'}. Lowest test error {100 * least['risk']:.1f} % of "
        f"letters, by {least['method']} at lambda {least['lam']:g}."
    )
    return f"{data}: decodings / n to {CLOSE:.0%}, last excess, last error\n" + aligned(
        table, (0,)
    ), sentence
