"""Batches of lanes: all at once, in groups that fit, or in rounds from far apart to near.

in_groups   some lanes at a time, from the largest lam down, each group started from the last lam
            of the one before

in_rounds   opening   the first leg of a relay for all lanes together: its passes share the rows
            anchors   of those that are left, some a factor ``apart`` in lam from each other go on,
                      each from the best w and the best multiple of an alpha that any lane has
            between   then the middle ones, then the middle ones between those, and so on, each from
                      the best point of the segment between its neighbours (problems/lines.py)

A lane between others is often certified before its first iteration, so a finer grid costs little
more than a coarse one. All rounds after the opening run in programs of one width. What a lane has
of its own beside lam, such as the weights of a fold, its neighbours have too.
"""

from typing import Any

import jax
import numpy as np

from jaxopt_svm.core import lanes, programs
from jaxopt_svm.core.ahead import Ahead
from jaxopt_svm.core.apart import chains, far_apart, middles, neighbours
from jaxopt_svm.core.drive import Limits, Stopped, drive
from jaxopt_svm.core.footprint import give_back
from jaxopt_svm.core.groups import in_groups, interrupted
from jaxopt_svm.core.known import Known
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.relay import Relay, legs_of
from jaxopt_svm.core.solution import Solution, Status

__all__ = ["solve_batch"]

FEWEST = 8  # lanes of a round's programs: narrower ones are hardly faster


def solve_batch(problem, method, size, limits: Limits, start, progress, checkpoint) -> Solution:
    """Solve a batch, at most ``size`` lanes at a time."""
    given = (limits, start, progress, checkpoint)
    asked = isinstance(method, Relay) and method.apart is not None
    if asked and hasattr(problem, "between") and lanes.mesh_of(problem) is None:
        return in_rounds(problem, method, size, *given)
    if size >= len(problem.lam):
        return drive(problem, method, *limits, *given[1:])
    return in_groups(problem, method, size, *given)


def in_rounds(problem, relay, size, limits: Limits, start, progress, checkpoint) -> Solution:
    """The lanes of a batch from far apart to near; see the top of this file."""
    (first, *later), (passes, *_) = legs_of(relay)
    legs, passes = Relay(tuple(later), relay.passes[1:]), min(passes, limits.max_passes)
    ways = chains(problem)
    lam = np.asarray(problem.lam, np.float64)
    anchors = sum(len(far_apart(lam[way], None, relay.apart)) for way in ways)
    width = min(size, max(FEWEST, anchors))
    together = width if _same_program(first, later[0]) else min(size, len(lam))
    ahead = Ahead()
    ahead.begin(problem, first, 0, together, "passes")
    ahead.begin(problem, later[0], 1, width, "terms", "passes", "points", "between")
    file = lambda k: None if checkpoint is None else f"{checkpoint}.{k}"

    begun = (limits._replace(max_passes=passes), start, progress, file("first"))
    try:
        if _same_program(first, later[0]):
            known = Known(_in_width(problem, first, width, *begun))
        elif size >= len(lam):
            known = Known(drive(problem, first, *begun[0], *begun[1:], part=True))
        else:
            known = Known(in_groups(problem, first, size, *begun))
    except Stopped as pressed:
        raise Stopped(interrupted(pressed.solution)) from None
    if passes == limits.max_passes:
        return known.solution()
    waiting, number = known.status == Status.MAX_PASSES, 0

    def start_of(group) -> Point:
        ahead.wait("between" if number else "terms", 1, width)
        if number == 0:
            return _shared(problem, known, ways, group, width)
        return _between(problem, known, ways, waiting, group, width)

    try:
        problem = legs.prepare(problem)
        while np.any(waiting):
            inside = number > 0
            group = _middles(ways, waiting) if inside else _anchors(ways, lam, waiting, relay.apart)
            begin = start_of(group)
            for k in range(0, len(group), width):
                some, part = group[k : k + width], slice(k, k + width)
                lane = lanes.take_lanes(problem, some)
                mine = jax.tree.map(lambda x, part=part: x[part], begin)
                more = {"part": True, "width": width, "after": passes}
                stopped = None
                try:
                    then = drive(lane, legs, *limits, mine, progress, file(number), **more)
                except Stopped as pressed:
                    then, stopped = pressed.solution, pressed
                known.add(some, then, limits.rtol, limits.atol, between=inside)
                waiting[some], number = False, number + 1
                if size < len(lam):  # a budget
                    give_back()
                if stopped is not None:
                    raise stopped
    except KeyboardInterrupt:
        known.status[waiting] = Status.INTERRUPTED
    return known.solution()


def _same_program(one: Any, other: Any) -> bool:
    return jax.tree.structure(one) == jax.tree.structure(other)


def _in_width(problem, method, width: int, limits: Limits, start, *rest) -> Solution:
    """All lanes from a start of their own or in common, in programs of the width of the rounds."""
    best = programs.shapes(problem, method).best
    start = lanes.one_lane(problem).origin() if start is None else getattr(start, "point", start)
    spread = programs.spread(start, Point(best.w, best.dual))
    begin = start if spread is None else spread
    return in_groups(problem, method, width, limits, begin, *rest, width=width)


def _anchors(ways, lam, waiting, apart: float) -> np.ndarray:
    found = []
    for way in ways:
        left = np.flatnonzero(waiting[way])
        if left.size:
            above = lam[way[left[0] - 1]] if left[0] > 0 else None
            found += [way[left[far_apart(lam[way[left]], above, apart)]]]
    return np.concatenate(found)


def _middles(ways, waiting) -> np.ndarray:
    return np.concatenate([way[middles(waiting[way])] for way in ways])


def _shared(problem, known: Known, ways, group, width: int) -> Point:
    """For each lane of a group the best w and the best multiple of an alpha in its chain."""
    every = np.arange(len(known.status))
    found = _in_parts(
        programs.terms, problem, every, width, (known.points, every), (known.of, every)
    )
    penalty, losses, conjugates, half = (np.asarray(x, np.float64) for x in found)
    lam = np.asarray(problem.lam, np.float64)
    w, dual, times = group.copy(), group.copy(), np.ones(len(group))
    for way in ways:
        at = np.flatnonzero(np.isin(group, way))
        mine = lam[group[at], None]
        primal = mine * penalty[way] + losses[way]
        t = np.clip(mine * conjugates[way] / np.maximum(2 * half[way], 1e-300), 0.0, 1.0)
        value = t * conjugates[way] - t * t * half[way] / mine
        best = np.nan_to_num(value, nan=-np.inf).argmax(axis=1)
        w[at] = way[np.nan_to_num(primal, nan=np.inf).argmin(axis=1)]
        dual[at], times[at] = way[best], t[np.arange(len(at)), best]
    scaled = lambda x: x * times.astype(x.dtype).reshape(-1, *(1,) * (x.ndim - 1))
    return Point(known.points(w).w, jax.tree.map(scaled, known.points(dual).dual))


def _between(problem, known: Known, ways, waiting, group, width: int) -> Point:
    """For each lane of a group the best point between its neighbours."""
    sides = {}
    for way in ways:
        here = waiting[way]
        for place in np.flatnonzero(np.isin(way, group)):
            sides[way[place]] = [way[k] for k in neighbours(here, int(place))]
    a, b = (np.array([sides[k][side] for k in group]) for side in (0, 1))
    return _in_parts(programs.between, problem, group, width, (known.points, a), (known.points, b))


def _in_parts(function, problem, group, width: int, *known: Any) -> Any:
    """``function`` of the problem's lanes and what is known of them, in programs of one width.

    known: pairs of a function and the numbers it is asked for; a part is fetched at a time.
    """
    parts = []
    for k in range(0, len(group), width):
        slots = np.minimum(np.arange(k, k + width), len(group) - 1)
        some = [of(numbers[slots]) for of, numbers in known]
        found = function(lanes.take_lanes(problem, group[slots]), *some)
        parts.append(jax.tree.map(lambda x, k=k: np.asarray(x)[: len(group) - k], found))
    return jax.tree.map(lambda *xs: np.concatenate(xs), *parts)
