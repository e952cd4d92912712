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
_known: dict[Any, Future] = {}  # programs of this process; a second order would compile again


class Ahead:
    """The programs of the legs of a solve at some widths, being compiled or ready."""

    def __init__(self):
        self.passes: dict[tuple[int, int], Future] = {}
        self.points: dict[tuple[int, int], Future] = {}

    def begin(self, problem: Any, method: Any, leg: int, width: int) -> None:
        """For one device, and for methods that want nothing made of the problem any more.

        The first points of all are certified before the first pass; those of later legs too.
        """
        made = leg == 0 or not hasattr(method, "prepare")
        if not made or lanes.mesh_of(problem) is not None or hasattr(problem, "runs"):
            return
        problem, at = lanes.of_width(problem, width), (leg, width)
        self.passes[at] = _ordered(_compile_passes, problem, method)
        if leg > 0:
            self.points[at] = _ordered(_compile_points, problem, method)
        else:  # a part of a solve, whose programs were ordered as those of a later leg
            known = _known.get(_name(_compile_points, problem, method))
            if known is not None:
                self.points[at] = known

    def wait(self, leg: int, width: int) -> None:
        """Until the passes are there: to call them before would be to compile them twice."""
        _wait(self.passes.get((leg, width)))

    def wait_for_points(self, leg: int, width: int) -> None:
        """Until what starts and certifies points is there."""
        _wait(self.points.get((leg, width)))


def _wait(job: Future | None) -> None:
    if job is not None:
        job.exception()  # if it failed, the call that needs it says how


def _name(compile: Callable, problem: Any, method: Any) -> Any:
    leaves, structure = jax.tree.flatten((problem, method))
    return compile.__name__, structure, tuple(map(_shape, leaves))


def _ordered(compile: Callable, problem: Any, method: Any) -> Future:
    name = _name(compile, problem, method)
    if name not in _known:
        _known[name] = _threads.submit(compile, problem, method)
    return _known[name]


def _shape(leaf: Any) -> tuple[Any, ...]:
    return np.shape(leaf), str(getattr(leaf, "dtype", type(leaf).__name__))


def _compile_passes(problem: Any, method: Any) -> None:
    programs.lowered_passes(problem, method, programs.shapes(problem, method).state).compile()


def _compile_points(problem: Any, method: Any) -> None:
    state, _, best = programs.shapes(problem, method)
    point, value = Point(best.w, best.dual), best.primal_value
    programs.lowered_certificate(problem, method, state, best).compile()
    programs.begun_by(problem, method, point).compile()
    if hasattr(problem, "between"):
        programs.between.lower(problem, point, point).compile()
        programs.terms.lower(problem, point, Certificate(value, value, value, value)).compile()
