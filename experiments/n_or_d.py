"""Which family wins when examples are many and features few, and which the other way round?

The lecture's question "is the difficulty in n or in d?": dual and finite-sum methods step through
examples, coordinate methods through features. Random rows of one size n d, from n >> d to d >> n,
logistic loss, lambda = 1/n. The unit is a pass, which reads all n d numbers once for every
method, so passes compare; seconds are in the csv.
"""

import time
from typing import Any

import numpy as np

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.report import aligned

ASKED = 1e-4
EXAMPLES = {"sdca": js.SDCA(), "saga": js.SAGA(), "svrg": js.SVRG()}
FEATURES = {"rcdm": js.rcdm(), "pcdm": js.pcdm(8), "approx": js.approx(8)}
COLOURS = {"sdca": "C0", "saga": "C1", "svrg": "C2", "rcdm": "C3", "pcdm": "C4", "approx": "C5"}


def make(n: int, d: int, seed: int = 0) -> js.ERM:
    """Correlated features of uneven scale: neither side is easy by construction."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1)) @ rng.normal(size=(1, d))
    X = (rng.normal(size=(n, d)) + 0.5 * common) * rng.lognormal(0.0, 0.5, size=d)
    X /= np.sqrt(np.mean(np.sum(X * X, axis=1)))
    y = np.where(X @ rng.normal(size=d) + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    return js.make_erm(X, y, loss=js.Logistic(), lam=1.0 / n)


def main(*, quick: bool = False) -> Found:
    set_up()
    started, size, budget = time.perf_counter(), 2**16 if quick else 2**20, 40.0 if quick else 400.0
    shapes = [2**k for k in ((10, 6) if quick else (15, 13, 10, 7, 5))]
    rows: list[dict[str, Any]] = []
    table = [["n x d", *EXAMPLES, *FEATURES, "fewest passes"]]
    for n in shapes:
        d = size // n
        problem = make(n, d)
        cells, seen = [], {}
        for name, method in (EXAMPLES | FEATURES).items():
            if time.perf_counter() - started > budget:
                cells.append("not run")
                continue
            work = method.spent(problem).work
            one = js.solve(problem, method, rtol=ASKED, max_passes=int(600 / work))
            passes = one.passes * work if one.status == "converged" else np.inf
            cells.append(f"{passes:.0f}")
            if np.isfinite(passes):
                seen[name] = passes
            row = {"n": n, "d": d, "method": name, "passes": passes, "status": str(one.status)}
            rows.append(row | {"seconds": float(one.trace.seconds[-1])})
        best = min(seen, key=lambda name: seen[name]) if seen else "none"
        table.append([f"{n:,} x {d:,}", *cells, best])
    figure = new_figure(figsize=(8, 4.5))
    axes = figure.subplots()
    for name, colour in COLOURS.items():
        mine = [r for r in rows if r["method"] == name and np.isfinite(r["passes"])]
        ratio = [r["n"] / r["d"] for r in mine]
        style = "-o" if name in EXAMPLES else "--s"
        axes.plot(ratio, [r["passes"] for r in mine], style, color=colour, label=name, ms=4)
    axes.set(xscale="log", yscale="log", xlabel="n / d", ylabel=f"passes to a gap of {ASKED:g} P")
    axes.set_title("solid: steps through examples; dashed: through features")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    wins = {line[0]: line[-1] for line in table[1:]}
    sentence = "Fewest passes: " + ", ".join(f"{best} at {shape}" for shape, best in wins.items())
    facts = {"seconds": time.perf_counter() - started, "winners": wins}
    return Found(rows, facts, aligned(table, (0,)), sentence + ".", figure)
