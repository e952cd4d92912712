"""Programs compiled before they are needed, in threads beside what runs.

What runs does not depend on it: the same programs would be compiled where they are first called.
Nothing is executed here, since two programs at once can wait for each other's threads.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from jaxopt_svm.core import lanes, programs
from jaxopt_svm.core.protocols import Certificate, Point

__all__ = ["Ahead"]

_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="jaxopt_svm compiles")
_known: dict[
    Any, Future
] = {}  # programs of this process, by kind: a second order would do it again


class Ahead:
    """The programs of the legs of a solve at some widths, being compiled or ready."""

    def __init__(self):
        self.jobs: dict[tuple[str, int, int], Future] = {}

    def begin(self, problem: Any, method: Any, leg: int, width: int, *kinds: str) -> None:
        """Order programs: "passes", the "points" of a later leg, and what rounds ask for.

        For one device, and for methods that want nothing made of the problem any more.
        """
        made = leg == 0 or not hasattr(method, "prepare")
        if not made or lanes.mesh_of(problem) is not None or hasattr(problem, "runs"):
            return
        problem = lanes.of_width(problem, width)
        for kind in kinds:
            name = _name(kind, problem, method)
            if name not in _known:
                _known[name] = _threads.submit(_in_precision, name[0], kind, problem, method)
        for kind in KINDS:  # also what was ordered before: a part of a solve is a later leg of it
            name = _name(kind, problem, method)
            if name in _known:
                self.jobs[kind, leg, width] = _known[name]

    def wait(self, kind: str, leg: int, width: int) -> None:
        """Until a program is there: to call it before would be to compile it twice."""
        job = self.jobs.get((kind, leg, width))
        if job is not None:
            job.exception()  # if it failed, the call that needs it says how


def _in_precision(x64: bool, kind: str, problem: Any, method: Any) -> None:
    """A thread has a precision of its own; a program of another one would serve nobody."""
    with jax.enable_x64(x64):
        KINDS[kind](problem, method)


def _name(kind: str, problem: Any, method: Any) -> Any:
    leaves, structure = jax.tree.flatten((problem, method))
    return jax.config.read("jax_enable_x64"), kind, structure, tuple(map(_shape, leaves))


def _shape(leaf: Any) -> tuple[Any, ...]:
    return np.shape(leaf), str(getattr(leaf, "dtype", type(leaf).__name__))


def _passes(problem: Any, method: Any) -> None:
    state = programs.shapes(problem, method).state
    programs.lowered_passes(problem, method, state).compile()


def _points(problem: Any, method: Any) -> None:
    """What certifies points and starts from them."""
    state, _, best = programs.shapes(problem, method)
    programs.lowered_certificate(problem, method, state, best).compile()
    programs.begun_by(problem, method, Point(best.w, best.dual)).compile()


def _terms(problem: Any, method: Any) -> None:
    _, _, best = programs.shapes(problem, method)
    value = Certificate(*[best.primal_value] * 4)
    programs.terms.lower(problem, Point(best.w, best.dual), value).compile()


def _between(problem: Any, method: Any) -> None:
    _, _, best = programs.shapes(problem, method)
    programs.between.lower(problem, *[Point(best.w, best.dual)] * 2).compile()


KINDS: dict[str, Callable] = {
    "passes": _passes,
    "points": _points,
    "terms": _terms,
    "between": _between,
}
