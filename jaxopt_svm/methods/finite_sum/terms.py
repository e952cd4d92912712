r"""The finite sum behind a regularised linear model, and the constants of its theorems.

    P(w) = (1/n) sum_i f_i(w),   f_i(w) = n c_i phi(<x_i, w>, y_i) + (lam/2)||w||^2

    L_i = n c_i ||x_i||^2 / gamma    smoothness of the data part of f_i
    Lf = max_i L_i + lam             smoothness of every f_i
    mu = lam                         strong convexity

The gradient of f_i is n c_i s_i x_i + lam w with the slope s_i = phi'(<x_i, w>, y_i): what a
method remembers of f_i is the number s_i (m numbers for m outputs), never a vector of length d.
"""

import jax.numpy as jnp

from jaxopt_svm.methods.dual.rates import start_gap
from jaxopt_svm.methods.refusals import (
    needs_erm,
    needs_l2,
    needs_smooth,
    needs_uniform_visits,
    refuse_free_intercept,
)

__all__ = [
    "after_epochs",
    "check_ridge",
    "check_terms",
    "data_gradient",
    "data_smoothness",
    "slopes",
    "term_smoothness",
]


def check_ridge(method, problem) -> None:
    """The refusals all methods for smooth losses with l2 share."""
    needs_erm(method, problem)
    needs_smooth(method, problem)
    needs_l2(method, problem)
    refuse_free_intercept(method, problem)


def check_terms(method, problem) -> None:
    """Those of methods that visit single examples, uniformly."""
    check_ridge(method, problem)
    needs_uniform_visits(method, method.sampling)
    method.sampling.check(problem)


def data_smoothness(problem):
    """max_i n c_i ||x_i||^2 / gamma."""
    return problem.n * jnp.max(problem.c * problem.rows.sqnorms) / problem.loss.gamma


def term_smoothness(problem):
    """Lf = max_i n c_i ||x_i||^2 / gamma + lam."""
    return data_smoothness(problem) + problem.lam


def slopes(problem, w):
    """(n, ...) s_i = phi'(<x_i, w>, y_i); one pass over the data."""
    return problem.loss.slope(problem.rows.matvec(w), problem.y)


def data_gradient(problem, s):
    """sum_i c_i s_i x_i; one pass over the data."""
    return problem.rows.rmatvec(problem.weighted(s))


def after_epochs(problem, factor, t):
    """factor^t gap_0, or inf where factor >= 1: the theorem then says nothing."""
    t = jnp.asarray(t, problem.lam.dtype)
    says = (factor > 0.0) & (factor < 1.0)
    return jnp.where(says, start_gap(problem) * jnp.where(says, factor, 1.0) ** t, jnp.inf)
