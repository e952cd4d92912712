"""Does more data make training slower? Pegasos iterations to a fixed test error, by sample size.

The lecture's "inverse dependence": with lam/2 ||w0||^2 + c1/(lam T) + c2/(lam m) <= eps the best
lam needs T(m) = c1/(eps^2/(2 ||w0||^2) - c2/m) iterations: none suffice for a small sample, and the
more data, the fewer. 50 dimensions, 12 samples of each size, the best of four lambdas, the mean of
the iterates with weights t.
"""

import dataclasses
import itertools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxopt_svm as js
from experiments.budget import each
from experiments.common import Found, new_figure, set_up
from experiments.learning import plane, samples
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.report import aligned

D, TEST = 50, 4000
LAMS = np.array([3e-4, 1e-3, 3e-3, 1e-2])
TARGETS = (0.155, 0.165, 0.175, 0.19, 0.23)


METHOD = js.Averaged(js.pegasos(block=1), js.PolynomialMean(1.0))


def over_both(function, problems):
    """vmap over the samples, and inside over the lambdas, which share a sample's draws."""
    shared = jax.tree.map(lambda _: None, problems)
    lams = dataclasses.replace(shared, lam=0)
    samples = dataclasses.replace(jax.tree.map(lambda _: 0, problems), lam=None)
    return jax.vmap(jax.vmap(function, (lams, 0, None)), (samples, 0, 0))


@jax.jit
def begin(problems):
    seeds = problems.y.shape[0]
    empty = jnp.zeros((seeds, len(LAMS)))
    init = lambda problem, _, key: METHOD.init(problem)
    return over_both(init, problems)(problems, empty, jnp.zeros(seeds))


@jax.jit
def advance(problems, states, key, first, last):
    """Pegasos from step ``first`` to ``last`` on every (sample, lambda)."""
    n = problems.y.shape[1]

    def one(problem, state, key):
        def step(t, state):
            i = jax.random.randint(jax.random.fold_in(key, t), (1,), 0, n, jnp.int32)
            return METHOD.step(problem, state, Sample(i))

        return lax.fori_loop(first, last, step, state)

    keys = jax.random.split(key, problems.y.shape[0])
    return over_both(one, problems)(problems, states, keys)


@jax.jit
def test_errors(problems, states, X, y):
    """(lams,) the mean test error over the samples."""
    point = lambda problem, state, key: METHOD.point(problem, state).w
    w = over_both(point, problems)(problems, states, jnp.zeros(problems.y.shape[0]))
    wrong = y[None, None, :] * jnp.einsum("slj,ij->sli", w, X) <= 0
    return jnp.mean(wrong, axis=(0, 2))


def main(*, quick: bool = False) -> Found:
    set_up()
    started, seeds = time.perf_counter(), 4 if quick else 12
    sizes = (200, 800, 3200) if quick else (200, 400, 800, 1600, 6400, 25_600)
    marks = np.unique(np.round(2.0 ** np.arange(6, 11.01 if quick else 14.01, 0.5)).astype(int))
    draw = plane(D)
    Xt, yt = jax.vmap(draw)(jax.random.split(jax.random.key(99), TEST))
    rows: list[dict[str, Any]] = []
    curves = {}
    for m in each(sizes, "m ="):
        problems = dataclasses.replace(samples(draw, m, seeds, 1000), lam=jnp.asarray(LAMS))
        states, at, curve = begin(problems), 0, []
        for mark in marks:
            states = advance(problems, states, jax.random.key(m), at, int(mark))
            at = int(mark)
            curve.append(np.asarray(test_errors(problems, states, Xt, yt)))
            for lam, error in zip(LAMS, curve[-1]):
                rows.append({"m": m, "iterations": at, "lam": lam, "test_error": error})
        curves[m] = np.array(curve).min(axis=1)
    sizes = tuple(curves)
    table = [["target", *(f"m = {m:,}" for m in sizes)]]
    needed = {}
    for target in TARGETS:
        first = [np.flatnonzero(curves[m] <= target) for m in sizes]
        needed[target] = [int(marks[f[0]]) if f.size else None for f in first]
        table.append([f"{target:g}", *("never" if x is None else f"{x:,}" for x in needed[target])])
    table.append(["lowest", *(f"{curves[m].min():.4f}" for m in sizes)])
    figure = new_figure(figsize=(11, 4.4))
    left, right = figure.subplots(1, 2)
    for m in sizes:
        left.plot(marks, curves[m], label=f"m = {m:,}")
    left.set(xscale="log", xlabel="iterations", ylabel="test error, best of four lambdas")
    left.legend(frameon=False, fontsize=8)
    for target, counts in needed.items():
        some = [(m, c) for m, c in zip(sizes, counts) if c is not None]
        if some:
            right.plot(*zip(*some), "-o", ms=4, label=f"test error {target:g}")
    right.set(xscale="log", yscale="log", xlabel="sample size m", ylabel="iterations needed")
    right.set_ylim(bottom=60)
    right.legend(frameon=False, fontsize=8, loc="lower right", ncols=2)
    for ax in (left, right):
        ax.grid(alpha=0.3)
    target = 0.19 if any(needed[0.19]) else 0.23
    told = ", ".join(
        f"{m:,}: {'never' if c is None else format(c, ',')}" for m, c in zip(sizes, needed[target])
    )
    counts = [np.inf if c is None else c for c in needed[target]]
    less = all(a >= b for a, b in itertools.pairwise(counts)) and counts[0] > counts[-1]
    verdict = "More data, less work" if less else "More data is not always less work"
    sentence = f"Iterations to a test error of {target:g} by sample size: {told}. {verdict}."
    facts = {"seconds": time.perf_counter() - started}
    facts |= {"sizes": sizes, "iterations": {str(t): n for t, n in needed.items()}}
    return Found(rows, facts, aligned(table), sentence, figure)
