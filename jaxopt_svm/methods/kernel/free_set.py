r"""The free variables of an active-set method, with the Cholesky factor of their block of the
matrix.

    M_ss = K_ss + rho,    rho = mean of diag K with a free intercept, else 0

K_ss alone can be singular although the system bordered by sum beta = 0 is not (a linear kernel with
d + 1 free variables). M_ss is definite exactly if K_ss is definite on {sum d = 0}, and on that
plane the constant changes nothing (proofs_checks/shift_invariance.py). Slots beyond ``count`` hold
zeros.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.oracles import cholesky
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = [
    "FreeSet",
    "Join",
    "empty_set",
    "pivot_of",
    "refactored",
    "shift",
    "with_member",
    "without",
]


class FreeSet(NamedTuple):
    """index: (capacity,) who is free. count: how many. L: (capacity, capacity) factor of M_ss."""

    index: Array
    count: Array
    L: Array

    @property
    def live(self) -> Array:
        return jnp.arange(self.index.shape[0], dtype=jnp.int32) < self.count

    def members(self, n: int) -> Array:
        """(n,) who is free, as a mask."""
        where = jnp.where(self.live, self.index, n)
        return jnp.zeros(n, bool).at[where].set(True, mode="drop")

    def pick(self, values) -> Array:
        """(capacity,) the members' values, zero in empty slots."""
        return jnp.where(self.live, values[self.index], 0.0)

    def solve(self, right) -> Array:
        """M_ss^-1 right."""
        return cholesky.solve(self.L, self.count, right)


class Join(NamedTuple):
    """What admitting t meets: column M_st, l = L^-1 M_st, the pivot, and whether it is safe."""

    column: Array
    l: Array
    pivot: Array
    regular: Array


def empty_set(capacity: int, dtype) -> FreeSet:
    zero = jnp.zeros((), jnp.int32)
    return FreeSet(jnp.zeros(capacity, jnp.int32), zero, jnp.zeros((capacity, capacity), dtype))


def shift(problem: KernelSVM):
    """rho."""
    diagonal = problem.rows.diagonal
    return jnp.mean(diagonal) if problem.free else jnp.zeros((), diagonal.dtype)


def pivot_of(problem: KernelSVM, free: FreeSet, t) -> Join:
    rho = shift(problem)
    entries = problem.rows.entries(t[None], free.index)[0] + rho
    column = jnp.where(free.live, entries, 0.0)
    l = cholesky.half_solve(free.L, free.count, column)
    own = problem.rows.diagonal[t] + rho
    pivot = own - l @ l
    # K's own rounding decides what counts as zero curvature
    smallest = 30 * jnp.finfo(own.dtype).eps ** 0.75 * own
    return Join(column, l, jnp.maximum(pivot, smallest), (pivot > smallest) & (own > 0))


def with_member(problem: KernelSVM, free: FreeSet, t) -> FreeSet:
    """One more; the caller has seen that there is room."""
    join = pivot_of(problem, free, t)
    return FreeSet(
        index=free.index.at[free.count].set(t, mode="drop"),
        count=free.count + 1,
        L=cholesky.append(free.L, free.count, join.l, join.pivot),
    )


def without(free: FreeSet, r) -> FreeSet:
    """The set without its r-th member."""
    at = jnp.arange(free.index.shape[0], dtype=jnp.int32)
    after = jnp.minimum(jnp.where(at < r, at, at + 1), at.size - 1)
    index = jnp.where(at < free.count - 1, free.index[after], 0)
    return FreeSet(index, free.count - 1, cholesky.delete(free.L, free.count, r))


def refactored(problem: KernelSVM, free: FreeSet) -> FreeSet:
    """The same set with its factor made anew: what updates lost comes back."""
    both = free.live[:, None] & free.live[None, :]
    M = jnp.where(both, problem.rows.entries(free.index, free.index) + shift(problem), 0.0)
    L = jnp.linalg.cholesky(M + jnp.diag(jnp.where(free.live, 0.0, 1.0)))
    L = jnp.where(both, L, 0.0)
    return free._replace(L=lax.select(jnp.all(jnp.isfinite(L)), L, free.L))
