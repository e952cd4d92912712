"""Does Pegasos keep its 1/T, what does its certificate say, and does the projection matter?

Breast cancer, lambda = 0.001, rows at most 1 long. Left: all examples a step, where Pegasos is
Frank-Wolfe on the dual and carries a certificate of its own. Right: one example a step, the mean of
five keys, for the last iterate and two means, with and without projection on 1/sqrt(lambda), below
the bound G^2 (1 + ln T)/(2 lambda T).
"""

import time
from typing import Any

import numpy as np

import jaxopt_svm as js
from experiments.budget import each
from experiments.common import Found, over_keys, set_up
from experiments.figures import bound, dress, mean_and_spread, new_figure
from jaxopt_svm.data import load
from jaxopt_svm.report import aligned

LAM, SEEDS = 0.001, 5
MARKS = (10, 100, 1000)


def main(*, quick: bool = False) -> Found:
    set_up()
    started = time.perf_counter()
    data = load("breast_cancer")
    X = data.X / np.linalg.norm(data.X, axis=1).max()
    problem = js.make_erm(X, data.y, lam=LAM)
    level = float(js.solve(problem, rtol=1e-9, max_passes=5000).certificate.dual)
    rows: list[dict[str, Any]] = []
    figure = new_figure(figsize=(11, 4.6))
    left, right = figure.subplots(1, 2)

    # all examples a step
    T, gaps, worst = 300 if quick else 3000, {}, 0.0
    t = np.arange(1, T + 1)
    chosen = np.unique(np.geomspace(1, T, 60).astype(int))
    for project in (False, True):
        method = js.Subgradient(js.InverseLam(), project=project)
        averaged = js.Averaged(method, js.UniformMean())
        name = "projected" if project else "not projected"
        last, mean = (js.run(problem, m, passes=T)[1] for m in (method, averaged))
        gaps[name] = np.asarray(last.gap)[1:]
        promised = np.asarray(averaged.bound(problem, t))
        for k, (key, trace) in enumerate({"last": last, "mean": mean}.items()):
            excess = np.maximum(np.asarray(trace.primal)[1:] - level, 1e-12)
            style = "--" if project else "-"
            left.plot(chosen, excess[chosen - 1], style, color=f"C{k}", label=f"{key}, {name}")
            for at in chosen:
                row = {"batch": "all", "projection": project, "iterate": key, "T": int(at)}
                row |= {"excess": excess[at - 1], "gap": gaps[name][at - 1]}
                rows.append(row | {"bound": promised[at - 1] if key == "mean" else None})
        worst = max(worst, float((excess / promised).max()))
        bound(left, t, promised, f"bound, mean, {name}", "0.6" if project else "0.2")
    left.plot(t, gaps["not projected"], "C2", lw=1.5, label="certified gap, not projected")
    products = [m * gaps["not projected"][m - 1] for m in MARKS if m <= T]

    # one example a step
    passes = 4 if quick else 40
    table = [["one example a step", f"after {passes} passes", "bound"]]
    final = {}
    means = {"last": None, "mean": js.UniformMean(), "mean, weights t": js.PolynomialMean(1.0)}
    cases = [(project, kind) for project in (False, True) for kind in reversed(means)]
    for project, kind in each(cases, "one example", lambda c: f"{c[1]}, projected: {c[0]}"):
        name = "projected" if project else "not projected"
        inner, k = js.pegasos(project=project), list(means).index(kind)
        method = inner if means[kind] is None else js.Averaged(inner, means[kind])
        traces = over_keys(problem, method, SEEDS, passes=passes, within=8)
        excess = np.asarray(traces.primal)[:, 1:] - level
        t = np.asarray(traces.updates)[0][1:]
        style = {"ls": "--" if project else "-"}
        mean_and_spread(right, t, excess, f"{kind}, {name}", f"C{k}", **style)
        final[kind, name] = float(excess[:, -1].mean())
        promised = method.bound(problem, t)
        shown = "-" if promised is None else f"{float(promised[-1]):.2e}"
        table.append([f"{kind}, {name}", f"{final[kind, name]:.2e}", shown])
        if promised is not None:
            worst = max(worst, float((excess.mean(0) / np.asarray(promised)).max()))
        if kind == "mean":
            bound(right, t, promised, f"bound, mean, {name}", "0.6" if project else "0.2")
        for r, at in enumerate(t):
            row = {"batch": 1, "projection": project, "iterate": kind, "T": int(at)}
            row |= {"excess": excess[:, r].mean(), "least": excess[:, r].min()}
            row |= {"most": excess[:, r].max()}
            rows.append(row | {"bound": None if promised is None else float(promised[r])})
    dress(left, "T", "P - P*", "all examples a step")
    dress(right, "T", "P - P*", f"one example a step, mean and spread of {SEEDS} keys")
    head = [["all examples a step", *(f"T = {m:,}" for m in MARKS if m <= T)]]
    head += [["certified gap", *(f"{p / m:.1e}" for m, p in zip(MARKS, products))]]
    head += [["T times the gap", *(f"{p:.2f}" for p in products)]]
    end = lambda *which: final.get(which, np.nan)
    gain = end("last", "not projected") / end("mean, weights t", "not projected")
    change = end("mean", "projected") / end("mean", "not projected")
    sentence = (
        f"All examples a step: T times the certified gap stays between {min(products):.2f} and "
        f"{max(products):.2f} from T = {MARKS[0]} on; with one example a step the mean with "
        f"weights t is {gain:.1f} times closer than the last iterate, and projecting changes the "
        f"error of the mean by a factor {change:.2f}. What is measured is at most {worst:.2g} of "
        "its bound."
    )
    facts = {"seconds": time.perf_counter() - started, "T_times_gap": products}
    text = aligned(head, (0,)) + "\n\n" + aligned(table, (0,))
    return Found(rows, facts, text, sentence, figure)
