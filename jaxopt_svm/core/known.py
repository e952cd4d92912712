"""What is known of every lane of a batch while parts of it are solved one after the other."""

from typing import Any

import jax
import numpy as np

from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.core.solution import Solution, Status, Trace

__all__ = ["Known"]

ADD_UP = ("work", "oracle_calls", "updates", "seconds")  # in a trace, over the parts of a solve


def _own(x: Any) -> np.ndarray:
    """x to be written to; what nobody else has is not copied."""
    own = isinstance(x, np.ndarray) and x.flags.owndata and x.flags.writeable
    return x if own else np.array(x)


def _roomy(x: np.ndarray, room: tuple[int, ...]) -> np.ndarray:
    """x with zeros where a capacity has grown since."""
    more = [(0, 0), *((0, b - a) for a, b in zip(x.shape[1:], room))]
    return np.pad(x, more) if any(b for _, b in more) else x


class Known:
    """On the host: best points, certificates, why each lane stopped, and its trace so far."""

    def __init__(self, opening: Solution):
        self.w, self.dual = jax.tree.map(_own, (opening.w, opening.dual))
        self.certificate = Certificate(*map(np.array, opening.certificate))
        self.status = np.array(opening.status, object)
        self.method = np.array(opening.method, object)
        self.passes, self.lam = np.array(opening.passes), opening.lam
        rows = {f: np.asarray(x) for f, x in opening.trace._asdict().items()}
        self.rows = [{f: x[k] for f, x in rows.items()} for k in range(len(self.status))]

    def points(self, lanes: np.ndarray) -> Point:
        some = lambda tree: jax.tree.map(lambda x: x[lanes], tree)
        return Point(some(self.w), some(self.dual))

    def of(self, lanes: np.ndarray) -> Certificate:
        return Certificate(*(x[lanes] for x in self.certificate))

    def add(
        self, lanes: np.ndarray, then: Solution, rtol: float, atol: float, between: bool = False
    ) -> None:
        """Lanes that went on: the better points of both, what both spent, one trace.

        between: they began between their neighbours; some took no pass of their own.
        """
        old, now = self.of(lanes), Certificate(*map(np.asarray, then.certificate))
        # a comparison with nan is False: a broken point is never the better one
        lower, higher = now.primal <= old.primal, now.dual >= old.dual

        def put(tree, new, better):
            def one(x, y):
                room = tuple(map(max, x.shape[1:], np.shape(y)[1:]))
                x, y = _roomy(x, room), _roomy(np.asarray(y), room)
                x[lanes[better]] = y[better]
                return x

            return jax.tree.map(one, tree, new)

        self.w, self.dual = put(self.w, then.w, lower), put(self.dual, then.dual, higher)
        primal = np.where(lower, now.primal, old.primal)
        dual = np.where(higher, now.dual, old.dual)
        merged = Certificate(primal, dual, primal - dual, np.fmax(now.floor, old.floor))
        for x, y in zip(self.certificate, merged):
            x[lanes] = y
        status = np.array(then.status, object)
        status[merged.gap <= atol + rtol * np.abs(primal)] = Status.CONVERGED
        for lane, name, passes in zip(lanes, then.method, then.passes):
            moved = [str(name)] if passes > self.passes[lane] else []
            names = [str(self.method[lane]), *["between"] * between, *moved]
            self.method[lane] = " > ".join(dict.fromkeys(names))
        self.status[lanes], self.passes[lanes] = status, then.passes
        for k, lane in enumerate(lanes):
            self._continue(lane, {f: np.asarray(x)[k] for f, x in then.trace._asdict().items()})

    def _continue(self, lane: int, rows: dict[str, np.ndarray]) -> None:
        before = {f: x[~np.isnan(self.rows[lane]["gap"])] for f, x in self.rows[lane].items()}
        after = {f: x[~np.isnan(rows["gap"])] for f, x in rows.items()}
        for field in ADD_UP:
            after[field] = after[field] + before[field][-1]
        joined = {f: np.concatenate([before[f], after[f]]) for f in before}
        joined["dual"] = np.maximum.accumulate(joined["dual"])
        joined["gap"] = joined["primal"] - joined["dual"]
        self.rows[lane] = joined

    def solution(self) -> Solution:
        """All of it. Traces are padded with nan to the longest."""
        longest = max(len(rows["gap"]) for rows in self.rows)
        pad = lambda x: np.pad(x, (0, longest - len(x)), constant_values=np.nan)
        column = lambda f: np.stack([pad(rows[f]) for rows in self.rows])
        return Solution(
            w=jax.device_put(self.w),
            dual=jax.device_put(self.dual),
            certificate=jax.device_put(self.certificate),
            status=self.status.astype(str),
            method=self.method.astype(str),
            passes=self.passes,
            lam=self.lam,
            trace=Trace(**{f: column(f) for f in Trace._fields}),
        )
