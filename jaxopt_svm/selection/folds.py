"""Folds as weights: which examples a fold trains on, and which it is judged by.

A fold is a row of weights on shared examples, and zero weight is a deleted row: so all folds of all
lam are lanes of one batch, and no row is copied.
"""

from typing import Any

import numpy as np

__all__ = ["check_folds", "fold_weights", "label_codes", "stratified"]


def label_codes(problem: Any) -> tuple[np.ndarray | None, tuple]:
    """(n,) the class of each example as a number, and the classes' names; None for targets."""
    if problem.loss.regression:
        return None, ()
    y = np.asarray(problem.y)
    if "y" in problem.lanes:
        return y.argmax(axis=0), problem.labels
    if problem.loss.vector:
        return y.argmax(axis=1), problem.labels
    return (y > 0).astype(int), problem.labels or (-1, 1)


def stratified(codes: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """(n,) the fold of each example: every class dealt out in turn, in a seeded random order.

    The dealing goes on from class to class, so folds differ by at most one example in size.
    """
    rng = np.random.default_rng(seed)
    of, dealt = np.empty(codes.size, int), 0
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        of[members] = (dealt + np.arange(members.size)) % folds
        dealt += members.size
    return of


def check_folds(weights: np.ndarray, used: np.ndarray, codes, labels: tuple) -> None:
    """Refuse folds that judge by nothing, or train without a class."""
    for k, row in enumerate(weights):
        if not np.any((row == 0) & used):
            raise ValueError(f"folds: fold {k} holds out no example (a weight of 0 is held out)")
        if not np.any((row > 0) & used):
            raise ValueError(f"folds: fold {k} trains on no example")
        if codes is None:
            continue
        missing = np.setdiff1d(np.unique(codes[used]), codes[(row > 0) & used])
        if missing.size:
            raise ValueError(f"folds: fold {k} trains without class {labels[missing[0]]!r}")


def fold_weights(problem: Any, folds: Any, seed: int = 0) -> np.ndarray:
    """(F, n) weights to train with, times the problem's own; zero where an example is held out.

    Args:
      folds: how many, dealt out by class with this seed; or (F, n) weights, zero = held out.
    """
    c = np.asarray(problem.c, np.float64)
    used, (codes, labels) = c > 0, label_codes(problem)
    if np.ndim(folds) == 0:
        if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
            raise ValueError(f"folds: expected an integer >= 2, or a weight matrix; got {folds!r}")
        dealt = np.zeros(c.size, int) if codes is None else codes
        known, counts = np.unique(dealt[used], return_counts=True)
        if counts.min() < folds:
            least = int(np.argmin(counts))
            of = "examples" if codes is None else f"examples of class {labels[known[least]]!r}"
            raise ValueError(f"folds: {folds} need at least {folds} {of}; got {counts[least]}")
        place = np.full(c.size, -1)
        place[used] = stratified(dealt[used], int(folds), seed)
        weights = (place[None, :] != np.arange(folds)[:, None]) & used[None, :]
        return weights * c
    weights = np.asarray(folds)
    if weights.ndim != 2 or weights.shape[1] != c.size or weights.dtype.kind not in "fiub":
        raise ValueError(
            f"folds: expected a number, or weights of shape (folds, {c.size}); got {weights.shape}"
        )
    weights = weights.astype(np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("folds: expected finite weights >= 0")
    check_folds(weights, used, codes, labels)
    return weights * c
