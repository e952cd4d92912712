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
from experiments.common import Found, new_figure, set_up
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
    for b in (*BATCHES, m):
        full = b == m
        method = js.subgradient_descent() if full else js.minibatch_sgd(b)
        if b == 1:
            method = js.projected_sgd()
        count = (2 if quick else 8) * passes if full else passes
        options = {"passes": count, "within": 1 if full or b > 64 else 8}
        traces = []
        for seed in range(2 if full else SEEDS):
            began = time.perf_counter()
            trace = js.run(problem, method, key=jax.random.key(seed), **options)[1]
            jax.block_until_ready(trace.primal)
            seconds[b] = (time.perf_counter() - began) / count  # the last one is compiled
            traces.append(np.asarray(trace.primal) - level)
        excess = np.mean(traces, axis=0)
        touched, steps = np.asarray(trace.work) * m, np.asarray(trace.updates)
        curves[b] = (touched, steps, excess)
        for t, s, e in zip(touched, steps, excess):
            rows.append({"b": b, "rows_touched": t, "steps": s, "excess": e})
    figure = new_figure(figsize=(11, 4.4))
    left, right = figure.subplots(1, 2, sharey=True)
    table = [["b", f"rows touched to {ASKED:g}", "steps", "ms a pass"]]
    cost = {}
    for b, (touched, steps, excess) in curves.items():
        name = "all" if b == m else f"{b}"
        left.plot(touched[1:], excess[1:], label=f"b = {name}")
        right.plot(steps[1:], excess[1:], label=f"b = {name}")
        done = np.flatnonzero(excess <= ASKED)
        cost[b] = (touched[done[0]], steps[done[0]]) if done.size else (np.inf, np.inf)
        table.append([name, *(f"{c:,.0f}" for c in cost[b]), f"{1e3 * seconds[b]:.2f}"])
    t = np.geomspace(10, curves[1][1][-1], 50)
    bound = np.asarray(js.projected_sgd().bound(problem, t))
    for ax in (left, right):
        ax.plot(t, bound, "k:", lw=1, label="bound, b = 1")
        ax.axhline(ASKED, color="0.6", lw=0.8)
        ax.set(xscale="log", yscale="log", ylim=(3e-3, 5))
        ax.grid(alpha=0.3)
    left.set(xlabel="rows touched (vector operations)", ylabel="L(mean of the iterates) - L*")
    right.set(xlabel="steps")
    left.legend(frameon=False, fontsize=8)
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
        f"({cost[best][0]:,.0f}); {others}."
    )
    facts = {"seconds": time.perf_counter() - started}
    facts |= {"rows_touched": {str(b): c[0] for b, c in cost.items()}}
    return Found(rows, facts, aligned(table), sentence, figure)
