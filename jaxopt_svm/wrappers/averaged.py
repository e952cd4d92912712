r"""Averaging: Averaged(method) is a method wherever ``method`` is.

    mean_t = sum_{i <= t} a_i w_i / sum_{i <= t} a_i

    UniformMean()         a_i = 1
    PolynomialMean(nu)    a_i = Gamma(i + nu) / (Gamma(i) Gamma(1 + nu)) ~ i^nu;  as a recursion
                          mean_t = (1 - rho) mean_{t-1} + rho w_t,  rho = (nu + 1)/(t + nu)
    SuffixMean()          a_i = 1 for the last half of the iterates or more, else 0

w_1 is the iterate after the first step. P is convex, so P(mean) is at most the mean of P; the dual
point is the method's own, which is as valid beside any w.

For a method made of visits the weighted sum is one more carried vector: every single iterate is
averaged, inside a block too, at block speed. (The sum, not the mean: its coefficient never shrinks
to zero, so sparse rows can carry it lazily.) Other methods are averaged step by step.

Lectures "Online solvers" (Franc) and "SGD" (Srebro), averaging.
Shamir & Zhang, ICML 2013; Lacoste-Julien, Schmidt & Bach 2012; Rakhlin et al., ICML 2012.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import name_of
from jaxopt_svm.core.visits import Visits
from jaxopt_svm.wrappers.wrapper import Wrapper

__all__ = ["Averaged", "PolynomialMean", "SuffixMean", "UniformMean"]


class Mean(NamedTuple):
    """What an averaging rule carries: sums of iterates, and its counters."""

    sums: tuple
    scalars: tuple


class _Weighted:
    """One sum with weights a_t; a_{t+1} = a_t (t + nu) / t, whose total is known in closed form."""

    nu: Any

    def start(self, w) -> Mean:
        return Mean((jnp.zeros_like(w),), (jnp.zeros((), jnp.int32), jnp.ones((), w.dtype)))

    def turn(self, mean: Mean) -> Mean:
        return mean

    def add(self, mean: Mean, w) -> Mean:
        (total,), (t, a) = mean.sums, mean.scalars
        # a is the weight of the iterate about to be added, number t + 1
        then = (t + 1).astype(a.dtype)
        return Mean((total + a * w,), (t + 1, a * (then + self.nu) / then))

    def value(self, mean: Mean, w):
        (total,), (t, a) = mean.sums, mean.scalars
        # sum_{i <= t} a_i = a_{t+1} t / (nu + 1)
        weight = a * t.astype(a.dtype) / (self.nu + 1.0)
        return jnp.where(t > 0, total / jnp.where(t > 0, weight, 1.0), w)


@pytree
class UniformMean(_Weighted):
    """All iterates alike."""

    nu = 0.0


@pytree
class PolynomialMean(_Weighted):
    """Later iterates count more: nu = 1 weighs w_t by t."""

    nu: float = 1.0


@pytree
class SuffixMean:
    """The last half of the iterates or more.

    Two sums run side by side, one started before the other. When the younger covers half of all
    iterates it takes the place of the older and a new one starts; this is looked at once a step,
    so with blocks the window is right to within a block.
    """

    def start(self, w) -> Mean:
        zero, none = jnp.zeros_like(w), jnp.zeros((), jnp.int32)
        return Mean((zero, zero), (none, none, none))

    def turn(self, mean: Mean) -> Mean:
        (old, young), (t, since_old, since_young) = mean
        now = t >= 2 * jnp.maximum(since_young, 1)
        pick = lambda a, b: jnp.where(now, a, b)
        sums = (pick(young, old), pick(jnp.zeros_like(young), young))
        return Mean(sums, (t, pick(since_young, since_old), pick(t, since_young)))

    def add(self, mean: Mean, w) -> Mean:
        (old, young), (t, since_old, since_young) = mean
        return Mean((old + w, young + w), (t + 1, since_old, since_young))

    def value(self, mean: Mean, w):
        (old, _), (t, since_old, _) = mean
        count = t - since_old
        return jnp.where(count > 0, old / jnp.maximum(count, 1).astype(old.dtype), w)


class AveragedState(NamedTuple):
    """inner: the method's state. mean: what the rule carries."""

    inner: Any
    mean: Mean


@pytree
class Averaged(Wrapper):
    """``method`` with its iterates averaged by ``rule``."""

    method: Any
    rule: Any = PolynomialMean(1.0)

    bound_on = "primal"
    whole_pass = False

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
        return AveragedState(inner, self.rule.start(self.method.point(problem, inner).w))

    def draw(self, problem, key):
        return self.method.draw(problem, key)

    def step(self, problem, state: AveragedState, sample) -> AveragedState:
        state = AveragedState(state.inner, self.rule.turn(state.mean))
        if self._by_visit():
            return self._visits(problem, state, sample)
        inner = self.method.step(problem, state.inner, sample)
        w = self.method.point(problem, inner).w
        return AveragedState(inner, self.rule.add(state.mean, w))

    def _visits(self, problem, state: AveragedState, sample) -> AveragedState:
        """The method's own block step, on its visits extended by the sums."""
        inner, own = self.method, len(state.inner.vectors)

        def visit(problem, example, at: At) -> At:
            scalars, counters = at.scalars
            at_inner = At(at.vectors[:own], at.tables, scalars, at.constants)
            new = inner.visit(problem, example, at_inner)
            mean = self.rule.add(Mean(at.vectors[own:], counters), new.vectors[0])
            scalars = (new.scalars, mean.scalars)
            return At((*new.vectors, *mean.sums), new.tables, scalars, at.constants)

        first = inner.refresh(problem, state.inner)
        scalars = (first.scalars, state.mean.scalars)
        vectors = (*first.vectors, *state.mean.sums)
        start = At(vectors, first.tables, scalars, first.constants)
        new = inner.block_step(visit, problem, start, sample, scales=True)
        scalars, counters = new.scalars
        last = At(new.vectors[:own], new.tables, scalars, new.constants)
        return AveragedState(last, Mean(new.vectors[own:], counters))

    def point(self, problem, state: AveragedState) -> Point:
        point = self.method.point(problem, state.inner)
        return Point(self.rule.value(state.mean, point.w), point.dual)

    def spent(self, problem):
        return self.method.spent(problem)

    @property
    def counted(self):
        """The method's own count; like the method, it may have none."""
        inner = self.method.counted
        return lambda state: inner(state.inner)

    def bound(self, problem, t):
        """What the method's step rule promises for the uniform mean of w_2..w_{t+1}."""
        if not isinstance(self.rule, UniformMean) or not hasattr(self.method, "mean_bound"):
            return None
        return self.method.mean_bound(problem, t)
