"""Scores and labels of new rows, for one solution or for a whole grid, and which are certain."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.lanes import one_lane
from jaxopt_svm.core.solution import Solution
from jaxopt_svm.problems.batch import class_axis
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.kernel import KernelSVM
from jaxopt_svm.problems.make import make_rows
from jaxopt_svm.problems.nearby import intercept_range, lane_of, radius
from jaxopt_svm.problems.structured.decode import decode
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["certain", "decision", "decision_bounds", "predict"]


def _lanes(problem: Any, solution: Any) -> int:
    """How many axes of w are lanes, for a Solution or a bare Point."""
    return np.ndim(solution.w) - jax.eval_shape(one_lane(problem).origin).w.ndim


def _new_rows(problem: Any, solution: Solution, X: Any) -> Any:
    """X as rows of the problem's kind and width."""
    rows = make_rows(X, constant=problem.intercept != "none", dtype=problem.c.dtype)
    width, extra = np.shape(solution.w)[_lanes(problem, solution)], problem.intercept != "none"
    if rows.shape[1] != width:
        raise ValueError(
            f"X: expected {width - extra} columns, as in the training data; "
            f"got {rows.shape[1] - extra}"
        )
    return rows


def decision(problem: Any, solution: Solution, X: Any) -> np.ndarray:
    """<x, w> with the intercept: (rows,), or (rows, m) for m outputs; a grid adds a first axis.

    A problem that is not linear in x answers by its own ``scores``.
    """
    if hasattr(problem, "scores"):
        return problem.scores(solution.w, X)
    rows, lanes = _new_rows(problem, solution, X), _lanes(problem, solution)
    w = jnp.moveaxis(jnp.asarray(solution.w), lanes, 0)
    return np.moveaxis(np.asarray(rows.matvec(w)), 0, lanes)


def _lengths(problem: Any, solution: Solution, X: Any) -> np.ndarray:
    """(rows,) ||x||, without the constant of a free intercept."""
    if isinstance(problem, KernelSVM):
        if problem.kernel is None or "kernel" in problem.lanes:
            raise ValueError(
                "certified: needs k(x, x) of the new points, so one kernel, not a Gram matrix"
            )
        points = jnp.asarray(np.asarray(X), problem.c.dtype)
        return np.sqrt(np.asarray(problem.kernel.diagonal(points), np.float64))
    squares = np.asarray(_new_rows(problem, solution, X).sqnorms, np.float64)
    return np.sqrt(np.maximum(squares - problem.regularizer.free, 0.0))


def _refuse_unbounded(problem: Any) -> None:
    if not isinstance(problem, ERM | KernelSVM):
        raise ValueError(
            "certified: the distance to the optimum is known for linear and kernel problems with a "
            f"penalty; got {type(problem).__name__}"
        )


def decision_bounds(problem: Any, solution: Solution, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """(lower, upper): between them lie the scores of the exact optimum, by the certificate.

    Shapes as ``decision``. With m outputs the bounds are for comparing two of them: any difference
    of exact scores lies between lower - upper and upper - lower (problems/nearby.py).
    """
    _refuse_unbounded(problem)
    scores = decision(problem, solution, X).astype(np.float64)
    lengths = _lengths(problem, solution, X)
    r = radius(solution.certificate, solution.lam)
    # two outputs share one ball: their difference moves by sqrt(2) r ||x||, half of it each
    r = r / np.sqrt(2.0) if problem.loss.vector else r
    half = r[..., None] * lengths
    half = half[..., None] if problem.loss.vector else half
    low, high = np.zeros(np.shape(r)), np.zeros(np.shape(r))
    if problem.regularizer.free:
        lanes = range(len(solution.lam)) if np.ndim(solution.lam) else [None]
        ends = []
        for k in lanes:
            one, w, certificate = lane_of(problem, solution, k)
            ends.append(np.subtract(intercept_range(one, w, certificate), float(w[-1])))
        low, high = np.stack(ends, axis=-1) if np.ndim(r) else ends[0]
    rounding = 8 * np.finfo(problem.c.dtype).eps * (np.abs(scores) + 1.0)
    shift = lambda b: np.expand_dims(b, tuple(range(np.ndim(b), scores.ndim)))
    return scores - half + shift(low) - rounding, scores + half + shift(high) + rounding


def certain(lower: np.ndarray, upper: np.ndarray, several: bool) -> np.ndarray:
    """Whether the sign, or the largest of several (last axis), is the same all over the bounds."""
    if not several:
        return (lower > 0) | (upper < 0)
    best, others = lower.argmax(axis=-1)[..., None], upper.copy()
    np.put_along_axis(others, best, -np.inf, axis=-1)
    return np.take_along_axis(lower, best, axis=-1)[..., 0] > others.max(axis=-1)


def _by_class(problem: Any, scores: np.ndarray) -> np.ndarray:
    """(classes lams, rows) lanes as (lams, rows, classes), or (rows, classes) for one lam."""
    K = class_axis(problem)
    apart = np.moveaxis(scores.reshape(K, len(scores) // K, -1), 0, -1)
    return apart[0] if len(apart) == 1 else apart


def predict(problem: Any, solution: Solution, X: Any, *, certified: bool = False) -> Any:
    """The user's own labels, or the scores for regression; a grid adds a first axis.

    Two labels: a score of 0 takes the second; more, also of one-vs-rest: the largest score.
    Structured problems decode (``js.decode``).

    certified: return (labels, certain), booleans of the same shape: True where the exact optimum
      gives the same label, whatever it is within the certificate's gap.
    """
    if certified:
        _refuse_unbounded(problem)
    if isinstance(problem, Structured):
        return decode(problem, solution, X)
    if certified and problem.labels is None:
        raise ValueError("certified: for labels; js.decision_bounds bounds the scores of targets")
    scores = decision(problem, solution, X)
    if problem.labels is None:
        return scores
    classes = class_axis(problem)
    several = bool(classes) or problem.loss.vector
    arrange = (lambda s: _by_class(problem, s)) if classes else (lambda s: s)
    scores = arrange(scores)
    best = scores.argmax(-1) if several else (scores >= 0).astype(int)
    labels = np.asarray(problem.labels)[best]
    if not certified:
        return labels
    lower, upper = decision_bounds(problem, solution, X)
    return labels, certain(arrange(lower), arrange(upper), several)
