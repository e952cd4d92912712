"""How many steps does the smoothed hinge need to reach eps, with and without acceleration?

Breast cancer, lambda = 0.01, rows at most 1 long, mu = eps. Expected: sqrt(1/(lambda eps)) for AGD,
1/(lambda eps) for GD, up to logarithms, below their bounds; and one run in which mu falls by
itself, which reaches every eps on its way. The two constants of that continuation were chosen among
eighteen pairs on this problem, the same data at lambda = 0.001 and a synthetic set, so its counts
here are those of a tuned method; those for mu = eps are not tuned.
"""

import time
from typing import Any

import numpy as np

import jaxopt_svm as js
from experiments.budget import each, enough
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.data import load
from jaxopt_svm.report import aligned

LAM = 0.01


def first(excess: np.ndarray, eps: float) -> float:
    done = np.flatnonzero(excess <= eps)
    return float(done[0]) if done.size else np.inf


def promised(method, problem, eps: float) -> float:
    """The T at which the bound falls to eps."""
    t = np.arange(0.0, 60_000.0)
    bound = np.asarray(method.bound(problem, t))
    done = np.flatnonzero(bound <= eps)
    return float(done[0]) if done.size else np.inf


def main(*, quick: bool = False) -> Found:
    set_up()
    started = time.perf_counter()
    data = load("breast_cancer")
    X = data.X / np.linalg.norm(data.X, axis=1).max()
    problem = js.make_erm(X, data.y, lam=LAM)
    best = js.solve(problem, rtol=1e-9, max_passes=5000)
    level = float(best.certificate.dual)
    asked = (0.1, 0.03, 0.01) if quick else (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
    most = {"AGD": 1000, "GD": 1000 if quick else 25_000}
    makers = {"AGD": js.huber_agd, "GD": js.huber_gd}
    rows: list[dict[str, Any]] = []
    table = [["eps = mu", "AGD", "bound", "GD", "bound", "AGD, mu falling", "GD, mu falling"]]
    falling, gaps = {}, {}
    for name, make in makers.items():
        trace = js.run(problem, make(), passes=most[name])[1]
        falling[name] = np.asarray(trace.primal) - level
        gaps[name] = np.asarray(trace.gap)
    for eps in each(asked, "eps ="):
        cells = []
        for name, make in makers.items():
            trace = js.run(problem, make(eps), passes=most[name])[1]
            steps = first(np.asarray(trace.primal) - level, eps)
            bound = promised(make(eps), problem, eps)
            own = first(falling[name], eps)
            row = {"eps": eps, "method": name, "steps": steps, "bound": bound}
            rows.append(row | {"steps_mu_falling": own, "certified": first(gaps[name], eps)})
            cells += [steps, bound]
        cells += [rows[-2]["steps_mu_falling"], rows[-1]["steps_mu_falling"]]
        shown = (f"{c:,.0f}" if np.isfinite(c) else "more" for c in cells)
        table.append([f"{eps:g}", *shown])
    enough(len({row["eps"] for row in rows}) >= 3)
    figure = new_figure(figsize=(11, 4.4))
    left, right = figure.subplots(1, 2)
    slopes = {}
    for k, name in enumerate(makers):
        mine = [r for r in rows if r["method"] == name and np.isfinite(r["steps"])]
        eps, steps = (np.array([r[key] for r in mine]) for key in ("eps", "steps"))
        left.plot(eps, steps, "-o", color=f"C{k}", ms=4, label=f"{name}, mu = eps")
        left.plot(eps, [r["bound"] for r in mine], ":", color=f"C{k}", label=f"{name}, bound")
        own = [r["steps_mu_falling"] for r in mine]
        left.plot(eps, own, "--s", color=f"C{k}", ms=3, label=f"{name}, mu falling by itself")
        use = eps <= 0.03
        slopes[name] = float(-np.polyfit(np.log(eps[use]), np.log(steps[use]), 1)[0])
        t = np.arange(len(falling[name]))
        right.plot(t[1:], gaps[name][1:], color=f"C{k}", label=f"{name}: certified gap")
        lowest = np.maximum(falling[name][1:], 1e-9)
        right.plot(t[1:], lowest, color=f"C{k}", lw=0.8, ls="--", label=f"{name}: P - P*")
    left.set(xscale="log", yscale="log", xlabel="eps", ylabel="steps to P - P* <= eps")
    right.set(xscale="log", yscale="log", xlabel="steps, mu falling", ylim=(1e-6, 2))
    for ax in (left, right):
        ax.grid(alpha=0.3)
        ax.legend(frameon=False, fontsize=8)
    last = min(row["eps"] for row in rows if row["eps"] >= 0.001)
    at_last = [row for row in rows if row["eps"] == last]
    count, own = (
        {row["method"]: row[key] for row in at_last} for key in ("steps", "steps_mu_falling")
    )
    sentence = (
        f"Steps grow like eps^-{slopes['AGD']:.2f} with acceleration and eps^-{slopes['GD']:.2f} "
        f"without; at eps = {last:g} that is {count['AGD']:,.0f} against {count['GD']:,.0f}, and "
        f"{own['AGD']:,.0f} against {own['GD']:,.0f} when mu falls by itself."
    )
    facts = {"seconds": time.perf_counter() - started, "slopes": slopes, "steps": count}
    return Found(rows, facts, aligned(table), sentence, figure)
