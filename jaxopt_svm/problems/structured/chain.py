r"""Chains: a label for each token of a sequence, with a transition table.

    <w, psi(x, y)> = sum_t <W_{y_t}, x_t> + sum_{t>0} A[y_{t-1}, y_t]  (+ start[y_0] + end[y_last])

The loss is Hamming's, a count or its share of the length, or any cost of one node. A decode costs
O(T K^2 + T K F). Taskar, Guestrin and Koller 2003; lecture "Online solvers ..." (Franc), oracles.
"""

import jax.numpy as jnp

from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.oracles import chain, tree
from jaxopt_svm.problems.structured.nodes import Nodes

__all__ = ["Chain"]


@pytree
class Chain(Nodes):
    """x: Inputs without parents. y: (T,) integers. mu: Statistics."""

    def _edges(self, x, labels):
        return labels[..., :-1], labels[..., 1:]

    def decode(self, theta, x):
        return chain.decode(theta.node, theta.edge, x.mask)

    def log_partition(self, theta, x):
        """log sum_y exp <theta, mu(y)>; its gradient in theta is the mean of mu."""
        return chain.log_partition(theta.node, theta.edge, x.mask)

    def max_marginals(self, theta, x):
        """(T, K) the best score with label a at t."""
        return chain.max_marginals(theta.node, theta.edge, x.mask)

    def _parent(self, x):
        return jnp.arange(-1, x.mask.shape[0] - 1)

    def repair(self, x, marginals):
        """The distribution that claimed marginals (T, K), (T-1, K, K) stand for."""
        return tree.consistent(marginals, self._parent(x), x.mask)
