r"""The best point of a segment on which a concave quadratic is known by two numbers.

    D((1 - t) alpha + t beta) = D(alpha) + t g - t^2 q / 2,    0 <= t <= 1

g is the slope at alpha, q >= 0 the curvature. t = 1 where q <= g, so a flat segment (q = 0) that
rises is walked to its end; nothing is divided there. Checked in proofs_checks/segment.py.
Lecture "Online solvers for convex risk minimization" (Franc), sequential dual ascent.
"""

import jax.numpy as jnp
from jax import Array

__all__ = ["gain", "segment"]


def segment(g, q) -> Array:
    """argmax over t in [0, 1]; 0 where the segment does not rise."""
    inside = g / jnp.where(q > g, q, 1)
    return jnp.where(g > 0, jnp.where(q > g, inside, 1), 0).astype(jnp.result_type(g))


def gain(g, q) -> Array:
    """What the best point adds to D: g - q/2 at t = 1, g^2/(2q) inside, 0 where it falls."""
    t = segment(g, q)
    return t * g - t**2 * q / 2
