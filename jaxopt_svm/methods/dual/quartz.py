r"""Quartz: primal-dual ascent with arbitrary sampling; the lecture's main method.

    w      <- (1 - theta) w + theta grad g*(abar)
    for i in S:
      I :  alpha_i <- argmax_a -phi*(-a) - <x_i, grad g*(abar)> a - (c_i v_i/2 lam) (a - alpha_i)^2
      II:  alpha_i <- (1 - theta/p_i) alpha_i - (theta/p_i) phi'(<x_i, w>, y_i)       (the new w)
    abar   <- abar + (1/lam) sum_{i in S} c_i (change of alpha_i) x_i

Option I never reads w: its alpha is the path of SDCA, and w only an average of grad g*(abar).
``point`` therefore returns grad g*(abar), which is better; w stays in the state for the theorem.

Lecture "Empirical Risk Minimization" (Richtarik), Quartz.
Qu, Richtarik & Zhang, NIPS 2015, arXiv:1411.5873.

Rate, phi (1/gamma)-smooth, theta = min_i p_i lam gamma / (c_i v_i + lam gamma):
    E[P(w_t) - D(alpha_t)] <= (1 - theta)^t (P(w_0) - D(alpha_0))
    one step from any state, by enumeration: proofs_checks/quartz_one_step.py
"""

from typing import Any

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.dual.dual_visits import DualVisits
from jaxopt_svm.methods.dual.rates import contraction, powers, start_gap
from jaxopt_svm.methods.refusals import needs_erm, needs_smooth, refuse_free_intercept
from jaxopt_svm.problems.erm import ERM

__all__ = ["Quartz"]


@register(
    Info(
        name="quartz",
        family="dual",
        problems="ERM, smooth loss, l2 or elastic net",
        certificate="its own dual point",
        lecture="Empirical Risk Minimization: Quartz",
        reference="Qu, Richtarik & Zhang 2015, arXiv:1411.5873",
    )
)
@pytree
class Quartz(DualVisits):
    """State: vectors (w, abar), scalars (theta,), constants (p, v). Cost of a visit: one row.

    sampling: any. option: 1 solves a coordinate problem, 2 only needs phi'.
    """

    sampling: Any = Shuffled()
    option: int = static(default=1)
    block: int = static(default=BLOCK)

    bound_on = "gap"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_smooth(self, problem)
        refuse_free_intercept(self, problem)
        self.sampling.check(problem)
        if self.option not in (1, 2):
            raise ValueError(f"Quartz: option must be 1 or 2; got {self.option!r}")

    def theta(self, problem: ERM):
        return contraction(problem, *self.sampling.constants(problem))

    def init(self, problem: ERM, start: Point | None = None) -> At:
        start = problem.complete(problem.origin() if start is None else start)
        return At(
            vectors=(start.w, problem.abar(start.dual)),
            tables=(start.dual,),
            scalars=(self.theta(problem),),
            constants=self.sampling.constants(problem),
        )

    def before(self, problem: ERM, own, abar, scalars):
        (w,), (theta,) = own, scalars
        return ((1.0 - theta) * w + theta * problem.regularizer.link(abar),)

    def look(self, problem: ERM, own, abar, scalars):
        del scalars
        return (abar, problem.regularizer.link) if self.option == 1 else (own[0], None)

    def coordinate(self, problem: ERM, example: Example, z, alpha, at: At):
        (theta,), (p, v) = at.scalars, at.constants
        if self.option == 1:
            return problem.loss.dual_step(z, alpha, example.y, example.c * v / problem.lam)
        share = theta / p
        return (1.0 - share) * alpha - share * problem.loss.slope(z, example.y)

    def point(self, problem: ERM, state: At) -> Point:
        return Point(problem.regularizer.link(state.vectors[1]), state.tables[0])

    def bound(self, problem: ERM, t):
        """(1 - theta)^t (P(0) - D(0)) on E[P(w_t) - D(alpha_t)]."""
        return start_gap(problem) * powers(problem, self.theta(problem), t)
