r"""Epochs of SVRG and its relatives, and how long they last: laws on the number t of inner steps.

    Last            t = m                                              SVRG, option I
    AnyBefore       t uniform on 0..m-1                                SVRG, option II
    AnyAfter        t uniform on 1..m                                  mS2GD
    Geometric(nu)   t in 1..m, Prob(t) proportional to (1 - nu h)^(m - t)    S2GD, S2CD

An epoch always has m steps of one shape; those after the t-th are taken with step size 0.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree

__all__ = ["AnyAfter", "AnyBefore", "Epoch", "EpochState", "Geometric", "Last"]


class EpochState(NamedTuple):
    """x: (d, ...) the snapshot. h: () the step size."""

    x: Array
    h: Array


class Epoch(NamedTuple):
    """The examples an epoch visits, and how many of the visits count."""

    visits: Sample
    length: Array


@pytree
class Last:
    """The last inner iterate."""

    def draw(self, problem, key, m: int, h):
        del problem, key, h
        return jnp.asarray(m, jnp.int32)


@pytree
class AnyBefore:
    """Any inner iterate but the last, all equally likely."""

    def draw(self, problem, key, m: int, h):
        del problem, h
        return jax.random.randint(key, (), 0, m, jnp.int32)


@pytree
class AnyAfter:
    """Any inner iterate but the first, all equally likely."""

    def draw(self, problem, key, m: int, h):
        del problem, h
        return jax.random.randint(key, (), 1, m + 1, jnp.int32)


@pytree
class Geometric:
    """Late iterates are likelier. nu: at most the strong convexity constant; lam unless given."""

    nu: Any = None

    def draw(self, problem, key, m: int, h):
        """m - t has a geometric law cut off at m, drawn by inverting its distribution function."""
        nu = problem.lam if self.nu is None else self.nu
        u = jax.random.uniform(key, (), problem.lam.dtype)
        rate = -jnp.log1p(-jnp.asarray(nu * h, u.dtype))  # (1 - nu h)^k = exp(-rate k)
        cut = -jnp.expm1(-rate * m)
        safe = jnp.maximum(rate, jnp.finfo(u.dtype).tiny)
        short = jnp.where(rate * m > 1e-4, -jnp.log1p(-u * cut) / safe, u * m)
        return m - jnp.clip(short.astype(jnp.int32), 0, m - 1)

    def weights(self, problem, m: int, h):
        """(m,) the probabilities of t = 1..m."""
        nu = problem.lam if self.nu is None else self.nu
        later = jnp.arange(m - 1, -1, -1, dtype=problem.lam.dtype)
        likely = (1.0 - nu * h) ** later
        return likely / jnp.sum(likely)
