"""Shapes that repeat: small data is padded, so that a compiled program serves many fits.

Rows of zero weight are as good as deleted, and a column of zeros gets the coefficient zero: so the
solution is that of the data, while folds and subsets of similar size share their programs. Above
``LARGE`` rows a compilation is small beside the solve, and nothing is padded.
"""

from typing import Any, NamedTuple

import numpy as np

from jaxopt_svm.problems.make import is_sparse

__all__ = ["LARGE", "ROWS", "Padded", "bucket", "padded"]

ROWS, COLUMNS = 64, 8  # at least; a program for so little data costs more to compile than to run
LARGE, WIDE = 4096, 64  # no padding above
DENSE = 2**20  # entries of a sparse matrix that may as well be stored


class Padded(NamedTuple):
    """X: (n', d'). codes: (n',) classes as numbers. weights: (n',), zero for the rows added."""

    X: Any
    codes: np.ndarray
    weights: np.ndarray


def bucket(size: int, smallest: int, largest: int) -> int:
    """The next of smallest x (1, 1.5, 2, 3, 4, 6, 8, ...), or size itself above ``largest``."""
    if size > largest:
        return size
    step = smallest
    while True:
        for candidate in (step, step * 3 // 2):
            if size <= candidate:
                return candidate
        step *= 2


def padded(X: Any, codes: np.ndarray, weights: np.ndarray, columns: bool = True) -> Padded:
    """Rows without weight dropped, then zero rows and columns up to a bucket."""
    used = weights > 0
    if not used.all():
        X, codes, weights = X[used], codes[used], weights[used]
    n, d = X.shape
    if is_sparse(X):
        if n * d > DENSE:
            return Padded(X, codes, weights)
        X = X.toarray()
    rows, wide = bucket(n, ROWS, LARGE) - n, bucket(d, COLUMNS, WIDE) - d if columns else 0
    if not rows and not wide:
        return Padded(X, codes, weights)
    X = np.pad(X, ((0, rows), (0, wide)))
    return Padded(X, np.pad(codes, (0, rows), mode="edge"), np.pad(weights, (0, rows)))
