"""Many methods on the same problems: a sweep each, gap against row touches, and who was first."""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import jaxopt_svm as js
from experiments.budget import budget
from experiments.common import Found, set_up
from experiments.figures import bound, dress, grey_line, new_figure
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

__all__ = ["Zoo", "compare"]

LAMS = np.array([1e-2, 1e-3, 1e-4, 1e-5])
PASSES = 48


class Zoo(NamedTuple):
    """dense, sparse, quick: methods by name for each kind of data. loss: of all problems.
    asked: the relative gap to reach. with_bound: methods whose bound is drawn. bold: drawn wide,
    for a curve that another one covers. dashed: a second kind of methods. passes_scale: of the
    axis; "linear" shows linear rates as straight lines, "symlog" the first passes in detail.
    """

    dense: dict[str, Any]
    sparse: dict[str, Any]
    quick: dict[str, Any]
    loss: Any
    asked: float = 1e-3
    with_bound: tuple[str, ...] = ()
    bold: str = ""
    dashed: tuple[str, ...] = ()
    passes_scale: str = "symlog"


def sets(zoo: Zoo, quick: bool) -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """name, X, y, methods; a stand-in is called one."""
    n = 50_000
    if quick:
        data = load("synthetic:2000:54")
        yield "synthetic (2,000 rows)", data.X.astype(np.float32), data.y, zoo.quick
        return
    try:
        data = load("covtype-100k")
        yield f"covtype ({n:,} rows)", data.X[:n], data.y[:n], zoo.dense
    except FileNotFoundError:
        data = load(f"synthetic:{n}:54")
        yield f"synthetic ({n:,} rows)", data.X.astype(np.float32), data.y, zoo.dense
    try:
        data = load("newsgroups")
    except FileNotFoundError:
        return
    n = len(data.y)
    yield f"newsgroups, for rcv1 ({n:,} texts)", data.X.astype(np.float32), data.y, zoo.sparse


def rows_of(data: str, name: str, problem, method, bounded, grid) -> list[dict[str, Any]]:
    """One record for each lambda and each certificate."""
    rows = []
    for k, lam in enumerate(LAMS):
        promised = None
        if bounded:
            promised = method.bound(problem.with_lam(lam), jnp.asarray(grid.trace.updates[k]))
        for r in np.flatnonzero(np.isfinite(grid.trace.gap[k])):
            primal = grid.trace.primal[k][r]
            row = {"data": data, "method": name, "lam": lam, "work": grid.trace.work[k][r]}
            row |= {"primal": primal, "relative_gap": grid.trace.gap[k][r] / primal}
            row["relative_bound"] = None if promised is None else float(promised[r]) / primal
            rows.append(row | {"seconds": grid.trace.seconds[k][r]})
    return rows


def looks(names: list[str], zoo: Zoo) -> dict[str, dict[str, Any]]:
    """A colour and a line for each method; the second kind has colours of its own, dashed."""
    found, count = {}, {False: 0, True: 0}
    for name in names:
        dashed = name in zoo.dashed
        k = count[dashed]
        count[dashed] += 1
        line = "--" if dashed else ("-", "-.", (0, (1, 1)))[k // 10]
        found[name] = {"color": f"C{k % 10}", "ls": line, "lw": 4.0 if name == zoo.bold else 1.5}
    return found


def picture(rows: list[dict[str, Any]], names: list[str], zoo: Zoo):
    data_names = list(dict.fromkeys(row["data"] for row in rows))
    figure = new_figure(figsize=(15, 4 * len(data_names) + 0.8))
    axes = figure.subplots(len(data_names), len(LAMS), sharey=True, squeeze=False)
    handles, look = {}, looks(names, zoo)
    dotted = " (dotted: bound)" if zoo.with_bound else ""
    for i, data in enumerate(data_names):
        for j, lam in enumerate(LAMS):
            ax = axes[i, j]
            for name in names:
                mine = of(rows, data, name, lam)
                if not mine:
                    continue
                work = np.array([r["work"] for r in mine])
                relative = np.array([r["relative_gap"] for r in mine])
                (line,) = ax.plot(work, np.maximum(relative, 1e-9), **look[name])
                handles.setdefault(name, line)
                if name in zoo.with_bound:
                    promised = np.array([r["relative_bound"] for r in mine])
                    promised[promised > 30] = np.nan
                    bound(ax, work, promised, None, look[name]["color"])
            grey_line(ax, zoo.asked)
            left = f"certified relative gap{dotted}" if j == 0 else ""
            title = f"{data}\nlambda = {lam:g}"
            dress(ax, "row touches / n", left, title, log="y", legend=False)
            ax.set(xscale=zoo.passes_scale, ylim=(zoo.asked / 100, 30))
            # up to where the last of those that arrive does; the others' start is seen as well
            costs = [reached(rows, data, name, lam, zoo.asked) for name in names]
            ends = [cost for cost in costs if cost is not None]
            ax.set_xlim(0, max(10.0, 1.1 * max(ends)) if ends else None)
            ax.xaxis.set_major_formatter("{x:g}")
    columns = -(-len(handles) // -(-len(handles) // 10))  # rows of about the same length
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns)
    return figure


def of(rows, data, name, lam):
    """The records of one curve."""
    return [r for r in rows if (r["data"], r["method"], r["lam"]) == (data, name, lam)]


def reached(rows, data, name, lam, asked):
    """Row touches / n until the relative gap is as asked; None if it never was."""
    found = [r["work"] for r in of(rows, data, name, lam) if r["relative_gap"] <= asked]
    return min(found) if found else None


def compare(zoo: Zoo, quick: bool) -> Found:
    """Sweep every method over four lambdas, float32; each data set has its share of the time."""
    set_up(x64=False)
    started, rows, clock = time.perf_counter(), [], budget()
    chosen = list(sets(zoo, quick))
    for k, (data, X, y, methods) in enumerate(chosen):
        until = clock.share * clock.seconds * (k + 1) / len(chosen)
        problem = js.make_erm(X, y, loss=zoo.loss)
        bar = need("tqdm", "a progress bar").tqdm(methods.items(), desc=data, leave=False)
        for name, method in bar:
            if clock.spent > until:
                clock.left_out.append(f"{name} on {data}")
                continue
            # a pass of an epoch method is several passes over the data
            passes = max(1, int((8 if quick else PASSES) / method.spent(problem).work))
            grid = js.sweep(problem, LAMS, method, rtol=zoo.asked / 3, max_passes=passes)
            rows += rows_of(data, name, problem, method, name in zoo.with_bound, grid)
    known = dict.fromkeys([*zoo.dense, *zoo.sparse, *zoo.quick])
    names = [name for name in known if any(row["method"] == name for row in rows)]
    text, sentence = summary(rows, names, zoo.asked)
    sentence += beside_bound(rows, zoo.with_bound)
    facts = {"seconds": time.perf_counter() - started, "skipped": clock.left_out}
    return Found(rows, facts, text, sentence, picture(rows, names, zoo))


def summary(rows, names, asked: float) -> tuple[str, str]:
    """A table for each data set, and who needed least."""
    show = lambda x: "-" if x is None else f"{x:.0f}"
    text, wins = [], []
    for data in dict.fromkeys(row["data"] for row in rows):
        table, found = [["method", *(f"lambda {lam:g}" for lam in LAMS)]], []
        here = [name for name in names if of(rows, data, name, LAMS[0])]
        for name in here:
            table.append([name, *(show(reached(rows, data, name, lam, asked)) for lam in LAMS)])
        title = f"{data}: row touches / n to a relative gap of {asked:g}"
        text.append(title + "\n" + aligned(table, (0,)))
        for lam in LAMS:
            costs = {n: reached(rows, data, n, lam, asked) for n in here}
            known = {n: c for n, c in costs.items() if c is not None}
            best = min(known, key=lambda n: known[n]) if known else None
            shown = "nobody" if best is None else f"{best} ({known[best]:.0f})"
            found.append(f"{shown} at lambda = {lam:g}")
        wins.append(f"on {data} {', '.join(found)}")
    sentence = f"Fewest row touches / n to a relative gap of {asked:g}: {'; '.join(wins)}."
    return "\n\n".join(text), sentence


def beside_bound(rows, names: tuple[str, ...]) -> str:
    """The largest share of a bound that was measured, and where it was exceeded, if it was."""
    parts = []
    for name in names:
        # after the start, where some bounds are the gap itself
        mine = [r for r in rows if r["method"] == name and r["work"] > 0]
        over = [r for r in mine if r["relative_gap"] > r["relative_bound"]]
        if mine:
            most = max(r["relative_gap"] / r["relative_bound"] for r in mine)
            parts.append(f"{name} at most {most:.2g} of its bound")
        if over:  # the bound is on a mean, this is one run, and float32 has a floor
            where = ", ".join(dict.fromkeys(f"lambda = {r['lam']:g} on {r['data']}" for r in over))
            parts[-1] += f", above it in {len(over)} of {len(mine)} records ({where})"
    return f" The gap of {' and of '.join(parts)}." if parts else ""
