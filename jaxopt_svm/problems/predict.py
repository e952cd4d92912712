"""Scores and labels of new rows, for one solution or for a whole grid."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.solution import Solution
from jaxopt_svm.problems.make import make_rows
from jaxopt_svm.problems.structured.decode import decode
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["decision", "predict"]


def decision(problem: Any, solution: Solution, X: Any) -> np.ndarray:
    """<x, w> with the intercept: (rows,), or (rows, m) for m outputs; a grid adds a first axis.

    A problem that is not linear in x answers by its own ``scores``.
    """
    if hasattr(problem, "scores"):
        return problem.scores(solution.w, X)
    rows = make_rows(X, constant=problem.intercept != "none", dtype=problem.c.dtype)
    w = jnp.asarray(solution.w)
    lanes = w.ndim - problem.y.ndim  # 1 for a grid, else 0
    if rows.shape[1] != w.shape[lanes]:
        extra = problem.intercept != "none"
        raise ValueError(
            f"X: expected {w.shape[lanes] - extra} columns, as in the training data; "
            f"got {rows.shape[1] - extra}"
        )
    return np.moveaxis(np.asarray(rows.matvec(jnp.moveaxis(w, lanes, 0))), 0, lanes)


def predict(problem: Any, solution: Solution, X: Any) -> np.ndarray:
    """The user's own labels (two: a score of 0 takes the second; more: the largest score), or
    the scores for regression. Structured problems decode (``js.decode``)."""
    if isinstance(problem, Structured):
        return decode(problem, solution, X)
    scores = decision(problem, solution, X)
    if problem.labels is None:
        return scores
    best = scores.argmax(-1) if problem.loss.vector else (scores >= 0).astype(int)
    return np.asarray(problem.labels)[best]
