r"""Newton directions of a regularised sum over examples, whatever the shape of the data.

    H D = -g,     H = X' diag(h) X + diag(ridge),     h_i >= 0 the curvature of example i

    exact      few features (2 n d^2 within FLOPS): the rows with h_i > 0 are gathered block after
               block, so the cost follows their number and not n
    sketched   up to DENSE features: conjugate gradients with H itself, preconditioned by the factor
               of a part of those rows, evenly spread, and the true diagonal of H
    diagonal   sparse rows, or more features: conjugate gradients, no d x d matrix is ever formed

In a batch the factors are formed lane after lane, so memory does not grow; the products of the
conjugate gradients are matrix products over all lanes.
A row that H misses in part costs products, not correctness: the line search sees the true function.
Erdogdu & Montanari 2015 (sub-sampling); Hsieh et al. 2008 (trust-region Newton by products).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import sequential_vmap
from jax.scipy.linalg import cho_solve

from jaxopt_svm.oracles.conjugate_gradient import conjugate_gradient
from jaxopt_svm.problems.rows import Dense
from jaxopt_svm.problems.split import Split, are_dense

__all__ = ["direction", "gathered"]

FLOPS = 4e9  # of one matrix X'diag(h)X; above it a part of the rows has to do
DENSE = 4096  # features up to which a d x d matrix is formed at all
BLOCK = 1024  # rows gathered at once
TOLERANCE, PRODUCTS = 0.1, 50  # of the conjugate gradients: the residual, relative, and a limit


class Gathered(NamedTuple):
    """H: X'diag(h)X over the rows taken, scaled to stand for all. share: of the rows touched."""

    H: Array
    share: Array


def gathered(rows: Any, h, most: int) -> Gathered:
    """X' diag(h) X over at most ``most`` of the rows with h_i > 0, in a batch lane after lane.

    Rows on nodes: every node takes its share of its own, and the matrices are added.
    """
    n = rows.shape[0]
    if isinstance(rows, Split):
        share = -(-most // rows.nodes)
        ask = lambda part, h: _taken(part, h, jnp.int32(share))
        H, seen, count = rows.summed(ask, (rows.by_node(h),))
    else:
        H, seen, count = _taken(rows, h, jnp.int32(most))
    total = jnp.sum(h)
    return Gathered(H * (total / jnp.where(seen > 0, seen, 1.0)), count.astype(h.dtype) / n)


@sequential_vmap
def _taken(rows: Dense, h, most) -> tuple[Array, Array, Array]:
    """(X' diag(h) X, sum of h, how many) over the rows taken."""
    n, d = rows.shape
    active = h > 0
    rank = jnp.cumsum(active, dtype=jnp.int32)
    stride = jnp.maximum(1, -(-rank[-1] // most))
    taken = active & (rank % stride == 0)
    room = -(-n // BLOCK) * BLOCK
    order = jnp.nonzero(taken, size=room, fill_value=n)[0].astype(jnp.int32)
    count = jnp.sum(taken, dtype=jnp.int32)

    def block(k, H):
        index = lax.dynamic_slice(order, (k * BLOCK,), (BLOCK,))
        weight = h.at[index].get(mode="fill", fill_value=0.0)
        Z = rows.take(index).X
        return H + (weight[:, None] * Z).T @ Z

    H = lax.fori_loop(0, -(-count // BLOCK), block, jnp.zeros((d, d), h.dtype))
    return H, jnp.sum(jnp.where(taken, h, 0.0)), count


def direction(rows: Any, h, ridge, g) -> tuple[Array, Array]:
    """(D, rows touched / n). A factor that rounding broke is replaced by the diagonal."""
    n, d = rows.shape
    diagonal = rows.column_squares(h) + ridge
    touched = jnp.ones((), h.dtype)
    if are_dense(rows) and d <= DENSE:
        most = max(BLOCK, min(n, int(FLOPS / (2 * d * d))))
        H, share = gathered(rows, h, most)
        exact = most >= n
        scale = jnp.sqrt(jnp.where(diagonal > 0, diagonal, 1.0))
        # unit diagonal: rounding then weighs the same in every feature
        missed = jnp.maximum(diagonal - ridge - jnp.diagonal(H), 0.0)
        H = H + jnp.diag(ridge + (0.0 if exact else missed))
        L = jnp.linalg.cholesky(H / (scale[:, None] * scale[None, :]))
        solve = lambda r: cho_solve((L, True), r / scale) / scale
        whole = jnp.all(jnp.isfinite(L))
        L = jnp.where(whole, L, jnp.eye(d, dtype=h.dtype))
        touched = touched + share
        if exact:
            return -solve(g), touched
    else:
        solve = lambda r: r / diagonal
    times = lambda p: ridge * p + rows.rmatvec(h * rows.matvec(p))
    D, products = conjugate_gradient(times, -g, solve, TOLERANCE, PRODUCTS)
    return D, touched + 2.0 * products.astype(h.dtype)
