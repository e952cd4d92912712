r"""A short list: SDCA on sparse rows in tiles, where those that can move are visited more often.

A row stays where it is as long as its margin keeps to its side of 1 (wrappers/shrinking.py), and
for a small lam most rows do. Tiles are made on the host, so the rows of a pass cannot be picked
inside a program; here the host makes tiles of the rows whose slack is small for some lane, and puts
them where room was left for them (problems/tiles.py). No shape changes, so nothing is compiled.

    a pass      ``rounds`` times the tiles of the list, then every tile once
    the list    after passes 4, 8, 16, ...: it takes the time of some passes to make

Nothing is assumed of the other rows, and what SDCA promises for its passes still holds. If more
rows are near the margin than there is room for, passes stay as they were.

The primal point is the best multiple of w(alpha), which the problem finds (``ERM.assessed``): alpha
is good long before the length of w(alpha) is. Joachims 1999; Hsieh et al. 2008 (shrinking).
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core import registry
from jaxopt_svm.core.lanes import over_lanes
from jaxopt_svm.core.lanes_behind import walk
from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.shuffle import shuffle
from jaxopt_svm.methods.dual.sdca import SDCA
from jaxopt_svm.methods.refusals import needs_erm, needs_hinge, needs_l2
from jaxopt_svm.problems.tiles import Listed, Tiles, listed, with_list
from jaxopt_svm.wrappers.shrinking import slack

__all__ = ["Shortlist"]


class State(NamedTuple):
    """The state of the method, and how many passes over all rows its visits come to."""

    inner: Any
    work: Array
    updates: Array


@jax.jit
def _distance(problem, method, state) -> Array:
    """(n,) the least slack of a row over all lanes."""
    one = lambda problem, method, state: slack(problem, *method.method.point(problem, state.inner))
    found = over_lanes(one, problem, None, 0)(problem, method, state)
    return found.reshape(-1, problem.n).min(axis=0)


def _kept(x: Array, keep: Array) -> Array:
    """The kept ones at the front, in their order. A sort would take long to compile."""
    place = jnp.where(keep, jnp.cumsum(keep) - 1, x.size)
    return jnp.zeros_like(x).at[place].set(x, mode="drop")


@pytree
class Shortlist:
    """The hinge on sparse rows of like lengths, lam down to the smallest.

    rounds: visits to the list before every row is visited once.
    near: rows whose margin changes sides when w moves so far are on the list.
    first: the pass after which there is one.
    """

    method: Any = SDCA(Tiles())
    rounds: int = static(default=16)
    near: float = static(default=0.05)
    first: int = static(default=4)

    bound_on = "gap"
    kernels = "small"

    @property
    def name(self) -> str:
        return f"shortlisted_{registry.name_of(self.method)}"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_hinge(self, problem)
        needs_l2(self, problem)
        if not isinstance(getattr(self.method, "sampling", None), Tiles):
            name = registry.name_of(self.method)
            raise ValueError(
                f"Shortlist wraps a method that visits tiles, SDCA(Tiles()); got {name}"
            )
        self.method.check(problem)
        for name, value in (("rounds", self.rounds), ("first", self.first)):
            if value < 1:
                raise ValueError(f"Shortlist.{name}: expected at least 1; got {value}")
        if not self.near > 0:
            raise ValueError(f"Shortlist.near: expected a distance > 0; got {self.near}")

    def prepare(self, problem) -> Any:
        if isinstance(problem.rows, Listed):
            return problem
        tiled = self.method.prepare(problem)
        return dataclasses.replace(tiled, rows=with_list(tiled.rows))

    def init(self, problem, start: Point | None = None) -> State:
        zero = jnp.zeros_like(problem.lam)
        return State(self.method.init(problem, start), zero, zero)

    def _steps(self, rows: Listed) -> Array:
        return self.rounds * rows.count + rows.index.shape[0]

    def draw(self, problem, key: Array) -> Sample:
        """One random order of all tiles: the list in its order ``rounds`` times, then the others in
        theirs, then padding."""
        rows, k, room = problem.rows, problem.rows.index.shape[0], problem.rows.list_index.shape[0]
        order = shuffle(key, k + room)
        whole = _kept(order, order < k)[:k]
        few = _kept(order, (order >= k) & (order < k + rows.count))[:room]
        s = jnp.arange(self.rounds * room + k, dtype=jnp.int32)
        after = s - self.rounds * rows.count
        tile = jnp.where(after < 0, few[s % jnp.maximum(rows.count, 1)], whole[after])
        index = jnp.concatenate([rows.index, rows.list_index])[tile]
        return Sample(index, (after < k)[:, None] & (index < problem.n))

    def step(self, problem, state: State, sample: Sample) -> State:
        visits = jnp.sum(jnp.asarray(sample.mask)).astype(state.work.dtype)
        inner = self.method.step(problem, state.inner, sample)
        return State(inner, state.work + visits / problem.n, state.updates + visits)

    def walk_pass(self, problem, state: State, drawn: Sample) -> State:
        inner = walk(self.method, problem, state.inner, drawn, self._steps(problem.rows))
        visits = jnp.sum(jnp.asarray(drawn.mask)).astype(state.work.dtype)
        return State(inner, state.work + visits / problem.n, state.updates + visits)

    def next_choice(self, r: int) -> int:
        """``first`` times a power of two."""
        return self.first * 2 ** (r // self.first).bit_length()

    def chosen(self, problem, state: State, r: int) -> np.ndarray | None:
        """After pass r: the rows of a new list, nearest first; None: as it is."""
        if not r or self.next_choice(r - 1) != r:
            return None
        distance = np.asarray(_distance(problem, self, state))
        near = np.flatnonzero(distance <= self.near)
        fits = 0 < near.size <= problem.rows.list_index.size
        return near[np.argsort(distance[near], kind="stable")] if fits else None

    def arranged(self, problem, rows: np.ndarray) -> Any:
        return dataclasses.replace(problem, rows=listed(problem.rows, rows))

    def point(self, problem, state: State) -> Point:
        return Point(None, self.method.point(problem, state.inner).dual)

    def counted(self, state: State) -> Spent:
        return Spent(state.work, jnp.zeros_like(state.work), state.updates)

    def spent(self, problem) -> Spent:
        return Spent(work=1.0, oracle_calls=0.0, updates=float(problem.n))

    def bound(self, problem, t) -> None:
        del problem, t
