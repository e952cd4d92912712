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

    def column_sums(self, values):
        """(d,) sum of values_i over the rows i that have the feature."""
        return values @ (self.X != 0).astype(values.dtype)

    def norm_product(self):
        """max_i sum_j |x_ij| times max_j sum_i |x_ij| >= lambda_max(X X')."""
        size = jnp.abs(self.X)
        return jnp.max(size.sum(1)) * jnp.max(size.sum(0))

    def weighted_sqnorms(self, weights):
        """(n,) sum_j weights_j x_ij^2."""
        return (self.X * self.X) @ weights

    def entry_sqnorms(self, weights):
        """(n,) sum_j weights_ij x_ij^2, weights one an entry, as ``group_counts`` returns them."""
        return jnp.sum(self.X * self.X * weights, axis=1)

    def group_counts(self, group, count: int):
        """For each entry x_ij: how many rows of row i's group have feature j."""
        has = (self.X != 0).astype(jnp.int32)
        return jax.ops.segment_sum(has, group, count)[group]

    def groups_touched(self, group, count: int):
        """(d,) how many groups of rows have the feature."""
        has = (self.X != 0).astype(jnp.int32)
        return jnp.sum(jax.ops.segment_max(has, group, count) > 0, axis=0)

    def smaller_gram(self, unit: bool = False):
        """The smaller of X X' and X'X; ``unit``: of rows scaled to length one (0 stays 0)."""
        tiny = jnp.finfo(self.X.dtype).tiny
        U = self.X / jnp.sqrt(jnp.maximum(self.sqnorms, tiny))[:, None] if unit else self.X
        n, d = self.shape
        return U @ U.T if n <= d else U.T @ U

    def toarray(self):
        return self.X


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

    def column_sums(self, values):
        stored = jnp.where(self.vals != 0, values[self.owner][:, None], 0.0)
        return jnp.zeros(self.d, values.dtype).at[self.cols].add(stored)

    def norm_product(self):
        size, n = jnp.abs(self.vals), self.shape[0]
        rows = jax.ops.segment_sum(size.sum(1), self.owner, n, indices_are_sorted=True)
        columns = jnp.zeros(self.d, size.dtype).at[self.cols].add(size)
        return jnp.max(rows) * jnp.max(columns)

    def weighted_sqnorms(self, weights):
        return self.entry_sqnorms(weights[self.cols])

    def entry_sqnorms(self, weights):
        parts = jnp.sum(self.vals * self.vals * weights, axis=1)
        return jax.ops.segment_sum(parts, self.owner, self.shape[0], indices_are_sorted=True)

    def _pairs(self, group):
        """Stored entries sorted by (group, feature): a number for each such pair, the place of
        each entry in the store, and 1 for the entries that are not zero."""
        size = self.cols.size
        groups = jnp.broadcast_to(group[self.owner][:, None], self.cols.shape).reshape(size)
        stored = (self.vals != 0).astype(jnp.int32).reshape(size)
        place = jnp.arange(size, dtype=jnp.int32)
        given = (groups, self.cols.reshape(size), place, stored)
        groups, cols, place, stored = lax.sort(given, num_keys=2)
        new = (groups[1:] != groups[:-1]) | (cols[1:] != cols[:-1])
        pair = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(new.astype(jnp.int32))])
        return pair.astype(jnp.int32), cols, place, stored

    def group_counts(self, group, count: int):
        del count  # a table of groups x features would be larger than the data
        pair, _, place, stored = self._pairs(group)
        counts = jax.ops.segment_sum(stored, pair, pair.size, indices_are_sorted=True)[pair]
        return jnp.zeros(pair.size, jnp.int32).at[place].set(counts).reshape(self.cols.shape)

    def groups_touched(self, group, count: int):
        del count
        pair, cols, _, stored = self._pairs(group)
        has = jax.ops.segment_max(stored, pair, pair.size, indices_are_sorted=True) > 0
        first = jnp.concatenate([jnp.ones(1, bool), pair[1:] != pair[:-1]])
        touched = (first & has[pair]).astype(jnp.int32)
        return jnp.zeros(self.d, jnp.int32).at[cols].add(touched)

    def toarray(self):
        return self.matvec(jnp.eye(self.d, dtype=self.vals.dtype))


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
