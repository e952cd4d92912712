r"""Gradient descent on the hinge made smooth, plain or accelerated, with mu going to 0 by itself.

    phi_mu(z) = max over a in [0, 1] of  a (1 - z) - mu a^2/2,   hinge - mu/2 <= phi_mu <= hinge
    f_mu(w)   = lam/2 ||w||^2 + sum_i c_i phi_mu(y_i <x_i, w>)
    L         = lam + ||sum_i c_i x_i x_i'||/mu

    w+ = v - grad f_mu(v)/L
    v+ = w+ + beta (w+ - w),   beta = (sqrt(kappa) - 1)/(sqrt(kappa) + 1),  kappa = L/lam    (AGD)
    v+ = w+                                                                                  (GD)

The dual point is alpha_i = -phi_mu'(v), feasible for the hinge as it is. With it the gap of f_mu at
v is ||grad f_mu(v)||^2/(2 lam), known at no cost, and that of the hinge at most mu/2 more. So once
it is a small part of mu a smaller mu is due: mu is divided by four and the momentum starts anew
(continuation). A given mu stays fixed, which is what the theorems are about. Other smooth losses
stay as they are.

Lecture "Optimization Methods for SVMs" (Scheinberg), Huber loss.
Nesterov, Math. Prog. 103 (2005); Chapelle, Neural Comput. 19 (2007); Beck & Teboulle 2009.

Rates from w = 0; the usual first term f_mu(0) - f_mu* + lam/2 ||w*||^2 is at most f_mu(0):
    AGD   f_mu(w_T) - f_mu* <= (1 - 1/sqrt(kappa))^T f_mu(0)
    GD    f_mu(w_T) - f_mu* <= (1 - 1/kappa)^T f_mu(0)
and P - P* is at most mu/2 more: with mu = eps, R sqrt(1/(lam eps)) and R^2/(lam eps) steps up to
logarithms. (proofs_checks/huber_bounds.py, huber_sandwich.py)
"""

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.eso import LARGEST_EIGENPROBLEM, largest_eigenvalue
from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.refusals import needs_erm, needs_l2, refuse_free_intercept
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.losses import Hinge, SmoothHinge
from jaxopt_svm.problems.make import check_lam
from jaxopt_svm.problems.rows import Dense

__all__ = ["Huber", "huber_agd", "huber_gd"]

FIRST_MU = 1.0
SHRINK = 0.25
# mu shrinks when the gap of f_mu is below this share of it. Near the minimiser of f_mu the hinge's
# own gap is far below mu/2, so patience pays: with 1/4 it takes two to six times the steps (breast
# cancer at two lam and a synthetic set, on which the pair was chosen)
DUE = 0.005


class HuberState(NamedTuple):
    """w, v: (d,) iterate and extrapolation. alpha: (n,) -phi_mu'(v) at the last v. mu: now.

    top: largest eigenvalue of sum_i c_i x_i x_i'.
    """

    w: Array
    v: Array
    alpha: Array
    mu: Array
    top: Array


def curvature(problem: ERM) -> Array:
    """||sum_i c_i x_i x_i'||, never too small; where it is dear, the smaller of two bounds."""
    rows, (n, d) = problem.rows, problem.rows.shape
    if isinstance(rows, Dense) and n <= min(d, LARGEST_EIGENPROBLEM):
        scaled = jnp.sqrt(problem.c)[:, None] * rows.X
        return largest_eigenvalue(scaled @ scaled.T)
    if rows.spans and d <= LARGEST_EIGENPROBLEM:
        return largest_eigenvalue(rows.column_gram(problem.c))
    return jnp.minimum(jnp.sum(problem.c * rows.sqnorms), jnp.max(problem.c) * rows.norm_product())


@pytree
class Huber:
    """Full gradients and few steps. Cost of a step: two products with X.

    mu: of the smoothed hinge; None starts at 1 and lowers it whenever the certificate asks for it.
    """

    mu: Any = None
    accelerated: bool = static(default=True)

    bound_on = "primal"

    @property
    def name(self) -> str:
        return "huber_agd" if self.accelerated else "huber_gd"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_l2(self, problem)
        refuse_free_intercept(self, problem)
        if not (problem.loss.smooth or isinstance(problem.loss, Hinge)):
            raise ValueError(
                f"Huber smooths the hinge, not {type(problem.loss).__name__}; use Hinge()"
            )
        if self.mu is not None:
            check_lam("mu", self.mu)

    def smoothed(self, problem: ERM, mu) -> ERM:
        """f_mu, or the problem itself when its loss is smooth."""
        if problem.loss.smooth:
            return problem
        return dataclasses.replace(problem, loss=SmoothHinge(mu))

    def init(self, problem: ERM, start: Point | None = None) -> HuberState:
        start = problem.complete(problem.origin() if start is None else start)
        mu = FIRST_MU if self.mu is None else self.mu
        mu = jnp.asarray(mu, problem.lam.dtype)
        return HuberState(start.w, start.w, start.dual, mu, curvature(problem))

    def draw(self, problem: ERM, key):
        """Nothing is random: one step a pass."""
        del problem, key
        return jnp.zeros(1, jnp.int32)

    def step(self, problem: ERM, state: HuberState, sample) -> HuberState:
        del sample
        w, v, _, mu, top = state
        f = self.smoothed(problem, mu)
        slope = f.loss.slope(f.rows.matvec(v), f.y)
        g = f.lam * v + f.rows.rmatvec(f.weighted(slope))
        new = v - g / self.smoothness(f, top)
        moved = new + self.momentum(f, top) * (new - w)
        if self.mu is not None or problem.loss.smooth:
            return HuberState(new, moved, -slope, mu, top)
        gap = jnp.sum(g * g) / (2 * f.lam)
        due = gap < DUE * mu
        mu = jnp.where(due, jnp.maximum(SHRINK * mu, jnp.finfo(mu.dtype).eps), mu)
        return HuberState(new, jnp.where(due, new, moved), -slope, mu, top)

    def smoothness(self, f: ERM, top):
        return f.lam + top / f.loss.gamma

    def momentum(self, f: ERM, top):
        """beta, or 0 for plain descent."""
        if not self.accelerated:
            return 0.0
        root = jnp.sqrt(self.smoothness(f, top) / f.lam)
        return (root - 1.0) / (root + 1.0)

    def point(self, problem: ERM, state: HuberState) -> Point:
        del problem
        return Point(state.w, state.alpha)

    def spent(self, problem: ERM) -> Spent:
        del problem
        return Spent(work=1.0, oracle_calls=0.0, updates=1.0)

    def bound(self, problem: ERM, t):
        """On P(w_t) - P* from w = 0, for a fixed mu or a smooth loss."""
        if self.mu is None and not problem.loss.smooth:
            return None
        f = self.smoothed(problem, self.mu)
        kappa = self.smoothness(f, curvature(problem)) / f.lam
        rate = 1.0 / (jnp.sqrt(kappa) if self.accelerated else kappa)
        distance = 0.0 if self.mu is None or problem.loss.smooth else self.mu / 2
        first = f.primal(jnp.zeros((f.d, *f.y.shape[1:]), f.c.dtype))
        t = jnp.asarray(t, f.lam.dtype)
        return first * jnp.exp(t * jnp.log1p(-rate)) + distance


def _info(name: str, title: str) -> Info:
    return Info(
        name=name,
        family="primal",
        problems="ERM, hinge or a smooth loss, l2",
        certificate="its own dual point",
        lecture=f"Optimization Methods for SVMs: {title}",
        reference="Nesterov 2005; Chapelle 2007",
    )


@register(_info("huber_gd", "Huber loss, gradient descent"))
def huber_gd(mu: float | None = None) -> Huber:
    """Gradient descent on the smoothed hinge."""
    return Huber(mu, accelerated=False)


@register(_info("huber_agd", "Huber loss, accelerated"))
def huber_agd(mu: float | None = None) -> Huber:
    """Nesterov's accelerated gradient on the smoothed hinge."""
    return Huber(mu)
