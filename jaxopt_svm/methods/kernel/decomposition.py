r"""Decomposition: the q coefficients that promise most, solved to optimality, again and again.

    1. choose B, |B| <= q (q even), as the support of the steepest feasible direction
           min -v'd,  sum d = 0,  -1 <= d <= 1,  d_i >= 0 if beta_i = lo_i,  d_i <= 0 if hi_i,
           at most q entries not zero
       It is exactly: the q/2 largest v of up against the q/2 smallest v of low, as long as the
       k-th of the first exceeds the k-th of the second.
    2. solve the QP in beta_B with the others held:
           min 1/2 d' K_BB d - v_B' d,   sum d = 0,   lo_B <= beta_B + d <= hi_B
       (the reduced problem is printed with +e'alpha_B, it needs -e'alpha_B: errata.py)
    3. v -= K_B' d_B                                                     O(n q)

The inner QP is solved by second-order pairs, whose first pair is the most violating one, so a step
gains at least what a step of first-order SMO would. With q in the hundreds this is the fast way for
many lanes: one gather and one product of q rows pay for thousands of pairs on a q x q matrix.

Lecture "Optimization Methods for SVMs" (Scheinberg), decomposition methods.
Osuna, Freund & Girosi 1997; Joachims 1999 (selection); Lin 2001 (convergence).
Exact selection: proofs_checks/working_set.py; monotone: smo_progress.py.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.refusals import needs_free_intercept, needs_kernel_hinge
from jaxopt_svm.oracles.pairs import Quadratic, solve_pairs, violation
from jaxopt_svm.oracles.selection import largest
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["Decomposition", "DecompositionState", "working_set"]


class DecompositionState(NamedTuple):
    """beta: (n,) coefficients. v: (n,) y - K beta. rounds: working sets. updates: pairs in them."""

    beta: Array
    v: Array
    rounds: Array
    updates: Array


def working_set(quadratic: Quadratic, beta, v, q: int) -> tuple[Array, Array]:
    """(q,) indices and which of them count: the steepest feasible direction with q entries."""
    half = q // 2
    above = jnp.where(beta < quadratic.hi, v, -jnp.inf)
    below = jnp.where(beta > quadratic.lo, -v, -jnp.inf)
    top, i = largest(above, half)
    bottom, j = largest(below, half)
    # the k-th pair helps if v_top > v_bottom; pairs that help share no index
    helps = top + bottom > 0
    return jnp.concatenate([i, j]), jnp.concatenate([helps, helps])


@register(
    Info(
        name="decomposition",
        family="kernel",
        problems="kernel SVM, hinge, free intercept",
        certificate="its own dual point",
        lecture="Optimization Methods for SVMs: decomposition",
        reference="Osuna et al. 1997; Joachims 1999",
    ),
    suits=lambda problem: isinstance(problem, KernelSVM) and problem.free,
)
@pytree
class Decomposition:
    """The first choice with a free intercept. Cost of a step: q rows of K and a q x q QP.

    q: size of the working set, even. pairs: at most this many times q inner steps.
    accuracy: the inner QP stops when its violation is this fraction of the outer one.
    rounds: working sets in a pass.
    """

    q: int = static(default=512)
    pairs: int = static(default=20)
    rounds: int = static(default=1)
    accuracy: float = 0.1

    bound_on = "gap"
    settles = True

    def check(self, problem) -> None:
        needs_kernel_hinge(self, problem)
        needs_free_intercept(self, problem)
        if self.q < 2 or self.q % 2:
            raise ValueError(f"Decomposition.q: expected an even number >= 2; got {self.q}")
        if self.pairs < 1 or self.rounds < 1:
            raise ValueError("Decomposition: expected pairs >= 1 and rounds >= 1")

    def size(self, problem: KernelSVM) -> int:
        """q, or n if that is smaller (made even)."""
        return min(self.q, problem.n // 2 * 2)

    def init(self, problem: KernelSVM, start: Point | None = None) -> DecompositionState:
        alpha = problem.complete(problem.origin() if start is None else start).dual
        beta, zero = problem.beta_of(alpha), jnp.zeros((), jnp.int32)
        v = problem.y - problem.rows.times(beta)
        return DecompositionState(jnp.clip(beta, *problem.box()), v, zero, zero)

    def draw(self, problem: KernelSVM, key: Array) -> Array:
        del problem, key  # the choice is greedy
        return jnp.zeros(self.rounds, jnp.int32)

    def step(self, problem: KernelSVM, state: DecompositionState, sample) -> DecompositionState:
        del sample
        q = self.size(problem)
        quadratic = Quadratic(problem.rows.diagonal, *problem.box())
        # 1. the working set; a slot that does not count has no room to move
        B, counts = working_set(quadratic, state.beta, state.v, q)
        beta_B, v_B = state.beta[B], state.v[B]
        bound = lambda end: jnp.where(counts, end[B], beta_B)
        inner = Quadratic(problem.rows.diagonal[B], bound(quadratic.lo), bound(quadratic.hi))
        # 2. its QP
        m, M = violation(inner, beta_B, v_B)
        K_BB = problem.rows.entries(B, B)
        stop, most = self.accuracy * (m - M), self.pairs * q
        new, pairs = solve_pairs(K_BB, inner, beta_B, v_B, count=most, stop=stop)
        # 3. everyone's v; beta is set, since beta + (hi - beta) need not be hi
        return DecompositionState(
            beta=state.beta.at[jnp.where(counts, B, problem.n)].set(new, mode="drop"),
            v=state.v - problem.rows.rows_times(B, new - beta_B),
            rounds=state.rounds + jnp.any(counts).astype(jnp.int32),
            updates=state.updates + pairs,
        )

    def point(self, problem: KernelSVM, state: DecompositionState) -> Point:
        scores = problem.y - state.v
        return Point(problem.join(state.beta, scores), problem.alpha_of(state.beta))

    def counted(self, state: DecompositionState) -> Spent:
        n, dtype = state.beta.shape[-1], state.beta.dtype
        return Spent(
            work=state.rounds.astype(dtype) * min(self.q, n) / n,
            oracle_calls=jnp.zeros_like(state.beta[..., 0]),
            updates=state.updates.astype(dtype),
        )

    def spent(self, problem: KernelSVM) -> Spent:
        rows = float(self.rounds * self.size(problem))
        return Spent(work=rows / problem.n, oracle_calls=0.0, updates=float(self.rounds))

    def bound(self, problem: KernelSVM, t) -> None:
        del problem, t
