"""All examples a step, one, or a mini-batch: which gets furthest for the same vector operations?

The hinge over a ball on breast cancer (569 examples, B = 5), b = 1, 4, 16, 64 and all. The theory
says the number of steps to an accuracy does not depend on b, so b = 1 is best in rows touched, by a
factor b. Left: L(mean) - L* against rows touched, with the bound of b = 1. Right: against steps,
where the curves should fall together.
"""

import time
from typing import Any

import jax
import numpy as np

import jaxopt_svm as js
from experiments.budget import each
from experiments.common import Found, over_keys, set_up
from experiments.figures import bound, dress, grey_line, mean_and_spread, new_figure
from jaxopt_svm.data import load
from jaxopt_svm.report import aligned

B, ASKED, SEEDS = 5.0, 0.03, 3
BATCHES = (1, 4, 16, 64)


def main(*, quick: bool = False) -> Found:
    set_up()
    started = time.perf_counter()
    data = load("breast_cancer")
    problem = js.make_ball(data.X, data.y, B=B)
    m = problem.n
    level = float(js.solve(problem, rtol=1e-5, max_passes=2000).certificate.dual)
    passes = 8 if quick else 128
    rows: list[dict[str, Any]] = []
    curves, seconds = {}, {}
    for b in each((*BATCHES, m), "b ="):
        full = b == m
        method = js.subgradient_descent() if full else js.minibatch_sgd(b)
        if b == 1:
            method = js.projected_sgd()
        count = (2 if quick else 8) * passes if full else passes
        options = {"passes": count, "within": 1 if full or b > 64 else 8}
        seeds = 1 if full else SEEDS
        for _ in range(2):  # the second time it is compiled
            began = time.perf_counter()
            trace = jax.block_until_ready(over_keys(problem, method, seeds, **options))
            seconds[b] = (time.perf_counter() - began) / count / seeds
        excess = np.asarray(trace.primal) - level
        touched, steps = np.asarray(trace.work)[0] * m, np.asarray(trace.updates)[0]
        curves[b] = (touched, steps, excess)
        promised = np.asarray(js.projected_sgd().bound(problem, np.maximum(steps, 1)))
        for k in np.unique(np.geomspace(1, len(steps) - 1, 150).astype(int)):
            row = {"b": b, "rows_touched": touched[k], "steps": steps[k]}
            row |= {"excess": excess[:, k].mean(), "bound": promised[k]}
            rows.append(row | {"least": excess[:, k].min(), "most": excess[:, k].max()})
    figure = new_figure(figsize=(11, 4.4))
    left, right = figure.subplots(1, 2, sharey=True)
    table = [["b", f"rows touched to {ASKED:g}", "steps", "ms a pass"]]
    cost, worst = {}, 0.0
    for k, (b, (touched, steps, excess)) in enumerate(curves.items()):
        name = "all" if b == m else f"{b}"
        mean_and_spread(left, touched[1:], excess[:, 1:], f"b = {name}", f"C{k}")
        mean_and_spread(right, steps[1:], excess[:, 1:], f"b = {name}", f"C{k}")
        done = np.flatnonzero(excess.mean(0) <= ASKED)
        cost[b] = (touched[done[0]], steps[done[0]]) if done.size else (np.inf, np.inf)
        table.append([name, *(f"{c:,.0f}" for c in cost[b]), f"{1e3 * seconds[b]:.2f}"])
        promised = np.asarray(js.projected_sgd().bound(problem, steps[1:]))
        worst = max(worst, float((excess.mean(0)[1:] / promised).max()))
    t = np.geomspace(10, curves[1][1][-1], 50)
    promised = np.asarray(js.projected_sgd().bound(problem, t))
    bound(left, t, promised, "bound, b = 1")
    bound(right, t, promised, "bound, every b")
    for ax in (left, right):
        grey_line(ax, ASKED)
    dress(left, "rows touched (vector operations)", "L(mean of the iterates) - L*")
    dress(right, "steps", "", f"mean and spread of {SEEDS} seeds")
    left.set_ylim(3e-3, 5)
    best = min(cost, key=lambda b: cost[b][0])
    others = "; ".join(
        f"b = {'all' if b == m else b}: {cost[b][0] / cost[best][0]:,.0f} times as many"
        if np.isfinite(cost[b][0])
        else f"b = {'all' if b == m else b}: not reached"
        for b in cost
        if b != best
    )
    sentence = (
        f"To L - L* <= {ASKED:g} fewest rows are touched with b = {best} "
        f"({cost[best][0]:,.0f}); {others}. "
        f"The mean is at most {worst:.2g} of its bound."
    )
    facts = {"seconds": time.perf_counter() - started}
    facts |= {"rows_touched": {str(b): c[0] for b, c in cost.items()}}
    return Found(rows, facts, aligned(table), sentence, figure)
