"""From what users have to a structured problem, or an error that names the argument."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxopt_svm.mesh.axes import ROWS, checked, place, size
from jaxopt_svm.problems.make import is_sparse, weights_and_lam, working_dtype
from jaxopt_svm.problems.structured.chain import Chain
from jaxopt_svm.problems.structured.checks import (
    check_cost,
    check_parents,
    choice,
    encode,
    sequences,
    smallest_int,
)
from jaxopt_svm.problems.structured.model import Model
from jaxopt_svm.problems.structured.multiclass import Multiclass
from jaxopt_svm.problems.structured.nodes import Inputs
from jaxopt_svm.problems.structured.problem import Structured
from jaxopt_svm.problems.structured.tokens import pack_rows, pack_sequences
from jaxopt_svm.problems.structured.tree import Tree

__all__ = ["make_chain", "make_multiclass", "make_structured", "make_tree", "pack"]

HAMMING = ("count", "mean")
TABLES = ("shared", "per_edge")


def make_structured(
    model: Model,
    x: Any,
    y: Any,
    *,
    lam: float | None = None,
    C: float | None = None,
    weights: Any = None,
    dtype: Any = None,
    labels: tuple | None = None,
    bias: bool = False,
    mesh: Mesh | None = None,
) -> Structured:
    """lam/2 ||w||^2 + sum_i c_i max_y H_i(y; w) for a model of your own.

    Args:
      model: a ``@pytree`` that inherits ``Model``; x and y have a leading axis of n examples.
      lam: strength of the regulariser (default 1e-3). C: instead, 1/2 ||w||^2 + C sum_i max_y H_i,
        lam = 1/(C sum(weights)).
      weights: (n,) importance of the examples, any scale.
      dtype: of w; jax's default float unless given.
      labels, bias: kept for ``decode``; what the labels were called, a constant feature appended.
      mesh: devices that share the examples (axis "rows", whose decodings are then their own) or the
        lanes of a sweep (axis "lanes"), of one process; examples of zero weight fill the devices.
    """
    if isinstance(model, type) or not isinstance(model, Model):
        raise ValueError(f"model: expected an instance of a class of Model; got {model!r}")
    n = np.shape(y)[0]
    dtype = jnp.zeros(0).dtype if dtype is None else dtype
    c, value = weights_and_lam(weights, lam, C, n, dtype)
    y = jnp.asarray(y)
    if mesh is not None:
        mesh = checked(mesh)
        if jax.process_count() > 1:
            raise ValueError("mesh: structured problems are for the devices of one process")
        fill = -n % size(mesh, ROWS)
        more = lambda a: jnp.concatenate([a, jnp.repeat(a[-1:], fill, axis=0)]) if fill else a
        x, y, c = *jax.tree.map(more, (x, y)), jnp.pad(c, (0, fill))
        (x, y, c), model = place((x, y, c), mesh, ROWS), place(model, mesh)
    return Structured(
        model=model,
        x=x,
        y=y,
        c=c,
        lam=value,
        labels=labels,
        bias=bias,
        mesh=mesh,
    )


def pack(X: list[Any], parents: list[np.ndarray] | None, bias: bool, dtype) -> Inputs:
    """Sequences padded to the longest."""
    lengths = np.array([x.shape[0] for x in X])
    mask = np.arange(lengths.max()) < lengths[:, None]
    tokens = pack_sequences(X, mask, dtype, bias, is_sparse(X[0]))
    if parents is None:
        return Inputs(tokens, jnp.asarray(mask))
    parent = _padded(parents, mask.shape[1], np.int32)
    return Inputs(tokens, jnp.asarray(mask), jnp.asarray(parent))


def _padded(rows: list[np.ndarray], length: int, dtype) -> np.ndarray:
    table = np.zeros((len(rows), length), dtype)
    for slot, row in zip(table, rows, strict=True):
        slot[: len(row)] = row
    return table


def make_multiclass(
    X: Any,
    y: Any,
    *,
    lam: float | None = None,
    C: float | None = None,
    cost: Any = None,
    weights: Any = None,
    bias: bool = False,
    classes: int | Sequence | np.ndarray | None = None,
    mesh: Mesh | None = None,
) -> Structured:
    """Crammer and Singer's multiclass SVM: one of K labels an example.

    Args:
      X: (n, F) numpy, jax or scipy.sparse matrix. y: (n,) labels of any kind.
      lam, C, weights, mesh: see ``make_structured``.
      cost: (K, K), cost[y, y'] of saying y' for y, zero diagonal; 1 - I unless given.
      bias: append a constant feature (it is regularised as the others).
      classes: the labels that occur unless given; K for labels 0..K-1, or their names.
    """
    X = X.tocsr() if is_sparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X: expected a matrix of shape (n, F); got shape {X.shape}")
    (X,) = sequences([X])
    (codes,), K, names = encode([y], [X], classes)
    dtype = working_dtype(X.dtype)
    tokens = pack_rows(X, dtype, bias, is_sparse(X))
    model = Multiclass(jnp.asarray(check_cost(cost, K), dtype), F=X.shape[1] + bias)
    y = codes.astype(smallest_int(K))
    return make_structured(
        model,
        tokens,
        y,
        lam=lam,
        C=C,
        weights=weights,
        dtype=dtype,
        labels=names,
        bias=bias,
        mesh=mesh,
    )


def _nodes(X, y, parents, mask, cost, hamming, bias, classes):
    """What ``make_chain`` and ``make_tree`` do alike: (x, y, fields of the model, names)."""
    padded = hasattr(X, "ndim") and not is_sparse(X)
    X = sequences(X, mask)
    if padded and np.ndim(y) == 2:
        y = [labels[: x.shape[0]] for labels, x in zip(np.asarray(y), X)]
    codes, K, names = encode(y, X, classes)
    if parents is not None:
        parents = check_parents(parents, [x.shape[0] for x in X])
    dtype = working_dtype(X[0].dtype)
    x = pack(X, parents, bias, dtype)
    y = _padded(codes, x.mask.shape[1], smallest_int(K))
    fields = {
        "cost": jnp.asarray(check_cost(cost, K), dtype),
        "F": X[0].shape[1] + bias,
        "per_length": choice("hamming", hamming, HAMMING) == "mean",
    }
    return x, y, fields, names, dtype


def make_chain(
    X: Any,
    y: Any,
    *,
    lam: float | None = None,
    C: float | None = None,
    mask: Any = None,
    cost: Any = None,
    hamming: str = "count",
    bias: bool = False,
    ends: bool = False,
    weights: Any = None,
    classes: int | Sequence | np.ndarray | None = None,
    mesh: Mesh | None = None,
) -> Structured:
    """A structured SVM for sequences: a label for each token, with a transition table.

    Args:
      X: a list of n matrices (T_i, F), numpy or scipy.sparse, or one padded array (n, T, F).
      y: a list of n arrays of T_i labels of any kind, or (n, T).
      lam, C, weights, mesh: see ``make_structured``.
      mask: (n, T), True at real tokens, for a padded array; padding is at the end.
      cost: (K, K), loss of one token, zero diagonal; 1 - I unless given.
      hamming: "count" adds the losses of the tokens, "mean" divides by the length.
      bias: append a constant feature. ends: a score for the first label, and for the last.
      classes: the labels that occur unless given; K for labels 0..K-1, or their names.
    """
    x, codes, fields, names, dtype = _nodes(X, y, None, mask, cost, hamming, bias, classes)
    model = Chain(**fields, ends=ends)
    return make_structured(
        model,
        x,
        codes,
        lam=lam,
        C=C,
        weights=weights,
        dtype=dtype,
        labels=names,
        bias=bias,
        mesh=mesh,
    )


def make_tree(
    X: Any,
    y: Any,
    parents: Any,
    *,
    lam: float | None = None,
    C: float | None = None,
    mask: Any = None,
    cost: Any = None,
    hamming: str = "count",
    bias: bool = False,
    tables: str = "shared",
    weights: Any = None,
    classes: int | Sequence | np.ndarray | None = None,
    mesh: Mesh | None = None,
) -> Structured:
    """A structured SVM for rooted trees: a label for each node, with a table on the edges.

    Args:
      parents: a list of n integer arrays: parent[0] = -1 (the root), parent[v] < v.
      tables: "shared", one table for all edges, or "per_edge", one for the edge into each node
        (then all examples must have the same tree).
      The others as in ``make_chain``.
    """
    choice("tables", tables, TABLES)
    x, codes, fields, names, dtype = _nodes(X, y, parents, mask, cost, hamming, bias, classes)
    count = 1
    if tables == "per_edge":
        same = bool(x.mask.all()) and bool((x.parent == x.parent[:1]).all())
        if not same:
            raise ValueError('tables: "per_edge" needs the same tree in all examples')
        count = max(1, x.mask.shape[1] - 1)
    model = Tree(**fields, tables=count)
    return make_structured(
        model,
        x,
        codes,
        lam=lam,
        C=C,
        weights=weights,
        dtype=dtype,
        labels=names,
        bias=bias,
        mesh=mesh,
    )
