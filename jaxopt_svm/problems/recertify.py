"""The final word in float64: certificates recomputed on the host, whatever the solve ran in.

A float32 solve knows its gap only down to the floor. The same (w, alpha), read in float64, has a
certificate with a floor 1e9 times lower. Rows are taken in blocks, so a float64 copy of the data
never exists as a whole.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.lanes import take_lanes
from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.mesh.host import fetch
from jaxopt_svm.problems.ball import Ball
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.rows import Dense, Padded
from jaxopt_svm.problems.split import Split

__all__ = ["recertify", "wide"]

BLOCK = 8192


def wide(tree):
    """Floating leaves as float64."""
    up = lambda x: x.astype(np.float64) if x.dtype.kind == "f" else x
    return jax.tree.map(lambda x: jnp.asarray(up(x)), fetch(tree))


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


def _blocks(rows: Any) -> Iterator[tuple[int, int, Any]]:
    """(lo, hi, rows lo..hi as Rows of their own), node after node if they are divided."""
    nodes = rows.nodes if isinstance(rows, Split) else 1
    size = rows.shape[0] // nodes
    for k in range(nodes):
        node = jax.tree.map(lambda x, k=k: x[k], rows.parts) if isinstance(rows, Split) else rows
        for lo in range(0, size, BLOCK):
            hi = min(lo + BLOCK, size)
            yield k * size + lo, k * size + hi, _part(node, lo, hi)


def _one(problem: Any, point: Point) -> Certificate:
    """The float64 certificate of one lane, block by block for a linear model."""
    if not isinstance(problem, ERM | Ball):
        return jax.tree.map(np.asarray, wide(problem).certificate(wide(point)))
    risk = problem.risk if isinstance(problem, Ball) else problem
    bare = dataclasses.replace(risk, rows=None)
    small = dataclasses.replace(problem, risk=bare) if isinstance(problem, Ball) else bare
    w, alpha = wide(small).complete(wide(point))
    total = None
    for lo, hi, rows in _blocks(risk.rows):
        part = dataclasses.replace(risk, rows=rows, y=problem.y[lo:hi], c=problem.c[lo:hi])
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
