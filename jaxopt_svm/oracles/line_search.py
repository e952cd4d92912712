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

__all__ = ["crossing", "gain", "lowest", "segment"]

ROUNDS = 24  # a direction that is far too long meets kinks very near to 0
CLOSE = 0.1  # of the first slope
HALVES = 24


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
    a bracket at all times, and on pieces that are nearly straight as fast as the secant. It stops
    where the slope is a small part of the first.
    """
    zero, one = jnp.zeros_like(first), jnp.ones_like(first)
    last = slope(one)
    enough = CLOSE * jnp.abs(first)

    def going(carry):
        _, _, found, k = carry
        return (k < ROUNDS) & (found > enough)

    def narrow(carry):
        (a, fa, b, fb), t, _, k = carry
        t = a + (b - a) * fa / (fa - fb)
        ft = slope(t)
        left = ft < 0
        ends = (
            jnp.where(left, t, a),
            jnp.where(left, ft, fa / 2),
            jnp.where(left, b, t),
            jnp.where(left, fb / 2, ft),
        )
        return ends, t, jnp.abs(ft), k + 1

    bracket = (zero, first, one, last)
    start = (bracket, one, jnp.maximum(last, 0.0), jnp.zeros((), jnp.int32))
    (a, *_), t, found, _ = lax.while_loop(going, narrow, start)
    # not close after all rounds: the end where the function still falls
    return jnp.where((found > enough) & (a > 0), a, t)


def lowest(slope: Callable, low, high) -> Array:
    """Where in [low, high] a convex function is least, by halves to the end: for slopes with steps
    at the kinks of many rows, or infinite at an end."""

    def narrow(_, ends):
        low, high = ends
        t = (low + high) / 2
        falls = slope(t) < 0
        return jnp.where(falls, t, low), jnp.where(falls, high, t)

    low, high = lax.fori_loop(0, HALVES, narrow, (low, high))
    return (low + high) / 2
