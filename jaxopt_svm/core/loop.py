"""The host side of a solve: which lanes run, what they recorded, when they stop and grow."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core import lanes, programs, registry
from jaxopt_svm.core.ahead import Ahead
from jaxopt_svm.core.protocols import Certificate, Point, Spent
from jaxopt_svm.core.relay import legs_of
from jaxopt_svm.core.solution import Solution, Status, Trace
from jaxopt_svm.mesh.host import fetch

__all__ = ["NEAR_FLOOR", "Loop", "next_record"]

STALLED = 5  # records without improvement, near the floor, before a lane is called finished
NEAR_FLOOR = 10.0
TELLING = 1e-3  # of P: a floor that is larger is that of a poor point
# lanes are re-packed to these widths, 4 or more: fewer cost hardly less; each is one compilation
WIDTHS = tuple(sorted({2**k for k in range(2, 12)} | {3 * 2**k for k in range(2, 10)}))
COMPILATION = 3_000_000  # what one costs, by the count of passes below: about a second
SHORT = 500_000  # a leg that costs less is over before a program is compiled beside it
EXAMPLE, NUMBER = 1.0, 0.00025  # of a pass: for an example, and for each of its numbers and lanes


def _enlarge(tree, shapes):
    """Arrays padded with zeros at the end of each axis to the shapes asked for."""

    def one(x, wanted):
        more = [(0, b - a) for a, b in zip(x.shape, wanted.shape, strict=True)]
        return jnp.pad(x, more) if any(b for _, b in more) else x

    return jax.tree.map(one, tree, shapes)


def _stack(lanes: list[Any]) -> Any:
    """Lanes one above the other; one that stopped before a capacity grew is padded with zeros."""
    widest = [max(sizes) for sizes in zip(*(np.shape(x) for x in lanes))]
    stacked = np.zeros((len(lanes), *widest), lanes[0].dtype)
    for k, x in enumerate(lanes):
        stacked[(k, *map(slice, np.shape(x)))] = x
    return stacked


def _leaves(state):
    return jax.tree_util.tree_leaves_with_path(state)


def _is_flag(path) -> bool:
    """Whether this leaf of a state is a field ``full``, of the method or of one inside it."""
    return bool(path) and getattr(path[-1], "name", None) == "full"


def next_record(r: int) -> int:
    """Passes until the next certificate: each of the first ones, then an eighth of the total."""
    return max(1, r // 8)


def _judge(certificate, level, stalled, settled, full, r, rtol, atol, max_passes) -> np.ndarray:
    """A Status for each lane. level: of rounding. stalled: records since the gap last improved."""
    primal, gap, floor = certificate.primal, certificate.gap, certificate.floor
    status = np.full(primal.shape, Status.RUNNING, dtype=object)
    status[r >= max_passes] = Status.MAX_PASSES
    status[full] = Status.CAPACITY
    status[settled] = Status.SETTLED
    # a gap that still falls is not at its end where the bound of its rounding says nothing
    near = (gap <= level) & ((stalled >= 1) | (level <= TELLING * np.abs(primal)))
    near |= (stalled >= STALLED) & (gap <= NEAR_FLOOR * level)
    status[near] = Status.PRECISION_FLOOR
    status[gap <= atol + rtol * np.abs(primal)] = Status.CONVERGED
    status[~(np.isfinite(primal) & np.isfinite(gap) & np.isfinite(floor))] = Status.DIVERGED
    return status


class Loop:
    """The host side of a solve: which lanes run, what they recorded, when they stop.

    Lanes that stop are stored, and when enough have left, the rest are packed into the next
    smaller width, so that a grid does not wait for its slowest member at full cost. At the end of a
    leg of a relay the lanes that are left go on with the next method, from their best points.
    """

    def __init__(self, problem, method, key, start, width: int = 0, after: int = 0):
        self.methods, ends = legs_of(method)
        self.ends = tuple(after + end for end in ends)
        self.leg, method = 0, self.methods[0]
        holding = getattr(method, "holding", None)
        if holding is not None and start is not None:
            method = holding(start)
        self.method, self.key, self.whole, self.grown = method, key, problem, 0
        self.runs = programs.runs_of(problem)
        self.batched = bool(jnp.ndim(problem.lam))
        self.count = self.active = problem.lam.shape[0] if self.batched else 1
        self.lanes = lanes.first_slots(problem, width)  # of each slot; some at the end repeat one
        self.width = len(self.lanes)
        self.mesh, self.problem = lanes.mesh_of(problem), lanes.placed(problem, self.lanes)
        if len(self.lanes) > self.count and start is not None and lanes.has_lanes(problem, start):
            start = programs.take(start, self.lanes)
        self.ahead = Ahead()
        if self.batched:
            self.ahead.begin(self.problem, method, 0, len(self.lanes), "passes")
            self.ahead.wait("points", 0, len(self.lanes))
        self.state, self.best, certificate = self.runs.begin(self.problem, method, start)
        self.r = self.begun = after
        self.chosen = np.zeros(0, int)  # rows in the arrangement there is, none at first
        self.owed = 0  # microseconds of passes since the last compilation
        self.narrower = self.next_width = 0  # lanes of programs that were ordered ahead, 0: none
        self.started = time.perf_counter()
        self.status = np.full(self.count, Status.RUNNING, dtype=object)
        self.passes = np.zeros(self.count, int)
        self.stored: list[lanes.Best | None] = [None] * self.count
        self.smallest = np.full(self.count, np.inf)
        self.stalled = np.zeros(self.count, int)
        self.settled = np.zeros(self.count, bool)
        self.full = np.zeros(self.count, bool)
        self.last_leg = np.zeros(self.count, int)  # on which each lane stopped
        self.before = {f: np.zeros(self.count) for f in Spent._fields}
        self.records: list[dict[str, np.ndarray]] = []
        self._record(certificate)
        if len(self.lanes) > self.count:
            self._retire()

    def _host(self, tree):
        """Lane-leading numpy arrays of the active slots."""
        lead = (lambda x: x) if self.batched else (lambda x: x[None])
        return jax.tree.map(lambda x: lead(x)[: self.active], fetch(tree))

    def _record(self, certificate) -> Certificate:
        now = self._host(certificate)
        ids = self.lanes[: self.active]
        row = {f: np.full(self.count, np.nan) for f in Certificate._fields}
        for field, values in now._asdict().items():
            row[field][ids] = values
        row["passes"] = np.full(self.count, float(self.r))
        row["seconds"] = np.full(self.count, time.perf_counter() - self.started)
        for field, values in self._spent().items():
            row[field] = np.full(self.count, np.nan)
            row[field][ids] = self.before[field][ids] + values
        if self.records and getattr(self.method, "settles", False):
            self.settled[ids] = (row["updates"] == self.records[-1]["updates"])[ids]
        self.records.append(row)
        improved = now.gap < self.smallest[ids]
        self.stalled[ids] = np.where(improved, 0, self.stalled[ids] + 1)
        self.smallest[ids] = np.fmin(now.gap, self.smallest[ids])
        return now

    def _spent(self) -> dict[str, Any]:
        """What this leg has cost so far."""
        if hasattr(self.method, "counted"):
            return self._host(self.method.counted(self.state))._asdict()
        per_pass = self.method.spent(lanes.one_lane(self.problem))._asdict()
        return {field: (self.r - self.begun) * each for field, each in per_pass.items()}

    def judge(self, rtol, atol, max_passes) -> None:
        """Stop the lanes that are done, and re-pack the others."""
        ids = self.lanes[: self.active]
        row = self.records[-1]
        now = Certificate(*(row[f][ids] for f in Certificate._fields))
        facts = (self._level(ids), self.stalled[ids], self.settled[ids], self.full[ids])
        status = _judge(now, *facts, self.r, rtol, atol, max_passes)
        self.stop(status)

    def stopped_above(self, rtol: float, atol: float) -> np.ndarray:
        """Lanes that converged, but not by a tolerance that is tighter now."""

        def above(best: Any) -> bool:
            primal, dual = float(best.primal_value), float(best.dual_value)
            return primal - dual > atol + rtol * abs(primal)

        done = np.flatnonzero(self.status == Status.CONVERGED).tolist()
        return np.array([k for k in done if above(self.stored[k])], int)

    def _level(self, ids) -> np.ndarray:
        """Of rounding: the lesser floor of now and of the record that the best dual value is from.
        A poor alpha has a large one, which says nothing of what is possible."""
        dual, floor = (np.array([row[f][ids] for row in self.records]) for f in ("dual", "floor"))
        at = np.nan_to_num(dual, nan=-np.inf).argmax(axis=0)
        return np.minimum(floor[-1], np.take_along_axis(floor, at[None], axis=0)[0])

    def stop(self, status: np.ndarray) -> None:
        """Store every active lane whose status is not RUNNING."""
        ids = self.lanes[: self.active]
        # a lane that is stored stays as it is, where Ctrl-C came before it had left
        done = np.flatnonzero((status != Status.RUNNING) & (self.status[ids] == Status.RUNNING))
        if done.size == 0:
            return
        best = self._host(self.best)
        for slot in done:
            lane = ids[slot]
            self.status[lane], self.passes[lane] = status[slot], self.r
            self.last_leg[lane] = self.leg
            self.stored[lane] = jax.tree.map(lambda x, k=slot: x[k], best)
        going = np.flatnonzero(status == Status.RUNNING)
        if going.size == 0:
            self.active = 0
            return
        self._pack(going)
        self._retire()

    def _pack(self, going: np.ndarray, width: int = 0) -> None:
        """The slots that go on, in a program of that width; 0: in the one whose time has come.

        A new width is a new program. As one rents until the rent has cost as much as buying, the
        lanes stay in a wider one until its passes have cost as much as a compilation, and half of
        them have left.
        """
        if not width:
            paid = self.owed >= COMPILATION and self._goes_on()
            width = (self.narrower or self._narrow(going.size)) if paid else 0
        self.owed = 0 if width else self.owed
        self.narrower = 0 if width else self.narrower
        width = width or len(self.lanes)
        # lanes still packed with finished ones simply run on; nothing reads the finished
        slots = np.concatenate([going, np.full(width - going.size, going[-1])])
        moved = self.runs.take((self.state, self.best), slots, self.mesh)
        # all at once: stopped in between, lanes would be taken for others
        self.lanes, self.active, (self.state, self.best) = self.lanes[slots], going.size, moved
        self.problem = lanes.placed(self.whole, self.lanes)

    def _goes_on(self) -> bool:
        """Whether what is left of this leg is worth a program."""
        return all((end - self.r) * self._cost() >= COMPILATION / 2 for end in self._end())

    def _narrowest(self, going: int) -> int:
        """The narrowest width for so many lanes."""
        least = max(going, getattr(getattr(self.whole, "rows", None), "fewest", 1))
        narrow = min((w for w in WIDTHS if w >= least), default=len(self.lanes))
        return min(lanes.padded_width(self.whole, narrow), len(self.lanes))

    def _narrow(self, going: int) -> int:
        """The same, or 0 where it is not half of what there is."""
        narrow = self._narrowest(going)
        return narrow if 2 * narrow <= len(self.lanes) else 0

    def look_ahead(self) -> None:
        """Have the program that will be next compiled beside the passes.

        A narrower one when half of what it costs has been spent on passes; that of the next leg
        half-way through this one, or at once and at full width where this one is short.
        """
        if not (self.batched and self.active):
            return
        if self.owed >= COMPILATION / 2 and not self.narrower and self._goes_on():
            self.narrower = self._narrow(self.active)
            if self.narrower:
                order = (self.problem, self.method, self.leg, self.narrower)
                self.ahead.begin(*order, "passes", *["points"] * (self.leg > 0))
        for end in () if self.next_width else self._end():
            passes, leg = self.r - self.begun, end - self.begun
            short = leg * self._cost() <= SHORT
            if short or 2 * passes >= leg:
                likely = self._narrowest(3 * self.active // 4)  # some more will have left
                self.next_width = len(self.lanes) if short else likely
                after = self.methods[self.leg + 1]
                order = (self.problem, after, self.leg + 1, self.next_width)
                self.ahead.begin(*order, "passes", "points")

    def _retire(self) -> None:
        """Slots that repeat a lane would cost as much as one, where lanes run one by one."""
        if hasattr(self.method, "retire") and self.batched:
            gone = np.arange(len(self.lanes)) >= self.active
            self.state = programs.retired(self.method, self.state, gone)

    def _cost(self) -> float:
        """Microseconds of a pass by a rough count: no clock decides what is computed."""
        rows, d = getattr(self.problem, "rows", None), getattr(self.problem, "d", self.problem.n)
        numbers = getattr(rows, "row_numbers", d)
        return self.problem.n * (EXAMPLE + NUMBER * numbers * len(self.lanes))

    def stretch(self, max_passes: int) -> int:
        """Passes until the next certificate, the end of a leg or that of the budget."""
        limits = [next_record(self.r - self.begun), max_passes - self.r]
        limits += [
            getattr(self.method, "certified_every", limits[0]),
            *(e - self.r for e in self._end()),
        ]
        if hasattr(self.method, "next_choice"):
            limits += [self.method.next_choice(self.r - self.begun) - (self.r - self.begun)]
        return min(limits)

    def _end(self) -> tuple[int, ...]:
        return self.ends[self.leg : self.leg + 1]

    def hand_over(self) -> None:
        """At the end of a leg: the next method, from the best points so far."""
        if self.active and self._end() == (self.r,):
            self.next_leg()

    def next_leg(self) -> None:
        self.leg += 1
        self.method, self.grown, self.begun = self.methods[self.leg], 0, self.r
        if self.records:
            self.before = {f: self.records[-1][f].copy() for f in Spent._fields}
        own = getattr(self.method, "prepare", None)
        if own is not None:
            self.whole = own(self.whole)
            self.problem = lanes.placed(self.whole, self.lanes)
        if self.batched:
            ordered, self.next_width = self.next_width, 0
            width = ordered if ordered >= self.active else self._narrowest(self.active)
            self._pack(np.arange(self.active), width)
        start = Point(self.best.w, self.best.dual)
        self.ahead.wait("points", self.leg, len(self.lanes))
        self.state = self.runs.resume(self.problem, self.method, start)
        self._retire()
        self.stalled[:], self.settled[:] = 0, False

    def arrange(self, chosen: np.ndarray | None = None) -> None:
        """The rows in another order, where a method asks for one by what its states know."""
        if not hasattr(self.method, "chosen") or not self.active:
            return
        if chosen is None:
            chosen = self.method.chosen(self.problem, self.state, self.r - self.begun)
        if chosen is not None:
            self.chosen = chosen
            self.whole = self.method.arranged(self.whole, chosen)
            self.problem = lanes.placed(self.whole, self.lanes)

    def advance(self, count: int) -> None:
        self.ahead.wait("passes", self.leg, len(self.lanes))
        self.state, self.best, certificate = self.runs.advance(
            self.problem, self.method, self.state, self.best, self.key, self.r, count
        )
        certificate = jax.block_until_ready(certificate)
        self.r += count
        self.owed += int(count * self._cost())
        self._record(certificate)
        if hasattr(self.method, "grown"):
            self._make_room()

    def _make_room(self) -> None:
        """Double a capacity that some lane has filled; at its limit the lane is called full."""
        flags = [self._host(x) for path, x in _leaves(self.state) if _is_flag(path)]
        full = np.any(flags, axis=0)
        if not np.any(full):
            return
        method = self.method.grown()
        if method is None:
            self.full[self.lanes[: self.active]] = full
            return
        self.grow_to(method)
        self.settled[:] = False  # an update may have waited for room
        clear = lambda path, x: jnp.zeros_like(x) if _is_flag(path) else x
        self.state = jax.tree_util.tree_map_with_path(clear, self.state)

    def grow_to(self, method) -> None:
        """Go on with a roomier method: what it has room for now is empty, that is, zero."""

        def shapes(problem):
            state = method.init(problem, None)
            return state, lanes.certify(problem, method, state)[0]

        state, point = jax.eval_shape(lanes.over_lanes(shapes, self.problem), self.problem)
        best = self.best._replace(dual=_enlarge(self.best.dual, point.dual))
        self.state, self.best, self.method = _enlarge(self.state, state), best, method
        self.grown += 1

    def _final_certificate(self, problem, best: lanes.Best) -> Certificate:
        """Recomputed from the best pairs alone."""
        slots = lanes.first_slots(problem, self.width)
        some = self.runs.take(best, slots, self.mesh) if len(slots) > self.count else best
        found = fetch(self.runs.finish(lanes.placed(problem, slots), some))
        own = (lambda x: x[: self.count]) if self.batched else (lambda x: x)
        return jax.tree.map(lambda x: jnp.asarray(own(x)), found)

    def _known_certificate(self, best: lanes.Best, rows: dict[str, np.ndarray]) -> Certificate:
        """Of the best pairs, from the records that each half of a pair was made in."""
        first = lambda x: np.nan_to_num(x, nan=-np.inf).argmax(axis=1)[:, None]
        at = np.hstack([first(-rows["primal"]), first(rows["dual"])])
        floor = np.take_along_axis(rows["floor"], at, axis=1).max(axis=1)
        primal, dual = best.primal_value, best.dual_value
        floor = (floor if self.batched else floor[0]).astype(primal.dtype)
        return Certificate(primal, dual, primal - dual, floor)

    def solution(self, problem, again: bool = True) -> Solution:
        """Everything stored, in the order of the lanes; the final certificates recomputed.

        again: False for a part of a solve, and where the data cannot be read any more; the values
        are those of the records.
        """
        stack = lambda *lanes: _stack(list(lanes)) if self.batched else lanes[0]
        best = jax.tree.map(stack, *self.stored)
        rows = {k: np.stack([row[k] for row in self.records], axis=1) for k in self.records[0]}
        stopped = rows["passes"] > self.passes[:, None]
        rows = {k: np.where(stopped, np.nan, v) for k, v in rows.items()}
        shape = (lambda x: x) if self.batched else (lambda x: x[0])
        if again:
            best = jax.device_put(best)
            certificate = self._final_certificate(problem, best)
        else:
            certificate = self._known_certificate(best, rows)
        names = [registry.joined(self.methods[: leg + 1]) for leg in self.last_leg]
        status = self.status.astype(str) if self.batched else Status(self.status[0])
        return Solution(
            w=best.w,
            dual=best.dual,
            certificate=certificate,
            status=status,
            method=np.array(names) if self.batched else names[0],
            passes=self.passes if self.batched else int(self.passes[0]),
            lam=problem.lam,
            trace=Trace(**{k: shape(v) for k, v in rows.items()}),
        )
