r"""The best points of lines: what is known at other lam, made the most of at this one.

    a multiple   t alpha, or t w
    a segment    (1 - t) w_a + t w_b, and the same of alpha_a and alpha_b with a t of its own

Every domain is convex and holds 0, so all of these are feasible; P and D are searched along the
line, which takes no product with X beyond those of its ends. The path lam -> (w, alpha) bends
little where classes overlap, and an error of first order in the point is one of second order in P
and D: between two points of a factor 4 in lam the best one is often within 1e-3 by itself.

    P_lam(w_j)        = lam g(w_j) + losses_j
    D_lam(t alpha_j) >= t conjugates_j - t^2 ||u_j||^2 / (2 lam),      u_j = sum_i c_i alpha_i x_i

So four numbers say what any point is worth at any lam (l2; the conjugate terms are concave and 0
at 0). Used by core/rounds.py; checked in proofs_checks/between_lanes.py.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.lanes_behind import rows_added
from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.oracles.line_search import crossing, lowest

__all__ = ["Terms", "best_multiple", "between", "carried", "scaled", "terms"]


class Terms(NamedTuple):
    """What P and D of a point consist of, whatever lam is."""

    penalty: Array  # g(w)
    losses: Array
    conjugates: Array
    half: Array  # ||u||^2 / 2


def terms(problem: Any, point: Point, found: Certificate) -> Terms:
    """From a point's certificate; no product with X."""
    penalty = problem.regularizer.value(point.w)
    conjugates = jnp.sum(problem.c * problem.loss.neg_conj(point.dual, problem.y))
    lam = problem.lam
    return Terms(penalty, found.primal - lam * penalty, conjugates, lam * (conjugates - found.dual))


def _fall_of_dual(problem: Any, alpha, direction, u, du) -> Any:
    """t -> the slope of -D(alpha + t direction)."""

    def value(t):
        # an entry that stays may be at an end of its domain, where the slope is not finite
        moved = jnp.where(direction == 0, alpha, alpha + t * direction)
        conj = jnp.sum(problem.c * problem.loss.neg_conj(moved, problem.y))
        return problem.lam * problem.regularizer.conj((u + t * du) / problem.lam) - conj

    return jax.grad(value)


def carried(problem: Any, point: Point) -> Point:
    """A point found at another lam, as a start for this one: w, and the multiple t alpha,
    t in [0.01, 1], with the largest dual value. Where few alpha_i are at an end of their domain,
    alpha shrinks with lam."""
    if point.dual is None:
        return point
    u = problem.rows.rmatvec(problem.weighted(point.dual))
    falls = _fall_of_dual(problem, jnp.zeros_like(point.dual), point.dual, jnp.zeros_like(u), u)
    least = jnp.full_like(problem.lam, 0.01)  # at 0 a slope may be infinite
    first = falls(least)
    t = jnp.where(first < 0, crossing(falls, first), least)
    return Point(point.w, t * point.dual)


def between(problem: Any, a: Point, b: Point) -> Point:
    """The best w of the segment between two, and the best alpha; four products with X."""
    a, b = problem.complete(a), problem.complete(b)
    loss, regularizer = problem.loss, problem.regularizer
    z, dw = problem.products(a.w), b.w - a.w
    dz = problem.products(dw)

    def rises(t):
        pull = problem.lam * jnp.sum(dw * regularizer.grad(a.w + t * dw))
        return pull + jnp.sum(problem.weighted(dz * loss.slope(z + t * dz, problem.y)))

    u, direction = rows_added(problem.rows, problem.weighted(a.dual)), b.dual - a.dual
    du = rows_added(problem.rows, problem.weighted(direction))
    zero, one = jnp.zeros_like(problem.lam), jnp.ones_like(problem.lam)
    t = lowest(rises, zero, one)
    s = lowest(_fall_of_dual(problem, a.dual, direction, u, du), zero, one)
    return Point(a.w + t * dw, a.dual + s * direction)


def best_multiple(problem: Any, w, z) -> Array:
    """t in [0, 2] with the least P(t w), z = X w. While alpha is on its way w(alpha) is too
    long or too short, and many margins are just short of 1."""
    # the slope of t -> g(t w) is a line for t > 0
    first, second = (jnp.vdot(w, problem.regularizer.grad(t * w)) for t in (1.0, 2.0))

    def rises(t):
        pull = problem.lam * (first + (t - 1.0) * (second - first))
        return pull + jnp.sum(problem.weighted(z * problem.loss.slope(t * z, problem.y)))

    return lowest(rises, jnp.zeros_like(problem.lam), 2.0 * jnp.ones_like(problem.lam))


def scaled(problem: Any, w) -> Array:
    """The multiple of w with the least P; one product with X."""
    return best_multiple(problem, w, problem.products(w)) * w
