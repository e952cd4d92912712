r"""What the solvers of the dual in signed coefficients share: start, claim, a block of variables.

min  1/2 beta' K beta - y' beta,     lo <= beta <= hi,    sum beta = 0,     v = y - K beta
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.oracles.pairs import Quadratic, solve_pairs
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["Block", "begin", "claim", "quadratic_of", "solve_block", "totals"]


def quadratic_of(problem: KernelSVM) -> Quadratic:
    return Quadratic(problem.rows.diagonal, *problem.box())


def begin(problem: KernelSVM, start: Point | None) -> tuple[Array, Array]:
    """beta, inside its box, and v."""
    alpha = problem.complete(problem.origin() if start is None else start).dual
    beta = jnp.clip(problem.beta_of(alpha), *problem.box())
    return beta, problem.y - problem.rows.times(beta)


def claim(problem: KernelSVM, beta, v) -> Point:
    """The best intercept for the scores y - v: if v is old so is b, never the certificate."""
    return Point(problem.join(beta, problem.y - v), problem.alpha_of(beta))


def totals(beta, rows, updates) -> Spent:
    """``rows`` of K so far and ``updates``, with lanes in front or without."""
    n, dtype = beta.shape[-1], beta.dtype
    return Spent(
        work=jnp.asarray(rows).astype(dtype) / n,
        oracle_calls=jnp.zeros_like(beta[..., 0]),
        updates=updates.astype(dtype),
    )


class Block(NamedTuple):
    """beta and v after a block has been solved, and the pairs it took."""

    beta: Array
    v: Array
    pairs: Array


def solve_block(problem: KernelSVM, beta, v, B, counts, *, most: int, stop) -> Block:
    """The QP in beta_B with the others held, by at most ``most`` pairs, until m - M <= ``stop``:

        min 1/2 d' K_BB d - v_B' d,   sum d = 0,   lo_B <= beta_B + d <= hi_B

    B: (q,) indices, of which those that do not ``counts`` stay where they are. Cost: q^2 entries of
    K, O(q) a pair, and the rows of those that moved.
    """
    quadratic, old = quadratic_of(problem), beta[B]
    bound = lambda end: jnp.where(counts, end[B], old)
    inner = Quadratic(quadratic.diagonal[B], bound(quadratic.lo), bound(quadratic.hi))
    new, pairs = solve_pairs(problem.rows.entries(B, B), inner, old, v[B], count=most, stop=stop)
    # beta is set, since beta + (hi - beta) need not be hi
    beta = beta.at[jnp.where(counts, B, problem.n)].set(new, mode="drop")
    return Block(beta, v - problem.rows.rows_times(B, new - old), pairs)
