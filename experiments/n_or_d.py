"""Which family wins when examples are many and features few, and which the other way round?

The lecture's question "is the difficulty in n or in d?": dual and finite-sum methods step through
examples, coordinate methods through features. Random matrices of one size n d and of falling
singular values, the same law for X and X', logistic loss, from n >> d to d >> n. With
rows of mean squared length 1 the theorems ask for about 1 + 1/(lambda gamma n) passes of SDCA and
1 + 1/(lambda gamma d) of RCDM, times a logarithm, so lambda is kept at 0.1/sqrt(n d), where both
terms matter. The setting was chosen to show the change of places: with singular values falling like
k^(-1/2) and a tenth of this lambda, 16 x 4,096 was a tie (20 passes of SDCA and of RCDM).
A pass reads all n d numbers once for every method; seconds are in the csv.
"""

import time
from typing import Any

import numpy as np

import jaxopt_svm as js
from experiments.budget import each, enough
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.report import aligned

ASKED = 1e-4
MOST = 400
EXAMPLES = {"sdca": js.SDCA(), "saga": js.SAGA(), "svrg": js.SVRG()}
FEATURES = {"rcdm": js.rcdm(), "alpha": js.alpha(), "pcdm": js.pcdm(8)}


def make(n: int, d: int, seed: int = 0) -> js.ERM:
    """Factors of falling weight: neither side is well conditioned, neither is favoured."""
    rng = np.random.default_rng(seed)
    weight = 1.0 / np.arange(1, min(n, d) + 1)
    X = (rng.normal(size=(n, len(weight))) * weight) @ rng.normal(size=(len(weight), d))
    X /= np.sqrt(np.mean(np.sum(X * X, axis=1)))
    y = np.where(X @ rng.normal(size=d) + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    return js.make_erm(X, y, loss=js.Logistic(), lam=0.1 / np.sqrt(n * d))


def measure(size: int, examples: list[int], names) -> list[dict[str, Any]]:
    """One record for each shape and method."""
    rows = []
    for n in examples:
        problem = make(n, size // n)
        for name in each(names, f"n = {n},"):
            method = (EXAMPLES | FEATURES)[name]
            work = method.spent(js.prepare(problem, method)).work
            one = js.solve(problem, method, rtol=ASKED, max_passes=int(MOST / work))
            passes = one.passes * work if one.status == "converged" else np.inf
            row = {"n": n, "d": size // n, "method": name, "passes": passes}
            rows.append(row | {"status": str(one.status), "seconds": one.trace.seconds[-1]})
    return rows


def fewest(rows, n: int, family) -> tuple[float, str]:
    """The passes and the name of the best of a family."""
    mine = [(r["passes"], r["method"]) for r in rows if r["n"] == n and r["method"] in family]
    return min(mine, default=(np.inf, "none"))


def picture(rows: list[dict[str, Any]]):
    figure = new_figure(figsize=(8, 4.8))
    axes = figure.subplots()
    for k, name in enumerate(EXAMPLES | FEATURES):
        mine = [r for r in rows if r["method"] == name]
        if not mine:
            continue
        ratio = np.array([r["n"] / r["d"] for r in mine])
        passes = np.array([r["passes"] for r in mine])
        style, colour = ("-o" if name in EXAMPLES else "--s"), f"C{k}"
        axes.plot(ratio, np.minimum(passes, 1.5 * MOST), style, color=colour, label=name, ms=5)
        late = ~np.isfinite(passes)
        hollow = {"mfc": "white", "color": colour, "ms": 6}
        axes.plot(ratio[late], np.full(late.sum(), 1.5 * MOST), style[-1], **hollow)
    axes.axhline(MOST, color="0.6", lw=0.8)
    axes.axvline(1.0, color="0.6", lw=0.8)
    axes.set(xscale="log", yscale="log", xlabel="n / d", ylabel=f"passes to a gap of {ASKED:g} P")
    axes.set_title(f"solid: through examples; dashed: through features; hollow: over {MOST}")
    axes.legend(frameon=False, ncols=2)
    axes.grid(alpha=0.3)
    return figure


def main(*, quick: bool = False) -> Found:
    set_up()
    started, size = time.perf_counter(), 2**14 if quick else 2**20
    examples = [2**k for k in ((10, 4) if quick else (15, 13, 10, 7, 5))]
    names = ["sdca", "rcdm"] if quick else list(EXAMPLES | FEATURES)
    rows = measure(size, examples, names)
    ran = lambda n, family: any(r["n"] == n and r["method"] in family for r in rows)
    examples = [n for n in examples if ran(n, EXAMPLES) and ran(n, FEATURES)]
    enough(bool(examples))
    table = [["n x d", *names]]
    wins = []
    for n in examples:
        found = {r["method"]: r["passes"] for r in rows if r["n"] == n}
        show = lambda x: "not run" if x is None else f"{x:.0f}" if x < np.inf else f"> {MOST}"
        table.append([f"{n:,} x {size // n:,}", *(show(found.get(name)) for name in names)])
        by_examples, by_features = fewest(rows, n, EXAMPLES), fewest(rows, n, FEATURES)
        say = lambda best, show=show: f"{best[1]} {show(best[0])}"
        wins.append(f"{say(by_examples)} against {say(by_features)} at {table[-1][0]}")
    ahead = [bool(fewest(rows, n, EXAMPLES) <= fewest(rows, n, FEATURES)) for n in examples]
    verdict = "One family wins throughout"
    if ahead[0] and not ahead[-1]:
        turn = ahead.index(False)
        last, first = (f"{n:,} x {size // n:,}" for n in examples[turn - 1 : turn + 1])
        verdict = f"Steps through examples win down to {last}, through features from {first} on"
    sentence = f"{verdict}. Fewest passes of each family: {'; '.join(wins)}."
    facts = {"seconds": time.perf_counter() - started, "examples ahead": ahead}
    figure = picture(rows)
    rows = [r | {"passes": r["passes"] if r["passes"] < np.inf else None} for r in rows]
    return Found(rows, facts, aligned(table, (0,)), sentence, figure)
