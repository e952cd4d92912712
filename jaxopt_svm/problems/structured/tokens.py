"""Feature vectors of the nodes of one example: dense, or padded sparse.

Parameters are rows of one matrix with K columns, W (R, K); a token with features f has scores
sum_f value_f W_f. Any leading axes are tokens. ``gram`` holds all products <x_s, x_t> of an example
(T^2 numbers), so that ||sum_t x_t (x) n_t||^2 = sum_st gram_st <n_s, n_t> never forms the d-vector.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.pytree import pytree

__all__ = ["DenseTokens", "SparseTokens", "pack_rows", "pack_sequences"]


@pytree
class DenseTokens:
    """X (T, F), rows of zeros at padding."""

    X: Array
    gram: Array  # (T, T)

    def scores(self, W):
        """(T, K) from the first F rows of W."""
        return jnp.tensordot(self.X, W[: self.X.shape[-1]], 1)

    def add(self, W, coefficients, tail):
        """W with sum_t x_t (x) coefficients_t added to its first F rows, and tail to the others."""
        axes = tuple(range(self.X.ndim - 1))
        return W + jnp.concatenate([jnp.tensordot(self.X, coefficients, (axes, axes)), tail])


@pytree
class SparseTokens:
    """S stored values a token, padded with zeros: index (T, S), values (T, S)."""

    index: Array
    values: Array
    gram: Array  # (T, T)

    def scores(self, W):
        seen = W.at[self.index].get(mode="promise_in_bounds")  # (T, S, K)
        return jnp.sum(self.values[..., None] * seen, axis=-2)

    def add(self, W, coefficients, tail):
        """Costs the stored values, whatever the number of rows of W: one scatter, in place. (A
        second write, to the tail, would make the compiler copy W.)"""
        K, rest = W.shape[1], tail.shape[0]
        parts = (self.values[..., None] * coefficients[..., None, :]).reshape(-1, K)
        last = jnp.arange(W.shape[0] - rest, W.shape[0], dtype=self.index.dtype)
        index = jnp.concatenate([self.index.reshape(-1), last])
        return W.at[index].add(jnp.concatenate([parts, tail]), mode="promise_in_bounds")


def scipy_sparse():
    """scipy is here if the user has sparse matrices of it."""
    import scipy.sparse

    return scipy.sparse


def dense_rows(X: np.ndarray, dtype, bias: bool) -> np.ndarray:
    """(rows, F), or (rows, F + 1) with a constant feature."""
    X = X.astype(dtype)
    return np.concatenate([X, np.ones((len(X), 1), dtype)], axis=1) if bias else X


def sparse_rows(X: Any, dtype, bias: bool) -> tuple[np.ndarray, np.ndarray]:
    """(rows, S) indices and values of a scipy.sparse matrix, padded to its longest row."""
    X = X.tocsr().astype(dtype)
    X.sum_duplicates()
    counts = np.diff(X.indptr)
    shape = X.shape[0], int(counts.max(initial=1)) + bias
    index, values = np.zeros(shape, np.int32), np.zeros(shape, dtype)
    rows = np.repeat(np.arange(X.shape[0]), counts)
    slots = np.arange(X.nnz) - np.repeat(X.indptr[:-1], counts)
    index[rows, slots], values[rows, slots] = X.indices, X.data
    if bias:
        index[:, -1], values[:, -1] = X.shape[1], 1
    return index, values


def pack_rows(X: Any, dtype, bias: bool, sparse: bool) -> DenseTokens | SparseTokens:
    """Each row of X a token by itself, without a node axis."""
    if sparse:
        index, values = sparse_rows(X, dtype, bias)
        sqnorms = jnp.asarray((values**2).sum(1))
        return SparseTokens(jnp.asarray(index), jnp.asarray(values), sqnorms)
    X = dense_rows(X, dtype, bias)
    return DenseTokens(jnp.asarray(X), jnp.asarray((X**2).sum(1)))


def pack_sequences(X: list[Any], mask: np.ndarray, dtype, bias: bool, sparse: bool):
    """Tokens (n, T, ...) from n matrices (T_i, F), dense or scipy.sparse; mask (n, T)."""
    if sparse:
        flat = scipy_sparse().vstack(X)
        index, values = (_spread(part, mask) for part in sparse_rows(flat, dtype, bias))
        gram = np.zeros((*mask.shape, mask.shape[1]), dtype)
        for i, x in enumerate(X):
            T = x.shape[0]
            gram[i, :T, :T] = (x @ x.T).toarray() + bias
        return SparseTokens(jnp.asarray(index), jnp.asarray(values), jnp.asarray(gram))
    packed = _spread(dense_rows(np.concatenate(X), dtype, bias), mask)
    return DenseTokens(jnp.asarray(packed), jnp.asarray(packed @ packed.swapaxes(1, 2)))


def _spread(rows: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Rows one after the other to the real places of (n, T, ...)."""
    table = np.zeros((*mask.shape, rows.shape[1]), rows.dtype)
    table[mask] = rows
    return table
