r"""The tree program: sums over all labellings of a rooted tree, in O(V K^2).

    score(y) = sum_v unary[v, y_v] + sum_{v>0} pairwise[v-1, y_parent(v), y_v]

Nodes are in topological order: parent[0] = -1 and 0 <= parent[v] < v. unary is (V, K); pairwise is
one (K, K) table [parent label, child label] or (V-1, K, K), table v-1 on the edge into v. mask is
(V,), a prefix of True; the parent of padding is not read. A chain is parent[v] = v - 1. Ties: the
lowest label at the root, then at each child given its parent.

Lecture "Online solvers for convex risk minimization" (Franc), oracles; Pearl 1988.
"""

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.oracles.chain import Marginals, edge_tables
from jaxopt_svm.oracles.semiring import LogSumExp, MaxPlus, Semiring

__all__ = ["consistent", "decode", "log_partition", "marginals", "max_marginals", "value"]


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
    return jnp.where(mask[:, None], whole, total)


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
