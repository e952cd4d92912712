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

A pass takes working sets until the gap, as v tells it, has fallen tenfold: the problem's own
certificate costs two products with K, several working sets' worth, so it should not be asked after
each. In a batch lanes go one after the other, since each has its own number of sets and of pairs.

Lecture "Optimization Methods for SVMs" (Scheinberg), decomposition methods.
Osuna, Freund & Girosi 1997; Joachims 1999 (selection); Lin 2001 (convergence).
No bound on the number of sets, as for SMO (smo.py says why).
Exact selection: proofs_checks/working_set.py; monotone: smo_progress.py.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import sequential_vmap

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.kernel.signed import begin, claim, quadratic_of, solve_block, totals
from jaxopt_svm.methods.refusals import needs_free_intercept, needs_kernel_hinge
from jaxopt_svm.oracles.pairs import Quadratic, gap_of, violation
from jaxopt_svm.oracles.selection import largest
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["Decomposition", "DecompositionState", "working_set"]


class DecompositionState(NamedTuple):
    """beta: (n,) coefficients. v: (n,) y - K beta. rounds: working sets. updates: pairs in them.

    idle: a slot of a batch that is nobody's any more.
    """

    beta: Array
    v: Array
    rounds: Array
    updates: Array
    idle: Array


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
    rounds: at most this many working sets in a pass. fall: it ends earlier when the gap is this
      fraction of what it was.
    """

    q: int = static(default=512)
    pairs: int = static(default=20)
    rounds: int = static(default=32)
    accuracy: float = 0.3
    fall: float = 0.1

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
        zero = jnp.zeros((), jnp.int32)
        return DecompositionState(*begin(problem, start), zero, zero, jnp.zeros((), bool))

    def draw(self, problem: KernelSVM, key: Array) -> Array:
        del problem, key  # the choice is greedy
        return jnp.zeros(1, jnp.int32)

    def step(self, problem: KernelSVM, state: DecompositionState, sample) -> DecompositionState:
        """Working sets until the gap has fallen, at most ``rounds`` of them."""
        del sample
        return _several(self, problem, state)

    def one(self, problem: KernelSVM, state: DecompositionState) -> DecompositionState:
        """One working set."""
        beta, v, q = state.beta, state.v, self.size(problem)
        quadratic = quadratic_of(problem)
        m, M = violation(quadratic, beta, v)
        # 1. the working set; 2. its QP; 3. everyone's v
        B, counts = working_set(quadratic, beta, v, q)
        limits = {"most": self.pairs * q, "stop": self.accuracy * (m - M)}
        after = solve_block(problem, beta, v, B, counts, **limits)
        return DecompositionState(
            beta=after.beta,
            v=after.v,
            rounds=state.rounds + (after.pairs > 0).astype(jnp.int32),
            updates=state.updates + after.pairs,
            idle=state.idle,
        )

    def retire(self, state: DecompositionState, gone) -> DecompositionState:
        return state._replace(idle=state.idle | gone)

    def point(self, problem: KernelSVM, state: DecompositionState) -> Point:
        return claim(problem, state.beta, state.v)

    def counted(self, state: DecompositionState) -> Spent:
        q = min(self.q, state.beta.shape[-1])
        return totals(state.beta, state.rounds * q, state.updates)

    def spent(self, problem: KernelSVM) -> Spent:
        rows = float(self.rounds * self.size(problem))
        return Spent(work=rows / problem.n, oracle_calls=0.0, updates=float(self.rounds))

    def bound(self, problem: KernelSVM, t) -> None:
        del problem, t


@sequential_vmap
def _several(method: Decomposition, problem: KernelSVM, state: DecompositionState):
    gap = lambda state: gap_of(quadratic_of(problem), state.beta, state.v)
    aim = method.fall * gap(state)

    def going(carry):
        state, k, gap = carry
        return (k < method.rounds) & (gap > aim) & ~state.idle

    def one(carry):
        state, k, _ = carry
        state = method.one(problem, state)
        return state, k + 1, gap(state)

    # a lane without a gap still has its first set looked at: that it is optimal is seen there
    start = (state, jnp.zeros((), jnp.int32), jnp.full_like(aim, jnp.inf))
    return lax.while_loop(going, one, start)[0]
