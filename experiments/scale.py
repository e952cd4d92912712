r"""What would 10^8 examples of 4,096 features cost? A measured model, extrapolated on paper.

The cost of a pass of block SDCA (float32, hinge) is measured for several d and numbers k of
lambdas and fitted, in ns per example, as a + b d + c k + e k d: Gram matrices are shared by the
lambdas (b), margins and lifts are not (e). Then, on paper, a mesh of K nodes, each as fast as this
machine, in two plans. Rows split: DisDCA; a tenth of its rows visited, a node takes part in an
all-reduce of k d numbers; its passes grow with K, measured up to 64 nodes and continued by a power
law. Columns split: the same SDCA; for every block of B rows the nodes add up their parts of its
Gram matrix and of k margins, B (B + k) numbers, and all of them make the visits (a, c).
Assumed, not measured: NETWORK bytes a second, LATENCY seconds an exchange for each doubling of the
nodes, MEMORY bytes a node, no stragglers or failures, and rows that need as many passes at lambda
= 1/n as those measured, whatever n and d (whether they depend on n is measured).
"""

import time
from itertools import product
from typing import Any

import numpy as np

import jaxopt_svm as js
from experiments.budget import each
from experiments.common import Found, compiled_passes, rounds, set_up
from experiments.figures import dress, new_figure
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

N, D = 10**8, 4096
NETWORK, LATENCY, MEMORY = 12.5e9, 2e-5, 64e9
ROUNDS, ASKED, PEERS = 10, 1e-3, (1, 32)  # ROUNDS of exchange a pass
PLANS = ("rows split", "columns split")


def measured(sizes, lanes, repeats: int) -> list[dict[str, Any]]:
    """Seconds of a pass, for each d and k; all in turn, so that other work falls on all alike."""
    calls, labels = [], []
    for n, d in sizes:
        data = load(f"synthetic:{n}:{d}")
        problem = js.make_erm(data.X.astype(np.float32), data.y)
        for k in lanes:
            grid = problem.with_lam(1e-3 if k == 1 else js.lam_grid(1e-4, 1e-1, k))
            calls.append(compiled_passes(grid, js.SDCA(), 2)[0])
            labels.append((n, d, k))
    times = rounds(calls, repeats)
    return [
        {"kind": "pass", "n": n, "d": d, "lambdas": k, "ns": min(mine) / 2 / n * 1e9}
        for (n, d, k), mine in zip(labels, times)
    ]


def features(d, k) -> np.ndarray:
    d, k = np.asarray(d, float), np.asarray(k, float)
    return np.stack([np.ones_like(d), d, k, k * d], axis=-1)


def fitted(rows: list[dict[str, Any]]) -> np.ndarray:
    """a, b, c, e >= 0, least squares of the relative error."""
    A = features([r["d"] for r in rows], [r["lambdas"] for r in rows])
    ns = np.array([r["ns"] for r in rows])
    return need("scipy.optimize", "the fit").nnls(A / ns[:, None], np.ones(len(ns)))[0]


def passes_to(X, y, method: Any, lam: float) -> float:
    """Passes to the relative gap asked for."""
    one = js.solve(js.make_erm(X, y, lam=lam), method, rtol=ASKED, max_passes=400)
    return float(one.passes) if str(one.status) == "converged" else np.inf


def rows_of(n: int) -> tuple[str, np.ndarray, np.ndarray]:
    try:
        data = load("covtype-100k")
        return "covtype", np.asarray(data.X[:n], np.float32), data.y[:n]
    except FileNotFoundError:
        data = load(f"synthetic:{n}:54")
        return "synthetic", data.X.astype(np.float32), data.y


def paper(
    plan: str, model: np.ndarray, k: int, nodes: int, passes: float, growth: float
) -> dict[str, Any]:
    """Hours to the gap asked for, and their parts, for k lambdas on a mesh."""
    a, b, c, e = model
    latency = LATENCY * np.log2(max(nodes, 2))
    if plan == "rows split":
        total = passes * nodes**growth
        compute = total * N / nodes * (a + b * D + c * k + e * k * D) * 1e-9
        exchange = total * ROUNDS * (2 * 4 * k * D / NETWORK + latency)
        memory = 4.0 * N * (D + k) / nodes + 4.0 * k * D
    else:
        total, block = passes, BLOCK
        compute = total * N * (a + c * k + (b * D + e * k * D) / nodes) * 1e-9
        exchange = total * N / block * (2 * 4 * block * (block + k) / NETWORK + latency)
        memory = 4.0 * N * (D / nodes + k)  # every node has all alphas
    found = {"plan": plan, "nodes": nodes, "lambdas": k, "passes": total}
    found |= {"compute_hours": compute / 3600, "exchange_hours": exchange / 3600}
    return found | {"memory_per_node": memory}


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    started = time.perf_counter()
    sizes = (
        [(2000, 64), (2000, 512)]
        if quick
        else [(8000, 64), (8000, 256), (8000, 1024), (4000, 4096)]
    )
    rows = measured(sizes, (1, 8, 32), 3 if quick else 7)
    model = fitted(rows)
    for row in rows:
        row["model_ns"] = float(features(row["d"], row["lambdas"]) @ model)
    wrong = max(abs(row["model_ns"] / row["ns"] - 1) for row in rows)
    # passes: whether they depend on n at lambda = 1/n, and on the number of nodes
    ns = (1000, 2000) if quick else (5000, 20_000, 80_000)
    name, X, y = rows_of(ns[-1])
    by_n, by_nodes = {}, {}
    for n in each(ns, "passes, n ="):
        by_n[n] = passes_to(X[:n], y[:n], js.SDCA(), 1 / n)
        rows.append({"kind": "passes by n", "n": n, "passes": by_n[n]})
    some = ns[0] if quick else 20_000
    for nodes in each((1, 4) if quick else (1, 4, 16, 64), "passes, nodes ="):
        local = max(1, some // nodes // ROUNDS)
        by_nodes[nodes] = passes_to(X[:some], y[:some], js.DisDCA(nodes, local), 1 / some)
        rows.append(
            {"kind": "passes by nodes", "n": some, "nodes": nodes, "passes": by_nodes[nodes]}
        )
    seen = {k: p for k, p in by_nodes.items() if np.isfinite(p)}
    growth = 0.0
    if len(seen) > 1:
        growth = max(0.0, float(np.polyfit(np.log(list(seen)), np.log(list(seen.values())), 1)[0]))
    base = max(p for p in by_n.values())
    least = int(np.ceil(4.0 * N * (D + max(PEERS)) / MEMORY))
    meshes = np.unique(np.geomspace(least, 64 * least, 7).astype(int))
    plans = [
        paper(plan, model, k, int(nodes), base, growth)
        for plan in PLANS
        for k in PEERS
        for nodes in meshes
    ]
    rows += [{"kind": "paper", "n": N, "d": D} | plan for plan in plans]
    figure = new_figure(figsize=(12, 4.4))
    left, right = figure.subplots(1, 2)
    for j, k in enumerate((1, 8, 32)):
        mine = [r for r in rows if r["kind"] == "pass" and r["lambdas"] == k]
        left.plot(
            [r["d"] for r in mine],
            [r["ns"] for r in mine],
            "o",
            color=f"C{j}",
            label=f"{k} lambda{'s' * (k > 1)}",
        )
        left.plot([r["d"] for r in mine], [r["model_ns"] for r in mine], ":", color=f"C{j}")
    dress(left, "features d", "ns per example of a pass", "measured (dots) and model (dotted)")
    for j, (plan, k) in enumerate(product(PLANS, PEERS)):
        mine = [p for p in plans if (p["plan"], p["lambdas"]) == (plan, k)]
        at = [p["nodes"] for p in mine]
        hours = [p["compute_hours"] + p["exchange_hours"] for p in mine]
        label = f"{plan}, {k} lambda{'s' * (k > 1)}"
        right.plot(at, hours, "o-", color=f"C{j}", label=label)
        right.plot(at, [p["exchange_hours"] for p in mine], "--", color=f"C{j}")
    title = f"on paper: 10^8 x {D:,}, relative gap {ASKED:g}"
    dress(
        right,
        f"nodes (at least {least} for {MEMORY / 1e9:.0f} GB each)",
        "hours (dashed: exchange)",
        title,
    )
    table = [["plan", "nodes", "lambdas", "passes", "compute h", "exchange h", "GB a node"]]
    for p in plans:
        line = [p["plan"], f"{p['nodes']:,}", str(p["lambdas"]), f"{p['passes']:.0f}"]
        line += [f"{p['compute_hours']:.3g}", f"{p['exchange_hours']:.3g}"]
        table.append([*line, f"{p['memory_per_node'] / 1e9:.1f}"])
    a, b, c, e = model
    first = {(p["plan"], p["lambdas"]): p for p in reversed(plans)}  # on the smallest mesh
    hours = lambda *which: first[which]["compute_hours"] + first[which]["exchange_hours"]
    each_plan = "; ".join(
        f"{plan} {hours(plan, 1):.3g} hours for one lambda, {hours(plan, PEERS[1]):.3g} for "
        f"{PEERS[1]} together"
        for plan in PLANS
    )
    told = ", ".join(f"{n:,}: {p:.0f}" for n, p in by_n.items())
    spread = ", ".join(
        f"{n}: {p:.0f}" if np.isfinite(p) else f"{n}: > 400" for n, p in by_nodes.items()
    )
    sentence = (
        f"A pass costs {a:.3g} + {b:.3g} d + {c:.3g} k + {e:.3g} k d ns per example (worst "
        f"relative error {wrong:.0%}); passes to {ASKED:g} at lambda = 1/n on {name} by n are "
        f"{told}, by nodes of DisDCA {spread} (exponent {growth:.2f}). On paper 10^8 x {D:,} needs "
        f"{least} nodes, and there {each_plan}."
    )
    facts = {"seconds": time.perf_counter() - started, "model": model.tolist(), "growth": growth}
    return Found(rows, facts, aligned(table, (0,)), sentence, figure)
