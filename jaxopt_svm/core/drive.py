"""The loop behind every host driver: passes until all lanes have stopped, with a way out."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from jaxopt_svm.core import checkpoint as checkpoints
from jaxopt_svm.core import lanes
from jaxopt_svm.core.known import Known
from jaxopt_svm.core.loop import Loop
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.solution import Solution, Status, Unreadable

__all__ = ["Limits", "Stopped", "drive"]


class Limits(NamedTuple):
    """When a solve stops, and its randomness."""

    rtol: float
    atol: float
    max_passes: int
    key: Array | None


class Stopped(KeyboardInterrupt):
    """Ctrl-C in a part of a solve, with what that part has found."""

    def __init__(self, solution: Solution):
        super().__init__()
        self.solution = solution


class _Progress:
    """A tqdm bar over passes, or nothing; that of a part goes when the part is done."""

    def __init__(self, show: bool, max_passes: int, part: bool):
        self.bar = None
        if show:
            try:
                from tqdm import tqdm
            except ImportError:
                raise ImportError(
                    'progress=True needs tqdm: pip install "jaxopt_svm[cli]"'
                ) from None
            self.bar = tqdm(total=max_passes, unit="pass", leave=not part)

    def update(self, loop: Loop) -> None:
        if self.bar is not None:
            row = loop.records[-1]
            relative = np.nanmax(row["gap"] / np.abs(row["primal"]))
            self.bar.set_postfix_str(f"lanes {loop.active}, largest relative gap {relative:.1e}")
            self.bar.update(loop.r - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def drive(
    problem: Any,
    method: Any,
    rtol: float,
    atol: float,
    max_passes: int,
    key: Array | None,
    start: Point | Solution | None,
    progress: bool,
    checkpoint: Any,
    *,
    part: bool = False,
    width: int = 0,
    after: int = 0,
) -> Solution:
    """Solve one problem or a batch, whose lam has a leading axis.

    part: of a larger solve; Ctrl-C is then raised again, with what there is. width: lanes of its
    programs, if more than the batch has. after: passes that the lanes have behind them; they count.
    """
    key = jax.random.key(0) if key is None else key
    start = getattr(start, "point", start)
    others = {"moving": part, "varying": after > 0}
    store = checkpoints.Store(checkpoint, problem, method, key, start, **others)
    loop = Loop(problem, method, key, start, width, after)
    store.resume(loop)
    above = loop.stopped_above(rtol, atol)  # in a file of a looser tolerance
    bar = _Progress(progress, max_passes, part)
    stop = lambda: loop.stop(np.full(loop.active, Status.INTERRUPTED, dtype=object))
    try:
        loop.judge(rtol, atol, max_passes)
        while loop.active:
            loop.hand_over()  # first of all: a loop that is resumed may have stopped right here
            loop.arrange()
            loop.look_ahead()
            loop.advance(loop.stretch(max_passes))
            store.write(loop)
            bar.update(loop)
            loop.judge(rtol, atol, max_passes)
        found = loop.solution(problem, again=not part)
    except KeyboardInterrupt:
        stop()
        if part:
            raise Stopped(loop.solution(problem, again=False)) from None
        return loop.solution(problem)
    except Unreadable as error:
        stop()
        raise error.after(loop.solution(problem, again=False), store.path) from None
    finally:
        bar.close()
    if above.size == 0:
        return found
    limits, file = Limits(rtol, atol, max_passes, key), checkpoint and f"{checkpoint}.on"
    return _tightened(problem, method, above, found, limits, progress, file, part)


def _tightened(
    problem, method, above, found: Solution, limits: Limits, progress, file: str | None, part: bool
) -> Solution:
    """Lanes that had stopped at a looser tolerance: on from their points, with a file of theirs."""
    if not np.ndim(found.lam):
        more = {"part": part, "after": int(found.passes)}
        return drive(problem, method, *limits, found.point, progress, file, **more)
    known, stopped = Known(found), None
    begin, passes = known.points(above), int(known.passes[above].max())
    some, more = lanes.take_lanes(problem, above), {"part": True, "after": passes}
    try:
        then = drive(some, method, *limits, begin, progress, file, **more)
    except Stopped as pressed:
        then, stopped = pressed.solution, pressed
    except Unreadable as error:
        if error.solution is not None:
            known.add(above, error.solution, *limits[:2])
        raise Unreadable(str(error), known.solution()) from None
    known.add(above, then, *limits[:2])
    if part and stopped is not None:
        raise Stopped(known.solution())
    return known.solution()
