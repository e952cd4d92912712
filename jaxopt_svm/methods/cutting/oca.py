r"""OCA: cutting planes with a line search, so that the best point moves every round.

A round, with w_b the best point so far and w_t the minimiser of the model
    1. search P along w_b + k (w_t - w_b), k > 0: its slope there is known from the plane that
       touches R, so k is a root of an increasing function; first k = 1, then by false position
    2. the best point found is the new w_b
    3. a plane at (1 - mu) w_b + mu w_t
    4. the inner problem on all planes gives the next w_t and the lower bound, as in BMRM
Every point looked at costs n decodings and leaves its plane.

Lecture "Online solvers for convex risk minimization" (Franc), CPA.
Franc & Sonnenburg, JMLR 2009 (OCAS). Bounds: proofs_checks/bmrm_bounds.py
"""

import jax.numpy as jnp
from jax import lax

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

__all__ = ["OCA"]

FAR = 2.0  # the search goes no further than twice the way to w_t
SHARES = (1e-3, 0.9)  # of the interval at hand, within which false position may point


@register(
    Info(
        name="oca",
        family="cutting",
        problems="structured hinge",
        certificate="its own dual point",
        lecture="Online solvers: cutting planes",
        reference="Franc & Sonnenburg 2009, JMLR",
    )
)
@pytree
class OCA(CuttingPlanes):
    """Fewer rounds than BMRM, 1 + ``searches`` times the decodings in each: where decoding is what
    costs, count those (on OCR, 300 words, lam = 0.01, BMRM is ahead after equally many).

    mu: where between w_b and w_t the last plane of a round is made. searches: points of the line
    search. The others as for ``BMRM``.
    """

    share: float = 0.05
    mu: float = 0.1
    searches: int = static(default=2)
    patience: int = static(default=PATIENCE)
    inner: int = static(default=INNER)
    capacity: int = static(default=CAPACITY)

    def check(self, problem) -> None:
        super().check(problem)
        if self.searches < 1 or not 0 <= self.mu <= 1:
            raise ValueError(
                f"OCA: expected searches >= 1 and 0 <= mu <= 1; got {self.searches}, {self.mu}"
            )

    def evaluations(self) -> int:
        return 1 + self.searches

    def step(self, problem: Structured, state: PlaneState, sample) -> PlaneState:
        del sample
        lam, w_b, w_t = problem.lam, state.best_w, state.w
        way = w_t - w_b
        slope = lambda w, u: (lam * w - u) @ way

        def look(carry, last):
            state, (low, at_low, high, at_high), k = carry
            # the last point lies between the best point and w_t, the others on the line
            w = jnp.where(last, (1 - self.mu) * state.best_w + self.mu * w_t, w_b + k * way)
            cut = self.cut(problem, w)
            s = slope(w, cut.u)
            state = self.insert(problem, state, w, cut)
            left = s < 0
            low, at_low = jnp.where(left, k, low), jnp.where(left, s, at_low)
            high, at_high = jnp.where(left, high, k), jnp.where(left, at_high, s)
            # false position, kept away from the ends; beyond the known part, to its far end
            share = -at_low / jnp.where(at_high > at_low, at_high - at_low, 1)
            share = jnp.where(jnp.isfinite(at_high), jnp.clip(share, *SHARES), 1.0)
            return (state, (low, at_low, high, at_high), low + share * (high - low)), None

        zero, one = jnp.zeros_like(lam), jnp.ones_like(lam)
        ends = (zero, slope(w_b, state.best_u), FAR * one, jnp.inf * one)
        last = jnp.arange(self.evaluations()) == self.searches
        (state, _, _), _ = lax.scan(look, (state, ends, one), last)
        state, w = self.improve(problem, state)
        return state._replace(w=w)
