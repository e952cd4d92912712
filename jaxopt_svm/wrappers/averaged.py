r"""Averaging: Averaged(method) is a method wherever ``method`` is.

    mean_t = (1 - rho_t) mean_{t-1} + rho_t w_t

    UniformMean()          rho_t = 1/t                       all iterates alike
    PolynomialMean(nu)     rho_t = (nu + 1)/(t + nu)         weight of w_i grows like i^nu
    SuffixMean()           1/(t - s + 1), s = the power of two in (t/4, t/2]: the last half or more

w_1 is the iterate after the first step. P is convex, so averaging never hurts by more than the
worst iterate; the dual point is the method's own, which is as valid beside any w.
For a method made of visits the mean is one more carried vector: every single iterate is averaged,
also inside a block, at block speed. Other methods are averaged step by step.

Lectures "Online solvers" (Franc) and "SGD" (Srebro), averaging.
Shamir & Zhang, ICML 2013; Lacoste-Julien, Schmidt & Bach 2012; Rakhlin et al., ICML 2012.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.blocks import At
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import name_of
from jaxopt_svm.core.visits import Visits

__all__ = ["Averaged", "PolynomialMean", "SuffixMean", "UniformMean"]


@pytree
class UniformMean:
    """The mean of all iterates."""

    count = 1

    def update(self, means: tuple, w, t) -> tuple:
        (mean,) = means
        rho = 1.0 / t.astype(w.dtype)
        return ((1.0 - rho) * mean + rho * w,)


@pytree
class PolynomialMean:
    """Later iterates count more: nu = 0 is uniform, nu = 1 weighs w_t by t."""

    nu: float = 1.0

    count = 1

    def update(self, means: tuple, w, t) -> tuple:
        (mean,) = means
        rho = (self.nu + 1.0) / (t.astype(w.dtype) + self.nu)
        return ((1.0 - rho) * mean + rho * w,)


@pytree
class SuffixMean:
    """The mean of the last half of the iterates or more (between 1/2 and 3/4 of them).

    With 2^k <= t < 2^(k+1) the first mean runs from step 2^(k-1); a second one runs from 2^k
    and takes its place at the next power of two.
    """

    count = 2

    def update(self, means: tuple, w, t) -> tuple:
        mean, fresh = means
        power = jnp.left_shift(1, 31 - lax.clz(t))  # the largest power of two <= t
        turn = (t == power).astype(w.dtype)
        since = jnp.maximum(power // 2, 1)
        age = lambda first: (t - first + 1).astype(w.dtype)
        mean = turn * fresh + (1.0 - turn) * mean
        rho, fresh_rho = 1.0 / age(since), 1.0 / age(power)
        mean = (1.0 - rho) * mean + rho * w
        return mean, (1.0 - fresh_rho) * fresh + fresh_rho * w


class AveragedState(NamedTuple):
    """inner: the method's state. means: what the rule carries. t: iterates averaged so far."""

    inner: Any
    means: tuple
    t: Array


@pytree
class Averaged:
    """``method`` with its iterates averaged by ``rule``."""

    method: Any
    rule: Any = PolynomialMean(1.0)

    bound_on = "primal"

    @property
    def name(self) -> str:
        return f"averaged({name_of(self.method)})"

    def _by_visit(self) -> bool:
        """Whether the unit of averaging is a visit (static)."""
        inner = self.method
        return (
            isinstance(inner, Visits) and inner.sampling.serial and getattr(inner, "batch", 1) == 1
        )

    def check(self, problem) -> None:
        self.method.check(problem)
        if self._by_visit() and not self.method.linear(problem):
            raise ValueError("Averaged: inside blocks only l2 problems can be averaged")

    def init(self, problem, start: Point | None = None) -> AveragedState:
        inner = self.method.init(problem, start)
        w = self.method.point(problem, inner).w
        return AveragedState(inner, (w,) * self.rule.count, jnp.zeros((), jnp.int32))

    def draw(self, problem, key):
        return self.method.draw(problem, key)

    def step(self, problem, state: AveragedState, sample) -> AveragedState:
        t = state.t + 1
        if self._by_visit():
            return self._visits(problem, state, sample)
        inner = self.method.step(problem, state.inner, sample)
        w = self.method.point(problem, inner).w
        return AveragedState(inner, self.rule.update(state.means, w, t), t)

    def _visits(self, problem, state: AveragedState, sample) -> AveragedState:
        """The method's own block step, on its visits extended by the means."""
        inner, own = self.method, len(state.inner.vectors)

        def visit(problem, example, at: At) -> At:
            scalars, t = at.scalars
            at_inner = At(at.vectors[:own], at.tables, scalars, at.constants)
            new = inner.visit(problem, example, at_inner)
            means = self.rule.update(at.vectors[own:], new.vectors[0], t + 1)
            return At((*new.vectors, *means), new.tables, (new.scalars, t + 1), at.constants)

        start = inner.refresh(problem, state.inner)
        start = At(
            (*start.vectors, *state.means), start.tables, (start.scalars, state.t), start.constants
        )
        new = inner.block_step(visit, problem, start, sample)
        scalars, t = new.scalars
        return AveragedState(
            At(new.vectors[:own], new.tables, scalars, new.constants), new.vectors[own:], t
        )

    def point(self, problem, state: AveragedState) -> Point:
        return Point(state.means[0], self.method.point(problem, state.inner).dual)

    def spent(self, problem):
        return self.method.spent(problem)

    def bound(self, problem, t):
        """G^2 (1 + ln T)/(2 lam T) on P - P* for the uniform mean of steps 1/(lam t)."""
        if self.method.bound(problem, t) is None or not isinstance(self.rule, UniformMean):
            return None
        if not hasattr(self.method, "gradient_bound"):
            return None
        t = jnp.maximum(jnp.asarray(t, problem.lam.dtype), 1.0)
        G = self.method.gradient_bound(problem)
        return G**2 * (1.0 + jnp.log(t)) / (2 * problem.lam * t)
