"""The final word in float64: certificates recomputed on the host, whatever the solve ran in.

A float32 solve knows its gap only down to the floor. The same (w, alpha), read in float64, has a
certificate with a floor 1e9 times lower. Rows are taken in blocks, so a float64 copy of the data
never exists as a whole.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.lanes import take_lanes
from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.problems.ball import Ball
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.rows import Dense, Padded

__all__ = ["recertify", "wide"]

BLOCK = 8192


def wide(tree):
    """Floating leaves as float64."""
    up = lambda x: np.asarray(x, np.float64) if np.asarray(x).dtype.kind == "f" else np.asarray(x)
    return jax.tree.map(lambda x: jnp.asarray(up(x)), tree)


def _part(rows: Any, lo: int, hi: int) -> Any:
    """Rows lo..hi as Rows of their own."""
    if isinstance(rows, Dense):
        return Dense(rows.X[lo:hi], rows.sqnorms[lo:hi])
    first, last = int(rows.start[lo]), int(rows.start[hi])
    return Padded(
        cols=rows.cols[first:last],
        vals=rows.vals[first:last],
        start=rows.start[lo : hi + 1] - first,
        owner=rows.owner[first:last] - lo,
        sqnorms=rows.sqnorms[lo:hi],
        d=rows.d,
    )


def _one(problem: Any, point: Point) -> Certificate:
    """The float64 certificate of one lane, block by block for a linear model."""
    if not isinstance(problem, ERM | Ball):
        return jax.tree.map(np.asarray, wide(problem).certificate(wide(point)))
    risk = problem.risk if isinstance(problem, Ball) else problem
    bare = dataclasses.replace(risk, rows=None)
    small = dataclasses.replace(problem, risk=bare) if isinstance(problem, Ball) else bare
    w, alpha = wide(small).complete(wide(point))
    total = None
    for lo in range(0, problem.n, BLOCK):
        hi = min(lo + BLOCK, problem.n)
        part = dataclasses.replace(
            risk, rows=_part(risk.rows, lo, hi), y=problem.y[lo:hi], c=problem.c[lo:hi]
        )
        sums = wide(part).sums(w, alpha[lo:hi])
        total = sums if total is None else jax.tree.map(jnp.add, total, sums)
    certificate = wide(small).certificate_of(w, total)
    return jax.tree.map(np.asarray, certificate)


def recertify(problem: Any, solution: Any) -> Certificate:
    """The certificates of a Solution (or a Point) in float64, as numpy arrays.

    ``problem`` is the one that was solved; for a sweep its lam is taken from the solution.
    """
    point = Point(solution.w, solution.dual)
    lam = getattr(solution, "lam", problem.lam)
    with jax.enable_x64(True):
        if np.ndim(lam) == 0:
            return _one(dataclasses.replace(problem, lam=lam), point)
        grid = problem if np.ndim(problem.lam) else dataclasses.replace(problem, lam=lam)
        lanes = [
            _one(take_lanes(grid, k), jax.tree.map(lambda x, k=k: x[k], point))
            for k in range(len(lam))
        ]
    return Certificate(*(np.stack(field) for field in zip(*lanes)))
