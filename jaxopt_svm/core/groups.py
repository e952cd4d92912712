"""Several solves as one Solution, and how many lanes to solve at once."""

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxopt_svm.core import lanes, programs
from jaxopt_svm.core.footprint import bytes_of, held
from jaxopt_svm.core.relay import legs_of
from jaxopt_svm.core.solution import Solution, Trace, Unreadable

__all__ = ["in_order", "keeping", "lanes_within", "taken"]


def lanes_within(problem: Any, method: Any, memory: float) -> int:
    """How many lanes fit into so many bytes: their states, best points and temporaries.

    What the programs hold is counted for two lanes and for 32: a part of it, such as a matrix of
    squared features, is the same for any number of them.
    """
    if not memory > 0:
        raise ValueError(f"memory: expected a positive number of bytes; got {memory}")
    if hasattr(problem, "lane_bytes"):
        return max(1, int(memory // problem.lane_bytes()))
    fits = []
    for leg in legs_of(method)[0]:
        own = getattr(leg, "prepare", None)
        ready = problem if own is None else own(problem)
        few, more = lanes.padded_width(ready, 2), 16 * lanes.padded_width(ready, 2)
        first = taken(ready.with_lam(np.ones(few)), leg)
        lane = max(1.0, (taken(ready.with_lam(np.ones(more)), leg) - first) / (more - few))
        fits.append(few + (memory - first) / lane)
    return max(1, int(min(fits)))


def taken(grid: Any, leg: Any) -> float:
    """Bytes that the lanes of a grid take on this leg, at the worst moment."""
    state, point, best = programs.shapes(grid, leg)
    own = bytes_of(state) + bytes_of(best)
    begun = held(lanes.started, grid, leg, None) + bytes_of(best)  # from points like the best
    going = held(lanes.passes, grid, leg, state, jax.random.key(0), 0, 1)
    return max(begun, own + max(going, held(lanes.certified, grid, best, point)))


def in_order(groups: list[Solution], order: np.ndarray) -> Solution:
    """Groups of lanes, or single ones, as one Solution in the order of the user's grid; on the
    host, as parts of a solve are."""
    groups = [g if np.ndim(g.lam) else _batch_of_one(g) for g in groups]
    back = np.argsort(order[: sum(len(g.status) for g in groups)], kind="stable")
    place = np.argsort(back, kind="stable")
    join = lambda *xs: _joined(xs, place)
    host = lambda *xs: np.concatenate(xs)[back]
    longest = max(g.trace.gap.shape[1] for g in groups)
    pad = lambda x: np.pad(x, ((0, 0), (0, longest - x.shape[1])), constant_values=np.nan)
    return Solution(
        w=jax.tree.map(join, *(g.w for g in groups)),
        dual=jax.tree.map(join, *(g.dual for g in groups)),
        certificate=jax.tree.map(join, *(g.certificate for g in groups)),
        status=host(*(g.status for g in groups)),
        method=host(*(g.method for g in groups)),
        passes=host(*(g.passes for g in groups)),
        lam=join(*(g.lam for g in groups)),
        trace=Trace(*(host(*map(pad, xs)) for xs in zip(*(g.trace for g in groups)))),
    )


def _joined(groups: tuple[Any, ...], place: np.ndarray) -> np.ndarray:
    """The lanes of all groups, each at its place; where a capacity grew in some of them only, the
    others are padded with zeros. On the host, with one copy: these are the largest arrays."""
    known = [np.asarray(x) for x in groups]
    widest = [max(sizes) for sizes in zip(*(x.shape[1:] for x in known))]
    whole = np.zeros((len(place), *widest), known[0].dtype)
    lanes_before = np.cumsum([0, *map(len, known)])
    for x, first in zip(known, lanes_before):
        for k, lane in enumerate(x):
            whole[(place[first + k], *map(slice, lane.shape))] = lane
    return whole


@contextlib.contextmanager
def keeping(found: list[Solution], join: Callable[[list[Solution]], Solution]):
    """If the data cannot be read any more, the error has what was solved before as well."""
    try:
        yield
    except Unreadable as error:
        all_of_it = found if error.solution is None else [*found, error.solution]
        raise Unreadable(str(error), join(all_of_it) if all_of_it else None) from None


def _batch_of_one(one: Solution) -> Solution:
    """The same with a leading axis."""
    lead = lambda x: np.asarray(x)[None]
    return Solution(
        w=jax.tree.map(lead, one.w),
        dual=jax.tree.map(lead, one.dual),
        certificate=jax.tree.map(lead, one.certificate),
        status=np.array([str(one.status)]),
        method=np.array([one.method]),
        passes=np.array([one.passes]),
        lam=lead(one.lam),
        trace=Trace(*(x[None] for x in one.trace)),
    )
