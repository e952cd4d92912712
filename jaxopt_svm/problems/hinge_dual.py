r"""The dual of the hinge in signed coefficients, the same for linear models and kernels.

    beta_i = c_i alpha_i / lam,      lo <= beta <= hi,      [lo, hi] = [0, c_i/lam] or [-c_i/lam, 0]
    min  1/2 beta' K beta - y' beta                          K = X X' for a linear model

c of the textbooks is c_i/lam = 1/(n lam), their alpha is |beta| (proofs_checks/scalings.py).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import sequential_vmap

__all__ = ["Box", "alpha_of", "best_intercept", "beta_of", "box_of"]


HALVINGS = 128  # breakpoints closer than 2^-128 of their range are one


class Box(NamedTuple):
    """Bounds of the signed coefficients beta."""

    lo: Array
    hi: Array


def beta_of(problem, alpha):
    """The signed coefficients of a dual point."""
    return problem.c * alpha / problem.lam


def alpha_of(problem, beta):
    """The dual point of signed coefficients; an example without weight has alpha = 0."""
    used = problem.c > 0
    return jnp.where(used, problem.lam * beta / jnp.where(used, problem.c, 1.0), 0.0)


def box_of(problem) -> Box:
    end = problem.y * problem.c / problem.lam
    return Box(jnp.minimum(end, 0.0), jnp.maximum(end, 0.0))


def best_intercept(problem, scores):
    """argmin_b sum_i c_i max(0, 1 - y_i (scores_i + b)): a weighted quantile.

    The slope in b starts at -(weight of the +1) and rises by c_i at each breakpoint
    y_i - scores_i, whichever sign y_i has. Of an interval of minimisers, the middle.
    """
    level = jnp.sum(jnp.where(problem.y > 0, problem.c, 0.0))
    slack = 4 * jnp.finfo(level.dtype).eps
    levels = jnp.minimum(jnp.stack([level - slack, level + slack]), jnp.sum(problem.c))
    return jnp.mean(_quantiles(problem.y - scores, problem.c, levels))


@sequential_vmap
def _quantiles(v, c, levels):
    """(2,) the smallest v_i with sum of the c_j, v_j <= v_i, at least a level.

    By halving: a sort of n numbers costs six times as much. In a batch lane after lane, since the
    halvings a lane needs differ.
    """
    v, c = v[None, :], c[None, :]
    weight = lambda t: jnp.sum(jnp.where(v <= t[:, None], c, 0.0), axis=1)

    # hi is a breakpoint that reaches its level; nothing at or below lo does
    def going(carry):
        lo, hi, halvings = carry
        middle = lo + (hi - lo) / 2
        return jnp.any((lo < middle) & (middle < hi)) & (halvings < HALVINGS)

    def halve(carry):
        lo, hi, halvings = carry
        middle = lo + (hi - lo) / 2
        there = weight(middle) >= levels
        at = middle[:, None]
        below = jnp.max(jnp.where(v <= at, v, -jnp.inf), axis=1)
        above = jnp.min(jnp.where(v > at, v, jnp.inf), axis=1)
        # between two neighbours nothing is left to halve
        hi = jnp.where(there, below, hi)
        lo = jnp.where(there, lo, jnp.where(above >= hi, hi, middle))
        return lo, hi, halvings + 1

    lo, hi = jnp.broadcast_to(jnp.min(v), (2,)), jnp.broadcast_to(jnp.max(v), (2,))
    hi = jnp.where(weight(lo) >= levels, lo, hi)
    return lax.while_loop(going, halve, (lo, hi, jnp.zeros((), jnp.int32)))[1]
