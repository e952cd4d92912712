r"""SDNA: stochastic dual Newton ascent, exact curvature on a random block.

    h = argmax over changes of alpha_i, i in S, of D itself:
        sum_{i in S} c_i (-phi*(-(alpha_i + h_i)) - <x_i, w> h_i)
        - (1/2 lam) || sum_{i in S} c_i h_i x_i ||^2

The block problem is solved by ``rounds`` cycles of exact coordinate steps inside the block, through
its Gram matrix: every further cycle moves towards the block's own optimum. tau = 1 is SDCA.

Lecture "Empirical Risk Minimization" (Richtarik), SDNA.
Qu, Richtarik, Takac & Fercoq, ICML 2016, arXiv:1502.02268.

The expected gain is at least that of the separable step with tau-nice constants, hence its rate
    (proofs_checks/sdna_beats_pcdm.py).
"""

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example, serial_step
from jaxopt_svm.core.protocols import Point, Sample
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Nice
from jaxopt_svm.methods.dual.dual_visits import DualVisits
from jaxopt_svm.methods.dual.rates import contraction, powers, start_gap
from jaxopt_svm.methods.refusals import needs_erm, refuse_free_intercept
from jaxopt_svm.problems.erm import ERM

__all__ = ["SDNA"]


@register(
    Info(
        name="sdna",
        family="dual",
        problems="ERM, any loss, l2 or elastic net",
        certificate="its own dual point",
        lecture="Empirical Risk Minimization: SDNA",
        reference="Qu, Richtarik, Takac & Fercoq 2016, arXiv:1502.02268",
    )
)
@pytree
class SDNA(DualVisits):
    """Worth it when rows are correlated. Cost of a step: tau rows and rounds tau^2 numbers."""

    tau: int = static(default=8)
    rounds: int = static(default=4)

    scales = False
    bound_on = "gap"

    @property
    def sampling(self) -> Nice:
        return Nice(self.tau)

    @property
    def block(self) -> int:
        return self.tau

    def check(self, problem) -> None:
        needs_erm(self, problem)
        refuse_free_intercept(self, problem)
        self.sampling.check(problem)
        if self.rounds < 1:
            raise ValueError(f"SDNA: rounds must be at least 1; got {self.rounds}")

    def init(self, problem: ERM, start: Point | None = None) -> At:
        alpha = problem.complete(problem.origin() if start is None else start).dual
        return At(vectors=(problem.abar(alpha),), tables=(alpha,))

    def coordinate(self, problem: ERM, example: Example, z, alpha, at: At):
        del at
        q = example.c * example.row.sqnorm / problem.lam
        return problem.loss.dual_step(z, alpha, example.y, q)

    def step(self, problem: ERM, state: At, sample: Sample) -> At:
        cycles = Sample(jnp.tile(sample.index, self.rounds))
        facts = {"unique": False, "linear": self.linear(problem), "scales": False}
        return serial_step(self.visit, problem, state, cycles, **facts)

    def point(self, problem: ERM, state: At) -> Point:
        return Point(problem.regularizer.link(state.vectors[0]), state.tables[0])

    def bound(self, problem: ERM, t):
        """The separable step's bound (1 - theta)^t (P(0) - D(0)) / theta: SDNA only betters it."""
        if not problem.loss.smooth:
            return None
        theta = contraction(problem, *self.sampling.constants(problem))
        return start_gap(problem) / theta * powers(problem, theta, t)
