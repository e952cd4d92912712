r"""Empirical risk over a ball, the other way to keep w small, and its certificate.

    minimise  L(w) = sum_i c_i phi(<x_i, w>, y_i)   over  ||w|| <= B
    D(alpha)  = sum_i c_i (-phi*(-alpha_i)) - B ||u||,       u = sum_i c_i alpha_i x_i

L(w) >= L* = D* >= D(alpha) for every w in the ball and every alpha in the domain. The two forms of
regularisation have the same solutions: since B ||u|| = min over lam of ||u||^2/(2 lam) + lam B^2/2,

    D(alpha) = max over lam > 0 of  D_lam(alpha) - lam B^2/2,       the best lam being ||u||/B,

D_lam the dual of lam/2 ||w||^2 + L(w): the ball picks its own lam. (proofs_checks/ball_duality.py)

The radius is what a grid runs over, so it carries the drivers' name for that, ``lam``:
``js.sweep(problem, radii)`` solves for many balls in one batched program.

Lecture "Introduction to Machine Learning" (Srebro), SGD for the hinge over a ball.
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.problems.erm import ERM, Sums
from jaxopt_svm.problems.make import check_lam, make_erm

__all__ = ["Ball", "NoPenalty", "into_ball", "make_ball"]


def into_ball(w, B):
    """The point of ||w|| <= B nearest to w."""
    length = jnp.sqrt(jnp.sum(w * w))
    return w * jnp.minimum(1.0, B / jnp.maximum(length, jnp.finfo(w.dtype).tiny))


@pytree
class NoPenalty:
    """g = 0: the constraint does the work of a regulariser."""

    linear = True
    free = False

    def value(self, w):
        return jnp.zeros((), w.dtype)

    def grad(self, w):
        return jnp.zeros_like(w)


@pytree
class Ball:
    """Examples, loss and a radius. Make one with ``make_ball``.

    A point outside the ball is read as its projection, by ``primal`` and by ``certificate``.
    """

    risk: ERM  # the examples and their loss; the lam in there does not count
    lam: Array  # (): the radius B

    bounded = True
    strength = 0.0
    regularizer = NoPenalty()

    @property
    def radius(self):
        return self.lam

    @property
    def rows(self) -> Any:
        return self.risk.rows

    @property
    def y(self) -> Array:
        return self.risk.y

    @property
    def c(self) -> Array:
        return self.risk.c

    @property
    def loss(self) -> Any:
        return self.risk.loss

    @property
    def labels(self) -> tuple | None:
        return self.risk.labels

    @property
    def intercept(self) -> str:
        return self.risk.intercept

    @property
    def n(self) -> int:
        return self.risk.n

    @property
    def d(self) -> int:
        return self.risk.d

    def weighted(self, values):
        return self.risk.weighted(values)

    def slope_bound(self):
        """R with ||n c_i phi'_i x_i|| <= R for every i, for losses with |phi'| <= 1."""
        return self.risk.slope_bound()

    def with_lam(self, lam) -> "Ball":
        """The same examples in a ball of another radius (or of several)."""
        return dataclasses.replace(self, lam=jnp.asarray(lam, self.c.dtype))

    def penalised(self, lam) -> ERM:
        """lam/2 ||w||^2 + L(w), the other form of the same problem."""
        return dataclasses.replace(self.risk, lam=jnp.asarray(lam, self.c.dtype))

    def origin(self) -> Point:
        return self.risk.origin()

    def project(self, w):
        return into_ball(w, self.lam)

    def primal(self, w):
        z = self.rows.matvec(self.project(jnp.asarray(w)))
        return jnp.sum(self.c * self.loss.value(z, self.y))

    def dual(self, alpha):
        u = self.rows.rmatvec(self.weighted(alpha))
        conj = jnp.sum(self.c * self.loss.neg_conj(alpha, self.y))
        return conj - self.lam * jnp.sqrt(jnp.sum(u * u))

    def grad(self, w):
        """A subgradient of L at w."""
        slope = self.loss.slope(self.rows.matvec(w), self.y)
        return self.rows.rmatvec(self.weighted(slope))

    def complete(self, point: Point) -> Point:
        """w in the ball; alpha from the point, or -slope_i(w), clipped to its domain."""
        return self.risk.complete(Point(self.project(point.w), point.dual))

    def certificate(self, point: Point) -> Certificate:
        """Valid for any w and any alpha: both are made feasible first, u is rebuilt."""
        w, alpha = self.complete(point)
        return self.certificate_of(w, self.risk.sums(w, alpha))

    def certificate_of(self, w, sums: Sums) -> Certificate:
        """L, D, their difference and its rounding bound from the sums over the examples."""
        support = self.lam * jnp.sqrt(jnp.sum(sums.u * sums.u))
        primal, dual = sums.losses, sums.conjugates - support
        in_z, in_u = sums.slope_lengths * jnp.linalg.norm(w), sums.alpha_lengths * self.lam
        floor = jnp.finfo(primal.dtype).eps * (support + sums.terms + in_z + in_u)
        return Certificate(primal, dual, primal - dual, floor)


def make_ball(
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    B: float = 1.0,
    weights: Any = None,
    intercept: str = "none",
) -> Ball:
    """minimise sum_i c_i phi(<x_i, w>, y_i) over ||w|| <= B.

    Args:
      X, y, loss, weights: as for ``make_erm``.
      B: the radius. A grid of radii goes to ``js.sweep(problem, radii)``.
      intercept: "none" or "penalised" (a constant feature, inside the ball).
    """
    radius = check_lam("B", B)
    if radius.ndim:
        raise ValueError("B: expected one number; pass a grid of radii to js.sweep(problem, radii)")
    if intercept == "free":
        raise ValueError('intercept: a ball has none that is "free"; use "none" or "penalised"')
    risk = make_erm(X, y, loss=loss, lam=1.0, weights=weights, intercept=intercept)
    return Ball(risk, jnp.asarray(radius, risk.c.dtype))
