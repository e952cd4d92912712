r"""L-BFGS: a quasi-Newton method from the last few gradients, with optax's zoom line search.

    w <- w - t B grad P(w),     B from ``memory`` pairs (w - w_old, grad - grad_old)

No matrix at all: a gradient is two products with X, and so is each trial of the line search. For
many features, dense or sparse, at lam that is not too small; its iterations grow with 1/lam, which
those of Newton do not. Nocedal 1980; Liu & Nocedal 1989. The implementation is optax.lbfgs.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.refusals import needs_erm, needs_l2, needs_smooth
from jaxopt_svm.methods.second_order.iterations import Iterations
from jaxopt_svm.problems.erm import ERM

__all__ = ["LBFGS", "LBFGSState"]


def _as(dtype, tree):
    """Floating leaves in the problem's precision; optax keeps some in the default one."""
    cast = lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x
    return jax.tree.map(cast, tree)


class LBFGSState(NamedTuple):
    """w and optax's memory, value and line search."""

    w: Array
    opt: Any


@register(
    Info(
        name="lbfgs",
        family="second_order",
        problems="ERM, smooth losses, l2, any intercept",
        certificate="from slopes",
        lecture="Optimization Methods for SVMs: second-order methods (an addition)",
        reference="Liu & Nocedal 1989, through optax",
    ),
)
@pytree
class LBFGS(Iterations):
    """Smooth losses with many features. A pass is one iteration.

    memory: pairs kept. trials: of the line search, at most.
    """

    memory: int = static(default=10)
    trials: int = static(default=20)

    # the unit step passes nearly always: one value and one gradient, two products each
    work = 2.0

    def _tx(self) -> optax.GradientTransformationExtraArgs:
        search = optax.scale_by_zoom_linesearch(
            max_linesearch_steps=self.trials, initial_guess_strategy="one"
        )
        return optax.lbfgs(memory_size=self.memory, linesearch=search)

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_smooth(self, problem)
        needs_l2(self, problem)
        for name, value in (("memory", self.memory), ("trials", self.trials)):
            if value < 1:
                raise ValueError(f"LBFGS.{name}: expected at least 1; got {value}")

    def init(self, problem: ERM, start: Point | None = None) -> LBFGSState:
        w = (problem.origin() if start is None else start).w
        with jax.numpy_dtype_promotion("standard"):
            return LBFGSState(w, _as(w.dtype, self._tx().init(w)))

    def step(self, problem: ERM, state: LBFGSState, sample) -> LBFGSState:
        del sample
        # optax mixes integer counts with floats
        with jax.numpy_dtype_promotion("standard"):
            value, grad = optax.value_and_grad_from_state(problem.primal)(state.w, state=state.opt)
            extra = {"value": value, "grad": grad, "value_fn": problem.primal}
            updates, opt = self._tx().update(grad, state.opt, state.w, **extra)
            w: Any = optax.apply_updates(state.w, updates)
            return LBFGSState(w, _as(state.w.dtype, opt))

    def point(self, problem: ERM, state: LBFGSState) -> Point:
        del problem
        return Point(state.w)
