r"""SDCA: stochastic dual coordinate ascent, serial or with several coordinates at once.

    maximise  D(alpha) = -lam g*(abar) + sum_i c_i (-phi*(-alpha_i))
    over alpha, with  abar = (1/lam) sum_i c_i alpha_i x_i

A visit of example i takes the best step along coordinate i of the lower bound of D that the
sampling's constant v_i provides, at curvature q_i = c_i v_i / lam. For serial samplings v_i = L_i =
||x_i||^2, the bound is tight for l2, and the step is exact coordinate ascent.

    sdca         any sampling; shuffled passes unless told otherwise
    iprox_sdca   p_i proportional to 1 + c_i L_i/(lam gamma)
    msdca        tau coordinates at once with one safe constant v_i = beta R^2

Lecture "Empirical Risk Minimization" (Richtarik), SDCA, Iprox-SDCA, mSDCA.
Shalev-Shwartz & Zhang, JMLR 14 (2013), arXiv:1209.1873       (serial)
Zhao & Zhang, ICML 2015, arXiv:1401.2753                      (importance)
Takac, Bijral, Richtarik & Srebro, ICML 2013, arXiv:1303.2314 (mini-batch)
Qu, Richtarik & Zhang, NIPS 2015, arXiv:1411.5873             (any sampling)

Rate, phi (1/gamma)-smooth, theta = min_i p_i lam gamma / (c_i v_i + lam gamma):
    E[D* - D(alpha_t)] <= (1 - theta)^t (D* - D(alpha_0)),   E[gap_t] <= (that) / theta
    checked step by step in proofs_checks/sdca_one_step.py
"""

from typing import Any

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.eso import SpectralESO
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Nice, Optimal, Shuffled
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.dual.dual_visits import DualVisits
from jaxopt_svm.methods.dual.rates import contraction, powers, start_gap
from jaxopt_svm.methods.refusals import needs_erm, refuse_free_intercept
from jaxopt_svm.problems.erm import ERM

__all__ = ["SDCA", "iprox_sdca", "msdca"]

LECTURE = "Empirical Risk Minimization: {}"


@register(
    Info(
        name="sdca",
        family="dual",
        problems="ERM, any loss, l2 or elastic net",
        certificate="its own dual point",
        lecture=LECTURE.format("SDCA"),
        reference="Shalev-Shwartz & Zhang 2013, arXiv:1209.1873",
    ),
)
@pytree
class SDCA(DualVisits):
    """The first choice for lam not too small. Cost of a visit: one row.

    sampling: ``Shuffled()`` in practice, ``Uniform()`` or ``Optimal()`` for the theorems, any
      sampling of sets for several coordinates at once.
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

    def init(self, problem: ERM, start: Point | None = None) -> At:
        # The domain of alpha does not involve lam, so an alpha from another lam is a valid
        # warm start; its abar is not, and is rebuilt.
        alpha = problem.complete(problem.origin() if start is None else start).dual
        v = () if self.sampling.serial else self.sampling.constants(problem)[1]
        return At(vectors=(problem.abar(alpha),), tables=(alpha,), constants=v)

    def coordinate(self, problem: ERM, example: Example, z, alpha, at: At):
        v = example.row.sqnorm if self.sampling.serial else at.constants
        return problem.loss.dual_step(z, alpha, example.y, example.c * v / problem.lam)

    def point(self, problem: ERM, state: At) -> Point:
        return Point(problem.regularizer.link(state.vectors[0]), state.tables[0])

    def theta(self, problem: ERM):
        """min_i p_i lam gamma / (c_i v_i + lam gamma): the share of the gap one step closes."""
        return contraction(problem, *self.sampling.constants(problem))

    def bound(self, problem: ERM, t):
        """E[gap_t] <= (1 - theta)^t (P(0) - D(0)) / theta, from alpha = 0, smooth losses."""
        if not problem.loss.smooth:
            return None
        theta = self.theta(problem)
        return start_gap(problem) / theta * powers(problem, theta, t)


@register(
    Info(
        name="iprox_sdca",
        family="dual",
        problems="ERM, any loss, l2 or elastic net",
        certificate="its own dual point",
        lecture=LECTURE.format("Iprox-SDCA"),
        reference="Zhao & Zhang 2015, arXiv:1401.2753",
    )
)
def iprox_sdca(block: int = BLOCK) -> SDCA:
    """SDCA with the optimal serial sampling: worth it when row lengths differ much."""
    return SDCA(Optimal(), block=block)


@register(
    Info(
        name="msdca",
        family="dual",
        problems="ERM, any loss, l2 or elastic net",
        certificate="its own dual point",
        lecture=LECTURE.format("mSDCA"),
        reference="Takac et al. 2013, arXiv:1303.2314",
    )
)
def msdca(tau: int = 8) -> SDCA:
    """SDCA on tau coordinates at once with the safe constant of the largest eigenvalue."""
    return SDCA(Nice(tau, SpectralESO()))
