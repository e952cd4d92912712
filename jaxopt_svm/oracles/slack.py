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

from jaxopt_svm.oracles.chain import edge_tables
from jaxopt_svm.oracles.semiring import MaxPlus

__all__ = ["best_by_errors", "decode_rescaled", "slack_rescaled", "variational"]

LOWEST = -1e30


def _messages(unary, tables, mask, truth):
    """(T, K, T + 1) the best score by (label, errors so far) at each position, and (T, K) which
    labels are wrong; at padding the last real message."""
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
        best = jnp.where(real, moved, best)
        return best, best

    none = jnp.full((K, T + 1), LOWEST, unary.dtype)
    first = shifted(none.at[:, 0].set(unary[0]), wrong[0])
    rest = lax.scan(step, first, (unary[1:], tables, wrong[1:], mask[1:]))[1]
    return jnp.concatenate([first[None], rest]), wrong


def best_by_errors(unary, pairwise, mask, truth) -> Array:
    """(T + 1,) M[h]; padding makes no errors."""
    messages, _ = _messages(unary, edge_tables(unary, pairwise), mask, truth)
    return jnp.max(messages[-1], axis=0)


def slack_rescaled(unary, pairwise, mask, truth) -> Array:
    """max_y' l(y, y') (1 + score(y') - score(y)) with l the number of errors; >= 0."""
    best = best_by_errors(unary, pairwise, mask, truth)
    errors = jnp.arange(best.shape[0], dtype=best.dtype)
    # h = 0 is the truth itself, whose score is M[0]
    return jnp.max(errors * (1 + best - best[0]))


def decode_rescaled(unary, pairwise, mask, truth, margin) -> tuple[Array, Array]:
    """(value, labels) of max_y' h(y') (margin + score(y') - score(y)), h the number of errors.

    The messages of ``best_by_errors`` are kept, (T, K, T + 1) numbers, and the way back follows
    (label, errors left) through them.
    """
    T = unary.shape[0]
    tables = edge_tables(unary, pairwise)
    messages, wrong = _messages(unary, tables, mask, truth)
    best = jnp.max(messages[-1], axis=0)
    errors = jnp.arange(T + 1, dtype=best.dtype)
    values = errors * (margin + best - best[0])
    h = lax.argmax(values, 0, jnp.int32)
    last = lax.argmax(messages[-1][:, h], 0, jnp.int32)

    def back(at, given):
        label, left = at
        before, into, wrong, real = given
        left_before = jnp.where(real, left - wrong[label].astype(left.dtype), left)
        came = lax.argmax(before[:, jnp.maximum(left_before, 0)] + into[label], 0, jnp.int32)
        return (jnp.where(real, came, label), left_before), label

    steps = (messages[:-1], tables.swapaxes(1, 2), wrong[1:], mask[1:])
    (first, _), rest = lax.scan(back, (last, h), steps, reverse=True)
    labels = jnp.concatenate([first[None], rest])
    return values[h], jnp.where(mask, labels, 0)


def variational(best_with, xi, mus) -> Array:
    """An upper bound of max_y [score(y) - xi/l(y)] from margin rescaled decodings alone:

        -xi/l = min over mu > 0 of mu l - 2 sqrt(xi mu)      (at mu = xi/l^2), so
        max_y [score - xi/l] <= min_mu { max_y [score + mu l] - 2 sqrt(xi mu) }

    best_with: mu -> max_y [score(y) + mu l(y)]. mus: (k,) the values of mu tried. For losses with
    no exact oracle. Sarawagi & Gupta, ICML 2008.
    """
    return jnp.min(jax.vmap(lambda mu: best_with(mu) - 2 * jnp.sqrt(xi * mu))(mus))
