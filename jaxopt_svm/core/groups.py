"""Some lanes of a grid at a time: how many fit, the solves one after the other, and the whole."""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxopt_svm.core import lanes, programs
from jaxopt_svm.core.drive import Limits, Stopped, drive
from jaxopt_svm.core.footprint import bytes_of, give_back, held
from jaxopt_svm.core.relay import legs_of
from jaxopt_svm.core.solution import Solution, Status, Trace, Unreadable

__all__ = ["in_groups", "in_order", "interrupted", "keeping", "lanes_within", "taken"]


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


def in_groups(
    problem, method, size, limits: Limits, start, progress, checkpoint, width: int = 0
) -> Solution:
    """``size`` lanes at a time, from the largest lam down; one alone needs no batch.

    A start for each lane is where it begins, one in common where the first group does. width: as in
    ``drive``. After Ctrl-C the lanes that were not reached are certified as they would have begun;
    of rows on disk, where that is passes over the file, only those that were are returned.
    """
    order = np.argsort(-np.asarray(problem.lam), kind="stable")
    start = getattr(start, "point", start)
    own, alone = start is not None and lanes.has_lanes(problem, start), size == 1 and not width
    most = getattr(method, "lanes", None) or len(order)  # without a budget
    tight = size < most and not (alone or width)
    parts = [order[k] if alone else order[k : k + size] for k in range(0, len(order), size)]
    found: list[Solution] = []
    joined = lambda found: in_order(found, order)
    last = lambda one: one.point if alone else jax.tree.map(lambda x: x[-1], one.point)

    def solve(part, limits: Limits, progress: bool, file) -> None:
        some = lanes.take_lanes(problem, part)
        if own:
            begin = programs.take(start, part)
        else:
            begin = programs.carried(some, last(found[-1])) if found else start
        more = {"part": True, "width": width}
        with keeping(found, joined):
            found.append(drive(some, method, *limits, begin, progress, file, **more))
        if tight:
            give_back()

    try:
        for k, part in enumerate(parts):
            solve(part, limits, progress, None if checkpoint is None else f"{checkpoint}.{k}")
        return joined(found)
    except Stopped as pressed:
        found.append(pressed.solution)
    except KeyboardInterrupt:  # before a part had begun
        if not found:
            raise
    with contextlib.suppress(KeyboardInterrupt):  # pressed again
        for part in () if hasattr(problem, "runs") else parts[len(found) :]:
            solve(part, limits._replace(max_passes=0), False, None)
            found[-1] = interrupted(found[-1])
    raise Stopped(joined(found))


def interrupted(solution: Solution) -> Solution:
    """The same, where what ran out of passes had none to take."""
    status = np.where(solution.status == Status.MAX_PASSES, Status.INTERRUPTED, solution.status)
    return dataclasses.replace(solution, status=status if status.ndim else status.item())


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
