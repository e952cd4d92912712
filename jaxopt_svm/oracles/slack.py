r"""Decoding a chain by its number of errors: exact slack rescaling for Hamming's loss.

    M[h] = max score(y') over the labellings y' with h errors against the truth y
    max_y' l(y, y') (1 + score(y') - score(y)) = max_h h (1 + M[h] - score(y))

The state of the program is (label, errors so far): O(T^2 K^2). Labellings with h errors that do not
exist score ``LOWEST``, finite so that no inf - inf arises.
Lecture "Online solvers for convex risk minimization" (Franc), oracles; Tsochantaridis et al. 2005.
"""

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.oracles.chain import decode, edge_tables
from jaxopt_svm.oracles.semiring import MaxPlus

__all__ = ["best_by_errors", "decode_given", "slack_rescaled"]

LOWEST = -1e30


def best_by_errors(unary, pairwise, mask, truth) -> Array:
    """(T + 1,) M[h]; padding makes no errors."""
    T, K = unary.shape
    wrong = jnp.arange(K, dtype=jnp.int32)[None] != truth.astype(jnp.int32)[:, None]  # (T, K)
    push = jax.vmap(MaxPlus().push, (1, None), 1)  # one error count at a time

    def shifted(best, wrong):
        """(K, T + 1) with one error more where the label is wrong."""
        more = jnp.concatenate([jnp.full((K, 1), LOWEST, best.dtype), best[:, :-1]], axis=1)
        return jnp.where(wrong[:, None], more, best)

    def step(best, at):
        score, table, wrong, real = at
        moved = shifted(push(best, table) + score[:, None], wrong)
        return jnp.where(real, moved, best), None

    none = jnp.full((K, T + 1), LOWEST, unary.dtype)
    first = shifted(none.at[:, 0].set(unary[0]), wrong[0])
    steps = (unary[1:], edge_tables(unary, pairwise), wrong[1:], mask[1:])
    return jnp.max(lax.scan(step, first, steps)[0], axis=0)


def slack_rescaled(unary, pairwise, mask, truth) -> Array:
    """max_y' l(y, y') (1 + score(y') - score(y)) with l the number of errors; >= 0."""
    best = best_by_errors(unary, pairwise, mask, truth)
    errors = jnp.arange(best.shape[0], dtype=best.dtype)
    # h = 0 is the truth itself, whose score is M[0]
    return jnp.max(errors * (1 + best - best[0]))


def decode_given(unary, pairwise, mask, position, label) -> tuple[Array, Array]:
    """(score, labels) of the best labelling with this label at this position."""
    T, K = unary.shape
    other = (jnp.arange(T)[:, None] == position) & (jnp.arange(K)[None] != label)
    return decode(jnp.where(other, LOWEST, unary), pairwise, mask)
