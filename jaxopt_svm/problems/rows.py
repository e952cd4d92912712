"""The data matrix X (n, d) by rows: dense, or sparse in chunks of one width.

Vectors may carry trailing axes (w is (d,) or (d, m)); a row then answers with shape () or (m,).
Sparse rows are stored as chunks of ``width`` values: row i owns chunks start[i]..start[i+1],
the last one padded with zeros. A long row has many chunks and widens nobody else; one row costs
a loop over its own chunks, so a visit is O(stored values) whatever n and d are.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxopt_svm.core.blocks import outer
from jaxopt_svm.core.pytree import pytree, static

__all__ = [
    "NARROW",
    "Dense",
    "Padded",
    "best_width",
    "chunked",
    "entries_of",
    "make_dense",
    "make_padded",
    "transposed",
    "width_costs",
]

WIDTHS = (4, 8, 16, 32, 64, 128, 256)
NARROW = 512  # features: with so few, dense rows are faster than sparse ones
CELLS = 65_536  # numbers gathered at once by a product with several outputs or lanes
SCATTERED = 8.0  # a number that is gathered and scattered costs so many of a dense row
CHUNK_OVERHEAD = 16  # a chunk costs about as much as this many stored values (measured)


def _mixed(h):
    """A bijection of 32-bit words that spreads every bit (MurmurHash3's last step)."""
    h = (h ^ (h >> 16)) * jnp.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * jnp.uint32(0xC2B2AE35)
    return h ^ (h >> 16)


def entries_digest(values, rows, columns) -> Array:
    """(2,) words that tell matrices apart: a sum over the entries that are not zero, modulo 2^32,
    so neither their order nor how they are stored or divided matters."""
    words = lax.bitcast_convert_type(values, jnp.uint32)
    words = words.reshape(*values.shape, -1)

    def one(seed: int):
        h = _mixed(_mixed(rows.astype(jnp.uint32) ^ jnp.uint32(seed)) ^ columns.astype(jnp.uint32))
        for k in range(words.shape[-1]):
            h = _mixed(h ^ words[..., k])
        return jnp.sum(jnp.where(values != 0, h, jnp.uint32(0)), dtype=jnp.uint32)

    return jnp.stack([one(0x9E3779B9), one(0x7F4A7C15)])


def _seen(w, through):
    """What a product sees: w itself, or an elementwise map of one array or of several."""
    if through is None:
        return w
    return through(*w) if isinstance(w, tuple) else through(w)


def _against(values, seen):
    """values with as many axes of one behind as an array of several outputs has more."""
    return values.reshape(values.shape + (1,) * (seen.ndim - values.ndim))


@pytree
class DenseRow:
    """One true row. ``through`` is an elementwise map applied to w before the product.

    With a ``through`` of several arguments w is a tuple of as many arrays.
    """

    x: Array  # (d,)
    sqnorm: Array

    def dot(self, w, through=None):
        return jnp.tensordot(self.x, _seen(w, through), 1)

    def add(self, w, c):
        return w + outer(c, self.x)

    def pick(self, u):
        """(j, x_j), feature j with probability x_j^2 / sqnorm, for u uniform on [0, 1)."""
        mass = jnp.cumsum(self.x * self.x)
        j = jnp.searchsorted(mass, u * mass[-1], side="right").astype(jnp.int32)
        j = jnp.minimum(j, self.x.shape[0] - 1)
        return j, self.x[j]


@pytree
class Dense:
    """X as one (n, d) array; numpy on the host, until it is placed."""

    X: Any  # (n, d)
    sqnorms: Any  # (n,)

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

    def dot(self, index, w, through=None):
        return self.take(index).matvec(_seen(w, through))

    def add(self, w, index, coefficients):
        return self.take(index).added(w, coefficients)

    def added(self, w, a):
        """w + X'a."""
        return w + self.rmatvec(a)

    def row(self, i):
        return DenseRow(self.X.at[i].get(mode="clip"), self.sqnorms.at[i].get(mode="clip"))

    def gram(self):
        return self.X @ self.X.T

    def column_counts(self):
        return jnp.sum(self.X != 0, axis=0)

    def row_counts(self):
        """(n,) how many features each row has."""
        return jnp.sum(self.X != 0, axis=1)

    def column_squares(self, weights):
        """(d,) sum_i weights_i x_ij^2."""
        return weights @ (self.X * self.X)

    def column_sums(self, values):
        """(d,) sum of values_i over the rows i that have the feature."""
        return values @ (self.X != 0).astype(values.dtype)

    def absolute_sums(self):
        """((n,) sum_j |x_ij|, (d,) sum_i |x_ij|)."""
        size = jnp.abs(self.X)
        return size.sum(1), size.sum(0)

    def norm_product(self):
        """max_i sum_j |x_ij| times max_j sum_i |x_ij| >= lambda_max(X X')."""
        rows, columns = self.absolute_sums()
        return jnp.max(rows) * jnp.max(columns)

    def column_gram(self, weights):
        """X' diag(weights) X."""
        return (weights[:, None] * self.X).T @ self.X

    def without_last(self) -> "Dense":
        """Without the last column, which is that of an intercept."""
        X = self.X[:, :-1]
        return Dense(X, _square_lengths(X))

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

    def digest(self, first=0):
        """``entries_digest`` of these rows, the first of which is row ``first``."""
        n, d = self.shape
        rows = first + jnp.arange(n, dtype=jnp.int32)
        return entries_digest(self.X, rows[:, None], jnp.arange(d, dtype=jnp.int32)[None, :])


@pytree
class PaddedRow:
    """One sparse row: chunks ``first``..``last`` of the store."""

    cols: Array
    vals: Array
    first: Array
    last: Array
    sqnorm: Array

    def dot(self, w, through=None):
        first = w[0] if isinstance(w, tuple) else w

        def chunk(k, total):
            take = lambda v: v.at[self.cols[k]].get(mode="promise_in_bounds")  # (width, ...)
            seen = _seen(jax.tree.map(take, w), through)
            # one loop over the values for all outputs or lanes; a call of a product takes longer
            return total + jnp.sum(_against(self.vals[k], seen) * seen, axis=0)

        zero = jnp.zeros(first.shape[1:], first.dtype)
        return lax.fori_loop(self.first, self.last, chunk, zero)

    def add(self, w, c):
        def chunk(k, w):
            return w.at[self.cols[k]].add(outer(c, self.vals[k]), mode="promise_in_bounds")

        return lax.fori_loop(self.first, self.last, chunk, w)

    def pick(self, u):
        """(j, x_j), feature j with probability x_j^2 / sqnorm, for u uniform on [0, 1)."""
        wanted = u * self.sqnorm

        def chunk(k, found):
            j, x, before = found
            mass = before + jnp.cumsum(self.vals[k] * self.vals[k])
            place = jnp.searchsorted(mass, wanted, side="right")
            place = jnp.minimum(place, self.vals.shape[1] - 1)
            # the chunk where the mass passes what is wanted; rounding may leave it to the last
            here = (before <= wanted) & (self.vals[k, place] != 0)
            j, x = jnp.where(here, self.cols[k, place], j), jnp.where(here, self.vals[k, place], x)
            return j, x, mass[-1]

        zero = jnp.zeros((), self.vals.dtype)
        j, x, _ = lax.fori_loop(self.first, self.last, chunk, (jnp.int32(0), zero, zero))
        return j, x


@pytree
class Padded:
    """X in chunks: cols and vals (chunks, width), start (n + 1,), owner (chunks,)."""

    cols: Any
    vals: Any
    start: Any
    owner: Any
    sqnorms: Any
    d: int = static()

    spans = False
    behind = True  # the lanes of a batch, behind the features (core/lanes_behind.py)
    fewest = 8  # lanes: fewer take as long

    @property
    def shape(self):
        return self.start.shape[0] - 1, self.d

    @property
    def row_numbers(self) -> float:
        """What a visit costs, in numbers of a dense row."""
        return SCATTERED * self.cols.size / self.shape[0]

    def matvec(self, w):
        n, chunks = self.shape[0], self.cols.shape[0]

        def part(cols, vals):
            seen = w.at[cols].get(mode="promise_in_bounds")  # (chunks, width, ...)
            # a product of its own leaves the gather a plain copy, which is twice as fast
            return jnp.einsum("kj,kj...->k...", vals, seen)

        if w.ndim == 1:
            parts = part(self.cols, self.vals)
        else:

            def block(first, _, cols, vals, parts):
                return lax.dynamic_update_slice_in_dim(parts, part(cols, vals), first, 0)

            parts = self._by_blocks(block, jnp.zeros((chunks, *w.shape[1:]), w.dtype))
        return jax.ops.segment_sum(parts, self.owner, n, indices_are_sorted=True)

    def rmatvec(self, a):
        u = jnp.zeros((self.d, *a.shape[1:]), a.dtype)

        def add(u, cols, vals, spread):
            spread = jnp.expand_dims(spread, 1)  # (chunks, 1, ...)
            return u.at[cols].add(_against(vals, spread) * spread, mode="promise_in_bounds")

        if a.ndim == 1:
            return add(u, self.cols, self.vals, a[self.owner])

        def block(first, new, cols, vals, u):
            owner = lax.dynamic_slice_in_dim(self.owner, first, cols.shape[0])
            return add(u, cols, jnp.where(new[:, None], vals, 0.0), a[owner])

        return self._by_blocks(block, u)

    def _by_blocks(self, block, carry):
        """``block(first, new, cols, vals, carry)`` over stretches of chunks, the first of which is
        ``first``: with several outputs or lanes, what is gathered then stays in the cache.

        new: a mask; the last stretch reaches back to chunks that were there already.
        """
        chunks, width = self.cols.shape
        each = width * math.prod(carry.shape[1:])
        size = min(chunks, max(1, CELLS // each))

        def one(k, carry):
            first = jnp.minimum(k * size, chunks - size)
            cols, vals = (lax.dynamic_slice_in_dim(x, first, size) for x in (self.cols, self.vals))
            new = first + jnp.arange(size, dtype=jnp.int32) >= k * size
            return block(first, new, cols, vals, carry)

        return lax.fori_loop(0, -(-chunks // size), one, carry)

    def dot(self, index, w, through=None):
        # row by row: side by side, all rows of a set would wait for its longest
        return lax.map(lambda i: self.row(i).dot(w, through), index)

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

    def row_counts(self):
        stored = jnp.sum(self.vals != 0, axis=1)
        return jax.ops.segment_sum(stored, self.owner, self.shape[0], indices_are_sorted=True)

    def column_squares(self, weights):
        squares = weights[self.owner][:, None] * self.vals * self.vals
        return jnp.zeros(self.d, weights.dtype).at[self.cols].add(squares)

    def column_sums(self, values):
        stored = jnp.where(self.vals != 0, values[self.owner][:, None], 0.0)
        return jnp.zeros(self.d, values.dtype).at[self.cols].add(stored)

    def absolute_sums(self):
        size, n = jnp.abs(self.vals), self.shape[0]
        rows = jax.ops.segment_sum(size.sum(1), self.owner, n, indices_are_sorted=True)
        return rows, jnp.zeros(self.d, size.dtype).at[self.cols].add(size)

    def norm_product(self):
        rows, columns = self.absolute_sums()
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

    def digest(self, first=0):
        return entries_digest(self.vals, (first + self.owner)[:, None], self.cols)


@jax.jit  # or the squares would take as much memory as X
def _square_lengths(X):
    return jnp.sum(X * X, axis=1)


def make_dense(X: np.ndarray | Array) -> Dense:
    """Dense rows from a finite floating-point matrix."""
    X = jnp.asarray(X)
    return Dense(X, _square_lengths(X))


def width_costs(lengths: np.ndarray) -> list[int]:
    """Of each of WIDTHS, over rows of these lengths: padding against loop overhead."""
    return [int((-(-lengths // w)).sum()) * (w + CHUNK_OVERHEAD) for w in WIDTHS]


def best_width(costs: Any) -> int:
    """The chunk width with the least cost."""
    return WIDTHS[int(np.argmin(costs))]


def make_padded(X: Any, dtype) -> Padded:
    """Chunked rows from any scipy.sparse matrix; every stored value is kept."""
    X = X.tocsr()
    X.sum_duplicates()
    return jax.tree.map(jnp.asarray, chunked(X.indptr, X.indices, X.data, X.shape[1], dtype))


def chunked(
    indptr, indices, data, d: int, dtype, width: int | None = None, total: int = 1
) -> Padded:
    """Chunked rows from the three arrays of the CSR format, as numpy arrays on the host.

    total: chunks to have at least; those that no row needs hold zeros of the last row.
    """
    n, lengths = len(indptr) - 1, np.diff(indptr)
    width = best_width(width_costs(lengths)) if width is None else width
    chunks = -(-lengths // width)
    start = np.concatenate([[0], np.cumsum(chunks)])
    total = max(total, int(start[-1]))
    # value k of row i goes to slot k of the row's own stretch of chunks
    slot = np.arange(len(data)) - np.repeat(indptr[:-1], lengths)
    slot = slot + np.repeat(start[:-1] * width, lengths)
    cols = np.zeros(total * width, np.int32)
    vals = np.zeros(total * width, dtype)
    cols[slot], vals[slot] = indices, data
    owner = np.full(total, n - 1)
    owner[: start[-1]] = np.repeat(np.arange(n), chunks)
    vals = vals.reshape(total, width)
    sqnorms = np.bincount(owner, (vals.astype(np.float64) ** 2).sum(1), minlength=n)
    return Padded(
        cols=cols.reshape(total, width),
        vals=vals,
        start=start.astype(np.int32),
        owner=owner.astype(np.int32),
        sqnorms=sqnorms.astype(dtype),
        d=d,
    )


def entries_of(rows: Padded, weights: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """(row, column, value) of what Diag(weights) X holds, in the order of the rows; on the host.
    Padding, stored zeros and examples that do not count drop out."""
    owner, vals = np.asarray(rows.owner), np.asarray(rows.vals)
    vals = vals if weights is None else vals * weights[owner][:, None]
    held = vals != 0
    owner = np.broadcast_to(owner[:, None], held.shape)
    return owner[held], np.asarray(rows.cols)[held], vals[held]


def transposed(rows: Dense | Padded, weights: np.ndarray) -> Dense | Padded:
    """The columns of Diag(weights) X as rows: row j is column j. Host side, never densified."""
    if isinstance(rows, Dense):
        return make_dense((rows.X * jnp.asarray(weights, rows.X.dtype)[:, None]).T)
    n, d = rows.shape
    owner, cols, vals = entries_of(rows, weights)
    order = np.argsort(cols, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(cols, minlength=d))])
    rows = chunked(indptr, owner[order], vals[order], n, vals.dtype)
    return jax.tree.map(jnp.asarray, rows)
