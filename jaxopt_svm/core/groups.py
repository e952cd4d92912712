"""Several solves as one Solution, and how many lanes to solve at once."""

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core import lanes
from jaxopt_svm.core.relay import legs_of
from jaxopt_svm.core.solution import Solution, Trace, Unreadable

__all__ = ["in_order", "keeping", "lanes_within"]

TEMPORARIES = 12  # arrays with an entry an example that a step or a certificate makes beside them


def lanes_within(problem: Any, method: Any, memory: float) -> int:
    """How many lanes fit into so many bytes: their states, best points and temporaries."""
    if not memory > 0:
        raise ValueError(f"memory: expected a positive number of bytes; got {memory}")
    if hasattr(problem, "lane_bytes"):
        return max(1, int(memory // problem.lane_bytes()))
    legs, _ = legs_of(method)
    shapes = [jax.eval_shape(lanes.begin, problem, leg, None)[:2] for leg in legs]
    size = lambda tree: sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree))
    example = TEMPORARIES * problem.n * problem.c.dtype.itemsize
    return max(1, int(memory // (max(map(size, shapes)) + example)))


def in_order(groups: list[Solution], order: np.ndarray) -> Solution:
    """Groups of lanes, or single ones, as one Solution in the order of the user's grid."""
    groups = [g if np.ndim(g.lam) else _batch_of_one(g) for g in groups]
    back = np.argsort(order[: sum(len(g.status) for g in groups)], kind="stable")
    join = lambda *xs: jnp.concatenate([jnp.asarray(x) for x in xs])[back]
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
    lead = lambda x: jnp.asarray(x)[None]
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
