r"""Projected subgradient descent on the whole data set.

    w <- Proj_{||w|| <= B} ( w - eta_t (lam grad g(w) + sum_i c_i phi'(<x_i, w>, y_i) x_i) )

On a problem over a ball the penalty is absent and B the ball's; the mean of -phi'_i over the steps
is its dual point, whose gap with the mean of the iterates obeys the bound of the iterates.

For l2, eta_t = 1/(lam t) and no projection this is Frank-Wolfe on the dual: w_{T+1} = w(alpha) with
alpha the running mean of -phi'_i, so it carries a certificate. For a smooth loss eta = 1/L with
L = lam + sum_i c_i ||x_i||^2 / gamma descends at every step.

Lectures "SGD" (Srebro), "Optimization methods for SVMs" (Scheinberg).
Shor 1985; Bach, SIAM J. Optim. 25 (2015) for the Frank-Wolfe reading.

Bound, hinge, 1/(lam t), uniform average: P - P* <= G^2 (1 + ln T)/(2 lam T), deterministic
    (proofs_checks/pegasos_bound.py). On a ball: see step_rules, proofs_checks/ball_bounds.py.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.primal.step_rules import AnyTime, Constant, InverseLam, InverseSqrt
from jaxopt_svm.methods.refusals import needs_gradients
from jaxopt_svm.problems.ball import Ball, into_ball
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.structured.problem import Structured

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
        problems="ERM, any loss, l2 or elastic net, free intercept; over a ball; structured",
        certificate="its own dual point on a ball or with step 1/(lam t), else from slopes",
        lecture="Introduction to Machine Learning: subgradient descent",
        reference="Shor 1985; Bach 2015",
    ),
    suits=lambda problem: isinstance(problem, ERM),
)
@pytree
class Subgradient:
    """The plainest method. Cost of a step: two products with X.

    rule: a step rule; None takes 1/L for a smooth loss, for another 1/(lam t), B/(G sqrt(t)) on a
      ball, and c/sqrt(t) when a free intercept takes strong convexity away.
    radius: of the ball projected on, None for no projection; a ball has its own.
    project: on the ball of ``problem.radius``, which holds the optimum.
    """

    rule: Any = None
    radius: Any = None
    project: bool = static(default=False)

    bound_on = "primal"

    def check(self, problem) -> None:
        if not isinstance(problem, Ball):
            needs_gradients(self, problem)
        if problem.bounded and isinstance(self.rule, InverseLam):
            raise ValueError("Subgradient: a ball has no lam for the rule InverseLam")
        if self.project and isinstance(problem, Structured):
            raise ValueError("Subgradient: project=True is for ERM problems; give a radius here")

    def _rule(self, problem) -> Any:
        if self.rule is not None:
            return self.rule
        if isinstance(problem, Structured):
            return InverseLam()
        if problem.loss.smooth:
            curvature = jnp.sum(problem.c * problem.rows.sqnorms) / problem.loss.gamma
            return Constant(1.0 / (problem.strength + curvature))
        if problem.bounded:
            return AnyTime()
        return InverseSqrt() if problem.regularizer.free else InverseLam()

    def _projects(self, problem) -> bool:
        return problem.bounded or self.project or self.radius is not None

    def _radius(self, problem):
        return problem.radius if problem.bounded or self.radius is None else self.radius

    def _certified(self, problem) -> bool:
        if problem.bounded:
            return not problem.loss.smooth  # for a smooth loss the slopes at w do better
        if isinstance(problem, Structured):
            return False  # FrankWolfe is this method with its dual point
        telescopes = isinstance(self._rule(problem), InverseLam) and not self._projects(problem)
        return telescopes and problem.regularizer.linear and not problem.regularizer.free

    def init(self, problem, start: Point | None = None) -> SubgradientState:
        start = problem.origin() if start is None else start
        t = jnp.ones((), jnp.int32)
        if problem.bounded:
            slopes = jnp.zeros_like(problem.y) if self._certified(problem) else None
            return SubgradientState(problem.project(start.w), slopes, t)
        if not self._certified(problem):
            return SubgradientState(start.w, None, t)
        alpha = problem.complete(start).dual
        return SubgradientState(problem.w_of(alpha), self._rule(problem).t0 * alpha, t)

    def draw(self, problem, key):
        """Nothing is random: one step a pass."""
        del problem, key
        return jnp.zeros(1, jnp.int32)

    def step(self, problem, state: SubgradientState, sample) -> SubgradientState:
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
        if self._projects(problem):
            w = into_ball(w, self._radius(problem))
        return SubgradientState(w, slopes, state.t + 1)

    def point(self, problem, state: SubgradientState) -> Point:
        if state.slopes is None:
            return Point(state.w)
        t0 = 0.0 if problem.bounded else self._rule(problem).t0
        steps = (state.t - 1).astype(state.w.dtype) + t0
        return Point(state.w, state.slopes / jnp.maximum(steps, 1e-30))

    def spent(self, problem) -> Spent:
        del problem
        return Spent(work=1.0, oracle_calls=0.0, updates=1.0)

    def gradient_bound(self, problem):
        """G with ||g_t|| <= G for l2 and losses with |phi'| <= 1."""
        R = problem.slope_bound()
        return R + problem.strength * self._radius(problem) if self._projects(problem) else 2.0 * R

    def _theorem(self, problem, t, name: str):
        """The rule's bound called ``name``, where its assumptions hold."""
        if isinstance(problem, Structured):
            return None
        rule, telescopes = self._rule(problem), isinstance(self._rule(problem), InverseLam)
        plain = problem.regularizer.linear and not problem.regularizer.free
        if not (plain and problem.loss.lipschitz and hasattr(rule, name)):
            return None
        if not (telescopes or self._projects(problem)):
            return None
        t = jnp.maximum(jnp.asarray(t, problem.lam.dtype), 1.0)
        return getattr(rule, name)(problem, self.gradient_bound(problem), t)

    def bound(self, problem, t):
        """On P(w_t) - P*: 17 G^2 (1 + ln t)/(lam t) with step 1/(lam t)."""
        return self._theorem(problem, t, "last_bound")

    def mean_bound(self, problem, t):
        """On P - P* for the uniform mean of the iterates after 1..t steps."""
        return self._theorem(problem, t, "mean_bound")
