r"""Claim. Projected SGD with E||g_t||^2 <= G^2 on a set of diameter D, w^1 = 0:

    eta = 1/(lam t)     E[P(w^t)] - P* <= 17 G^2 (1 + ln t) / (lam t)                last iterate
    eta = c/sqrt(t)     E[P(w^t)] - P* <= (D^2/c + c G^2)(2 + ln t) / sqrt(t)        last iterate
    eta constant        E[P(wbar_T)] - P* <= ||w^1 - w*||^2/(2 eta T) + eta G^2/2    average

and with a constant step the last iterate does not converge.
Lecture "Online solvers" (Franc), SGD; Shamir & Zhang, ICML 2013, arXiv:1212.1824.

Check. Exact expectations over all n^T sequences for short runs, means over seeds for long ones,
at every t. Two false variants, both of which have to fail: the second bound with the first
moment, E||g|| <= G, as printed (one heavy example among many is almost never drawn), and the
third without its floor eta G^2/2, as if a fixed step converged.
"""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SGD, Absolute, Constant, Hinge, InverseLam, InverseSqrt, Uniform, make_erm
from proofs_checks.claims import Claim, Result, iterates, optimum, smallest, toy

LONG, SEEDS, ETA, C = 1000, 100, 0.3, 0.5


@jax.jit
def excesses(problem, method, best, samples):
    """Means over the sequences of P(w^t) - P* and P(wbar_t) - P*, at every t."""

    def one(sequence):
        ws = iterates(problem, method, sequence)
        means = jnp.cumsum(ws, axis=0) / jnp.arange(1.0, len(ws) + 1)[:, None]
        return jax.vmap(problem.primal)(ws), jax.vmap(problem.primal)(means)

    last, mean = jax.vmap(one)(samples)
    level = problem.primal(best.w)
    return jnp.mean(last, axis=0) - level, jnp.mean(mean, axis=0) - level


def sqrt_bound(D, c, G2, t):
    return (D**2 / c + c * G2) * (2.0 + jnp.log(t)) / jnp.sqrt(t)


def rare_example(n: int = 100_000, T: int = 4000, c: float = 2.0):
    """P = |w - 1| (and a tiny lam), all weight on one of n examples: g = -n with probability 1/n.

    E|g| = 1, and all of the T - 1 draws miss with probability (1 - 1/n)^(T - 1).
    """
    problem = make_erm(
        np.ones((n, 1)), np.ones(n), loss=Absolute(), lam=1e-6, weights=np.arange(n) == 0
    )
    method = SGD(InverseSqrt(c), Uniform(), 1.0, project=True, block=1)
    misses = jnp.ones((T, 1), jnp.int32)
    w = jax.jit(iterates)(problem, method, misses)[-1]
    at_least = (1 - 1 / n) ** (T - 1) * problem.primal(w) - problem.primal(jnp.ones(1))
    return sqrt_bound(2.0, c, 1.0, float(T)) - at_least


def stuck():
    """|w - 5/2 eta| with steps eta: the last iterate stays eta/2 away from the optimum."""
    problem = make_erm(np.ones((1, 1)), np.array([2.5 * ETA]), loss=Absolute(), lam=1e-6)
    method = SGD(Constant(ETA), Uniform(), block=1)
    samples = jnp.zeros((1, LONG, 1), jnp.int32)
    last, _ = excesses(problem, method, optimum(problem), samples)
    return jnp.min(last) / ETA - 0.25


def check() -> Result:
    problem = toy(Hinge(), n=4)
    best, lam = optimum(problem), problem.lam
    B = jnp.linalg.norm(best.w)
    D, R = 2 * B, jnp.max(problem.n * problem.c * jnp.sqrt(problem.rows.sqnorms))
    G2 = (lam * B + R) ** 2
    every = np.array(list(product(range(4), repeat=5)), np.int32)[:, :, None]
    seeds = np.random.default_rng(14).integers(0, 4, (SEEDS, LONG, 1), dtype=np.int32)
    slacks, floor = [stuck()], []
    for samples in (jnp.asarray(every), jnp.asarray(seeds)):
        t = jnp.arange(1.0, samples.shape[1] + 1)
        one = SGD(InverseLam(), Uniform(), block=1)
        last, _ = excesses(problem, one, best, samples)
        slacks.append(jnp.min((1.0 - last / one.bound(problem, t))[1:]))
        two = SGD(InverseSqrt(C), Uniform(), B, project=True, block=1)
        last, _ = excesses(problem, two, best, samples)
        slacks.append(1.0 - last / sqrt_bound(D, C, G2, t))
        three = SGD(Constant(ETA), Uniform(), B, project=True, block=1)
        _, mean = excesses(problem, three, best, samples)
        start = B**2 / (2 * ETA * t)
        slacks.append(1.0 - mean / (start + ETA * G2 / 2))
        floor.append(1.0 - mean / start)
    return Result(smallest(*slacks), max(smallest(*floor), float(rare_example())))


claim = Claim(
    name="sgd_regimes",
    text="1/(lam t) and c/sqrt(t): the last iterate; constant step: the average, to a floor",
    lecture="Structured output learning: SGD",
    check=check,
)
