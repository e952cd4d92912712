r"""Step-size rules of the lectures. t = 1, 2, ... counts steps.

    InverseLam(t0)          1 / (lam (t + t0))               strongly convex; Pegasos with t0 = 0
    InverseSqrt(c)          c / sqrt(t)                      convex, bounded domain
    Constant(eta)           eta                              fixed horizon, with averaging
    Hyperbolic(gamma0)      gamma0 / (1 + t)
    Bottou(gamma0, C)       gamma0 / (1 + gamma0 t / C)
    Schedule(f)             any optax schedule f
    Horizon(T)              B / (G sqrt(T))                  T steps, mean of the iterates
    AnyTime()               B / (G sqrt(t))                  any number of steps, mean
    LinearDecay(T)          B (T + 1 - t) / (G (T + 1)^1.5)  T steps, last iterate

The last three know the problem: B = ``problem.radius``, in which w* lies, and G bounds the length
of a step's direction, R + strength B with R = ``problem.slope_bound()``, for |phi'| <= 1. Their
bounds, with E||g||^2 <= G^2 (proofs_checks/ball_bounds.py, ball_last_iterate.py):

    Horizon       B G / sqrt(T) (1 + 1/(2T))     mean of w_2..w_{T+1}; of w_1..w_T: no bracket
    AnyTime       3 B G sqrt(T + 1) / T          mean of w_2..w_{T+1}
    LinearDecay   B G / sqrt(T + 1)              w_{T+1}

Those that do not depend on the problem are optax schedules themselves: callables of the number
of steps already taken (t - 1), with leaves that vmap. ``size`` is what methods call.

Lectures "Online solvers" (Franc), "SGD for structures" (Srikumar), "SGD" (Srebro).
Zamani & Glineur, arXiv:2307.11134, and Defazio et al., arXiv:2310.07831, for the linear decay.
"""

from collections.abc import Callable

import jax.numpy as jnp

from jaxopt_svm.core.pytree import pytree, static

__all__ = [
    "AnyTime",
    "Bottou",
    "Constant",
    "Horizon",
    "Hyperbolic",
    "InverseLam",
    "InverseSqrt",
    "LinearDecay",
    "Schedule",
]


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

    def last_bound(self, problem, G, t):
        """On P(w_t) - P*, t0 = 0."""
        return 17 * G**2 * (1.0 + jnp.log(t)) / (problem.lam * t)

    def mean_bound(self, problem, G, t):
        """On P - P* for the uniform mean of w_2..w_{t+1}, t0 = 0."""
        return G**2 * (1.0 + jnp.log(t + 1.0)) / (2 * problem.lam * t)


class _OfTheBall:
    """A rule made of B and G."""

    def scale(self, problem):
        """B / G."""
        B = problem.radius
        return B / (problem.slope_bound() + problem.strength * B)


@pytree
class Horizon(_OfTheBall):
    """B / (G sqrt(T)), when the number T of steps is known."""

    T: float = 1000.0

    def size(self, problem, t):
        del t
        return self.scale(problem) / jnp.sqrt(jnp.asarray(self.T, problem.lam.dtype))

    def mean_bound(self, problem, G, t):
        """||w_2 - w*||^2 <= B^2 + eta^2 G^2, and then the proof of the fixed step."""
        eta, B = self.size(problem, t), problem.radius
        return (B**2 + eta**2 * G**2) / (2 * eta * t) + eta * G**2 / 2


@pytree
class AnyTime(_OfTheBall):
    """B / (G sqrt(t))."""

    def size(self, problem, t):
        return self.scale(problem) / jnp.sqrt(t.astype(problem.lam.dtype))

    def mean_bound(self, problem, G, t):
        """(2B)^2/(2 eta_{t+1} t) + G^2 sum eta/(2t), the diameter of the ball being 2B."""
        b = self.scale(problem)
        return (2 * problem.radius**2 / b + b * G**2) * jnp.sqrt(t + 1.0) / t


@pytree
class LinearDecay(_OfTheBall):
    """B (T + 1 - t) / (G (T + 1)^1.5): the last of T iterates is as good as a mean."""

    T: float = 1000.0

    def size(self, problem, t):
        T = jnp.asarray(self.T, problem.lam.dtype)
        left = jnp.maximum(T + 1.0 - t.astype(T.dtype), 0.0)
        return self.scale(problem) * left / (T + 1.0) ** 1.5

    def last_bound(self, problem, G, t):
        """From step T on, when the steps have become zero."""
        B, b = problem.radius, self.scale(problem)
        level = (B**2 / b + b * G**2) / (2 * jnp.sqrt(jnp.asarray(self.T, problem.lam.dtype) + 1.0))
        return jnp.where(t >= self.T, level, jnp.inf)


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
