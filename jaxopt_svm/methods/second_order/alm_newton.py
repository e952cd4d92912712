r"""Semismooth Newton on the augmented Lagrangian of the dual.

    inner   w = argmin  lam g(w) + sum_i c_i phi_i^mu(<x_i, w>)
            phi^mu(z) = max_x { -phi*(-x) - z x - (mu/2) (x - a)^2 },   alpha(z) the maximiser
    outer   a <- alpha(X w),   mu <- shrink mu        once the inner problem is solved well enough

phi^mu is phi smoothed around the multipliers a, so mu need not go to 0 for the answer to be exact.
alpha(z) is the step of SDCA at curvature mu (``loss.dual_step``): for the hinge a clipped line,
whose curvature 1/mu sits on the few rows near the margin. An iteration costs four products with X
and one matrix over those rows: 15 to 30 of them, whatever lam is.

Well enough: the full step was taken, and the inner gap is a tenth of the certificate's.
Rockafellar 1976; Zhao, Sun & Toh 2010. Checked in proofs_checks/alm_smoothing.py.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.refusals import needs_erm, needs_l2, needs_scalar
from jaxopt_svm.methods.second_order.newton_step import FULL_STEP, NewtonIterations, newton_step
from jaxopt_svm.problems.erm import ERM

__all__ = ["ALMNewton", "ALMState"]


class ALMState(NamedTuple):
    """w, z = X w; a: the multipliers; alpha: the dual point; mu; what was spent."""

    w: Array
    z: Array
    a: Array
    alpha: Array
    mu: Array
    work: Array
    iterations: Array


@register(
    Info(
        name="alm_newton",
        family="second_order",
        problems="ERM, any scalar loss, l2, any intercept",
        certificate="its own dual point",
        lecture="Optimization Methods for SVMs: second-order methods (an addition)",
        reference="Rockafellar 1976; Zhao, Sun & Toh 2010",
    ),
)
@pytree
class ALMNewton(NewtonIterations):
    """Small lam and few features, best after some passes of SDCA. A pass is one iteration.

    mu: the first smoothing, in units of the margin. shrink: its factor at each outer step.
    accuracy: inner gap, relative to the gap, at which the multipliers move.
    """

    mu: float = 0.3
    shrink: float = 0.4
    accuracy: float = 0.1

    keeps = True  # its first point is the start

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_l2(self, problem)
        needs_scalar(self, problem)
        self.check_numbers(("mu", "accuracy"), ("shrink",))

    def init(self, problem: ERM, start: Point | None = None) -> ALMState:
        w, alpha = problem.complete(problem.origin() if start is None else start)
        zero = jnp.zeros((), w.dtype)
        mu = jnp.asarray(self.mu, w.dtype)
        return ALMState(w, problem.rows.matvec(w), alpha, alpha, mu, zero, zero)

    def step(self, problem: ERM, state: ALMState, sample) -> ALMState:
        del sample
        respond = lambda z: problem.loss.dual_step(z, state.a, problem.y, state.mu)
        new = newton_step(problem, respond, 1.0 / state.mu, state.w, state.z)
        gap = jnp.maximum(new.primal - new.dual, jnp.finfo(new.w.dtype).eps * jnp.abs(new.primal))
        solved = (new.t > FULL_STEP) & (new.inner <= self.accuracy * gap)
        return ALMState(
            w=new.w,
            z=new.z,
            a=jnp.where(solved, new.alpha, state.a),
            alpha=new.alpha,
            mu=jnp.where(solved, self.shrink * state.mu, state.mu),
            work=state.work + new.work,
            iterations=state.iterations + 1.0,
        )

    def point(self, problem: ERM, state: ALMState) -> Point:
        del problem
        return Point(state.w, state.alpha)
