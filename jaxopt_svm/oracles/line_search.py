r"""The best point of a segment.

A concave quadratic is known by two numbers:

    D((1 - t) alpha + t beta) = D(alpha) + t g - t^2 q / 2,    0 <= t <= 1

g is the slope at alpha, q >= 0 the curvature. t = 1 where q <= g, so a flat segment (q = 0) that
rises is walked to its end; nothing is divided there. Checked in proofs_checks/segment.py.
Lecture "Online solvers for convex risk minimization" (Franc), sequential dual ascent.

Any other convex function is known by its slope, and the best point is where that crosses zero.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

__all__ = ["crossing", "gain", "segment"]

ROUNDS = 5


def segment(g, q) -> Array:
    """argmax over t in [0, 1]; 0 where the segment does not rise."""
    inside = g / jnp.where(q > g, q, 1)
    return jnp.where(g > 0, jnp.where(q > g, inside, 1), 0).astype(jnp.result_type(g))


def gain(g, q) -> Array:
    """What the best point adds to D: g - q/2 at t = 1, g^2/(2q) inside, 0 where it falls."""
    t = segment(g, q)
    return t * g - t**2 * q / 2


def crossing(slope: Callable, first) -> Array:
    """t in (0, 1] where an increasing slope crosses zero, 1 if it does not.

    first = slope(0) < 0. Regula falsi that halves the value at an end which stays (Illinois):
    a bracket at all times, and on pieces that are nearly straight as fast as the secant.
    """
    zero, one = jnp.zeros_like(first), jnp.ones_like(first)
    last = slope(one)

    def narrow(_, ends):
        a, fa, b, fb = ends
        t = a + (b - a) * fa / (fa - fb)
        ft = slope(t)
        left = ft < 0
        return (
            jnp.where(left, t, a),
            jnp.where(left, ft, fa / 2),
            jnp.where(left, b, t),
            jnp.where(left, fb / 2, ft),
        )

    bracket = (zero, first, one, jnp.where(last > 0, last, 1.0))
    a, fa, b, fb = lax.fori_loop(0, ROUNDS, narrow, bracket)
    t = jnp.where((a > 0) & (-fa < fb), a, b)
    return jnp.where(last > 0, t, 1.0)
