"""How long should SGD run on m examples: is one pass enough?

The hinge over a ball of radius 15 in 50 dimensions, m = 500, means of eight samples; for each T its
own run with the step B/(R sqrt(T)). Of the bound 2 BR/sqrt(m) + BR/sqrt(T) the two parts balance at
T = m/4: from there on the sample limits, not the optimisation. Does the test loss agree?
"""

import functools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from experiments.learning import plane, samples
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.report import aligned

D, B, TEST = 50, 15.0, 20_000
SHARES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 40.0)


@functools.partial(jax.jit, static_argnames="T")
def means(problems, key, T: int):
    """(seeds, d) the mean of w_1..w_T of projected SGD on each sample."""

    def one(risk, key):
        ball = js.Ball(risk, jnp.asarray(B, risk.c.dtype))
        method = js.SGD(js.Horizon(float(T)), js.Uniform(), block=1)
        index = jax.random.randint(key, (T, 1), 0, risk.n, jnp.int32)

        def step(carry, i):
            state, total = carry
            return (method.step(ball, state, Sample(i)), total + state.vectors[0]), None

        first = method.init(ball)
        return lax.scan(step, (first, jnp.zeros_like(first.vectors[0])), index)[0][1] / T

    return jax.vmap(one)(problems, jax.random.split(key, problems.y.shape[0]))


def main(*, quick: bool = False) -> Found:
    set_up()
    started, seeds, m = time.perf_counter(), 4 if quick else 8, 200 if quick else 500
    draw = plane(D)
    problems = samples(draw, m, seeds)
    population = js.make_population(draw, B=B, keep=TEST, key=jax.random.key(99))
    Xt, yt = population.rows.X, population.y
    hinge = lambda X, y, w: float(jnp.mean(jnp.maximum(0.0, 1.0 - y * (X @ w))))
    lowest = float(js.solve(population, rtol=1e-2).certificate.primal)
    rows: list[dict[str, Any]] = []
    table = [["T/m", "train hinge", "test hinge", "test error", "bound on the test hinge"]]
    for share in SHARES[:5] if quick else SHARES:
        T = max(1, int(share * m))
        found = np.asarray(means(problems, jax.random.key(7), T))
        each = zip(np.asarray(problems.rows.X), np.asarray(problems.y), found)
        train = np.mean([hinge(X, y, w) for X, y, w in each])
        test = np.mean([hinge(Xt, yt, w) for w in found])
        wrong = np.mean([float(jnp.mean(yt * (Xt @ w) <= 0)) for w in found])
        bound = lowest + 2 * B / np.sqrt(m) + B / np.sqrt(T)
        row = {"T": T, "m": m, "train_hinge": train, "test_hinge": test, "test_error": wrong}
        rows.append(row | {"bound": bound})
        numbers = (train, test, wrong, bound)
        table.append([f"{share:g}", *(f"{x:.3f}" for x in numbers)])
    shares = np.array([row["T"] / m for row in rows])
    figure = new_figure(figsize=(8, 4.5))
    axes = figure.subplots()
    for key in ("train_hinge", "test_hinge", "test_error"):
        axes.plot(shares, [row[key] for row in rows], "-o", ms=4, label=key.replace("_", " "))
    axes.axhline(lowest, color="0.4", ls=":", label="best hinge over the ball, on the test set")
    axes.axvline(0.25, color="C3", lw=1, ls="--", label="T = m/4: the bounds balance")
    axes.set(xscale="log", xlabel="T/m: passes over the sample", ylim=(0, None))
    axes.set_ylabel(f"mean of {seeds} samples of m = {m}")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    tests = [row["test_hinge"] for row in rows]
    one = tests[list(SHARES).index(1.0)]
    enough = next(s for s, t in zip(shares, tests) if t <= 1.02 * min(tests))
    sentence = (
        f"One pass reaches a test hinge of {one:.3f}; {enough:g} passes come within 2 % of the "
        f"best seen, {min(tests):.3f}, while the train hinge goes on falling to "
        f"{rows[-1]['train_hinge']:.3f}: T about m is right up to that constant."
    )
    facts = {"seconds": time.perf_counter() - started, "one_pass": one, "best": min(tests)}
    return Found(rows, facts | {"enough": float(enough)}, aligned(table), sentence, figure)
