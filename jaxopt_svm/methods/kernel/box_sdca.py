r"""Box SDCA: dual coordinate ascent on a Gram matrix, for any loss, without a free intercept.

    maximise  D(alpha) = -lam/2 beta' K beta + sum_i c_i (-phi*(-alpha_i)),   beta = c alpha / lam

A visit of example i takes the best step along alpha_i, at curvature q_i = c_i K_ii / lam and score
z_i = (K beta)_i, and adds its change to all scores, one row of K. For the hinge this is the box QP

    beta_i <- clip(beta_i + (y_i - z_i) / K_ii, lo_i, hi_i);

for the logistic loss it is kernel logistic regression, for the squared loss kernel ridge
regression. The visits run in exact blocks (core/blocks.py): a block gathers its rows of K once for
all lanes and the update of the scores is a matrix product.

Lecture "Optimization Methods for SVMs" (Scheinberg), the dual; "Empirical Risk Minimization"
(Richtarik), SDCA. Hsieh et al., ICML 2008; Shalev-Shwartz & Zhang, JMLR 14 (2013), arXiv:1209.1873.
Rate for smooth losses as SDCA's, with L_i = K_ii: proofs_checks/sdca_one_step.py.
That a linear kernel gives the very steps of SDCA: tests/test_kernel_methods.py.
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
from jaxopt_svm.methods.refusals import needs_kernel, refuse_free_kernel_intercept
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["BoxSDCA"]


@register(
    Info(
        name="box_sdca",
        family="kernel",
        problems='kernel machine, any loss, intercept "none" or "penalised"',
        certificate="its own dual point",
        lecture="Optimization Methods for SVMs: dual problem",
        reference="Hsieh et al. 2008; Shalev-Shwartz & Zhang 2013",
    ),
    suits=lambda problem: isinstance(problem, KernelSVM) and not problem.free,
)
@pytree
class BoxSDCA(DualVisits):
    """The first choice without a free intercept and lam not too small. A visit: one row of K."""

    sampling: Any = Shuffled()
    block: int = static(default=BLOCK)

    scales = False
    bound_on = "gap"

    def check(self, problem) -> None:
        needs_kernel(self, problem)
        refuse_free_kernel_intercept(self, problem)
        self.sampling.check(problem)

    def init(self, problem: KernelSVM, start: Point | None = None) -> At:
        alpha = problem.complete(problem.origin() if start is None else start).dual
        v = () if self.sampling.serial else self.sampling.constants(problem)[1]
        return At(vectors=(problem.abar(alpha),), tables=(alpha,), constants=v)

    def coordinate(self, problem: KernelSVM, example: Example, z, alpha, at: At):
        v = example.row.sqnorm if self.sampling.serial else at.constants
        return problem.loss.dual_step(z, alpha, example.y, example.c * v / problem.lam)

    def point(self, problem: KernelSVM, state: At) -> Point:
        (alpha,) = state.tables
        return Point(problem.beta_of(alpha), alpha)

    def bound(self, problem: KernelSVM, t):
        """E[gap_t] <= (1 - theta)^t (P(0) - D(0)) / theta, from alpha = 0, smooth losses."""
        if not problem.loss.smooth:
            return None
        theta = contraction(problem, *self.sampling.constants(problem))
        return start_gap(problem) / theta * powers(problem, theta, t)
