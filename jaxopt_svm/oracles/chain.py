r"""The chain program: sums over all labellings of a sequence, in O(T K^2).

    score(y) = sum_t unary[t, y_t] + sum_{t>0} pairwise[t-1, y_{t-1}, y_t]

unary is (T, K); pairwise is one (K, K) table for all edges or (T-1, K, K); mask is (T,), a prefix
of True (position 0 is real). Padding passes messages on unchanged, so it changes nothing. Ties:
the lowest label at the last position, then at the one before it, and so on.

Lecture "Online solvers for convex risk minimization" (Franc), oracles; Viterbi 1967.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.oracles.semiring import LogSumExp, MaxPlus, Semiring

__all__ = [
    "Marginals",
    "decode",
    "edge_tables",
    "log_partition",
    "marginals",
    "max_marginals",
    "value",
]


class Marginals(NamedTuple):
    """node: (T, K) P(y_t = a). edge: P(y_s = a, y_t = b), a table for each edge (T-1, K, K), or
    their sum where one table is shared."""

    node: Any
    edge: Any


def edge_tables(unary, pairwise):
    """(T-1, K, K): one table an edge."""
    T, K = unary.shape
    return jnp.broadcast_to(pairwise, (T - 1, K, K))


def forward(semiring: Semiring, unary, tables, mask):
    """(T, K): the sum over the labels before t; at padding the last real message."""

    def step(message, at):
        score, table, real = at
        message = jnp.where(real, semiring.push(message, table) + score, message)
        return message, message

    _, rest = lax.scan(step, unary[0], (unary[1:], tables, mask[1:]))
    return jnp.concatenate([unary[:1], rest])


def backward(semiring: Semiring, unary, tables, mask):
    """(T, K): the sum over the labels after t."""

    def step(message, at):
        score, table, real = at
        message = jnp.where(real, semiring.push(score + message, table.T), message)
        return message, message

    last = jnp.zeros_like(unary[0])
    _, rest = lax.scan(step, last, (unary[1:], tables, mask[1:]), reverse=True)
    return jnp.concatenate([rest, last[None]])


def value(semiring: Semiring, unary, pairwise, mask) -> Array:
    """The sum of score(y) over all labellings y, in the semiring."""
    return semiring.total(forward(semiring, unary, edge_tables(unary, pairwise), mask)[-1])


def beliefs(semiring: Semiring, unary, pairwise, mask) -> Array:
    """(T, K): the sum over the labellings with y_t = a. At padding: the total, whatever a."""
    tables = edge_tables(unary, pairwise)
    before = forward(semiring, unary, tables, mask)
    both = before + backward(semiring, unary, tables, mask)
    return jnp.where(mask[:, None], both, semiring.total(before[-1]))


def decode(unary, pairwise, mask) -> tuple[Array, Array]:
    """(score, labels) of the best labelling; labels is int32 (T,), 0 at padding.

    Only messages are kept: the way back takes its argmax along the path, O(K) a position, where
    stored back-pointers cost a K x K argmax (measured 3 to 7 times the time).
    """
    tables = edge_tables(unary, pairwise)
    messages = forward(MaxPlus(), unary, tables, mask)

    def back(label, at):
        message, into, real = at
        before = lax.argmax(message + into[label], 0, jnp.int32)
        return jnp.where(real, before, label), label

    last = lax.argmax(messages[-1], 0, jnp.int32)
    steps = (messages[:-1], tables.swapaxes(1, 2), mask[1:])
    first, rest = lax.scan(back, last, steps, reverse=True)
    labels = jnp.concatenate([first[None], rest])
    return jnp.max(messages[-1]), jnp.where(mask, labels, 0)


def max_marginals(unary, pairwise, mask) -> Array:
    """(T, K): the best score with y_t = a."""
    return beliefs(MaxPlus(), unary, pairwise, mask)


def log_partition(unary, pairwise, mask) -> Array:
    """log sum_y exp score(y)."""
    return value(LogSumExp(), unary, pairwise, mask)


def marginals(unary, pairwise, mask) -> tuple[Array, Marginals]:
    """(log-partition, marginals of exp score): its gradient, a product of softmaxes, so that
    nothing is divided and nothing overflows. edge has the shape of pairwise."""
    total, (node, edge) = jax.value_and_grad(log_partition, (0, 1))(unary, pairwise, mask)
    return total, Marginals(node, edge)
