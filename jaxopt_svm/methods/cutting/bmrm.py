r"""BMRM: the cutting plane algorithm, a piecewise linear model of the risk made tighter each round.

    P(w) = lam/2 ||w||^2 + R(w),   R(w) >= R_t(w) = max_{j <= t} [b_j - <u_j, w>]

A round at w_t
    1. decode all n examples: R(w_t), and the plane (u_t, b_t) that touches R there
    2. best P so far is an upper bound of P*
    3. x = argmax over the simplex of <b, x> - (1/(2 lam)) ||U'x||^2, to a share of the gap
    4. w_{t+1} = (1/lam) U'x; the value at x is a lower bound of P*, and never falls

Lecture "Online solvers for convex risk minimization" (Franc), CPA, the batch baseline.
Teo, Vishwanathan, Smola & Le, JMLR 2010; Joachims, Finley & Yu 2009 (one slack)

Rounds to a gap eps < 4 G^2/lam, G = Dm >= ||psi(x_i, y) - psi(x_i, y_i)||, inner problem exact:
    T <= max(0, log2(lam R(0)/G^2)) + 8 G^2/(lam eps) - 1              proofs_checks/bmrm_bounds.py
"""

import jax.numpy as jnp

from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.cutting.planes import (
    CAPACITY,
    INNER,
    PATIENCE,
    CuttingPlanes,
    PlaneState,
)
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["BMRM"]


@register(
    Info(
        name="bmrm",
        family="cutting",
        problems="structured hinge",
        certificate="its own dual point",
        lecture="Online solvers: cutting planes",
        reference="Teo et al. 2010, JMLR",
    )
)
@pytree
class BMRM(CuttingPlanes):
    """Few rounds, each n independent decodings and a small quadratic program; no step size.

    share: the inner gap asked for, as a share of P - D. inner: pairs moved a round at most.
    patience: rounds without mass until a plane gives up its place. capacity: planes, grown by the
    drivers.
    """

    share: float = 0.05
    patience: int = static(default=PATIENCE)
    inner: int = static(default=INNER)
    capacity: int = static(default=CAPACITY)

    def step(self, problem: Structured, state: PlaneState, sample) -> PlaneState:
        del sample
        state = self.insert(problem, state, state.w, self.cut(problem, state.w))
        state, w = self.improve(problem, state)
        return state._replace(w=w)

    def bound(self, problem: Structured, t):
        """The gap after t rounds: 8 G^2/(lam (t + 1 - log2(lam R(0)/G^2))); at most l_max."""
        limits = problem.limits()
        if limits is None:
            return None
        G2, lam = limits.feature**2, problem.lam
        t = jnp.asarray(t, problem.c.dtype)
        left = t + 1 - jnp.maximum(jnp.log2(lam * limits.loss / G2), 0)
        return jnp.where(left > 2, 8 * G2 / (lam * jnp.maximum(left, 1)), limits.loss)
