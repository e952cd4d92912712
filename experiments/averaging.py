r"""Which average of the iterates of SGD is best, for three step sizes, and do the bounds hold?

The last slides on projected SGD: a structural SVM (letters of OCR words as chains; digits as
classes where the words are missing), single examples drawn independently, and P - P* of the last
iterate, the uniform mean, the means with nu = 1 and 3 and that of the last half, all of the same
run. Left: step 1/(lam t), with 17 G^2 (1 + ln t)/(lam t) for the last iterate and G^2 (1 + ln t)/
(2 lam t) for the uniform mean, G = 2 Dm. Middle: step c/sqrt(t) on a ball of diameter D that holds
w*, with (D^2/c + c G^2)(2 + ln t)/sqrt(t). Right: a fixed step, whose mean stops at a floor below
||w*||^2/(2 eta t) + eta G^2/2. Band: smallest to largest of the seeds, lanes of one program.
"""

import functools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxopt_svm as js
from experiments.budget import each
from experiments.common import Found, set_up
from experiments.figures import bound, dress, mean_and_spread, new_figure
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.data import load_structured
from jaxopt_svm.data.extra import need
from jaxopt_svm.methods.structured.structured_sgd import Turn
from jaxopt_svm.report import aligned

LAM = 0.1
MEANS = {
    "uniform": js.UniformMean(),
    "nu = 1": js.PolynomialMean(1.0),
    "nu = 3": js.PolynomialMean(3.0),
    "last half": js.SuffixMean(),
}


def data(quick: bool) -> tuple[str, Any]:
    """A chain problem on OCR words, or digits as classes."""
    if not quick:
        try:
            words = load_structured("ocr")
            some = words.train.X[:1000], words.train.y[:1000]
            made = js.make_chain(*some, classes=words.classes, lam=LAM)
            return f"OCR, {made.n:,} words", made
        except FileNotFoundError:
            pass
    X, y = need("sklearn.datasets", "the digits").load_digits(return_X_y=True)
    some = 300 if quick else len(y)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return f"digits, {some:,}", js.make_multiclass(X[:some], y[:some], lam=LAM)


@jax.jit
def begin(problem, method, keys):
    state = method.init(problem)
    w = method.point(problem, state).w
    one = lambda _: (state, tuple(rule.start(w) for rule in MEANS.values()))
    return jax.vmap(one)(keys)


@jax.jit
def advance(problem, method, carry, keys, first, last):
    """Steps first..last - 1 of every seed, each iterate added to every mean."""

    def one(carry, key):
        def step(t, carry):
            state, means = carry
            i = jax.random.randint(jax.random.fold_in(key, t), (1,), 0, problem.n, jnp.int32)
            state = method.step(problem, state, Turn(Sample(i), jnp.asarray(True)))
            w = method.point(problem, state).w
            rules = zip(MEANS.values(), means)
            return state, tuple(rule.add(rule.turn(mean), w) for rule, mean in rules)

        return lax.fori_loop(first, last, step, carry)

    return jax.vmap(one)(carry, keys)


@jax.jit
def values(problem, method, carry):
    """(seeds, 1 + means) P at the last iterate and at each mean."""

    def one(carry):
        state, means = carry
        w = method.point(problem, state).w
        all_ = [w, *(rule.value(mean, w) for rule, mean in zip(MEANS.values(), means))]
        return lax.map(problem.primal, jnp.stack(all_))

    return lax.map(one, carry)


def follow(problem, method, seeds: int, marks) -> np.ndarray:
    """(marks, seeds, 1 + means) P at the steps asked for."""
    keys = jax.random.split(jax.random.key(0), seeds)
    carry, at, found = begin(problem, method, keys), 0, []
    for mark in marks:
        carry = advance(problem, method, carry, keys, at, int(mark))
        at = int(mark)
        found.append(np.asarray(values(problem, method, carry)))
    return np.array(found)


def main(*, quick: bool = False) -> Found:
    set_up()
    started = time.perf_counter()
    name, problem = data(quick)
    best = js.solve(problem, js.SDM(), rtol=1e-3 if quick else 1e-5, max_passes=300)
    level, radius = float(best.certificate.dual), float(jnp.linalg.norm(best.w))
    Dm = float(problem.limits().feature)
    seeds, T = (3, 1500) if quick else (5, 20 * problem.n)
    marks = np.unique(np.geomspace(2, T, 10 if quick else 24).astype(int))
    t = marks.astype(float)
    # on the ball ||g|| <= Dm + lam B; c = D/G makes the bound smallest
    G, D = Dm + LAM * radius, 2 * radius
    c, eta = D / G, radius / (G * np.sqrt(0.05 * T))
    sgd = functools.partial(js.StructuredSGD, capacity=0)
    log, root = 1 + np.log(t), np.sqrt(t)
    regimes: list[tuple[str, Any, dict[str, np.ndarray]]] = [
        (
            "step 1/(lam t)",
            sgd(js.InverseLam()),
            {"last": 17 * (2 * Dm) ** 2 * log / (LAM * t), "uniform": 2 * Dm**2 * log / (LAM * t)},
        ),
        (
            f"step c/sqrt(t) on a ball, c = {c:.2g}",
            sgd(js.InverseSqrt(c), project=True, radius=radius),
            {"last": (D**2 / c + c * G**2) * (2 + np.log(t)) / root},
        ),
        (
            f"fixed step {eta:.2g} on a ball",
            sgd(js.Constant(eta), project=True, radius=radius),
            {"uniform": radius**2 / (2 * eta * t) + eta * G**2 / 2},
        ),
    ]
    rows: list[dict[str, Any]] = []
    figure = new_figure(figsize=(14, 4.6))
    axes = figure.subplots(1, 3, sharey=True)
    kinds = ["last", *MEANS]
    table = [["P - P* at the end", *kinds]]
    told, worst = [], 0.0
    for regime in each(list(zip(axes, regimes)), "step", lambda pair: pair[1][0]):
        ax, (title, method, bounds) = regime
        excess = follow(problem, method, seeds, marks) - level
        for k, kind in enumerate(kinds):
            mean_and_spread(ax, t, excess[:, :, k].T, kind, f"C{k}")
            promised = bounds.get(kind)
            if promised is not None:
                bound(ax, t, promised, f"bound, {kind}", f"C{k}")
                worst = max(worst, float((excess[:, :, k].mean(1) / promised).max()))
            for j, mark in enumerate(marks):
                row = {"data": name, "step": title, "iterate": kind, "t": mark}
                row |= {"mean": excess[j, :, k].mean(), "least": excess[j, :, k].min()}
                row["most"] = excess[j, :, k].max()
                rows.append(row | {"bound": None if promised is None else promised[j]})
        dress(ax, "steps t", "P - P*", title)
        last = excess[-1].mean(0)
        table.append([title, *(f"{x:.2e}" for x in last)])
        order = sorted(range(len(kinds)), key=lambda k: last[k])
        told.append(f"{title}: {kinds[order[0]]} ({last[order[0]]:.1e}; last {last[0]:.1e})")
    for ax in axes[len(told) :]:
        ax.set_visible(False)  # left out
    figure.suptitle(f"{name}, lambda = {LAM:g}, {seeds} seeds", fontsize=11)
    sentence = (
        f"Closest to P* after {T:,} steps on {name}: {'; '.join(told)}. "
        f"The measured mean is at most {worst:.2g} of its bound."
    )
    facts = {"seconds": time.perf_counter() - started, "largest share of a bound": worst}
    return Found(rows, facts, aligned(table, (0,)), sentence, figure)
