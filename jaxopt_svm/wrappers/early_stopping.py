r"""Early stopping: the w with the lowest error on held-out examples, and no pass more than helps.

    after each pass  err = sum_i c_i l(y_i, h(x_i; w)) on the held-out problem
    best_w = the w with the lowest err; after ``patience`` passes without a lower one, stop

A lane that has stopped keeps its state as it is, so lanes of a sweep stop each at their own time;
the drivers then call them settled. The certificate is that of best_w for the training problem.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), practical advice.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import name_of
from jaxopt_svm.wrappers.wrapper import Wrapper

__all__ = ["EarlyStopping"]


class EarlyState(NamedTuple):
    """inner: the method's state. best_w, best: the lowest error and its w. bad: passes since.
    passes: taken so far. calls: decodings so far, those of held-out examples too."""

    inner: Any
    best_w: Array
    best: Array
    bad: Array
    passes: Array
    calls: Array


@pytree
class EarlyStopping(Wrapper):
    """``method``, judged after each pass on ``held_out``, a problem with the same model.

    patience: passes without a lower error until it stops. One step is a whole pass.
    """

    method: Any
    held_out: Any
    patience: int = static(default=5)

    bound_on = "primal"
    settles = True

    @property
    def name(self) -> str:
        return f"early_stopping({name_of(self.method)})"

    def check(self, problem) -> None:
        self.method.check(problem)
        if not hasattr(self.held_out, "risk"):
            raise ValueError("held_out: expected a structured problem, which knows its risk")
        if self.held_out.d != problem.d:
            raise ValueError(f"held_out: expected {problem.d} parameters; got {self.held_out.d}")
        if self.patience < 1:
            raise ValueError(f"patience: expected at least 1 pass; got {self.patience}")

    def init(self, problem, start: Point | None = None) -> EarlyState:
        inner = self.method.init(problem, start)
        w, none = self.method.point(problem, inner).w, jnp.zeros((), jnp.int32)
        return EarlyState(inner, w, self.held_out.risk(w), none, none, jnp.zeros_like(problem.lam))

    def draw(self, problem, key: Array):
        return jax.tree.map(lambda x: x[None], self.method.draw(problem, key))

    def step(self, problem, state: EarlyState, sample) -> EarlyState:
        one = lambda s, x: (self.method.step(problem, s, x), None)
        inner = lax.scan(one, state.inner, sample)[0]
        w = self.method.point(problem, inner).w
        error = self.held_out.risk(w)
        better, done = error < state.best, state.bad >= self.patience
        new = EarlyState(
            inner,
            best_w=jnp.where(better, w, state.best_w),
            best=jnp.where(better, error, state.best),
            bad=jnp.where(better, 0, state.bad + 1),
            passes=state.passes + 1,
            calls=state.calls + self._calls(problem, state.inner, inner) + self.held_out.n,
        )
        # lanes stop at different times, so this is a choice and not a branch: once a pass
        return jax.tree.map(lambda a, b: jnp.where(done, a, b), state, new)

    def _calls(self, problem, before, after):
        """Decodings of the method in one pass: counted, where the cost of a pass varies."""
        counted = getattr(self.method, "counted", None)
        if counted is None:
            return self.method.spent(problem).oracle_calls
        return counted(after).oracle_calls - counted(before).oracle_calls

    def point(self, problem, state: EarlyState) -> Point:
        return Point(state.best_w, self.method.point(problem, state.inner).dual)

    def spent(self, problem) -> Spent:
        return self.method.spent(problem)

    def counted(self, state: EarlyState) -> Spent:
        """Passes, which stop counting when the lane stops."""
        passes = state.passes.astype(state.best.dtype)
        return Spent(work=passes, oracle_calls=state.calls, updates=passes)

    def bound(self, problem, t):
        del problem, t
