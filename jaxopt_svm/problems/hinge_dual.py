r"""The dual of the hinge in signed coefficients, the same for linear models and kernels.

    beta_i = c_i alpha_i / lam,      lo <= beta <= hi,      [lo, hi] = [0, c_i/lam] or [-c_i/lam, 0]
    min  1/2 beta' K beta - y' beta                          K = X X' for a linear model

c of the textbooks is c_i/lam = 1/(n lam), their alpha is |beta| (proofs_checks/scalings.py).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

__all__ = ["Box", "alpha_of", "best_intercept", "beta_of", "box_of"]


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
    v = problem.y - scores
    order = jnp.argsort(v)
    weight, v = jnp.cumsum(problem.c[order]), v[order]
    level = jnp.sum(jnp.where(problem.y > 0, problem.c, 0.0))
    slack = 4 * jnp.finfo(v.dtype).eps
    at = lambda k: v[jnp.minimum(k, v.shape[0] - 1)]
    first, last = (jnp.searchsorted(weight, level + s) for s in (-slack, slack))
    return (at(first) + at(last)) / 2
