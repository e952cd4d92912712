r"""Trees: a label for each node of a rooted tree, with a table on the edges.

    <w, psi(x, y)> = sum_v <W_{y_v}, x_v> + sum_{v>0} A_v[y_parent(v), y_v]

One table A for all edges, or one for each edge into v = 1, 2, ... when all examples have the same
tree (LANDMARK is of this kind). A decode costs O(V K^2 + V K F).
Lecture "Online solvers for convex risk minimization" (Franc), oracles.
"""

import jax.numpy as jnp

from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.oracles import tree
from jaxopt_svm.problems.structured.nodes import Nodes

__all__ = ["Tree"]


@pytree
class Tree(Nodes):
    """x: Inputs with parents, parent[v] < v. y: (V,) integers. mu: Statistics."""

    def _edges(self, x, labels):
        above = jnp.where(x.mask, x.parent, 0)[1:]
        return labels[..., above], labels[..., 1:]

    def _parent(self, x):
        return x.parent

    def decode(self, theta, x):
        return tree.decode(theta.node, theta.edge, x.parent, x.mask)

    def log_partition(self, theta, x):
        """log sum_y exp <theta, mu(y)>; its gradient in theta is the mean of mu."""
        return tree.log_partition(theta.node, theta.edge, x.parent, x.mask)

    def max_marginals(self, theta, x):
        """(V, K) the best score with label a at v."""
        return tree.max_marginals(theta.node, theta.edge, x.parent, x.mask)

    def repair(self, x, marginals):
        """The distribution that claimed marginals (V, K), (V-1, K, K) stand for."""
        return tree.consistent(marginals, x.parent, x.mask)
