"""Batches: one problem for many (fold, class, lam) triples, or several problems as one.

A batch shares what its members share. One-vs-rest on a grid of lam needs one Gram matrix, or one
data matrix, for all its lanes, and so do the folds of a cross-validation, which differ in their
weights only; ``js.solve`` then solves them in one program, each with its certificate.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.make import check_lam, make_erm
from jaxopt_svm.problems.split import Split

__all__ = ["class_axis", "crossed", "make_one_vs_rest", "one_vs_rest", "stacked"]


def one_vs_rest(problem: Any, y: Any, lams: Any = None) -> Any:
    """A lane for every class and every lam: class against the rest, on the same examples.

    Args:
      problem: any problem with signs on these examples; its own y is replaced.
      y: (n,) labels of two classes or more. Lanes come class by class, ``np.unique(y)`` in order,
        and within a class in the order of ``lams``.
      lams: the grid; the problem's own lam unless given.

    ``js.decision`` gives (lanes, rows) scores, ``js.predict`` the class with the largest one.
    """
    y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if isinstance(problem, ERM) and isinstance(problem.rows, Split) and y.ndim == 1 and y.size:
        y = np.concatenate([y, np.repeat(y[-1:], max(0, problem.n - y.size))])  # as its own y was
    if y.shape != (problem.n,):
        raise ValueError(f"y: expected shape ({problem.n},), one label an example; got {y.shape}")
    try:
        classes = np.unique(y)
    except TypeError:
        raise ValueError("y: expected labels of one type; got a mixture of types") from None
    if classes.size < 2:
        raise ValueError(f"y: expected at least two classes; found {classes.size}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y: expected labels; found nan or inf among them")
    signs = np.where(y[None, :] == classes[:, None], 1.0, -1.0).astype(problem.c.dtype)
    lams = np.atleast_1d(check_lam("lams", problem.lam if lams is None else lams))
    one_lam = dataclasses.replace(
        problem,
        y=jnp.asarray(signs),
        lam=jnp.full(classes.size, lams[0], problem.c.dtype),
        labels=tuple(v.item() if hasattr(v, "item") else v for v in classes),
        lanes=("lam", "y"),
    )
    return crossed(one_lam, lams)


def make_one_vs_rest(
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    lam: float | None = None,
    C: float | None = None,
    weights: Any = None,
    intercept: str = "none",
    regularizer: Any = None,
    mesh: Any = None,
    nodes: int | None = None,
) -> Any:
    """A linear model of several classes, each against the rest: a batch with a lane a class.

    Arguments as for ``make_erm``, but y has two labels or more. ``js.solve`` solves all classes at
    once, ``js.cross_validate`` all of lam x folds x classes; ``js.predict`` answers with labels.
    """
    y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if y.ndim != 1 or y.size == 0:
        raise ValueError(f"y: expected one label a row of X; got shape {y.shape}")
    if loss is not None and (getattr(loss, "vector", False) or getattr(loss, "regression", False)):
        raise ValueError(f"loss: expected one for signs such as js.Hinge(); got {loss!r}")
    if np.all(y == y[0]):
        raise ValueError(f"y: expected at least two classes; found 1: {y[0]!r}")
    if mesh is not None and jax.process_count() > 1:
        raise ValueError(
            "mesh: classes as lanes are for one process; here every process would "
            "know its own classes only"
        )
    problem = make_erm(
        X,
        np.asarray(y == y[0]),
        loss=loss,
        lam=lam,
        C=C,
        weights=weights,
        intercept=intercept,
        regularizer=regularizer,
        mesh=mesh,
        nodes=nodes,
    )
    return one_vs_rest(problem, y)


def class_axis(problem: Any) -> int:
    """How many classes are lanes of this problem, outermost; 0 if it has one y for all."""
    return len(problem.labels or ()) if "y" in getattr(problem, "lanes", ()) else 0


def crossed(problem: Any, lams: Any, folds: Any = None) -> Any:
    """Folds x classes x lams as lanes, in this order.

    Args:
      problem: one problem, or one-vs-rest with a lane a class (their own lam is replaced).
      lams: (L,) the grid.
      folds: (F, n) weights, a row for each fold; the problem's own unless given.
    """
    lams = np.atleast_1d(check_lam("lams", lams))
    if np.ndim(problem.lam) and (
        tuple(problem.lanes) != ("lam", "y") or len(problem.lam) != class_axis(problem)
    ):
        raise ValueError(
            "problem: expected one problem, or one-vs-rest with one lam; this is a batch already"
        )
    classes, L = max(1, class_axis(problem)), lams.size
    F = 1 if folds is None else len(folds)
    dtype = problem.c.dtype
    fields: dict[str, Any] = {"lam": jnp.asarray(np.tile(lams, F * classes), dtype)}
    if np.ndim(problem.lam):
        signs = jnp.repeat(problem.y, L, axis=0)
        fields["y"] = jnp.tile(signs, (F, 1))
    if folds is not None:
        c = np.asarray(folds, np.float64)
        c = c / c.sum(axis=1, keepdims=True)
        fields["c"] = jnp.repeat(jnp.asarray(c.astype(dtype)), classes * L, axis=0)
    lanes = tuple(name for name in ("lam", "y", "c") if name in fields)
    return dataclasses.replace(problem, **fields, lanes=lanes)


def _equal(a: Any, b: Any) -> bool:
    return a is b or bool(np.array_equal(np.asarray(a), np.asarray(b)))


def stacked(problems: Sequence[Any]) -> Any:
    """Several problems of one shape as a batch, such as one for each kernel width.

    Fields with the same numbers in all of them stay shared, the others get a leading axis: n^2
    numbers a lane if the Gram matrices differ.
    """
    problems = list(problems)
    if not problems:
        raise ValueError("problems: expected at least one")
    structures = {jax.tree.structure(p) for p in problems}
    shapes = {tuple(jnp.shape(x) for x in jax.tree.leaves(p)) for p in problems}
    if len(structures) > 1 or len(shapes) > 1:
        raise ValueError("problems: expected the same kind, choices and shapes in all of them")
    first = problems[0]
    fields, names = {}, ["lam"]
    for field in dataclasses.fields(first):
        if field.metadata.get("static"):
            continue
        values = [getattr(p, field.name) for p in problems]
        leaves = [jax.tree.leaves(v) for v in values]
        same = all(_equal(a, b) for other in leaves for a, b in zip(leaves[0], other))
        if field.name == "lam" or (leaves[0] and not same):
            stack = lambda *xs: jnp.stack([jnp.asarray(x) for x in xs])
            fields[field.name] = jax.tree.map(stack, *values)
            names += [field.name] if field.name != "lam" else []
    return dataclasses.replace(first, **fields, lanes=tuple(names))
