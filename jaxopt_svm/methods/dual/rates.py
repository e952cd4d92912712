"""Constants of the dual family's theorems, weights included."""

import jax.numpy as jnp

__all__ = ["contraction", "largest_curvature", "powers", "smoothness", "start_gap"]


def contraction(problem, p, v):
    """theta = min_i p_i lam gamma / (c_i v_i + lam gamma): the share of the gap a step closes."""
    x = problem.lam * problem.loss.gamma
    return jnp.min(p * x / (problem.c * v + x))


def largest_curvature(problem):
    """max_i n c_i L_i: R^2 when all weights are 1/n."""
    return problem.n * jnp.max(problem.c * problem.rows.sqnorms)


def smoothness(problem):
    """gamma of the most heavily weighted example: n c_i phi_i is (n c_i / gamma)-smooth."""
    return problem.loss.gamma / (problem.n * jnp.max(problem.c))


def start_gap(problem):
    """P(0) - D(0)."""
    return problem.certificate(problem.origin()).gap


def powers(problem, factor, t):
    """(1 - factor)^t, safe for tiny factors."""
    t = jnp.asarray(t, problem.lam.dtype)
    return jnp.exp(t * jnp.log1p(-factor))
