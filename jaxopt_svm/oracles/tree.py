r"""The tree program: sums over all labellings of a rooted tree, in O(V K^2).

    score(y) = sum_v unary[v, y_v] + sum_{v>0} pairwise[v-1, y_parent(v), y_v]

Nodes are in topological order: parent[0] = -1 and 0 <= parent[v] < v. unary is (V, K); pairwise is
one (K, K) table [parent label, child label] or (V-1, K, K), table v-1 on the edge into v. mask is
(V,), a prefix of True; the parent of padding is not read. A chain is parent[v] = v - 1. Ties: the
lowest label at the root, then at each child given its parent.

Lecture "Online solvers for convex risk minimization" (Franc), oracles; Pearl 1988.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.oracles.chain import Marginals, edge_tables
from jaxopt_svm.oracles.semiring import LogSumExp, MaxPlus, Semiring

__all__ = [
    "Given",
    "consistent",
    "decode",
    "given",
    "labels_given",
    "log_partition",
    "marginals",
    "max_marginals",
    "value",
]


class Given(NamedTuple):
    """What decoding with one node fixed needs, for every node and label at once.

    below: (V, K) the sum over the subtree of v. sent: (V, K) what v tells its parent. whole: (V, K)
    the sum over the labellings with y_v = a.
    """

    below: Array
    sent: Array
    whole: Array


def upward(semiring: Semiring, unary, tables, parent, mask):
    """Leaves to root: beliefs (V, K) of each subtree, and the message (V, K) of each node to its
    parent (that of the root is 0)."""
    children = jnp.arange(1, unary.shape[0], dtype=jnp.int32)

    def step(belief, at):
        v, above, table, real = at
        message = jnp.where(real, semiring.push(belief[v], table.T), 0)
        return belief.at[above].add(message), message

    steps = (children, jnp.where(mask, parent, 0)[1:], tables, mask[1:])
    belief, messages = lax.scan(step, unary, steps, reverse=True)
    return belief, jnp.concatenate([jnp.zeros_like(unary[:1]), messages])


def value(semiring: Semiring, unary, pairwise, parent, mask) -> Array:
    """The sum of score(y) over all labellings y, in the semiring."""
    belief, _ = upward(semiring, unary, edge_tables(unary, pairwise), parent, mask)
    return semiring.total(belief[0])


def beliefs(semiring: Semiring, unary, pairwise, parent, mask) -> Array:
    """(V, K): the sum over the labellings with y_v = a. At padding: the total, whatever a."""
    return _given(semiring, unary, pairwise, parent, mask).whole


def _given(semiring: Semiring, unary, pairwise, parent, mask) -> Given:
    tables = edge_tables(unary, pairwise)
    belief, message = upward(semiring, unary, tables, parent, mask)
    total = semiring.total(belief[0])

    def step(whole, at):
        v, above, table, sent = at
        rest = whole[above] - sent  # the parent without what v told it
        return whole.at[v].add(semiring.push(rest, table)), None

    children = jnp.arange(1, unary.shape[0], dtype=jnp.int32)
    steps = (children, jnp.where(mask, parent, 0)[1:], tables, message[1:])
    whole, _ = lax.scan(step, belief, steps)
    return Given(belief, message, jnp.where(mask[:, None], whole, total))


def decode(unary, pairwise, parent, mask) -> tuple[Array, Array]:
    """(score, labels) of the best labelling; labels is int32 (V,), 0 at padding."""
    tables = edge_tables(unary, pairwise)
    belief, _ = upward(MaxPlus(), unary, tables, parent, mask)

    def step(labels, at):
        v, above, table, own = at
        return labels.at[v].set(lax.argmax(table[labels[above]] + own, 0, jnp.int32)), None

    V = unary.shape[0]
    root = jnp.zeros(V, jnp.int32).at[0].set(lax.argmax(belief[0], 0, jnp.int32))
    children = jnp.arange(1, V, dtype=jnp.int32)
    steps = (children, jnp.where(mask, parent, 0)[1:], tables, belief[1:])
    labels, _ = lax.scan(step, root, steps)
    return jnp.max(belief[0]), jnp.where(mask, labels, 0)


def max_marginals(unary, pairwise, parent, mask) -> Array:
    """(V, K): the best score with y_v = a."""
    return beliefs(MaxPlus(), unary, pairwise, parent, mask)


def given(unary, pairwise, parent, mask) -> Given:
    """One pass up and one down: max-marginals (``whole``) and what finds their labellings."""
    return _given(MaxPlus(), unary, pairwise, parent, mask)


def labels_given(found: Given, pairwise, parent, mask, wanted) -> Array:
    """(V, V): row v the best labelling with label wanted[v] at v; 0 at padding.

    From v its label goes up to the root, each parent best for all but the child it is asked by;
    from the root down, whoever has no label takes the best for its subtree. O(V^2 K) for all rows,
    where V decodings would cost O(V^2 K^2).
    """
    V = found.below.shape[0]
    tables = edge_tables(found.below, pairwise)
    children = jnp.arange(1, V, dtype=jnp.int32)
    above = jnp.where(mask, parent, 0)[1:].astype(jnp.int32)
    best = lambda scores: lax.argmax(scores, 0, jnp.int32)

    def up(at, edge):
        labels, has = at
        v, a, table, sent = edge
        label = best(table[:, labels[v]] + found.whole[a] - sent)
        return (labels.at[a].set(jnp.where(has[v], label, labels[a])), has.at[a].max(has[v])), None

    def down(at, edge):
        labels, has = at
        v, a, table, below = edge
        label = jnp.where(has[v], labels[v], best(table[labels[a]] + below))
        return (labels.at[v].set(label), has), None

    def row(v, label):
        at = (jnp.full(V, label, jnp.int32), jnp.arange(V) == v)
        at, _ = lax.scan(up, at, (children, above, tables, found.sent[1:]), reverse=True)
        (labels, _), _ = lax.scan(down, at, (children, above, tables, found.below[1:]))
        return jnp.where(mask, labels, 0)

    return jax.vmap(row)(jnp.arange(V), wanted)


def log_partition(unary, pairwise, parent, mask) -> Array:
    """log sum_y exp score(y)."""
    return value(LogSumExp(), unary, pairwise, parent, mask)


def marginals(unary, pairwise, parent, mask) -> tuple[Array, Marginals]:
    """(log-partition, marginals of exp score), as its gradient; edge is shaped like pairwise."""
    gradient = jax.value_and_grad(log_partition, (0, 1))
    total, (node, edge) = gradient(unary, pairwise, parent, mask)
    return total, Marginals(node, edge)


def consistent(claimed: Marginals, parent, mask) -> Marginals:
    """Marginals (V, K), (V-1, K, K) of a true distribution, whatever was claimed.

    Tables on the edges of a tree are marginals of a distribution over labellings if they are >= 0,
    sum to one and agree on the nodes (the local polytope is the marginal polytope). So the root is
    clipped and normalised, every edge table is read as P(child | parent), and from the root down
    edge = P(parent) P(child | parent), P(child) = its column sums. Consistent tables come back
    as they were, to rounding; any others become marginals of some distribution.
    """
    node = jnp.where(claimed.node > 0, claimed.node, 0)
    even = jnp.full(node.shape[1:], 1.0 / node.shape[1], node.dtype)
    root = _normalised(node[0], even)
    edges = jnp.where(claimed.edge > 0, claimed.edge, 0)

    def step(node, at):
        v, above, table, real = at
        given = jax.vmap(_normalised, (0, None))(table, _normalised(node[v], even))
        joint = jnp.where(real, node[above][:, None] * given, 0)
        return node.at[v].set(jnp.sum(joint, axis=0)), joint

    children = jnp.arange(1, node.shape[0], dtype=jnp.int32)
    steps = (children, jnp.where(mask, parent, 0)[1:], edges, mask[1:])
    return Marginals(*lax.scan(step, node.at[0].set(root), steps))


def _normalised(p, otherwise):
    """p >= 0 scaled to sum to one; ``otherwise`` where it is all zero."""
    total = jnp.sum(p)
    return jnp.where(total > 0, p / jnp.where(total > 0, total, 1), otherwise)
