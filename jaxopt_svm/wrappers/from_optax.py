r"""Any optax transformation as a stochastic subgradient method on the primal.

    g = lam grad g(w) + (1/k) sum_{i in S} n c_i phi'(<x_i, w>, y_i) x_i,      w <- w + tx(g)

and on structured problems psi(x_i, u_i) - psi(x_i, y_i) for phi'_i x_i, u_i decoded at w. E[g] is
a subgradient of P at w. ``batch=None`` takes all n examples: one step a pass.

optax.sgd(schedule), optax.adam(1e-2), optax.chain(...) all work. A rate that depends on lam must
come from the problem, or every lane of a sweep would use the same one: pass a function,
``FromOptax(lambda problem: optax.sgd(lambda t: 1 / (problem.lam * (t + 1))))``.

The transformation is part of the type: each newly built one compiles anew, so build it once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.methods.refusals import needs_gradients
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["FromOptax", "FromOptaxState"]


class FromOptaxState(NamedTuple):
    """w: (d,). opt: the transformation's own state."""

    w: Any
    opt: Any


@pytree
class FromOptax:
    """Cost of a step: ``batch`` rows and whatever the transformation does with a d-vector."""

    tx: optax.GradientTransformation | Callable = static()
    sampling: Any = Shuffled()
    batch: int | None = static(default=32)

    bound_on = "primal"
    name = "optax"

    def _tx(self, problem) -> optax.GradientTransformation:
        return self.tx if isinstance(self.tx, optax.GradientTransformation) else self.tx(problem)

    def check(self, problem) -> None:
        needs_gradients(self, problem)
        self.sampling.check(problem)
        if self.batch is not None and not 1 <= self.batch <= problem.n:
            raise ValueError(
                f"FromOptax: batch must lie between 1 and n = {problem.n}; got {self.batch}"
            )

    def init(self, problem: Any, start: Point | None = None) -> FromOptaxState:
        w = (problem.origin() if start is None else start).w
        return FromOptaxState(w, self._tx(problem).init(w))

    def draw(self, problem: Any, key):
        if self.batch is None:
            return Sample(jnp.zeros((1, 0), jnp.int32))
        return self.sampling.draw(problem, key, self.batch)

    def gradient(self, problem: Any, w, sample: Sample):
        """A stochastic subgradient of P at w from the sampled examples, or the full one."""
        if self.batch is None:
            return problem.grad(w)
        return problem.sample_grad(w, sample)

    def step(self, problem: Any, state: FromOptaxState, sample: Sample) -> FromOptaxState:
        g = self.gradient(problem, state.w, sample)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes integer counts with floats
            updates, opt = self._tx(problem).update(g, state.opt, state.w)
            w = optax.apply_updates(state.w, updates)
        return FromOptaxState(w, opt)

    def point(self, problem: Any, state: FromOptaxState) -> Point:
        del problem
        return Point(state.w)

    def spent(self, problem: Any) -> Spent:
        updates = 1.0 if self.batch is None else float(-(-problem.n // self.batch))
        calls = float(problem.n) if isinstance(problem, Structured) else 0.0
        return Spent(work=1.0, oracle_calls=calls, updates=updates)

    def bound(self, problem: Any, t) -> None:
        del problem, t


@register(
    Info(
        name="adam",
        family="wrappers",
        problems="ERM, any loss, l2 or elastic net, free intercept",
        certificate="from slopes",
        lecture="Stochastic Gradient Descent for Structures: adaptive steps",
        reference="Kingma & Ba 2015, through optax",
    )
)
def adam() -> FromOptax:
    """optax.adam with a rate that decays like 1/sqrt(t)."""
    return FromOptax(_ADAM)


_ADAM = optax.adam(lambda count: 0.05 / jnp.sqrt(1.0 + count))
