r"""Newton's method for smooth losses, with continuation in the smoothing.

    w <- w + t D,     (X' diag(c_i phi_i'') X + lam) D = -grad P(w),     t by exact line search

The curvature of a hinge smoothed by a small mu sits on few rows and changes at every step. There
the loss is first smoothed by mu + extra, phi^extra(z) = max_x { -phi*(-x) - z x - (extra/2) x^2 },
and ``extra`` shrinks each time that easier problem is solved, until it is a twentieth of mu and is
dropped. Quadratic convergence at the end: 5 to 15 iterations whatever lam is.

Keerthi & DeCoste 2005; Chapelle 2007. Four products with X an iteration, and one matrix.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.refusals import needs_erm, needs_l2, needs_scalar, needs_smooth
from jaxopt_svm.methods.second_order.newton_step import FULL_STEP, NewtonIterations, newton_step
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.losses import SmoothHinge

__all__ = ["Newton", "NewtonState"]

NEGLIGIBLE = 0.05  # of the loss's own smoothing: then the extra one is dropped


class NewtonState(NamedTuple):
    """w, z = X w, the dual point alpha(z), the extra smoothing, and what was spent."""

    w: Array
    z: Array
    alpha: Array
    extra: Array
    work: Array
    iterations: Array


@register(
    Info(
        name="newton",
        family="second_order",
        problems="ERM, smooth scalar losses, l2, any intercept",
        certificate="its own dual point, from slopes",
        lecture="Optimization Methods for SVMs: second-order methods (an addition)",
        reference="Keerthi & DeCoste 2005; Chapelle 2007",
    ),
)
@pytree
class Newton(NewtonIterations):
    """Smooth losses at small lam. A pass is one iteration.

    extra: the first additional smoothing of a smoothed hinge (other losses need none).
    shrink: its factor. accuracy: gap of the smoothed problem, relative, at which it shrinks.
    """

    extra: float = 1.0
    shrink: float = 0.25
    accuracy: float = 0.01

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_smooth(self, problem)
        needs_l2(self, problem)
        needs_scalar(self, problem)
        if not self.extra >= 0:
            raise ValueError(f"Newton.extra: expected a number >= 0; got {self.extra}")
        self.check_numbers(("accuracy",), ("shrink",))

    def _responds(self, problem: ERM, extra):
        """alpha(z) of the smoothed loss, and a bound on its slopes."""
        loss, y = problem.loss, problem.y
        if isinstance(loss, SmoothHinge):
            respond = lambda z: loss.dual_step(z, jnp.zeros_like(z), y, extra)
        else:
            respond = lambda z: -loss.slope(z, y)
        return respond, 1.0 / (loss.gamma + extra)

    def init(self, problem: ERM, start: Point | None = None) -> NewtonState:
        w = (problem.origin() if start is None else start).w
        zero = jnp.zeros((), w.dtype)
        continued = isinstance(problem.loss, SmoothHinge)
        extra = jnp.asarray(self.extra if continued else 0.0, w.dtype)
        z = problem.rows.matvec(w)
        alpha = self._responds(problem, extra)[0](z)
        return NewtonState(w, z, alpha, self._reduced(problem, extra), zero, zero)

    def _reduced(self, problem: ERM, extra) -> Array:
        return jnp.where(extra < NEGLIGIBLE * problem.loss.gamma, 0.0, extra)

    def step(self, problem: ERM, state: NewtonState, sample) -> NewtonState:
        del sample
        respond, peak = self._responds(problem, state.extra)
        new = newton_step(problem, respond, peak, state.w, state.z)
        solved = (new.t > FULL_STEP) & (new.inner <= self.accuracy * jnp.abs(new.primal))
        smaller = self._reduced(problem, self.shrink * state.extra)
        return NewtonState(
            w=new.w,
            z=new.z,
            alpha=new.alpha,
            extra=jnp.where(solved, smaller, state.extra),
            work=state.work + new.work,
            iterations=state.iterations + 1.0,
        )

    def point(self, problem: ERM, state: NewtonState) -> Point:
        del problem
        return Point(state.w, state.alpha)
