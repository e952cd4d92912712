r"""Newton directions of a regularised sum over examples, whatever the shape of the data.

    H D = -g,     H = X' diag(h) X + diag(ridge),     h_i >= 0 the curvature of example i

    explicit   H over all rows with h_i > 0, gathered block after block, so the cost follows their
               number and not n; then a factor (few features), or conjugate gradients with H
    sketched   where those rows are too many: conjugate gradients with products with X,
               preconditioned by the factor of a part of them, evenly spread, and the diagonal of H
    diagonal   sparse rows, or very many features: conjugate gradients with products with X, no
               d x d matrix is ever formed

Which of the first two is asked once for all lanes of a batch. The explicit way goes lane after
lane, so its memory does not grow with them; the products with X are matrix products over all lanes.
A row that H misses in part costs products, not correctness: the line search sees the true function.
Erdogdu & Montanari 2015 (sub-sampling); Hsieh et al. 2008 (trust-region Newton by products).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import sequential_vmap
from jax.scipy.linalg import cho_solve

from jaxopt_svm.core.lanes import least_over_lanes
from jaxopt_svm.oracles.conjugate_gradient import conjugate_gradient
from jaxopt_svm.oracles.selection import running_count
from jaxopt_svm.problems.rows import Dense
from jaxopt_svm.problems.split import Split, are_dense

__all__ = ["direction", "gathered"]

FLOPS = 1.6e10  # of one matrix X'diag(h)X; above it a part of the rows has to do
DENSE = 4096  # features up to which a d x d matrix is formed at all
FACTOR = 256  # features up to which it is factored: the factor of 784 takes 5 times its forming
BLOCK, CELLS = 256, 130_000  # rows gathered at once: so many, or more if they are short
TOLERANCE, PRODUCTS = 0.1, 50  # conjugate gradients with X: the residual, relative, and a limit
FINE_TOLERANCE, FINE_PRODUCTS = 0.03, 200  # with H itself, whose products are cheap


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
    rank = running_count(h > 0)
    stride = jnp.maximum(1, -(-rank[-1] // most))
    count = rank[-1] // stride
    size = min(n, max(BLOCK, CELLS // d))

    def block(k, sums):
        H, seen = sums
        places = k * size + jnp.arange(1, size + 1, dtype=jnp.int32)
        # the j-th row taken is the first one of rank j stride
        index = jnp.searchsorted(rank, stride * places).astype(jnp.int32)
        weight = jnp.where(places <= count, h.at[index].get(mode="clip"), 0.0)
        Z = rows.take(index).X
        return H + (weight[:, None] * Z).T @ Z, seen + jnp.sum(weight)

    nothing = jnp.zeros((d, d), h.dtype), jnp.zeros((), h.dtype)
    H, seen = lax.fori_loop(0, -(-count // size), block, nothing)
    return H, seen, count


def direction(rows: Any, h, ridge, g) -> tuple[Array, Array]:
    """(D, rows touched / n)."""
    n, d = rows.shape
    if not are_dense(rows) or d > DENSE:
        return _by_products(rows, h, ridge, g, None)
    most = max(BLOCK, min(n, int(FLOPS / (2 * d * d))))
    sketched = lambda h, ridge, g: _by_products(rows, h, ridge, g, gathered(rows, h, most))
    if isinstance(rows, Split):
        # the nodes' matrices are added for all lanes together
        return _solved(gathered(rows, h, n), ridge, g) if most >= n else sketched(h, ridge, g)
    if most >= n:
        return _explicit(rows, h, ridge, g)
    few = least_over_lanes(jnp.sum(h > 0) <= most)
    return lax.cond(few, lambda *args: _explicit(rows, *args), sketched, h, ridge, g)


@sequential_vmap
def _explicit(rows: Dense, h, ridge, g) -> tuple[Array, Array]:
    """The direction by H itself, in a batch lane after lane."""
    return _solved(gathered(rows, h, rows.shape[0]), ridge, g)


def _solved(whole: Gathered, ridge, g) -> tuple[Array, Array]:
    """The direction by H over all rows, and the rows touched / n."""
    H, diagonal = whole.H + jnp.diag(ridge), jnp.diagonal(whole.H) + ridge
    if g.size <= FACTOR:
        return -_factored(H, diagonal)(g), 1.0 + whole.share
    jacobi = lambda r: r / diagonal
    D, _ = conjugate_gradient(lambda p: H @ p, -g, jacobi, FINE_TOLERANCE, FINE_PRODUCTS)
    return D, 1.0 + whole.share


def _by_products(rows: Any, h, ridge, g, sketch: Gathered | None) -> tuple[Array, Array]:
    """The direction by products with X."""
    diagonal = rows.column_squares(h) + ridge
    touched = jnp.ones((), h.dtype)
    solve = lambda r: r / diagonal
    if sketch is not None:
        missed = jnp.maximum(diagonal - ridge - jnp.diagonal(sketch.H), 0.0)
        solve = _factored(sketch.H + jnp.diag(ridge + missed), diagonal)
        touched = touched + sketch.share
    times = lambda p: ridge * p + rows.rmatvec(h * rows.matvec(p))
    D, products = conjugate_gradient(times, -g, solve, TOLERANCE, PRODUCTS)
    return D, touched + 2.0 * products.astype(h.dtype)


def _factored(H, diagonal) -> Callable[[Array], Array]:
    """r -> H^-1 r; a factor that rounding broke is replaced by the diagonal."""
    # unit diagonal: rounding then weighs the same in every feature
    scale = jnp.sqrt(jnp.where(diagonal > 0, diagonal, 1.0))
    L = jnp.linalg.cholesky(H / (scale[:, None] * scale[None, :]))
    L = jnp.where(jnp.all(jnp.isfinite(L)), L, jnp.eye(L.shape[0], dtype=L.dtype))
    return lambda r: cho_solve((L, True), r / scale) / scale
