r"""SMO with shrinking: bounded variables that look settled are left out, until the end.

    i is left out if it is at a bound and on the right side of both ends of [M, m]:
        only up   (beta_i = lo_i)  and  v_i < M
        only low  (beta_i = hi_i)  and  v_i > m

Pairs are then chosen among the others, and only their v is kept. That is a guess. When the others
look optimal, v is computed for everybody, all are taken back, and only a violation of the full
problem counts: without this last check the answer can be wrong (proofs_checks/shrinking_check.py).

Two forms, the same optimum:
    mask     (size=None) the lecture's algorithm; saves no work in a batched program
    packed   (size=m) the m most relevant variables are gathered, pairs run on an m x m matrix, and
    v
             of everybody is updated once a round, so that every round ends with the full check

Lecture "Optimization Methods for SVMs" (Scheinberg), reducing the cost of finding B.
Joachims 1999; Fan, Chen & Lin 2005 (libsvm).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.kernel.signed import begin, claim, quadratic_of, solve_block, totals
from jaxopt_svm.methods.refusals import needs_free_intercept, needs_kernel_hinge
from jaxopt_svm.oracles.pairs import Quadratic, first_of, pair_move, violation
from jaxopt_svm.oracles.selection import largest
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["ShrinkingSMO", "ShrinkingState", "relevance"]

APPARENT = 0.1  # the active part looks optimal at this share of the last full violation


class ShrinkingState(NamedTuple):
    """beta, v: (n,), v good where ``active``. level: m - M at the last full check."""

    beta: Array
    v: Array
    active: Array
    level: Array
    checks: Array
    updates: Array
    touched: Array


def relevance(quadratic: Quadratic, beta, v, m, M) -> Array:
    """How far inside [M, m] it is on a side where it can move; negative: leave it out."""
    up = jnp.where(beta < quadratic.hi, v - M, -jnp.inf)
    low = jnp.where(beta > quadratic.lo, m - v, -jnp.inf)
    return jnp.maximum(up, low)


@register(
    Info(
        name="shrinking_smo",
        family="kernel",
        problems="kernel SVM, hinge, free intercept",
        certificate="its own dual point",
        lecture="Optimization Methods for SVMs: shrinking",
        reference="Joachims 1999; Fan, Chen & Lin 2005",
    ),
)
@pytree
class ShrinkingSMO:
    """Few support vectors among many examples. A pass is one round.

    size: variables gathered in the packed form; None masks. every: pairs between shrinkings.
    accuracy: a packed round stops when its violation is this fraction of the full one.
    """

    size: int | None = static(default=None)
    every: int = static(default=1000)
    accuracy: float = 0.1

    bound_on = "gap"
    settles = True

    def check(self, problem) -> None:
        needs_kernel_hinge(self, problem)
        needs_free_intercept(self, problem)
        if self.every < 1:
            raise ValueError(f"ShrinkingSMO.every: expected at least 1; got {self.every}")
        if self.size is not None and self.size < 2:
            raise ValueError(f"ShrinkingSMO.size: expected at least 2; got {self.size}")

    def init(self, problem: KernelSVM, start: Point | None = None) -> ShrinkingState:
        (beta, v), zero = begin(problem, start), jnp.zeros((), jnp.int32)
        m, M = violation(quadratic_of(problem), beta, v)
        everybody = jnp.ones(problem.n, bool)
        return ShrinkingState(beta, v, everybody, m - M, zero, zero, zero)

    def draw(self, problem: KernelSVM, key: Array) -> Array:
        del problem, key
        return jnp.zeros(1, jnp.int32)

    def step(self, problem: KernelSVM, state: ShrinkingState, sample) -> ShrinkingState:
        del sample
        return self.mask(problem, state) if self.size is None else self.pack(problem, state)

    def mask(self, problem: KernelSVM, state: ShrinkingState) -> ShrinkingState:
        quadratic, active = quadratic_of(problem), state.active
        row_of = problem.rows.row_of

        def pair(_, carry):
            beta, v, updates = carry
            first = first_of(quadratic, beta, v, among=active)
            move = pair_move(row_of, quadratic, beta, v, first, second_order=True, among=active)
            v = jnp.where(active, move.lower(v), v)
            return move.put(beta), v, updates + (move.dj != 0).astype(jnp.int32)

        carry = (state.beta, state.v, state.updates)
        beta, v, updates = lax.fori_loop(0, self.every, pair, carry)
        m, M = violation(quadratic, beta, v, among=active)
        apparent = m - M <= APPARENT * state.level
        # the full check: everybody's v, everybody back
        full = problem.y - problem.rows.times(beta)
        top, bottom = violation(quadratic, beta, full)
        keep = active & (relevance(quadratic, beta, v, m, M) >= 0)
        return ShrinkingState(
            beta=beta,
            v=jnp.where(apparent, full, v),
            active=apparent | keep,
            level=jnp.where(apparent, top - bottom, state.level),
            checks=state.checks + apparent.astype(jnp.int32),
            updates=updates,
            touched=state.touched + 2 * self.every + jnp.where(apparent, problem.n, 0),
        )

    def pack(self, problem: KernelSVM, state: ShrinkingState) -> ShrinkingState:
        quadratic, size = quadratic_of(problem), min(self.size or problem.n, problem.n)
        m, M = violation(quadratic, state.beta, state.v)
        near = relevance(quadratic, state.beta, state.v, m, M)
        B = largest(near, size)[1]
        limits = {"most": self.every, "stop": self.accuracy * (m - M)}
        after = solve_block(problem, state.beta, state.v, B, near[B] >= 0, **limits)
        m, M = violation(quadratic, after.beta, after.v)
        return ShrinkingState(
            beta=after.beta,
            v=after.v,
            active=near >= 0,
            level=m - M,
            checks=state.checks + 1,
            updates=state.updates + after.pairs,
            touched=state.touched + size,
        )

    def point(self, problem: KernelSVM, state: ShrinkingState) -> Point:
        return claim(problem, state.beta, state.v)

    def counted(self, state: ShrinkingState) -> Spent:
        return totals(state.beta, state.touched, state.updates)

    def spent(self, problem: KernelSVM) -> Spent:
        rows = 2 * self.every if self.size is None else self.size
        return Spent(work=rows / problem.n, oracle_calls=0.0, updates=float(self.every))

    def bound(self, problem: KernelSVM, t) -> None:
        del problem, t
