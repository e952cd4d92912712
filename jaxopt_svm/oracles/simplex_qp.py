r"""A small concave quadratic on the simplex, with a certificate of its own.

    maximise  f(x) = <b, x> - 1/2 x'Hx   over  x >= 0, sum x = 1, x_j = 0 where not ``known``

Mass moves between the most violating pair, u = argmax g and v = argmin over x_v > 0 of g with
g = b - Hx, by an exact line search. f never falls, and at any x

    f* - f(x) <= gap = max_j g_j - <g, x>

since f is concave, so stopping early costs no validity: f(x) is a lower bound of f* and of
everything f* bounds from below. Cost of a step: O(planes). Checked in proofs_checks/bmrm_bounds.py.
Teo, Vishwanathan, Smola & Le, JMLR 2010, the inner problem of cutting planes.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.oracles.line_search import segment

__all__ = ["Simplex", "solve_simplex"]


class Simplex(NamedTuple):
    """x: (k,) the point. value: f(x). gap: f* - f(x) at most. steps: pairs moved."""

    x: Array
    value: Array
    gap: Array
    steps: Array


def solve_simplex(H, b, x, known, gap, steps: int) -> Simplex:
    """From a feasible x, until the inner gap is at most ``gap``, or for ``steps`` pairs.

    Args:
      H: (k, k) symmetric, positive semidefinite. b: (k,). known: (k,) which entries may have mass.
    """

    def measure(x):
        g = b - H @ x
        best = jnp.where(known, g, -jnp.inf)
        return g, best, jnp.maximum(jnp.max(best) - g @ x, 0)

    def goes_on(at):
        _, left, k = at
        return (left > gap) & (k < steps)

    def pair(at):
        x, _, k = at
        g, best, _ = measure(x)
        u, v = jnp.argmax(best), jnp.argmin(jnp.where(x > 0, g, jnp.inf))
        # emptying v: slope x_v (g_u - g_v), curvature x_v^2 (H_uu + H_vv - 2 H_uv)
        N = jnp.maximum(H[u, u] + H[v, v] - 2 * H[u, v], 0)
        t = x[v] * segment(x[v] * (g[u] - g[v]), x[v] ** 2 * N)
        x = x.at[v].add(-t).at[u].add(t)
        return x, measure(x)[2], k + 1

    start = (x, measure(x)[2], jnp.zeros((), jnp.int32))
    x, left, k = lax.while_loop(goes_on, pair, start)
    return Simplex(x, b @ x - x @ (H @ x) / 2, left, k)
