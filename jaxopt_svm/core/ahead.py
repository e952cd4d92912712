"""Programs compiled before they are needed, in a thread beside the passes that run.

What runs does not depend on it: the same programs would be compiled where they are first called.
Nothing is executed here, since two programs at once can wait for each other's threads.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from jaxopt_svm.core import lanes
from jaxopt_svm.core.protocols import Point

__all__ = ["Ahead"]

_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="jaxopt_svm compiles")
_known: dict[Any, Future] = {}  # programs of this process; a second order would compile again


class Ahead:
    """The programs of the legs of a solve at some widths, being compiled or ready."""

    def __init__(self):
        self.begun: dict[tuple[int, int], Future] = {}

    def begin(self, problem: Any, method: Any, leg: int, width: int) -> None:
        """For one device, and for methods that want nothing made of the problem any more."""
        made = leg == 0 or not hasattr(method, "prepare")
        if not made or lanes.mesh_of(problem) is not None or hasattr(problem, "runs"):
            return
        problem = lanes.of_width(problem, width)
        leaves, structure = jax.tree.flatten((problem, method))
        name = (structure, tuple(map(_shape, leaves)), leg > 0)
        if name not in _known:
            _known[name] = _threads.submit(_compile, problem, method, leg > 0)
        self.begun[leg, width] = _known[name]

    def wait(self, leg: int, width: int) -> None:
        """Until the program is there: to call it before would be to compile it twice."""
        job = self.begun.get((leg, width))
        if job is not None:
            job.exception()  # if it failed, the call that needs it says how


def _shape(leaf: Any) -> tuple[Any, ...]:
    return np.shape(leaf), str(getattr(leaf, "dtype", type(leaf).__name__))


def _compile(problem: Any, method: Any, later: bool) -> None:
    state, _, best = lanes.shapes(problem, method)
    passes, certificate = lanes.lowered(problem, method, state, best)
    passes.compile()
    if later:  # the first points of all are certified before the first pass
        certificate.compile()
        lanes.begun_by(problem, method, Point(best.w, best.dual)).compile()
