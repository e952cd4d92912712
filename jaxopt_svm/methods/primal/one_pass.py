r"""SGD on the risk: every step draws a fresh example, uses it once and forgets it.

    (x, y) ~ D;      w <- w - eta_t phi'(<x, w>, y) x

is unbiased for the risk L_D itself, so nothing is estimated from a sample and nothing overfits:

    E L_D(mean of w_1..w_T) <= inf over ||w|| <= B of L_D + B R/sqrt(T),      eta = B/(R sqrt(T)),

E||x||^2 <= R^2, |phi'| <= 1. No projection is needed with a fixed step. T = (BR/eps)^2 examples are
as many as the analysis of learning asks for anyway. Memory: w and a mean.

Lecture "Introduction to Machine Learning" (Srebro), SGD on the population.
Robbins & Monro 1951; Nemirovski et al. 2009. Checked in proofs_checks/one_pass.py.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.methods.primal.step_rules import Horizon, InverseLam
from jaxopt_svm.problems.population import Population

__all__ = ["OnePass"]


class OnePassState(NamedTuple):
    """w: (d,). t: the number of the next step."""

    w: Array
    t: Array


@pytree
class OnePass:
    """Cost of a step: one example drawn, one product with it.

    rule: a step rule. examples: how many a pass of the drivers draws. project: into the ball.
    """

    rule: Any = Horizon(1000.0)
    examples: int = static(default=1000)
    project: bool = static(default=False)

    bound_on = "primal"
    name = "one_pass"

    def check(self, problem) -> None:
        if not isinstance(problem, Population):
            raise ValueError(
                "OnePass draws its examples from a population (js.make_population); "
                f"got {type(problem).__name__}"
            )
        if self.examples < 1:
            raise ValueError(f"OnePass: examples must be at least 1; got {self.examples}")
        if isinstance(self.rule, InverseLam):
            raise ValueError("OnePass: a ball has no lam for the rule InverseLam; use Horizon(T)")

    def init(self, problem: Population, start: Point | None = None) -> OnePassState:
        w = (problem.origin() if start is None else start).w
        return OnePassState(problem.project(w), jnp.ones((), jnp.int32))

    def draw(self, problem: Population, key: Array):
        return problem.draw(key, self.examples)

    def step(self, problem: Population, state: OnePassState, sample) -> OnePassState:
        (x, y), (w, t) = sample, state
        eta = self.rule.size(problem, t)
        w = w - eta * problem.loss.slope(jnp.vdot(x, w), y) * x
        return OnePassState(problem.project(w) if self.project else w, t + 1)

    def point(self, problem: Population, state: OnePassState) -> Point:
        del problem
        return Point(state.w)

    def spent(self, problem: Population) -> Spent:
        return Spent(self.examples / problem.n, 0.0, float(self.examples))

    def bound(self, problem: Population, t) -> None:
        del problem, t

    def mean_bound(self, problem: Population, t):
        """On E L_D - inf L_D for the uniform mean; |phi'| <= 1, a fixed step or projection."""
        known = hasattr(self.rule, "mean_bound") and problem.loss.lipschitz
        if not known or not (self.project or isinstance(self.rule, Horizon)):
            return None
        t = jnp.maximum(jnp.asarray(t, problem.lam.dtype), 1.0)
        return self.rule.mean_bound(problem, problem.slope_bound(), t)
