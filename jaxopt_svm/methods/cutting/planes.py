r"""Cutting planes as labels with masses: what BMRM and OCA share.

    R(w) = sum_i c_i max_y H_i(y; w) >= b_j - <u_j, w>,     with equality where plane j was made
    u_j = sum_i c_i [psi(x_i, y_i) - psi(x_i, y_ij)],   b_j = sum_i c_i l(y_i, y_ij)

A plane is one label for each of the n examples; any such labelling is a plane below R. The model
max_j [b_j - <u_j, w>] + lam/2 ||w||^2 has the dual

    maximise over the simplex  <b, x> - (1/(2 lam)) ||U'x||^2,    w = (1/lam) U'x,  rows of U u_j

whose value at any x is D of the dual point "mass x_j on label y_ij, for every i": a Mixture with a
slot for each plane, which the problem checks like any other. So lower bounds hold however roughly
the inner problem is solved.

Memory a lane: planes x (n T label bytes + d numbers). OCR (n = 5,512, T = 14, int8, d = 4,004,
float32) with 64 planes: 4.9 MB of labels, 1.0 MB of u_j; the masses, the same for every example,
are 64 numbers, and 1.4 MB when written out for a certificate. Planes without mass for ``patience``
rounds give up their place; if none is free the host doubles the capacity.
"""

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.methods.refusals import needs_structured
from jaxopt_svm.oracles.simplex_qp import solve_simplex
from jaxopt_svm.problems.structured.mixture import Mixture
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["CAPACITY", "INNER", "PATIENCE", "Cut", "CuttingPlanes", "PlaneState"]

CAPACITY = 32
MOST = 4096  # planes; beyond that a lane stops with status "capacity"
PATIENCE = 20
INNER = 2000  # pairs moved a round at most


class PlaneState(NamedTuple):
    """w: (d,) where the next plane is made. labels: (n, planes, ...). u: (planes, d). b, x:
    (planes,). gram: (planes, planes) <u_j, u_k>. known: which places hold a plane. idle: rounds
    without mass. best_w, best: the lowest P so far and where. best_u: the plane there.
    lower: D. rounds, calls: counts. full: a plane found no place.
    """

    w: Array
    labels: Array
    u: Array
    b: Array
    x: Array
    gram: Array
    known: Array
    idle: Array
    best_w: Array
    best: Array
    best_u: Array
    lower: Array
    rounds: Array
    calls: Array
    full: Array


class Cut(NamedTuple):
    """P at a point, and the plane that touches it there."""

    P: Array
    u: Array
    b: Array
    labels: Array


class CuttingPlanes:
    """Fields: share, patience, inner, capacity. A pass is one round."""

    share: Any
    patience: int
    inner: int
    capacity: int

    bound_on = "gap"

    def check(self, problem) -> None:
        needs_structured(self, problem)
        if self.capacity < 2:
            raise ValueError(f"capacity: expected at least 2 planes; got {self.capacity}")
        if self.patience < 1 or self.inner < 1:
            raise ValueError(
                f"patience and inner: expected at least 1; got {self.patience}, {self.inner}"
            )
        if not 0 <= self.share < 1:
            raise ValueError(f"share: expected a number from 0 to below 1; got {self.share}")

    def evaluations(self) -> int:
        """Planes made a round."""
        return 1

    def grown(self):
        bigger = 2 * self.capacity
        return None if bigger > MOST else dataclasses.replace(self, capacity=bigger)  # pyright: ignore

    def holding(self, start: Point):
        slots = start.dual.masses.shape[-1] if isinstance(start.dual, Mixture) else 1
        wanted = slots + self.evaluations()
        return dataclasses.replace(self, capacity=max(self.capacity, wanted))  # pyright: ignore

    def init(self, problem: Structured, start: Point | None = None) -> PlaneState:
        """The slots of a start are planes, whoever made them; x is their mean mass. One more plane
        at w, and the model's minimiser is where the first round begins."""
        given = problem.origin() if start is None else start
        dual = problem.complete(given).dual
        if not isinstance(dual, Mixture):
            raise ValueError("start: expected a dual point of labels and masses (Mixture), or none")
        count = dual.masses.shape[1]
        more = self.capacity - count
        if more < 0:
            raise ValueError(f"start: has {count} planes; raise capacity")
        one = lambda labels: _plane(problem, labels)
        u, b = lax.map(one, jnp.moveaxis(dual.labels, 1, 0))
        x = problem.c @ dual.masses
        wide = lambda a, axes: jnp.pad(a, [(0, more if k in axes else 0) for k in range(a.ndim)])
        none, w = jnp.zeros((), jnp.int32), jnp.asarray(given.w)
        state = PlaneState(
            w=w,
            labels=wide(dual.labels.astype(problem.y.dtype), (1,)),
            u=wide(u, (0,)),
            b=wide(b, (0,)),
            x=wide(x, (0,)),
            gram=wide(u @ u.T, (0, 1)),
            known=wide(jnp.ones(count, bool), (0,)),
            idle=jnp.zeros(self.capacity, jnp.int32),
            best_w=w,
            best=jnp.full_like(problem.lam, jnp.inf),
            best_u=jnp.zeros_like(w),
            lower=b @ x - (x @ (u @ u.T) @ x) / (2 * problem.lam),
            rounds=none,
            calls=none,
            full=jnp.zeros((), bool),
        )
        state = self.insert(problem, state, w, self.cut(problem, w))
        state, w = self.improve(problem, state)
        return state._replace(w=w, rounds=none)

    def draw(self, problem, key: Array) -> Array:
        """Nothing is random: one round a pass."""
        del problem, key
        return jnp.zeros(1, jnp.int32)

    def cut(self, problem: Structured, w) -> Cut:
        """n decodings."""
        value, label = problem.oracles(w)
        P = problem.lam / 2 * (w @ w) + problem.c @ value
        return Cut(P, *_plane(problem, label), label)

    def insert(self, problem: Structured, state: PlaneState, w, cut: Cut) -> PlaneState:
        """Keep a plane, and the point it was made at if it is the best."""
        free = ~state.known
        room = jnp.any(free)
        at = jnp.argmax(free)
        put = lambda table, value: table.at[at].set(jnp.where(room, value, table[at]))
        u = put(state.u, cut.u)
        products = jnp.where(room, u @ cut.u, state.gram[at])
        better = cut.P < state.best
        return state._replace(
            labels=state.labels.at[:, at].set(jnp.where(room, cut.labels, state.labels[:, at])),
            u=u,
            b=put(state.b, cut.b),
            gram=state.gram.at[at].set(products).at[:, at].set(products),
            known=state.known.at[at].set(True),
            idle=put(state.idle, jnp.zeros((), state.idle.dtype)),
            best_w=jnp.where(better, w, state.best_w),
            best=jnp.where(better, cut.P, state.best),
            best_u=jnp.where(better, cut.u, state.best_u),
            calls=state.calls + problem.n,
            full=state.full | ~room,
        )

    def improve(self, problem: Structured, state: PlaneState) -> tuple[PlaneState, Array]:
        """The inner problem from the x at hand, and w(x); its gap a share of ours at most."""
        H = state.gram / problem.lam
        target = self.share * jnp.maximum(state.best - state.lower, 0)
        found = solve_simplex(H, state.b, state.x, state.known, target, self.inner)
        x = found.x / jnp.sum(found.x)
        idle = jnp.where(x > 0, 0, state.idle + 1)
        dropped = state.known & (idle > self.patience)
        state = state._replace(
            x=x,
            idle=jnp.where(dropped, 0, idle),
            known=state.known & ~dropped,
            lower=jnp.maximum(state.lower, found.value),
            rounds=state.rounds + 1,
        )
        return state, x @ state.u / problem.lam

    def point(self, problem, state: PlaneState) -> Point:
        masses = jnp.broadcast_to(state.x[None], (problem.n, state.x.shape[0]))
        return Point(state.best_w, Mixture(state.labels, masses))

    def spent(self, problem) -> Spent:
        k = self.evaluations()
        return Spent(work=float(k), oracle_calls=float(k * problem.n), updates=1.0)

    def counted(self, state: PlaneState) -> Spent:
        dtype = state.x.dtype
        rounds = state.rounds.astype(dtype)
        return Spent(rounds * self.evaluations(), state.calls.astype(dtype), rounds)

    def bound(self, problem, t):
        del problem, t


def _plane(problem: Structured, labels) -> tuple[Array, Array]:
    """(u, b) of one label for each example."""
    one = Mixture(labels[:, None], jnp.ones_like(problem.c)[:, None])
    return problem.rebuild(one), problem.lost(one)
