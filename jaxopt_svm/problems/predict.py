"""Scores and labels of new rows, for one solution or for a whole grid."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.solution import Solution
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.make import make_rows

__all__ = ["decision", "predict"]


def decision(problem: ERM, solution: Solution, X: Any) -> np.ndarray:
    """<x, w> with the intercept: (m,) for m rows, or (lanes, m) for a grid."""
    rows = make_rows(X, constant=problem.intercept != "none", dtype=problem.c.dtype)
    w = jnp.asarray(solution.w)
    if rows.shape[1] != w.shape[-1]:
        extra = problem.intercept != "none"
        raise ValueError(
            f"X: expected {w.shape[-1] - extra} columns, as in the training data; "
            f"got {rows.shape[1] - extra}"
        )
    return np.asarray(rows.matvec(w.T).T)


def predict(problem: ERM, solution: Solution, X: Any) -> np.ndarray:
    """The user's own labels (a score of 0 takes the second), or the score for regression."""
    scores = decision(problem, solution, X)
    if problem.labels is None:
        return scores
    return np.asarray(problem.labels)[(scores >= 0).astype(int)]
