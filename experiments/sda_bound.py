r"""How many updates does sequential dual ascent take, beside the printed and the corrected bound?

The lecture bounds the updates of steepest ascent (BCFW) and near maximal gain (FASOLE), both made
only where G_i > eps, by T = 8 l_max Dm^2/(eps^2 lam). Full steps gain eps/(2m) only, so the bound
is max{T, 2 m l_max/eps} for steepest ascent (erratum F12), and max{4 T, 4 m k l_max/eps} for near
maximal gain with k labels of mass (F13). Digits as classes for all lambdas and eps; where the words
are here, OCR as chains too. Right: what each update gained, over the least gain the proof allows,
min(eps^2 lam/(8 Dm^2), eps/(2m)) and for FASOLE min(eps^2 lam/(32 Dm^2), eps/(4 m k)).
"""

import time
from typing import Any

import numpy as np

import jaxopt_svm as js
from experiments.budget import each
from experiments.common import Found, set_up
from experiments.figures import bound, dress, new_figure
from jaxopt_svm.data import load_structured
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

LAMS = np.array([100.0, 1.0, 0.1, 0.01])
EPSILONS = (0.5, 0.2, 0.1, 0.05)
METHODS = {"steepest": js.BCFW, "near maximal gain": js.FASOLE}


def tasks(quick: bool) -> list[tuple[str, Any, int]]:
    """name, problem, and the most labels with mass beside the best one that an example can have."""
    X, y = need("sklearn.datasets", "the digits").load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    some = 200 if quick else 1000
    found = [("digits", js.make_multiclass(X[:some], y[:some]), 9)]
    if not quick:
        try:
            words = load_structured("ocr")
            some = words.train.X[:500], words.train.y[:500]
            found.append(("OCR", js.make_chain(*some, classes=words.classes), 0))
        except FileNotFoundError:
            pass
    return found


def bounds(problem, lam: float, eps: float, rule: str, labels: int) -> tuple[float, float]:
    """Printed and corrected; nan where the number of labels has no useful limit."""
    limits = problem.limits()
    Dm, lost, m = float(limits.feature), float(limits.loss), problem.n
    printed = 8 * lost * Dm**2 / (eps**2 * lam)
    if rule == "steepest":
        return printed, max(printed, 2 * m * lost / eps)
    return printed, max(4 * printed, 4 * m * labels * lost / eps) if labels else np.nan


def counts(task, rule: str, eps: float, most: int) -> list[dict[str, Any]]:
    """Updates until a pass without one, all lambdas as lanes; eps is no new program."""
    name, problem, labels = task
    rows, method = [], METHODS[rule](js.Cyclic(), eps=eps)
    grid = js.sweep(problem, LAMS, method, rtol=0.0, max_passes=most)
    for k, lam in enumerate(LAMS):
        printed, corrected = bounds(problem, lam, eps, rule, labels)
        updates = float(np.nanmax(np.asarray(grid.trace.updates[k])))
        row = {"data": name, "rule": rule, "lam": lam, "eps": eps, "updates": updates}
        row |= {"printed": printed, "corrected": corrected}
        rows.append(row | {"ended": str(grid.status[k]) != "max_passes"})
    return rows


def gains(problem, lam: float, eps: float, rule: str, labels: int, passes: int) -> np.ndarray:
    """What each update gained over the least that the proof allows."""
    one = problem.with_lam(lam)
    limits, m = one.limits(), problem.n
    least = min(eps**2 * lam / (8 * float(limits.feature) ** 2), eps / (2 * m))
    if rule != "steepest":
        least = min(eps**2 * lam / (32 * float(limits.feature) ** 2), eps / (4 * m * labels))
    method = METHODS[rule](js.Cyclic(), eps=eps, block=1)
    trace = js.run(one, method, passes=passes, within=m)[1]
    updates, dual = np.asarray(trace.updates, float), np.asarray(trace.dual, float)
    return np.diff(dual)[np.diff(updates) > 0] / least


def main(*, quick: bool = False) -> Found:
    set_up()
    started, rows = time.perf_counter(), []
    epsilons = EPSILONS[:2] if quick else EPSILONS
    cases = [(task, rule, eps) for task in tasks(quick) for rule in METHODS for eps in epsilons]
    tell = lambda case: f"{case[0][0]}, {case[1]}, eps = {case[2]:g}"
    for task, rule, eps in each(cases, "", tell):
        rows += counts(task, rule, eps, 100 if quick else 400)
    figure = new_figure(figsize=(14, 4.4))
    axes = figure.subplots(1, 3)
    for ax, rule in zip(axes, METHODS):
        for k, eps in enumerate(epsilons):
            mine = [r for r in rows if (r["data"], r["rule"], r["eps"]) == ("digits", rule, eps)]
            lams = [r["lam"] for r in mine]
            ax.plot(lams, [r["updates"] for r in mine], "o-", color=f"C{k}", label=f"eps = {eps:g}")
            shown = "corrected bound" if k == 0 else None
            bound(ax, lams, [r["corrected"] for r in mine], shown, f"C{k}")
            shown = "printed bound" if k == 0 else None
            ax.plot(lams, [r["printed"] for r in mine], "--", lw=1, color=f"C{k}", label=shown)
        dress(ax, "lambda", "updates until G_i <= eps for all i", f"digits, {rule}")
    # every single update of a smaller problem, looked at one by one
    X, y = need("sklearn.datasets", "the digits").load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    small = js.make_multiclass(X[:100], y[:100])
    least = {}
    cases = [(rule, lam) for rule in METHODS for lam in ((100.0,) if quick else (100.0, 1.0, 0.1))]
    for k, (rule, lam) in enumerate(each(cases, "gains", lambda c: f"{c[0]}, lambda {c[1]:g}")):
        ratio = gains(small, lam, 0.2, rule, 9, 4 if quick else 12)
        least[f"{rule}, lambda = {lam:g}"] = float(ratio.min())
        style = "-" if rule == "steepest" else "--"
        label = f"{rule}, lambda = {lam:g}"
        axes[2].plot(1 + np.arange(len(ratio)), ratio, style, color=f"C{k}", lw=1, label=label)
    axes[2].set_ylim(0.02, None)
    axes[2].axhline(1.0, color="0.2", ls=":", lw=1.4, label="the proof's least gain")
    dress(axes[2], "update", "gain / least gain of the proof", "100 digits, eps = 0.2")
    broken = [r for r in rows if r["updates"] > r["printed"]]
    over = [r for r in rows if r["updates"] > r["corrected"]]
    done = [r for r in rows if r["ended"]]
    share = max(r["updates"] / r["corrected"] for r in rows if np.isfinite(r["corrected"]))
    table = [["data", "rule", "lambda", "eps", "updates", "printed", "corrected"]]
    for r in rows:
        shown = f"{r['updates']:,.0f}" + ("" if r["ended"] else " (not done)")
        line = [r["data"], r["rule"], f"{r['lam']:g}", f"{r['eps']:g}", shown]
        table.append([*line, f"{r['printed']:,.1f}", f"{r['corrected']:,.0f}"])
    first = max(broken, key=lambda r: r["updates"] / r["printed"], default=None)
    example = (
        "nowhere"
        if first is None
        else f"in {len(broken)} of {len(rows)} cases, at most by {first['updates']:,.0f} updates "
        f"for {first['printed']:.2g} (lambda = {first['lam']:g}, eps = {first['eps']:g})"
    )
    sentence = (
        f"The printed bound is exceeded {example}; the corrected one in {len(over)}, and the most "
        f"that was used of it is {share:.2g}. {len(done)} of {len(rows)} runs ended with a pass "
        f"without an update. The least gain of an update was {min(least.values()):.3g} times what "
        "the proof allows."
    )
    facts = {"seconds": time.perf_counter() - started, "least_gains": least}
    return Found(rows, facts, aligned(table, (0, 1)), sentence, figure)
