"""A dual point as labels with masses in a fixed number of slots an example, and room for more.

Memory a lane: n x capacity x (T label bytes + 4 or 8); OCR (n = 5,512, T = 14, int8, float32) with
64 slots takes 6.3 MB, where n vectors w_i would take 88. A slot of mass 0 is free. A label that
finds no slot is not lost: the example is left as it is, ``full`` is raised, and the host doubles
the capacity before it goes on.
"""

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.methods.refusals import needs_structured
from jaxopt_svm.problems.structured.mixture import Mixture
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["CAPACITY", "LabelCache", "LabelState", "as_mixture", "equal_labels", "find_slot"]

CAPACITY = 16
MOST = 4096  # slots an example; beyond that a lane stops with status "capacity"


class LabelState(NamedTuple):
    """w: (d,). labels, masses: the dual point. gaps: (n,) G_i when last visited, or ().

    visits, calls, updates: counts of examples looked at, decoded, and moved. full: a label found
    no slot. extra: what one method needs beyond this.
    """

    w: Array
    labels: Array
    masses: Array
    gaps: Any
    visits: Array
    calls: Array
    updates: Array
    full: Array
    extra: Any = ()


def equal_labels(labels, label) -> Array:
    """(S,) which of the labels (S, ...) is this one."""
    return jnp.all((labels == label[None]).reshape(labels.shape[0], -1), axis=1)


def find_slot(labels, masses, taken, label) -> tuple[Array, Array]:
    """(slot, whether there is one): where the label is, else a free slot."""
    there = equal_labels(labels, label)
    free = (masses == 0) & jnp.logical_not(taken)
    where = jnp.where(jnp.any(there), jnp.argmax(there), jnp.argmax(free))
    return where, jnp.any(there) | jnp.any(free)


class LabelCache:
    """What methods with a cache of labels share; they have a static field ``capacity``."""

    capacity: int

    def check(self, problem) -> None:
        needs_structured(self, problem)
        if self.capacity < 2:
            raise ValueError(
                f"capacity: expected at least 2 labels an example; got {self.capacity}"
            )

    def grown(self):
        bigger = 2 * self.capacity
        return None if bigger > MOST else dataclasses.replace(self, capacity=bigger)  # pyright: ignore

    def holding(self, start: Point):
        slots = start.dual.masses.shape[-1] if isinstance(start.dual, Mixture) else 1
        return dataclasses.replace(self, capacity=max(self.capacity, slots))  # pyright: ignore

    def gaps(self, problem) -> Any:
        """(n,) the first guess of G_i for methods that keep it, or ()."""
        del problem
        return ()

    def extra(self, problem, dual: Mixture) -> Any:
        """What one method carries beyond the cache."""
        del problem, dual
        return ()

    def init(self, problem: Structured, start: Point | None = None) -> LabelState:
        dual = as_mixture(problem, start)
        more = self.capacity - dual.masses.shape[1]
        if more < 0:
            raise ValueError(f"start: has {dual.masses.shape[1]} labels an example; raise capacity")
        wide = lambda a: jnp.pad(a, [(0, 0), (0, more)] + [(0, 0)] * (a.ndim - 2))
        dual = Mixture(wide(dual.labels.astype(problem.y.dtype)), wide(dual.masses))
        none = jnp.zeros((), jnp.int32)
        return LabelState(
            w=problem.origin().w if start is None else problem.rebuild(dual) / problem.lam,
            labels=dual.labels,
            masses=dual.masses,
            gaps=self.gaps(problem),
            visits=none,
            calls=none,
            updates=none,
            full=jnp.zeros((), bool),
            extra=self.extra(problem, dual),
        )

    def point(self, problem, state: LabelState) -> Point:
        return Point(state.w, Mixture(state.labels, state.masses))

    def counted(self, state: LabelState) -> Spent:
        n, dtype = state.masses.shape[-2], state.masses.dtype
        calls, updates = state.calls.astype(dtype), state.updates.astype(dtype)
        return Spent(work=state.visits.astype(dtype) / n, oracle_calls=calls, updates=updates)

    def bound(self, problem, t):
        del problem, t


def as_mixture(problem: Structured, start: Point | None) -> Mixture:
    """The dual point to start from, as labels and masses."""
    dual = problem.complete(problem.origin() if start is None else start).dual
    if isinstance(dual, Mixture):
        return dual
    raise ValueError(
        "start: expected a dual point of labels and masses (Mixture), or none; "
        f"got {type(dual).__name__}"
    )
