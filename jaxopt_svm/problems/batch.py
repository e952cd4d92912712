"""Batches: one problem for many (class, lam) pairs, or several problems as one.

A batch shares what its members share. One-vs-rest on a grid of lam needs one Gram matrix, or one
data matrix, for all its lanes; ``js.solve`` then solves them in one program, each with its
certificate.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.problems.make import check_lam

__all__ = ["one_vs_rest", "stacked"]


def one_vs_rest(problem: Any, y: Any, lams: Any = None) -> Any:
    """A lane for every class and every lam: class against the rest, on the same examples.

    Args:
      problem: any problem with signs on these examples; its own y is replaced.
      y: (n,) labels of two classes or more. Lanes come class by class, ``np.unique(y)`` in order,
        and within a class in the order of ``lams``.
      lams: the grid; the problem's own lam unless given.

    ``js.decision`` gives (lanes, rows) scores; the class with the largest one is the answer.
    """
    y = np.asarray(y)
    if y.shape != (problem.n,):
        raise ValueError(f"y: expected shape ({problem.n},), one label an example; got {y.shape}")
    classes = np.unique(y)
    if classes.size < 2:
        raise ValueError(f"y: expected at least two classes; found {classes.size}")
    lams = np.atleast_1d(check_lam("lams", problem.lam if lams is None else lams))
    dtype = problem.c.dtype
    signs = np.where(y[None, :] == classes[:, None], 1.0, -1.0).astype(dtype)
    return dataclasses.replace(
        problem,
        y=jnp.asarray(np.repeat(signs, lams.size, axis=0)),
        lam=jnp.asarray(np.tile(lams, classes.size), dtype),
        labels=None,
        lanes=("lam", "y"),
    )


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
