r"""Claim. Without projection the iterates of Pegasos, on examples or on all of them, satisfy

    ||w_t|| <= R/lam,    w_{t+1} = (1 - eta lam) w_t + eta y_i x_i [y_i <w_t, x_i> < 1],

the shrink acting on the old w alone; its first step erases w_1. With steps 2/(lam (t + 1)) the mean
with weights t has no logarithm, P - P* <= 2 G^2/(lam (T + 1)), G = 2 R.
Lectures "Optimization Methods for SVMs" (Scheinberg), Pegasos; "Introduction to Machine Learning"
(Srebro), SGD for the regularised hinge. Lacoste-Julien, Schmidt & Bach, arXiv:1212.2002.

Check. The package's steps against the formula written out, on random sequences; starts far away.
The weighted mean at every T of a long run on all examples.
False variants, both of which have to fail: shrinking what was just added too, and R/(2 lam).
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import Hinge, Point, make_erm, pegasos
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, iterates, optimum, smallest, toy

LONG = 200


def written_out(problem, sequence, late: bool):
    """w_1, w_2, ... by the formula; ``late``: shrink after adding."""

    def step(w, at):
        t, i = at
        x, y, weight = problem.rows.X[i], problem.y[i], problem.n * problem.c[i]
        add = weight * y * x * jnp.where(y * jnp.vdot(x, w) < 1.0, 1.0, 0.0) / (problem.lam * t)
        keep = 1.0 - 1.0 / t
        return jnp.where(late, keep * (w + add), keep * w + add), w

    ts = jnp.arange(1.0, len(sequence) + 1)
    return lax.scan(step, jnp.zeros(problem.d), (ts, sequence))[1]


def weighted_excess(problem, best, directions):
    """P - P* of the means with weights t, steps 2/(lam (t + 1)); directions(w, t) = -g."""

    def step(carry, t):
        w, mean = carry
        mean = mean + (w - mean) * 2.0 / (t + 1.0)
        w = w - 2.0 / (problem.lam * (t + 1.0)) * directions(w, t)
        return (w, mean), problem.primal(mean)

    zero = jnp.zeros(problem.d)
    ts = jnp.arange(1.0, LONG + 1)
    excess = lax.scan(step, (zero, zero), ts)[1] - problem.primal(best.w)
    return excess, problem.lam * (ts + 1.0)


def check() -> Result:
    rng, problem = np.random.default_rng(27), toy(Hinge())
    R, method = problem.slope_bound(), pegasos(block=1)
    sequence = jnp.asarray(rng.integers(0, problem.n, LONG, dtype=np.int32))
    ours = iterates(problem, method, sequence[:, None])
    true = [jnp.min(equal(ours, written_out(problem, sequence, False)))]
    true.append(jnp.min(R / problem.lam - jnp.linalg.norm(ours, axis=1)))
    far = method.init(problem, Point(jnp.full(problem.d, 50.0)))
    first = lambda state: method.step(problem, state, Sample(jnp.array([0], jnp.int32))).vectors[0]
    true.append(jnp.min(equal(first(far), first(method.init(problem)))))
    late = jnp.min(equal(ours, written_out(problem, sequence, True)))
    # the weighted mean: all examples, at every T
    best = optimum(problem)
    excess, scale = weighted_excess(problem, best, lambda w, t: problem.grad(w))
    true.append(jnp.min(1.0 - excess * scale / (2 * (2 * R) ** 2)))
    # two opposite examples: R/lam is nearly reached before the first of them is answered
    clash = make_erm(np.ones((2, 1)), [1, -1], lam=0.1)
    start = iterates(clash, method, jnp.zeros((2, 1), jnp.int32))
    half = jnp.min(clash.slope_bound() / (2 * clash.lam) - jnp.linalg.norm(start, axis=1))
    return Result(smallest(*true), max(float(late), float(half)))


claim = Claim(
    name="pegasos_iterates",
    text="||w_t|| <= R/lam; step 1 forgets w_1; the old w shrinks; with weights t no logarithm",
    lecture="Optimization Methods for SVMs: Pegasos",
    check=check,
)
