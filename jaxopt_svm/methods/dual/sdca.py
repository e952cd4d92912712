r"""SDCA: stochastic dual coordinate ascent, serial or with several coordinates at once.

    maximise  D(alpha) = -lam g*(abar) + sum_i c_i (-phi*(-alpha_i))
    over alpha, with  abar = (1/lam) sum_i c_i alpha_i x_i

A visit of example i takes the best step along coordinate i of the lower bound of D that the
sampling's constant v_i provides. For serial samplings v_i = L_i = ||x_i||^2, the bound is
tight for l2, and the step is exact coordinate ascent.

Lecture "Empirical Risk Minimization" (Richtarik), SDCA.
Shalev-Shwartz & Zhang, JMLR 14 (2013), arXiv:1209.1873       (serial)
Qu, Richtarik & Zhang, NIPS 2015, arXiv:1411.5873             (any sampling)

Rate, phi (1/gamma)-smooth, theta = min_i p_i lam gamma / (c_i v_i + lam gamma):
    E[D* - D(alpha_t)] <= (1 - theta)^t (D* - D(alpha_0)),   E[gap_t] <= (that) / theta
    checked step by step in proofs_checks/sdca_one_step.py
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.core.visits import BLOCK, Visits
from jaxopt_svm.methods.refusals import needs_erm, refuse_free_intercept
from jaxopt_svm.problems.erm import ERM

__all__ = ["SDCA"]


@register(
    Info(
        name="sdca",
        family="dual",
        problems="ERM, any loss, l2 or elastic net",
        certificate="its own dual point",
        lecture="Empirical Risk Minimization: SDCA",
        reference="Shalev-Shwartz & Zhang 2013, arXiv:1209.1873",
    ),
    suits=lambda problem: isinstance(problem, ERM) and not problem.regularizer.free,
)
@pytree
class SDCA(Visits):
    """The first choice for lam not too small. Cost of a visit: one row.

    sampling: ``Shuffled()`` in practice, ``Uniform()`` or ``Optimal()`` for the theorems,
      ``Nice(tau)`` for tau coordinates at once.
    block: visits done together; the iterates do not depend on it, only the speed does.
    """

    sampling: Any = Shuffled()
    block: int = static(default=BLOCK)

    scales = False
    bound_on = "gap"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        refuse_free_intercept(self, problem)
        self.sampling.check(problem)

    def linear(self, problem) -> bool:
        return problem.regularizer.linear

    def init(self, problem: ERM, start: Point | None = None) -> At:
        # The domain of alpha does not involve lam, so an alpha from another lam is a valid
        # warm start; its abar is not, and is rebuilt.
        alpha = problem.complete(problem.origin() if start is None else start).dual
        v = () if self.sampling.serial else self.sampling.constants(problem)[1]
        return At(vectors=(problem.abar(alpha),), tables=(alpha,), constants=v)

    def visit(self, problem: ERM, example: Example, at: At) -> At:
        (abar,), (alpha,), (row, y, c) = at.vectors, at.tables, example
        v = row.sqnorm if self.sampling.serial else at.constants
        # 1. the score of this example under w = grad g*(abar)
        z = row.dot(abar, problem.regularizer.link)
        # 2. the best step along coordinate i, curvature q_i = c_i v_i / lam
        new = problem.loss.dual_step(z, alpha, y, c * v / problem.lam)
        # 3. keep abar = (1/lam) sum_i c_i alpha_i x_i
        abar = row.add(abar, c * (new - alpha) / problem.lam)
        return At((abar,), (new,), at.scalars, at.constants)

    def point(self, problem: ERM, state: At) -> Point:
        return Point(problem.regularizer.link(state.vectors[0]), state.tables[0])

    def spent(self, problem: ERM) -> Spent:
        return Spent(work=1.0, oracle_calls=0.0, updates=float(problem.n))

    def theta(self, problem: ERM):
        """min_i p_i lam gamma / (c_i v_i + lam gamma): the share of the gap one step closes."""
        p, v = self.sampling.constants(problem)
        x = problem.lam * problem.loss.gamma
        return jnp.min(p * x / (problem.c * v + x))

    def bound(self, problem: ERM, t):
        """E[gap_t] <= (1 - theta)^t (P(0) - D(0)) / theta, from alpha = 0, smooth losses."""
        if not problem.loss.smooth:
            return None
        theta, t = self.theta(problem), jnp.asarray(t, problem.lam.dtype)
        return problem.certificate(problem.origin()).gap / theta * jnp.exp(t * jnp.log1p(-theta))
