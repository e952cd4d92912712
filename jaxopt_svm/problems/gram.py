r"""The Gram matrix K_ij = k(x_i, x_j), stored, or made row by row when it would not fit.

To methods made of visits it is a data matrix by rows whose "w" is the score vector u = K beta: row
i is the functional that reads u_i, and adding it to u adds the i-th row of K. So <x_i, x_j> = K_ij,
and the blocks of core/blocks.py run on kernels unchanged:

    row i:  dot(u) = u_i,   add(u, a) = u + a K_i,   sqnorm = K_ii
    all:    matvec(u) = u,  rmatvec(a) = K a

A stored matrix may be kept in float32 while all else is in float64: half the memory, and products
are still summed in float64.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.custom_batching import sequential_vmap

from jaxopt_svm.core.blocks import outer
from jaxopt_svm.core.pytree import pytree

__all__ = ["ComputedGram", "StoredGram", "make_computed", "make_stored"]

SOME = 8  # rows of K added at a time to a vector that stays in the processor's cache
BLOCK = 512  # rows of K made at a time where K is not at hand as a whole


@pytree
class GramRow:
    """Row i of K, for score vectors."""

    i: Array
    k: Array  # (n,)
    sqnorm: Array

    def dot(self, u, through=None):
        seen = u if through is None else through(u)
        return lax.dynamic_index_in_dim(seen, self.i, 0, keepdims=False)

    def add(self, u, a):
        return u + outer(a, self.k)


@pytree
class GramBlock:
    """Some rows of K, for score vectors."""

    index: Array  # (B,)
    K: Array  # (B, n)

    def matvec(self, u):
        return u.at[self.index].get(mode="clip")

    def added(self, w, a):
        return w + self.rmatvec(a)

    def rmatvec(self, a):
        return jnp.tensordot(self.K, a, ((0,), (0,)))

    def gram(self):
        return self.K.at[:, self.index].get(mode="clip")


class _Gram:
    """What both kinds share; they define ``take_rows``, ``entries``, ``times`` and ``sum_of``."""

    diagonal: Any
    spans = True

    @property
    def shape(self) -> tuple[int, int]:
        n = self.diagonal.shape[0]
        return n, n

    @property
    def sqnorms(self):
        return self.diagonal

    def take_rows(self, index) -> Array:
        raise TypeError(f"{type(self).__name__} must define take_rows")

    def times(self, a) -> Array:
        """K a, for a of shape (n,) or (n, m)."""
        raise TypeError(f"{type(self).__name__} must define times")

    def sum_of(self, index, a) -> Array:
        raise TypeError(f"{type(self).__name__} must define sum_of")

    def row_of(self, i) -> Array:
        """(n,) row i of K."""
        return self.take_rows(jnp.asarray(i)[None])[0]

    def rows_times(self, index, a) -> Array:
        """(n,) sum_k a_k K_index[k]: in a batch lane after lane, which keeps its rows in cache."""
        return _rows_times(self, index, a)

    def take(self, index) -> GramBlock:
        return GramBlock(index, self.take_rows(index))

    def row(self, i) -> GramRow:
        return GramRow(i, self.row_of(i), self.diagonal.at[i].get(mode="clip"))

    def matvec(self, u):
        return u

    def rmatvec(self, a):
        return self.times(a)


@sequential_vmap
def _rows_times(gram, index, a):
    return gram.sum_of(index, a)


def _in_blocks(rows_times, n: int, a):
    """Stack rows_times(index) over blocks of row indices; the last block repeats its end."""
    blocks = -(-n // BLOCK)
    index = jnp.minimum(jnp.arange(blocks * BLOCK, dtype=jnp.int32), n - 1).reshape(blocks, BLOCK)
    found = lax.map(rows_times, index)
    return found.reshape(blocks * BLOCK, *a.shape[1:])[:n]


@pytree
class StoredGram(_Gram):
    """K as one array, perhaps narrower than the numbers around it."""

    K: Array  # (n, n)
    diagonal: Array  # (n,)
    lengths: Array  # (n,) the Euclidean length of each row: how large rounding in K a can be

    def take_rows(self, index):
        return self.K.at[index].get(mode="clip").astype(self.diagonal.dtype)

    def entries(self, rows, columns):
        """(B, m) K at rows x columns."""
        return self.K[rows[:, None], columns[None, :]].astype(self.diagonal.dtype)

    def sum_of(self, index, a):
        """A few rows at a time: one product would first copy all of them. Zeros are left out."""
        moved = a != 0
        (order,) = jnp.nonzero(moved, size=a.size, fill_value=0)
        count = jnp.sum(moved, dtype=jnp.int32)
        some = jnp.arange(SOME, dtype=jnp.int32)

        def add(k, total):
            at = order[jnp.minimum(k * SOME + some, a.size - 1)]
            share = jnp.where(k * SOME + some < count, a[at], 0.0)
            for j in range(SOME):
                total = total + share[j] * self.row_of(index[at[j]])
            return total

        return lax.fori_loop(0, -(-count // SOME), add, jnp.zeros_like(self.diagonal))

    def times(self, a):
        if self.K.dtype == a.dtype:
            return jnp.tensordot(self.K, a, 1)
        return _in_blocks(lambda i: jnp.tensordot(self.take_rows(i), a, 1), self.shape[0], a)


@pytree
class ComputedGram(_Gram):
    """Rows of K made when asked for: O(n d) a row, O(n d) memory."""

    X: Array  # (n, d)
    kernel: Any
    diagonal: Array  # (n,)
    lengths: Array  # (n,) a bound: K_ij^2 <= K_ii K_jj

    def take_rows(self, index):
        return self.kernel.matrix(self.X.at[index].get(mode="clip"), self.X)

    def entries(self, rows, columns):
        return self.kernel.matrix(self.X[rows], self.X[columns])

    def sum_of(self, index, a):
        nothing = lambda: jnp.zeros_like(self.diagonal)
        # a lane that has nothing to add makes nothing
        return lax.cond(jnp.any(a != 0), lambda: a @ self.take_rows(index), nothing)

    def times(self, a):
        return _in_blocks(lambda i: jnp.tensordot(self.take_rows(i), a, 1), self.shape[0], a)


def make_stored(K: Any, dtype: Any) -> StoredGram:
    """``dtype``: of everything that is computed with K, which keeps its own."""
    K = jnp.asarray(K)
    diagonal = jnp.asarray(np.diagonal(K).astype(dtype))
    lengths = jnp.sqrt(jnp.einsum("ij,ij->i", K, K)).astype(dtype)
    return StoredGram(K, diagonal, lengths)


def make_computed(X: Any, kernel: Any) -> ComputedGram:
    X = jnp.asarray(X)
    diagonal = kernel.diagonal(X)
    return ComputedGram(X, kernel, diagonal, jnp.sqrt(diagonal * jnp.sum(diagonal)))
