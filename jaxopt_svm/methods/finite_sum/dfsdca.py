r"""dfSDCA: SDCA without the dual problem, and MISO as one of its step rules.

At the optimum w* = (1/lam) sum_i c_i alpha_i* x_i with alpha_i* = -phi_i'(<x_i, w*>). Keep
w = (1/lam) sum_i c_i alpha_i x_i and move alpha_i a share of the way to -phi_i'. For i in S, all
from the same w:

    r_i = (theta/p_i) (phi_i'(<x_i, w>) + alpha_i)
    alpha_i -= r_i;   w -= (c_i/lam) r_i x_i

    ConvexTheta      theta = min_i p_i lam gamma / (c_i v_i + lam gamma)
    NonConvexTheta   theta = min_i p_i lam^2 / (Lw_i^2 c_i v_i + lam^2),  Lw_i = ||x_i||/gamma:
                     phi_i may be non-convex as long as P is convex; the slide's theta, the first
                     of these rules, can diverge there
    Damping(delta)   theta/p_i = delta: MISO-mu, with z_i = (n c_i/lam) alpha_i x_i and w their
                     mean. delta = 1 is the greedy step of Finito and MISO: fine for
                     n >= 2 Lf/lam, else it can diverge

Lecture "Empirical Risk Minimization" (Richtarik), dfSDCA and MISO.
Shalev-Shwartz, arXiv:1502.06177; Csiba & Richtarik, arXiv:1506.02227; Mairal, SIAM J. Optim. 25
(2015), arXiv:1402.4419; Lin, Mairal & Harchaoui, NIPS 2015, arXiv:1506.02186.

Rate: with E_t = (lam/2)||w - w*||^2 + (gamma/2) sum_i c_i ||alpha_i - alpha_i*||^2
    E[E_{t+1}] <= (1 - theta) E_t,   hence   E[P(w_t) - P*] <= (L_P/lam) E_0 (1 - theta)^t
    from any alpha (proofs_checks/dfsdca_lyapunov.py; the divergence: dfsdca_nonconvex.py).
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.dual.dual_visits import DualVisits
from jaxopt_svm.methods.dual.rates import contraction, powers, start_gap
from jaxopt_svm.methods.finite_sum.terms import check_ridge, data_smoothness
from jaxopt_svm.problems.erm import ERM

__all__ = ["ConvexTheta", "Damping", "DfSDCA", "NonConvexTheta", "miso"]


@pytree
class ConvexTheta:
    """The rule of the lecture: every phi_i convex."""

    def theta(self, problem, p, v):
        return contraction(problem, p, v)

    def shares(self, problem, p, v):
        """(n,) theta/p_i."""
        return self.theta(problem, p, v) / p


@pytree
class NonConvexTheta:
    """phi_i smooth but perhaps not convex, P convex."""

    def theta(self, problem, p, v):
        lip2 = problem.rows.sqnorms / problem.loss.gamma**2
        lam2 = problem.lam**2
        return jnp.min(p * lam2 / (lip2 * problem.c * v + lam2))

    def shares(self, problem, p, v):
        return self.theta(problem, p, v) / p


@pytree
class Damping:
    """MISO: the same share delta everywhere, min(1, lam n/(2 max L_i)) unless given."""

    delta: Any = None

    def shares(self, problem, p, v):
        del v
        delta = self.delta
        if delta is None:
            L = jnp.maximum(data_smoothness(problem), jnp.finfo(p.dtype).tiny)
            delta = jnp.minimum(1.0, problem.lam * problem.n / (2.0 * L))
        return jnp.full_like(p, delta)


@register(
    Info(
        name="dfsdca",
        family="finite_sum",
        problems="ERM, smooth loss, l2",
        certificate="its own dual point",
        lecture="Empirical Risk Minimization: dfSDCA",
        reference="Shalev-Shwartz 2016, arXiv:1502.06177; Csiba & Richtarik, arXiv:1506.02227",
    )
)
@pytree
class DfSDCA(DualVisits):
    """State: vectors (w,), tables (alpha,), constants theta/p_i. Cost of a visit: one row.

    sampling: any. rule: how far alpha_i goes, one of the three above.
    """

    sampling: Any = Shuffled()
    rule: Any = ConvexTheta()
    block: int = static(default=BLOCK)

    scales = False
    bound_on = "primal"

    def check(self, problem) -> None:
        check_ridge(self, problem)
        self.sampling.check(problem)

    def init(self, problem: ERM, start: Point | None = None) -> At:
        start = problem.origin() if start is None else start
        # the theorem allows any alpha, so one that a user gives is not clipped
        alpha = problem.complete(start).dual if start.dual is None else start.dual
        shares = self.rule.shares(problem, *self.sampling.constants(problem))
        return At(vectors=(problem.abar(alpha),), tables=(alpha,), constants=shares)

    def coordinate(self, problem: ERM, example: Example, z, alpha, at: At):
        r = at.constants * (problem.loss.slope(z, example.y) + alpha)
        return alpha - r

    def point(self, problem: ERM, state: At) -> Point:
        del problem
        return Point(state.vectors[0], state.tables[0])

    def bound(self, problem: ERM, t):
        """(L_P/lam) gap_0 (1 - theta)^t on E[P(w_t)] - P*, from alpha = 0, where E_0 <= gap_0.

        L_P = lam + lambda_max(sum_i c_i x_i x_i')/gamma, with the trace for lambda_max.
        """
        if not isinstance(self.rule, ConvexTheta):
            return None
        theta = self.rule.theta(problem, *self.sampling.constants(problem))
        trace = jnp.sum(problem.c * problem.rows.sqnorms) / problem.loss.gamma
        front = 1.0 + trace / problem.lam
        return front * start_gap(problem) * powers(problem, theta, t)


@register(
    Info(
        name="miso",
        family="finite_sum",
        problems="ERM, smooth loss, l2",
        certificate="its own dual point",
        lecture="Empirical Risk Minimization: MISO",
        reference="Mairal 2015, arXiv:1402.4419; Lin, Mairal & Harchaoui 2015, arXiv:1506.02186",
    )
)
def miso(delta: Any = None, block: int = BLOCK) -> DfSDCA:
    """MISO-mu: damped minimisation by incremental surrogate optimisation; n numbers of memory."""
    return DfSDCA(Shuffled(), Damping(delta), block=block)
