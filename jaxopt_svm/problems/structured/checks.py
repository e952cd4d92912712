"""What users have, checked: lists of sequences, labels of any kind, parents, costs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxopt_svm.problems.make import is_sparse

__all__ = [
    "check_cost",
    "check_parents",
    "choice",
    "encode",
    "lengths_of",
    "sequences",
    "smallest_int",
]


def _finite(name: str, values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: expected finite numbers; found nan or inf")


def choice(name: str, given: Any, allowed: tuple[str, ...]) -> str:
    if given not in allowed:
        raise ValueError(f"{name}: expected one of {', '.join(allowed)}; got {given!r}")
    return given


def lengths_of(mask: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Lengths from a mask (n, T) of booleans whose rows are True, ..., True, False, ..., False."""
    mask = np.asarray(mask)
    if mask.shape != shape or mask.dtype != bool:
        raise ValueError(f"mask: expected booleans {shape}; got {mask.dtype} {mask.shape}")
    lengths = mask.sum(1)
    holes = (mask != (np.arange(shape[1]) < lengths[:, None])).any(1)
    if holes.any():
        raise ValueError(f"mask: row {int(holes.argmax())} has a hole; pad at the end only")
    return lengths


def sequences(X: Any, mask: Any = None) -> list[Any]:
    """n matrices (T_i, F), all dense or all sparse, T_i >= 1, finite."""
    if hasattr(X, "ndim") and not is_sparse(X):
        X = np.asarray(X)
        if X.ndim != 3 or X.dtype == object:
            raise ValueError(f"X: expected a list of (T, F) matrices, or (n, T, F); got {X.shape}")
        lengths = np.full(len(X), X.shape[1]) if mask is None else lengths_of(mask, X.shape[:2])
        X = [x[:T] for x, T in zip(X, lengths, strict=True)]
    elif mask is not None:
        raise ValueError("mask: a list of sequences has its lengths already; leave mask out")
    X = [x if is_sparse(x) else np.asarray(x) for x in X]
    if not X:
        raise ValueError("X: expected at least one sequence; got none")
    for i, x in enumerate(X):
        if x.ndim != 2 or x.dtype.kind not in "fiub":
            raise ValueError(
                f"X[{i}]: expected a (T, F) matrix of numbers; got {x.dtype} {x.shape}"
            )
        if x.shape[0] == 0:
            raise ValueError(f"X[{i}]: the sequence is empty; leave it out")
        if x.shape[1] != X[0].shape[1] or x.shape[1] == 0 or is_sparse(x) != is_sparse(X[0]):
            raise ValueError(
                f"X[{i}]: expected {X[0].shape[1]} features, all dense or all sparse, as in X[0]; "
                f"got shape {x.shape}"
            )
        _finite(f"X[{i}]", x.tocsr().data if is_sparse(x) else x)
    return X


def encode(y: Any, X: list[Any], classes: Any) -> tuple[list[np.ndarray], int, tuple | None]:
    """Labels as 0..K-1, their number, and the names they had.

    classes: None (the labels that occur), a number K (labels are 0..K-1), or their names.
    """
    y = [np.asarray(labels) for labels in y]
    if len(y) != len(X):
        raise ValueError(f"y: expected labels of {len(X)} examples, as in X; got {len(y)}")
    lengths = [x.shape[0] for x in X]
    for i, (labels, T) in enumerate(zip(y, lengths, strict=True)):
        if labels.shape != (T,):
            raise ValueError(f"y[{i}]: expected {T} labels, as X[{i}] has rows; got {labels.shape}")
    flat = np.concatenate(y)
    if isinstance(classes, int | np.integer):
        codes, K, named = _in_range(flat, int(classes)), int(classes), None
    else:
        names = np.unique(flat) if classes is None else np.asarray(list(classes))
        codes, K, named = _by_name(flat, names), len(names), tuple(name.item() for name in names)
    if K < 2:
        raise ValueError(f"y: expected at least two labels; found {K}")
    return np.split(codes.astype(np.int64), np.cumsum(lengths)[:-1]), K, named


def _in_range(flat: np.ndarray, K: int) -> np.ndarray:
    whole = flat.dtype.kind in "iu"
    bad = (flat < 0) | (flat >= K) if whole else np.ones(flat.shape, bool)
    if bad.any():
        raise ValueError(f"y: expected integers from 0 to {K - 1}; found {flat[bad.argmax()]!r}")
    return flat


def _by_name(flat: np.ndarray, names: np.ndarray) -> np.ndarray:
    if flat.dtype.kind == "f":
        _finite("y", flat)
    order = np.argsort(names, kind="stable")
    found = np.clip(np.searchsorted(names[order], flat), 0, len(names) - 1)
    codes = order[found]
    unknown = names[codes] != flat
    if unknown.any():
        raise ValueError(f"y: the label {flat[unknown.argmax()]!r} is not one of classes")
    return codes


def smallest_int(K: int) -> np.dtype:
    """The least type that holds labels 0..K-1: dual points are mostly labels."""
    return np.min_scalar_type(-K)


def check_cost(cost: Any, K: int) -> np.ndarray:
    """(K, K), cost[y, y'] >= 0 of saying y' for y, 0 on the diagonal; 1 - I unless given."""
    if cost is None:
        return 1.0 - np.eye(K)
    cost = np.asarray(cost, np.float64)
    if cost.shape != (K, K):
        raise ValueError(f"cost: expected a ({K}, {K}) matrix; got shape {cost.shape}")
    _finite("cost", cost)
    if (cost < 0).any():
        raise ValueError(f"cost: expected numbers >= 0; found {cost.min():g}")
    if np.diag(cost).any():
        where = int(np.diag(cost).astype(bool).argmax())
        raise ValueError(
            f"cost: the diagonal must be zero; cost[{where}, {where}] = {cost[where, where]:g}"
        )
    return cost


def check_parents(parents: Sequence[Any], lengths: list[int]) -> list[np.ndarray]:
    """parent[0] = -1 and 0 <= parent[v] < v, for each tree."""
    parents = [np.asarray(p) for p in parents]
    if len(parents) != len(lengths):
        raise ValueError(f"parents: expected {len(lengths)} trees, as in X; got {len(parents)}")
    for i, (parent, V) in enumerate(zip(parents, lengths, strict=True)):
        if parent.shape != (V,) or parent.dtype.kind not in "iu":
            raise ValueError(
                f"parents[{i}]: expected {V} integers; got {parent.dtype} {parent.shape}"
            )
        if parent[0] != -1:
            raise ValueError(f"parents[{i}]: node 0 is the root, of parent -1; got {parent[0]}")
        bad = (parent[1:] < 0) | (parent[1:] >= np.arange(1, V))
        if bad.any():
            v = int(bad.argmax()) + 1
            raise ValueError(
                f"parents[{i}]: node {v} has parent {parent[v]}; every parent must come before its "
                "children (there is one root, and a cycle has no such order)"
            )
    return parents
