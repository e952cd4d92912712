"""Which lanes of a batch lie how far apart in lam: plans for core/rounds.py, on the host."""

import itertools
import math
from typing import Any

import jax
import numpy as np

from jaxopt_svm.core.lanes import lane_fields

__all__ = ["chains", "far_apart", "middles", "neighbours"]


def chains(problem: Any) -> list[np.ndarray]:
    """The lanes that differ in lam alone, from the largest lam down, for each such set."""
    lam = np.asarray(problem.lam)
    fields = [getattr(problem, f) for f in lane_fields(problem) if f != "lam"]
    others = [np.asarray(x) for x in jax.tree.leaves(fields)]
    sets: dict[tuple[bytes, ...], list[int]] = {}
    for k in np.argsort(-lam, kind="stable").tolist():
        sets.setdefault(tuple(x[k].tobytes() for x in others), []).append(k)
    return [np.array(lanes) for lanes in sets.values()]


def far_apart(lams: np.ndarray, above: float | None, apart: float) -> np.ndarray:
    """Places in a falling ``lams``, evenly spread in the logarithm and about a factor ``apart``
    from each other: the last, and the first unless a lane with a lam ``above`` is known."""
    top = lams[0] if above is None else above
    steps = max(1, math.ceil(math.log(top / lams[-1]) / math.log(apart) - 1e-6))
    marks = np.geomspace(top, lams[-1], steps + 1)[0 if above is None else 1 :]
    nearest = np.abs(np.log(lams)[:, None] - np.log(marks)).argmin(axis=0)
    return np.unique(np.append(nearest, len(lams) - 1))


def middles(waiting: np.ndarray) -> np.ndarray:
    """Of every run of places that wait, the middle one."""
    runs = itertools.groupby(np.flatnonzero(waiting) - np.arange(np.sum(waiting)))
    ends = np.cumsum([0, *(len(list(run)) for _, run in runs)])
    at = np.flatnonzero(waiting)
    return at[(ends[:-1] + ends[1:]) // 2]


def neighbours(waiting: np.ndarray, place: int) -> tuple[int, int]:
    """The nearest places on either side that do not wait; at an end the same one twice."""
    known = np.flatnonzero(~waiting)
    after = int(np.searchsorted(known, place))
    before = known[max(0, after - 1)]
    return int(before), int(known[after] if after < len(known) else before)
