"""Which dual method closes the gap soonest, dense and sparse, for four lambdas at once?

Every dual method on Covertype (50,000 rows) and on the 20 Newsgroups stand-in for rcv1, smoothed
hinge, four lambdas as lanes of one sweep, float32. The gap is drawn against row touches / n, the
bound of SDCA and of Quartz beside their traces.
"""

import time
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

LAMS = np.array([1e-2, 1e-3, 1e-4, 1e-5])
ASKED = 1e-3
SECONDS = 440.0
PASSES = 64
METHODS = {
    "sdca": js.SDCA(),
    "iprox_sdca": js.iprox_sdca(),
    "msdca": js.msdca(16),
    "disdca": js.DisDCA(4, 32),
    "quartz I": js.Quartz(),
    "quartz II": js.Quartz(option=2),
    "asdca": js.ASDCA(),
    "spdc": js.SPDC(),
    "apcg": js.APCG(),
    "accprox_sdca": js.AccProxSDCA(),
    "sdna": js.SDNA(16, 2),
}
SPARSE = METHODS | {"spdc": js.SPDC(js.Nice(64)), "disdca": js.DisDCA(4, 256)}
QUICK = {name: METHODS[name] for name in ("sdca", "quartz I", "apcg", "sdna")}
WITH_BOUND = ("sdca", "quartz I")


def sets(quick: bool):
    """name, X, y, methods; a stand-in is called one."""
    n = 50_000
    if quick:
        data = load("synthetic:2000:54")
        yield "synthetic, 2,000 rows", data.X.astype(np.float32), data.y, QUICK
        return
    try:
        data = load("covtype-100k")
        yield f"covtype, {n:,} rows", data.X[:n], data.y[:n], METHODS
    except FileNotFoundError:
        data = load(f"synthetic:{n}:54")
        yield f"synthetic, {n:,} rows", data.X.astype(np.float32), data.y, METHODS
    try:
        data = load("newsgroups")
    except FileNotFoundError:
        return
    n = len(data.y)
    yield f"newsgroups (for rcv1), {n:,} texts", data.X.astype(np.float32), data.y, SPARSE


def rows_of(data: str, name: str, problem, method, grid: js.Solution) -> list[dict[str, Any]]:
    """One record for each lambda and each certificate."""
    rows = []
    for k, lam in enumerate(LAMS):
        bound = None
        if name in WITH_BOUND:
            bound = method.bound(problem.with_lam(lam), jnp.asarray(grid.trace.updates[k]))
        for r in np.flatnonzero(np.isfinite(grid.trace.gap[k])):
            row = {"data": data, "method": name, "lam": lam, "work": grid.trace.work[k][r]}
            row |= {"gap": grid.trace.gap[k][r], "primal": grid.trace.primal[k][r]}
            row["bound"] = None if bound is None else float(bound[r])
            rows.append(row | {"seconds": grid.trace.seconds[k][r]})
    return rows


def picture(rows: list[dict[str, Any]], names: list[str]):
    data_names = list(dict.fromkeys(row["data"] for row in rows))
    figure = new_figure(figsize=(15, 4 * len(data_names)))
    axes = figure.subplots(len(data_names), len(LAMS), sharey=True, squeeze=False)
    colours = {name: f"C{k % 10}" for k, name in enumerate(names)}
    for i, data in enumerate(data_names):
        for j, lam in enumerate(LAMS):
            ax = axes[i, j]
            for k, name in enumerate(names):
                mine = [r for r in rows if (r["data"], r["method"], r["lam"]) == (data, name, lam)]
                work = np.array([r["work"] for r in mine])
                relative = np.array([r["gap"] / r["primal"] for r in mine])
                style = "-" if k < 10 else "--"
                # wide, because Quartz with option I moves alpha as SDCA does and covers it
                width = 4.0 if name == "sdca" else 1.5
                shown = np.maximum(relative, 1e-9)
                ax.plot(work, shown, style, color=colours[name], lw=width, label=name)
                if name in WITH_BOUND and mine:
                    bound = np.array([r["bound"] / r["primal"] for r in mine])
                    ax.plot(work, np.minimum(bound, 30), ":", color=colours[name], lw=1)
            ax.axhline(ASKED, color="0.6", lw=0.8)
            ax.set(xscale="symlog", yscale="log", ylim=(1e-5, 30), xlim=(0, None))
            ax.set_title(f"{data}\nlambda = {lam:g}", fontsize=9)
            ax.set_xlabel("row touches / n")
            ax.grid(alpha=0.3)
        axes[i, 0].set_ylabel("certified relative gap (dotted: bound)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6)
    return figure


def reached(rows, data, name, lam):
    """Row touches / n until the relative gap is as asked, or None."""
    mine = [r for r in rows if (r["data"], r["method"], r["lam"]) == (data, name, lam)]
    found = [r["work"] for r in mine if r["gap"] <= ASKED * r["primal"]]
    return min(found) if found else None


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    started, budget, rows, skipped = time.perf_counter(), 15.0 if quick else SECONDS, [], []
    for data, X, y, methods in sets(quick):
        problem = js.make_erm(X, y, loss=js.SmoothHinge(0.5))
        bar = need("tqdm", "a progress bar").tqdm(methods.items(), desc=data, leave=False)
        for name, method in bar:
            if time.perf_counter() - started > budget:
                skipped.append(f"{name} on {data}")
                continue
            passes = 8 if quick else PASSES
            grid = js.sweep(problem, LAMS, method, rtol=ASKED / 3, max_passes=passes)
            rows += rows_of(data, name, problem, method, grid)
    names = [name for name in METHODS if any(row["method"] == name for row in rows)]
    data_names = list(dict.fromkeys(row["data"] for row in rows))
    show = lambda x: "-" if x is None else f"{x:.0f}"
    text, wins = [], []
    for data in data_names:
        table = [["method", *(f"lambda {lam:g}" for lam in LAMS)]]
        for name in names:
            table.append([name, *(show(reached(rows, data, name, lam)) for lam in LAMS)])
        text.append(
            f"{data}: row touches / n to a relative gap of {ASKED:g}\n" + aligned(table, (0,))
        )
        for lam in LAMS:
            costs = {n: reached(rows, data, n, lam) for n in names}
            known = {n: c for n, c in costs.items() if c is not None}
            best = min(known, key=lambda n: known[n]) if known else "none"
            wins.append(f"{best} at {lam:g}")
        wins[-len(LAMS)] = f"on {data} " + wins[-len(LAMS)]
    sentence = "Fewest row touches to the gap asked for: " + ", ".join(wins) + "."
    if skipped:
        sentence += f" The time budget of {budget:g} s left out: {', '.join(skipped)}."
    facts = {"seconds": time.perf_counter() - started, "skipped": skipped}
    return Found(rows, facts, "\n\n".join(text), sentence, picture(rows, names))
