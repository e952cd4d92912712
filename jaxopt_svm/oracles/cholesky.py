r"""A Cholesky factor that gains and loses rows, in an array of fixed capacity.

The factor of a k x k matrix is kept in the leading corner of a (capacity, capacity) lower
triangle; everything else is zero, so a larger capacity is the same array with more zeros around.

    append   one more row (l, sqrt(pivot)),  L l = a,  pivot = a_tt - l'l           O(k^2)
    delete   row and column r go; below it L33 L33' + x x' is refactored,
             x being what column r had below the diagonal                           O((k - r)^2)

Golub & Van Loan, Matrix Computations, 6.5. Checked in proofs_checks/cholesky_updates.py.
"""

import jax.numpy as jnp
from jax import Array, lax
from jax.scipy.linalg import solve_triangular

__all__ = ["append", "delete", "half_solve", "solve"]


def _padded(L, k) -> Array:
    """The factor with ones on the diagonal where it is empty: it can be solved with."""
    empty = (jnp.arange(L.shape[0], dtype=jnp.int32) >= k).astype(L.dtype)
    return L + jnp.diag(empty)


def half_solve(L, k, b) -> Array:
    """L^-1 b, for b zero beyond k."""
    return solve_triangular(_padded(L, k), b, lower=True)


def solve(L, k, b) -> Array:
    """(L L')^-1 b, for b of shape (capacity,) or (capacity, m), zero beyond k."""
    full = _padded(L, k)
    return solve_triangular(full, solve_triangular(full, b, lower=True), lower=True, trans=1)


def append(L, k, l, pivot) -> Array:
    """Row k becomes (l, sqrt(pivot)); l is zero beyond k. A full array drops it."""
    at = jnp.arange(L.shape[0], dtype=jnp.int32)
    row = jnp.where(at < k, l, 0.0) + jnp.where(at == k, jnp.sqrt(pivot), 0.0)
    return L.at[k].set(row, mode="drop")


def delete(L, k, r) -> Array:
    """The factor without row and column r."""
    capacity = L.shape[0]
    at = jnp.arange(capacity, dtype=jnp.int32)
    after = jnp.minimum(jnp.where(at < r, at, at + 1), capacity - 1)
    live = at < k - 1
    x = jnp.where((at >= r) & live, L[after, r], 0.0)
    L = jnp.where(live[:, None] & live[None, :], L[after][:, after], 0.0)

    def column(j, carry):
        """Rotate x into column j."""
        L, x = carry
        diagonal = jnp.hypot(L[j, j], x[j])
        c, s = diagonal / L[j, j], x[j] / L[j, j]
        below = at > j
        col = jnp.where(below, (L[:, j] + s * x) / c, L[:, j]).at[j].set(diagonal)
        return L.at[:, j].set(col), jnp.where(below, c * x - s * col, x)

    return lax.fori_loop(r, k - 1, column, (L, x))[0]
