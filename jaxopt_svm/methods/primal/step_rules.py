r"""Step-size rules of the lectures. t = 1, 2, ... counts steps.

    InverseLam(t0)          1 / (lam (t + t0))               strongly convex; Pegasos with t0 = 0
    InverseSqrt(c)          c / sqrt(t)                      convex, bounded domain
    Constant(eta)           eta                              fixed horizon, with averaging
    Hyperbolic(gamma0)      gamma0 / (1 + t)
    Bottou(gamma0, C)       gamma0 / (1 + gamma0 t / C)
    Schedule(f)             any optax schedule f

Those that do not depend on the problem are optax schedules themselves: callables of the number
of steps already taken (t - 1), with leaves that vmap. ``size`` is what methods call.

Lectures "Online solvers" (Franc), "SGD for structures" (Srikumar), "SGD" (Srebro).
"""

from collections.abc import Callable

import jax.numpy as jnp

from jaxopt_svm.core.pytree import pytree, static

__all__ = ["Bottou", "Constant", "Hyperbolic", "InverseLam", "InverseSqrt", "Schedule"]


class _OptaxSchedule:
    """A rule that is a function of the count alone."""

    def __call__(self, count):
        raise TypeError(f"{type(self).__name__} must define __call__")

    def size(self, problem, t):
        return jnp.asarray(self(t - 1), problem.lam.dtype)


@pytree
class InverseLam:
    """1 / (lam (t + t0)). It depends on the problem, so it is not an optax schedule."""

    t0: float = 0.0

    def size(self, problem, t):
        return 1.0 / (problem.lam * (t.astype(problem.lam.dtype) + self.t0))


@pytree
class InverseSqrt(_OptaxSchedule):
    """c / sqrt(t)."""

    c: float = 1.0

    def __call__(self, count):
        return self.c / jnp.sqrt(jnp.asarray(count + 1, float))


@pytree
class Constant(_OptaxSchedule):
    """eta, whatever t."""

    eta: float = 0.1

    def __call__(self, count):
        del count
        return self.eta


@pytree
class Hyperbolic(_OptaxSchedule):
    """gamma0 / (1 + t)."""

    gamma0: float = 1.0

    def __call__(self, count):
        return self.gamma0 / (2.0 + jnp.asarray(count, float))


@pytree
class Bottou(_OptaxSchedule):
    """gamma0 / (1 + gamma0 t / C)."""

    gamma0: float = 1.0
    C: float = 1.0

    def __call__(self, count):
        return self.gamma0 / (1.0 + self.gamma0 * jnp.asarray(count + 1, float) / self.C)


@pytree
class Schedule(_OptaxSchedule):
    """An optax schedule, such as ``optax.cosine_decay_schedule(0.1, 1000)``."""

    schedule: Callable = static()

    def __call__(self, count):
        return self.schedule(count)
