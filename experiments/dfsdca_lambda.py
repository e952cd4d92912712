"""How does the speed of dfSDCA depend on lambda?

The computer-lab experiment of the lecture: dfSDCA for a grid of lambdas, here in one sweep, on
the 20 Newsgroups stand-in for rcv1 (Covertype or synthetic rows where it is missing), logistic
loss, float64. Expected: straight lines in the logarithm of P - P*, steeper for larger lambda, none
slower than (1 - theta)^t with theta = 1/(n + max L_i/(lambda gamma)).
"""

import itertools
import time
from typing import Any

import numpy as np

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.data import load
from jaxopt_svm.report import aligned

ASKED = 1e-6


def data_set(quick: bool) -> tuple[str, Any, Any]:
    if not quick:
        for name, shown in (("newsgroups", "newsgroups (for rcv1)"), ("covtype-100k", "covtype")):
            try:
                data = load(name)
                return shown, data.X[:20_000], data.y[:20_000]
            except FileNotFoundError:
                continue
    data = load(f"synthetic:{2000 if quick else 20_000}:54")
    return "synthetic", data.X, data.y


def main(*, quick: bool = False) -> Found:
    set_up()
    started = time.perf_counter()
    name, X, y = data_set(quick)
    problem = js.make_erm(X, y, loss=js.Logistic())
    n, method = problem.n, js.DfSDCA(js.Uniform())
    lams = np.array([10.0, 3.0, 1.0, 0.3, 0.1, 0.03]) / n
    passes = 20 if quick else 100
    grid = js.sweep(problem, lams, method, rtol=1e-9, max_passes=passes)
    best = js.sweep(problem, lams, js.SDCA(), rtol=1e-10, max_passes=3 * passes)
    rows, table, slopes = [], [["lambda n", "measured", "promised", f"passes to {ASKED:g}"]], []
    figure = new_figure(figsize=(8, 4.5))
    axes = figure.subplots()
    for k, lam in enumerate(lams):
        one = problem.with_lam(lam)
        constants = method.sampling.constants(one)
        promised = float(-n * np.log1p(-method.rule.theta(one, *constants)))
        at, excess = grid.trace.passes[k], grid.trace.primal[k] - float(best.certificate.dual[k])
        # the trace ends with nan where a lane was done; rounding noise is no slope
        use = np.isfinite(excess) & (excess > 1e-8 * excess[0])
        slope = float(-np.polyfit(at[use], np.log(excess[use]), 1)[0])
        slopes.append((slope, promised))
        reached = at[use & (excess <= ASKED * excess[0])]
        shown = f"{reached[0]:.0f}" if reached.size else "-"
        table.append([f"{lam * n:g}", f"{slope:.3f}", f"{promised:.3f}", shown])
        for r in np.flatnonzero(use):
            row = {"data": name, "lam": lam, "passes": at[r], "excess": excess[r]}
            rows.append(row | {"bound": excess[0] * np.exp(-promised * at[r])})
        colour = f"C{k}"
        axes.plot(at[use], excess[use] / excess[0], color=colour, label=f"{lam * n:g}/n")
        axes.plot(at[use], np.exp(-promised * at[use]), ":", color=colour, lw=1)
    axes.set(yscale="log", ylim=(1e-9, 2), xlabel="passes", ylabel="(P(w) - P*)/(P(0) - P*)")
    axes.set_title(f"dfSDCA on {name}, n = {n:,}; dotted: the theorem's rate")
    axes.legend(title="lambda", frameon=False)
    axes.grid(alpha=0.3)
    ordered = all(a[0] >= 0.9 * b[0] for a, b in itertools.pairwise(slopes))
    least = min(s / p for s, p in slopes)
    sentence = (
        f"dfSDCA's rate per pass {'grows' if ordered else 'does not always grow'} with lambda, "
        f"from {slopes[-1][0]:.3f} at lambda = {lams[-1] * n:g}/n to {slopes[0][0]:.3f} at "
        f"{lams[0] * n:g}/n; measured over promised rate is never below {least:.2f}."
    )
    text = f"{name}: decrease of log(P - P*) per pass\n" + aligned(table)
    facts = {"seconds": time.perf_counter() - started, "least ratio": least, "ordered": ordered}
    return Found(rows, facts, text, sentence, figure)
