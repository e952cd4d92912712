"""The data matrix X (n, d) by rows: dense, or sparse in chunks of one width.

Vectors may carry trailing axes (w is (d,) or (d, m)); a row then answers with shape () or (m,).
Sparse rows are stored as chunks of ``width`` values: row i owns chunks start[i]..start[i+1],
the last one padded with zeros. A long row has many chunks and widens nobody else; one row costs
a loop over its own chunks, so a visit is O(stored values) whatever n and d are.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxopt_svm.core.blocks import outer
from jaxopt_svm.core.pytree import pytree, static

__all__ = ["Dense", "Padded", "make_dense", "make_padded"]

WIDTHS = (4, 8, 16, 32, 64, 128, 256)
CHUNK_OVERHEAD = 48  # a chunk costs about as much as this many stored values (measured)


@pytree
class DenseRow:
    """One true row. ``through`` is an elementwise map applied to w before the product."""

    x: Array  # (d,)
    sqnorm: Array

    def dot(self, w, through=None):
        return jnp.tensordot(self.x, w if through is None else through(w), 1)

    def add(self, w, c):
        return w + outer(c, self.x)


@pytree
class Dense:
    """X as one (n, d) array."""

    X: Array  # (n, d)
    sqnorms: Array  # (n,)

    spans = True

    @property
    def shape(self):
        return self.X.shape

    def matvec(self, w):
        return jnp.tensordot(self.X, w, 1)

    def rmatvec(self, a):
        return jnp.tensordot(self.X, a, ((0,), (0,)))

    def take(self, index) -> "Dense":
        """The rows of a block; an index beyond n repeats the last row (callers mask it)."""
        return Dense(self.X.at[index].get(mode="clip"), self.sqnorms.at[index].get(mode="clip"))

    def dot(self, index, w):
        return self.take(index).matvec(w)

    def add(self, w, index, coefficients):
        return w + self.take(index).rmatvec(coefficients)

    def row(self, i):
        return DenseRow(self.X.at[i].get(mode="clip"), self.sqnorms.at[i].get(mode="clip"))

    def gram(self):
        return self.X @ self.X.T

    def column_counts(self):
        return jnp.sum(self.X != 0, axis=0)

    def weighted_sqnorms(self, weights):
        """(n,) sum_j weights_j x_ij^2."""
        return (self.X * self.X) @ weights

    def unit_gram(self):
        """The smaller of U U' and U'U, U = rows scaled to unit length (zero rows stay zero)."""
        tiny = jnp.finfo(self.X.dtype).tiny
        U = self.X / jnp.sqrt(jnp.maximum(self.sqnorms, tiny))[:, None]
        n, d = self.shape
        return U @ U.T if n <= d else U.T @ U


@pytree
class PaddedRow:
    """One sparse row: chunks ``first``..``last`` of the store."""

    cols: Array
    vals: Array
    first: Array
    last: Array
    sqnorm: Array

    def dot(self, w, through=None):
        def chunk(k, total):
            seen = w.at[self.cols[k]].get(mode="promise_in_bounds")  # (width, ...)
            seen = seen if through is None else through(seen)
            return total + jnp.tensordot(self.vals[k], seen, 1)

        return lax.fori_loop(self.first, self.last, chunk, jnp.zeros(w.shape[1:], w.dtype))

    def add(self, w, c):
        def chunk(k, w):
            return w.at[self.cols[k]].add(outer(c, self.vals[k]), mode="promise_in_bounds")

        return lax.fori_loop(self.first, self.last, chunk, w)


@pytree
class Padded:
    """X in chunks: cols and vals (chunks, width), start (n + 1,), owner (chunks,)."""

    cols: Array
    vals: Array
    start: Array
    owner: Array
    sqnorms: Array
    d: int = static()

    spans = False

    @property
    def shape(self):
        return self.start.shape[0] - 1, self.d

    def matvec(self, w):
        n = self.shape[0]
        seen = w.at[self.cols].get(mode="promise_in_bounds")  # (chunks, width, ...)
        parts = jnp.sum(self.vals.reshape(self.vals.shape + (1,) * (w.ndim - 1)) * seen, axis=1)
        return jax.ops.segment_sum(parts, self.owner, n, indices_are_sorted=True)

    def rmatvec(self, a):
        spread = jnp.expand_dims(a[self.owner], 1)  # (chunks, 1, ...)
        values = self.vals.reshape(self.vals.shape + (1,) * (a.ndim - 1)) * spread
        return jnp.zeros((self.d, *a.shape[1:]), a.dtype).at[self.cols].add(values)

    def dot(self, index, w):
        return jax.vmap(lambda i: self.row(i).dot(w))(index)

    def add(self, w, index, coefficients):
        def one(w, pair):
            return self.row(pair[0]).add(w, pair[1]), None

        return lax.scan(one, w, (index, coefficients))[0]

    def row(self, i):
        i = jnp.minimum(i, self.shape[0] - 1)
        return PaddedRow(self.cols, self.vals, self.start[i], self.start[i + 1], self.sqnorms[i])

    def column_counts(self):
        stored = (self.vals != 0).astype(jnp.int32)
        return jnp.zeros(self.d, jnp.int32).at[self.cols].add(stored)

    def weighted_sqnorms(self, weights):
        parts = jnp.sum(self.vals * self.vals * weights[self.cols], axis=1)
        return jax.ops.segment_sum(parts, self.owner, self.shape[0], indices_are_sorted=True)


def make_dense(X: np.ndarray | Array) -> Dense:
    """Dense rows from a finite floating-point matrix."""
    X = jnp.asarray(X)
    return Dense(X, jnp.sum(X * X, axis=1))


def best_width(lengths: np.ndarray) -> int:
    """The chunk width with the least cost over all rows: padding against loop overhead."""
    cost = {w: int((-(-lengths // w)).sum()) * (w + CHUNK_OVERHEAD) for w in WIDTHS}
    return min(cost, key=lambda w: cost[w])


def make_padded(X: Any, dtype) -> Padded:
    """Chunked rows from any scipy.sparse matrix; every stored value is kept."""
    X = X.tocsr()
    X.sum_duplicates()
    n, d = X.shape
    lengths = np.diff(X.indptr)
    width = best_width(lengths)
    chunks = -(-lengths // width)
    start = np.concatenate([[0], np.cumsum(chunks)])
    total = max(1, int(start[-1]))  # one chunk of zeros when nothing is stored at all
    # value k of row i goes to slot k of the row's own stretch of chunks
    slot = np.arange(X.nnz) - np.repeat(X.indptr[:-1], lengths)
    slot = slot + np.repeat(start[:-1] * width, lengths)
    cols = np.zeros(total * width, np.int32)
    vals = np.zeros(total * width, dtype)
    cols[slot], vals[slot] = X.indices, X.data
    owner = np.repeat(np.arange(n), chunks)
    owner = owner if owner.size else np.zeros(1, np.int64)
    vals = vals.reshape(total, width)
    sqnorms = np.bincount(owner, (vals.astype(np.float64) ** 2).sum(1), minlength=n)
    return Padded(
        cols=jnp.asarray(cols.reshape(total, width)),
        vals=jnp.asarray(vals),
        start=jnp.asarray(start.astype(np.int32)),
        owner=jnp.asarray(owner.astype(np.int32)),
        sqnorms=jnp.asarray(sqnorms.astype(dtype)),
        d=d,
    )
