r"""Pivoted incomplete Cholesky: K about V V' from k columns of K.

    d = diag K;  repeat:  i = argmax d,   column = (K_i - V V_i') / sqrt(d_i),   d -= column^2

K - V V' is positive semidefinite at every stage and its trace is sum d, so the trace says how much
is left. O(n k^2) work, O(n k) memory, k rows of K. For K of rank r it is exact after r columns.

Fine & Scheinberg, JMLR 2 (2001). Harm done to an SVM: 0 <= f* - f~* <= (c^2 n_SV / 2) trace,
checked in proofs_checks/low_rank_bound.py.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = ["LowRank", "incomplete_cholesky"]


class LowRank(NamedTuple):
    """V: (n, rank), zero columns at the end if the trace was met earlier. used: columns that are
    not.

    left: the trace of K - V V'.
    """

    V: Array
    used: Array
    left: Array


@jax.jit(static_argnames="rank")
def incomplete_cholesky(rows: Any, rank: int, trace) -> LowRank:
    """At most ``rank`` columns, fewer when the trace of what is left is ``trace`` or less.

    rows: a Gram matrix (problems/gram.py).
    """
    n, dtype = rows.shape[0], rows.diagonal.dtype
    # below this a pivot is rounding
    smallest = n * jnp.finfo(dtype).eps * jnp.max(rows.diagonal)

    def going(carry):
        _, d, k = carry
        return (k < rank) & (jnp.sum(d) > trace) & (jnp.max(d) > smallest)

    def column(carry):
        V, d, k = carry
        i = jnp.argmax(d)
        new = (rows.row_of(i) - V @ V[i]) / jnp.sqrt(d[i])
        d = jnp.maximum(d - new * new, 0.0).at[i].set(0.0)
        return V.at[:, k].set(new), d, k + 1

    start = (jnp.zeros((n, rank), dtype), rows.diagonal, jnp.zeros((), jnp.int32))
    V, d, k = lax.while_loop(going, column, start)
    return LowRank(V, k, jnp.sum(d))
