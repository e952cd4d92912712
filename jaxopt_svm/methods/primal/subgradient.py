r"""Projected subgradient descent on the whole data set.

    w <- Proj_{||w|| <= B} ( w - eta_t (lam grad g(w) + sum_i c_i phi'(<x_i, w>, y_i) x_i) )

For l2, eta_t = 1/(lam t) and no projection this is Frank-Wolfe on the dual: w_{T+1} = w(alpha) with
alpha the running mean of -phi'_i, so it carries a certificate. For a smooth loss eta = 1/L with
L = lam + sum_i c_i ||x_i||^2 / gamma descends at every step.

Lectures "SGD" (Srebro), "Optimization methods for SVMs" (Scheinberg).
Shor 1985; Bach, SIAM J. Optim. 25 (2015) for the Frank-Wolfe reading.

Bound, hinge, 1/(lam t), uniform average: P - P* <= G^2 (1 + ln T)/(2 lam T), deterministic
    (proofs_checks/pegasos_bound.py).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import optax
from jax import Array

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.primal.step_rules import Constant, InverseLam, InverseSqrt
from jaxopt_svm.methods.refusals import needs_gradients
from jaxopt_svm.problems.erm import ERM

__all__ = ["Subgradient", "SubgradientState"]


class SubgradientState(NamedTuple):
    """w: (d,). slopes: (n,) sum of -phi'_i, or None where the steps do not telescope. t: step."""

    w: Array
    slopes: Array | None
    t: Array


@register(
    Info(
        name="subgradient",
        family="primal",
        problems="ERM, any loss, l2 or elastic net, free intercept; structured",
        certificate="its own dual point with step 1/(lam t), else from slopes",
        lecture="Introduction to Machine Learning: subgradient descent",
        reference="Shor 1985; Bach 2015",
    ),
    suits=lambda problem: isinstance(problem, ERM),
)
@pytree
class Subgradient:
    """The plainest method. Cost of a step: two products with X.

    rule: a step rule; None takes 1/L for a smooth loss, 1/(lam t) for another, and c/sqrt(t) when
      a free intercept takes strong convexity away.
    radius: of the ball projected on, None for no projection.
    """

    rule: Any = None
    radius: Any = None

    bound_on = "primal"

    def check(self, problem) -> None:
        needs_gradients(self, problem)

    def _rule(self, problem: ERM) -> Any:
        if self.rule is not None:
            return self.rule
        if not isinstance(problem, ERM):
            return InverseLam()
        if problem.loss.smooth:
            curvature = jnp.sum(problem.c * problem.rows.sqnorms) / problem.loss.gamma
            return Constant(1.0 / (problem.lam + curvature))
        return InverseSqrt() if problem.regularizer.free else InverseLam()

    def _certified(self, problem: ERM) -> bool:
        if not isinstance(problem, ERM):
            return False  # FrankWolfe is this method with its dual point
        telescopes = isinstance(self._rule(problem), InverseLam) and self.radius is None
        return telescopes and problem.regularizer.linear and not problem.regularizer.free

    def init(self, problem: ERM, start: Point | None = None) -> SubgradientState:
        start = problem.origin() if start is None else start
        t = jnp.ones((), jnp.int32)
        if not self._certified(problem):
            return SubgradientState(start.w, None, t)
        alpha = problem.complete(start).dual
        return SubgradientState(problem.w_of(alpha), self._rule(problem).t0 * alpha, t)

    def draw(self, problem: ERM, key):
        """Nothing is random: one step a pass."""
        del problem, key
        return jnp.zeros(1, jnp.int32)

    def step(self, problem: ERM, state: SubgradientState, sample) -> SubgradientState:
        del sample
        w, eta = state.w, self._rule(problem).size(problem, state.t)
        slopes = state.slopes
        if slopes is None:
            g = problem.grad(w)
        else:
            slope = problem.loss.slope(problem.rows.matvec(w), problem.y)
            g = problem.lam * problem.regularizer.grad(w)
            g, slopes = g + problem.rows.rmatvec(problem.weighted(slope)), slopes - slope
        w = w - eta * g
        if self.radius is not None:
            w = optax.projections.projection_l2_ball(w, self.radius)
        return SubgradientState(w, slopes, state.t + 1)

    def point(self, problem: ERM, state: SubgradientState) -> Point:
        if state.slopes is None:
            return Point(state.w)
        steps = (state.t - 1).astype(state.w.dtype) + self._rule(problem).t0
        return Point(state.w, state.slopes / jnp.maximum(steps, 1e-30))

    def spent(self, problem: ERM) -> Spent:
        del problem
        return Spent(work=1.0, oracle_calls=0.0, updates=1.0)

    def bound(self, problem: ERM, t):
        """1/(lam t): 17 G^2 (1 + ln t)/(lam t) on P(w_t) - P*, G = 2 R, |phi'| <= 1, l2."""
        if not self._certified(problem) or not problem.loss.lipschitz:
            return None
        t = jnp.maximum(jnp.asarray(t, problem.lam.dtype), 1.0)
        G = 2.0 * jnp.sum(problem.c * jnp.sqrt(problem.rows.sqnorms))
        return 17 * G**2 * (1.0 + jnp.log(t)) / (problem.lam * t)
