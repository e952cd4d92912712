"""Many methods on the same problems: a sweep each, gap against row touches, and who was first."""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

__all__ = ["Zoo", "compare"]

LAMS = np.array([1e-2, 1e-3, 1e-4, 1e-5])
ASKED = 1e-3
SECONDS = 440.0
PASSES = 64


class Zoo(NamedTuple):
    """dense, sparse, quick: methods by name for each kind of data. bold: drawn wide, for a curve
    that another one covers. with_bound: methods whose bound is drawn. loss: of all problems.
    """

    dense: dict[str, Any]
    sparse: dict[str, Any]
    quick: dict[str, Any]
    with_bound: tuple[str, ...]
    bold: str
    loss: Any


def sets(zoo: Zoo, quick: bool) -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """name, X, y, methods; a stand-in is called one."""
    n = 50_000
    if quick:
        data = load("synthetic:2000:54")
        yield "synthetic, 2,000 rows", data.X.astype(np.float32), data.y, zoo.quick
        return
    try:
        data = load("covtype-100k")
        yield f"covtype, {n:,} rows", data.X[:n], data.y[:n], zoo.dense
    except FileNotFoundError:
        data = load(f"synthetic:{n}:54")
        yield f"synthetic, {n:,} rows", data.X.astype(np.float32), data.y, zoo.dense
    try:
        data = load("newsgroups")
    except FileNotFoundError:
        return
    n = len(data.y)
    yield f"newsgroups (for rcv1), {n:,} texts", data.X.astype(np.float32), data.y, zoo.sparse


def rows_of(data: str, name: str, problem, method, bounded, grid) -> list[dict[str, Any]]:
    """One record for each lambda and each certificate."""
    rows = []
    for k, lam in enumerate(LAMS):
        bound = None
        if bounded:
            bound = method.bound(problem.with_lam(lam), jnp.asarray(grid.trace.updates[k]))
        for r in np.flatnonzero(np.isfinite(grid.trace.gap[k])):
            row = {"data": data, "method": name, "lam": lam, "work": grid.trace.work[k][r]}
            row |= {"gap": grid.trace.gap[k][r], "primal": grid.trace.primal[k][r]}
            row["bound"] = None if bound is None else float(bound[r])
            rows.append(row | {"seconds": grid.trace.seconds[k][r]})
    return rows


def picture(rows: list[dict[str, Any]], names: list[str], zoo: Zoo):
    data_names = list(dict.fromkeys(row["data"] for row in rows))
    figure = new_figure(figsize=(15, 4 * len(data_names)))
    axes = figure.subplots(len(data_names), len(LAMS), sharey=True, squeeze=False)
    handles = {}
    for i, data in enumerate(data_names):
        for j, lam in enumerate(LAMS):
            ax = axes[i, j]
            for k, name in enumerate(names):
                mine = [r for r in rows if (r["data"], r["method"], r["lam"]) == (data, name, lam)]
                if not mine:
                    continue
                work = np.array([r["work"] for r in mine])
                relative = np.array([r["gap"] / r["primal"] for r in mine])
                look = {"color": f"C{k % 10}", "ls": ("-", "--", "-.")[k // 10]}
                width = 4.0 if name == zoo.bold else 1.5
                (line,) = ax.plot(work, np.maximum(relative, 1e-9), lw=width, **look)
                handles.setdefault(name, line)
                if name in zoo.with_bound:
                    bound = np.array([r["bound"] / r["primal"] for r in mine])
                    ax.plot(work, np.minimum(bound, 30), ":", color=look["color"], lw=1)
            ax.axhline(ASKED, color="0.6", lw=0.8)
            ax.set(xscale="symlog", yscale="log", ylim=(1e-5, 30), xlim=(0, None))
            ax.set_title(f"{data}\nlambda = {lam:g}", fontsize=9)
            ax.set_xlabel("row touches / n")
            ax.grid(alpha=0.3)
        axes[i, 0].set_ylabel("certified relative gap (dotted: bound)")
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=9)
    return figure


def reached(rows, data, name, lam, unit: str):
    """Row touches / n, or seconds, until the relative gap is as asked; None if it never was."""
    mine = [r for r in rows if (r["data"], r["method"], r["lam"]) == (data, name, lam)]
    found = [r[unit] for r in mine if r["gap"] <= ASKED * r["primal"]]
    return min(found) if found else None


def compare(zoo: Zoo, quick: bool) -> Found:
    """Sweep every method over four lambdas, float32, until the time is up."""
    set_up(x64=False)
    started, budget, rows, skipped = time.perf_counter(), 60.0 if quick else SECONDS, [], []
    for data, X, y, methods in sets(zoo, quick):
        problem = js.make_erm(X, y, loss=zoo.loss)
        bar = need("tqdm", "a progress bar").tqdm(methods.items(), desc=data, leave=False)
        for name, method in bar:
            if time.perf_counter() - started > budget:
                skipped.append(f"{name} on {data}")
                continue
            # a pass of an epoch method is several passes over the data
            passes = max(1, int((8 if quick else PASSES) / method.spent(problem).work))
            grid = js.sweep(problem, LAMS, method, rtol=ASKED / 3, max_passes=passes)
            rows += rows_of(data, name, problem, method, name in zoo.with_bound, grid)
    known = dict.fromkeys([*zoo.dense, *zoo.sparse, *zoo.quick])
    names = [name for name in known if any(row["method"] == name for row in rows)]
    text, sentence = summary(rows, names)
    if skipped:
        sentence += f" The time budget of {budget:g} s left out: {', '.join(skipped)}."
    facts = {"seconds": time.perf_counter() - started, "skipped": skipped}
    return Found(rows, facts, text, sentence, picture(rows, names, zoo))


def summary(rows, names) -> tuple[str, str]:
    """A table for each data set, and who needed least."""
    show = lambda x: "-" if x is None else f"{x:.0f}"
    text, wins = [], []
    for data in dict.fromkeys(row["data"] for row in rows):
        table = [["method", *(f"lambda {lam:g}" for lam in LAMS)]]
        for name in names:
            costs = [reached(rows, data, name, lam, "work") for lam in LAMS]
            table.append([name, *map(show, costs)])
        title = f"{data}: row touches / n to a relative gap of {ASKED:g}"
        text.append(title + "\n" + aligned(table, (0,)))
        for k, lam in enumerate(LAMS):
            costs = {n: reached(rows, data, n, lam, "work") for n in names}
            known = {n: c for n, c in costs.items() if c is not None}
            best = min(known, key=lambda n: known[n]) if known else "none"
            wins.append(f"{f'on {data} ' if k == 0 else ''}{best} at {lam:g}")
    sentence = "Fewest row touches to the gap asked for: " + ", ".join(wins) + "."
    return "\n\n".join(text), sentence
