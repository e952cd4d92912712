"""Labels of new examples, in the user's own names."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.problems.make import is_sparse
from jaxopt_svm.problems.structured.checks import check_parents, sequences
from jaxopt_svm.problems.structured.make import pack
from jaxopt_svm.problems.structured.multiclass import Multiclass
from jaxopt_svm.problems.structured.nodes import Nodes
from jaxopt_svm.problems.structured.problem import Structured
from jaxopt_svm.problems.structured.tokens import pack_rows
from jaxopt_svm.problems.structured.tree import Tree

__all__ = ["decode"]


@jax.jit
def best_labels(model, w, x):
    """argmax_y <w, psi(x, y)> for each example of x; w is (d,) or (lanes, d)."""
    one = lambda w, x: model.decode(model.potentials(w, x), x)[1]
    every = jax.vmap(one, (None, 0))
    return (every if w.ndim == 1 else jax.vmap(every, (0, None)))(w, x)


def decode(problem: Structured, w: Any, X: Any, parents: Any = None, mask: Any = None) -> Any:
    """h(x; w) = argmax_y <w, psi(x, y)>.

    Args:
      w: (d,), or a Solution; with a leading axis of lanes, labels have one too.
      X: as in training: a matrix for multiclass, sequences for chains and trees (``parents`` too);
        for a model of your own, its examples with a leading axis.

    Returns:
      (n,) labels for multiclass, a list of n arrays (T_i,) for chains and trees, else an array.
    """
    # a rescaled loss knows the truth, prediction must not: it is that of the model below
    model = getattr(problem.model, "base", problem.model)
    w = jnp.asarray(getattr(w, "w", w))
    name = np.asarray if problem.labels is None else (lambda k: np.asarray(problem.labels)[k])
    dtype = problem.c.dtype
    if isinstance(model, Multiclass):
        (X,) = sequences([X])
        _check_width(X.shape[1], model.F - problem.bias)
        found = best_labels(model, w, pack_rows(X, dtype, problem.bias, is_sparse(X)))
        return name(np.asarray(found))
    if not isinstance(model, Nodes):
        return np.asarray(best_labels(model, w, X))
    X = sequences(X, mask)
    lengths = [x.shape[0] for x in X]
    _check_width(X[0].shape[1], model.F - problem.bias)
    if isinstance(model, Tree):
        if parents is None:
            raise ValueError("parents: a tree model needs the trees of the new examples")
        parents = check_parents(parents, lengths)
        if model.tables > 1 and set(lengths) != {model.tables + 1}:
            raise ValueError("parents: tables per edge need the tree of the training examples")
    elif parents is not None:
        raise ValueError("parents: a chain has none")
    found = np.asarray(best_labels(model, w, pack(X, parents, problem.bias, dtype)))
    return [name(found[..., i, :T]) for i, T in enumerate(lengths)]


def _check_width(given: int, wanted: int) -> None:
    if given != wanted:
        raise ValueError(f"X: expected {wanted} features, as in the training data; got {given}")
