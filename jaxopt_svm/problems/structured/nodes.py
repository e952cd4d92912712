r"""What chains and trees share: nodes with features, a table on the edges, a loss over nodes.

    theta = (unary (T, K), table),   unary_t = x_t W + [t first] start + [t last] end

Parameters are rows of one matrix with K columns: F feature rows, then the table(s), K rows each,
then, if any, a row for the start and one for the end. So every update touches whole rows in place.
"""

import itertools
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.oracles import tree
from jaxopt_svm.problems.structured.model import Model

__all__ = ["Inputs", "Nodes", "Statistics"]


@pytree
class Inputs:
    """One example: its tokens, which nodes are real (a prefix), and for trees their parents."""

    tokens: Any
    mask: Array  # (T,)
    parent: Any = None  # (T,)


class Statistics(NamedTuple):
    """node: (T, K), 1 where node t has label a. edge: (K, K) number of edges with labels a, b when
    one table is shared, else (T-1, K, K)."""

    node: Any
    edge: Any


@pytree
class Nodes(Model):
    """The parts of ``Chain`` and ``Tree`` that do not know the edges."""

    cost: Array  # (K, K), zero diagonal: the loss of one node
    F: int = static()
    tables: int = static(default=1)  # 1: shared, else one for each edge
    ends: bool = static(default=False)
    per_length: bool = static(default=False)

    @property
    def K(self) -> int:
        return self.cost.shape[0]

    @property
    def rows(self) -> int:
        return self.F + self.K * self.tables + 2 * self.ends

    @property
    def size(self) -> int:
        return self.rows * self.K

    def _edge_rows(self):
        return slice(self.F, self.F + self.K * self.tables)

    def _shape(self):
        return (self.K, self.K) if self.tables == 1 else (self.tables, self.K, self.K)

    def parts(self, w) -> dict[str, Any]:
        """w by name."""
        W = w.reshape(self.rows, self.K)
        named = {"unary": W[: self.F], "edges": W[self._edge_rows()].reshape(self._shape())}
        return named | ({"start": W[-2], "end": W[-1]} if self.ends else {})

    def _tips(self, x):
        """(2, T): 1 at the first node, and at the last."""
        at = jnp.arange(x.mask.shape[0])
        last = jnp.sum(x.mask.astype(at.dtype)) - 1
        return jnp.stack([at == 0, at == last]).astype(self.cost.dtype)

    def potentials(self, w, x):
        W = w.reshape(self.rows, self.K)
        unary = x.tokens.scores(W)
        if self.ends:
            unary = unary + self._tips(x).T @ W[-2:]
        return Statistics(unary, W[self._edge_rows()].reshape(self._shape()))

    def loss(self, x, y):
        """Node losses: a number of nodes, or its share of the length."""
        scale = x.mask.astype(self.cost.dtype)
        if self.per_length:
            scale = scale / jnp.sum(scale)
        node = scale[:, None] * self.cost[y]
        return Statistics(node, jnp.zeros(self._shape(), node.dtype))

    def _valid(self, labels):
        """Labels that can be, whatever was claimed."""
        return jnp.clip(labels.astype(jnp.int32), 0, self.K - 1)

    def _edges(self, x, labels) -> tuple[Array, Array]:
        """(parent labels, child labels) of the edges into nodes 1, 2, ..."""
        raise NotImplementedError

    def _parent(self, x) -> Array:
        """(T,) the parent of each node."""
        raise NotImplementedError

    def given(self, theta, x) -> tree.Given:
        """Messages of decoding with one node fixed; ``whole`` (T, K) are the max-marginals."""
        return tree.given(theta.node, theta.edge, self._parent(x), x.mask)

    def labels_given(self, found: tree.Given, theta, x, wanted) -> Array:
        """(T, T): row t the best labelling with label wanted[t] at t."""
        return tree.labels_given(found, theta.edge, self._parent(x), x.mask, wanted)

    def statistics(self, x, label):
        return self.mix(x, label[None], jnp.ones(1, self.cost.dtype))

    def score(self, theta, x, label):
        label = self._valid(label)
        above, below = self._edges(x, label)
        nodes = jnp.take_along_axis(theta.node, label[:, None], 1)[:, 0]
        if self.tables == 1:
            edges = theta.edge[above, below]
        else:
            edges = theta.edge[jnp.arange(self.tables, dtype=label.dtype), above, below]
        return jnp.sum(jnp.where(x.mask, nodes, 0)) + jnp.sum(jnp.where(x.mask[1:], edges, 0))

    def mix(self, x, labels, masses):
        """Two scatters of one number a (label, node) pair; nothing of size labels x T x K."""
        labels = self._valid(labels)
        T = x.mask.shape[0]
        mass = masses[:, None] * x.mask.astype(masses.dtype)[None]
        at = jnp.broadcast_to(jnp.arange(T, dtype=labels.dtype)[None], labels.shape)
        node = jnp.zeros((T, self.K), mass.dtype).at[at, labels].add(mass)
        above, below = self._edges(x, labels)
        edge = jnp.zeros(self._shape(), mass.dtype)
        if self.tables == 1:
            return Statistics(node, edge.at[above, below].add(mass[:, 1:]))
        return Statistics(node, edge.at[at[:, :-1], above, below].add(mass[:, 1:]))

    def add(self, w, x, mu):
        tail = mu.edge.reshape(-1, self.K)
        if self.ends:
            tail = jnp.concatenate([tail, self._tips(x) @ mu.node])
        return x.tokens.add(w.reshape(self.rows, self.K), mu.node, tail).reshape(self.size)

    def sqnorm(self, x, mu):
        total = jnp.sum(mu.node * (x.tokens.gram @ mu.node)) + jnp.sum(mu.edge**2)
        return total + jnp.sum((self._tips(x) @ mu.node) ** 2) if self.ends else total

    def pull(self, x, mu):
        node = x.tokens.gram @ mu.node
        if self.ends:
            tips = self._tips(x)
            node = node + tips.T @ (tips @ mu.node)
        return Statistics(node, mu.edge)

    def sqlengths(self, x, labels):
        """Nodes s, t with the same label contribute <x_s, x_t>, edges with the same pair 1: O(T^2)
        comparisons a label, and no (T, K) array."""
        labels, dtype = self._valid(labels), self.cost.dtype
        same = labels[:, :, None] == labels[:, None, :]
        total = jnp.sum(jnp.where(same, x.tokens.gram[None], 0), (1, 2))
        real = x.mask[1:]
        if self.tables > 1:  # every edge has a table of its own
            edges = jnp.sum(real.astype(dtype))
        else:
            above, below = self._edges(x, labels)
            pair = self.K * above + below
            alike = (pair[:, :, None] == pair[:, None, :]) & (real[:, None] & real[None, :])[None]
            edges = jnp.sum(alike.astype(dtype), (1, 2))
        return total + edges + (2 if self.ends else 0)

    def limits(self, x):
        """Every node wrong, and every edge: by the triangle inequality."""
        nodes = jnp.sum(jnp.sqrt(jnp.diagonal(x.tokens.gram)))
        T = jnp.sum(x.mask.astype(self.cost.dtype))
        feature = math.sqrt(2) * (nodes + T - 1 + 2 * self.ends)
        return feature, jnp.max(self.cost) * (1 if self.per_length else T)

    def every_label(self, x):
        """All K^T labellings; at padding label 0, so some come more than once."""
        T = x.mask.shape[0]
        every = np.array(list(itertools.product(range(self.K), repeat=T)), np.int32)
        return jnp.where(x.mask[None], every, 0)

    def summary(self, x, marginals):
        """What w and the loss need of full marginals."""
        shared = self.tables == 1
        return Statistics(marginals.node, marginals.edge.sum(0) if shared else marginals.edge)
