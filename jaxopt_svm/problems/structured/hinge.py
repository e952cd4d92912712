r"""The structured hinge as a loss on scores, for any network that makes them.

    hinge(theta, y) = max_y' [l(y, y') + <theta, mu(y') - mu(y)>]

The decoded label is an integer, so the value is differentiated as it stands: the gradient in theta
is mu(y*) - mu(y), a subgradient of a convex function. One example; jit, vmap and grad as usual.
"""

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.problems.structured.chain import Chain
from jaxopt_svm.problems.structured.nodes import Inputs, Nodes, Statistics
from jaxopt_svm.problems.structured.tree import Tree

__all__ = ["chain_hinge", "structured_hinge", "tree_hinge"]


def structured_hinge(model, theta, x, y) -> Array:
    """For any model: theta as ``model.potentials`` would give it, the label y of the example x."""
    scores = jax.tree.map(jnp.add, theta, model.loss(x, y))
    _, label = model.decode(lax.stop_gradient(scores), x)
    return model.score(scores, x, label) - model.score(scores, x, y)


def _on_scores(kind: type[Nodes], unary, pairwise, labels, mask, parent) -> Array:
    T, K = unary.shape
    tables = 1 if pairwise.ndim == 2 else T - 1
    model = kind(1 - jnp.eye(K, dtype=unary.dtype), F=0, tables=tables)
    mask = jnp.ones(T, bool) if mask is None else mask
    theta = Statistics(unary, pairwise.reshape((K, K) if tables == 1 else (tables, K, K)))
    return structured_hinge(model, theta, Inputs(None, mask, parent), labels)


def chain_hinge(unary, pairwise, labels, mask=None) -> Array:
    """Hamming loss on a sequence: unary (T, K), pairwise (K, K) or (T-1, K, K), labels (T,)."""
    return _on_scores(Chain, unary, pairwise, labels, mask, None)


def tree_hinge(unary, pairwise, labels, parent, mask=None) -> Array:
    """Hamming loss on a tree, parent[v] < v; the table of the edge into v is pairwise[v-1]."""
    return _on_scores(Tree, unary, pairwise, labels, mask, parent)
