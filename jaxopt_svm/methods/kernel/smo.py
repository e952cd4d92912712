r"""SMO: sequential minimal optimisation, two coefficients at a time.

    min  1/2 beta' K beta - y' beta,     lo <= beta <= hi,    sum beta = 0

    1. i = argmax over up of v,   v = y - K beta
    2. j = argmax over low of (v_i - v_j)^2 / a_ij            (second order; or argmin v: first)
    3. beta_i += t, beta_j -= t, t the exact minimiser along the pair, cut at the box
    4. v -= t (K_i - K_j)

A step costs two rows of K and O(n); n^2 numbers are stored, or none (gram="rows") with a cache of
rows.

Lecture "Optimization Methods for SVMs" (Scheinberg), decomposition with two variables.
Platt 1999; Keerthi et al., Neural Computation 13 (2001); Fan, Chen & Lin, JMLR 6 (2005) (second
order). The objective falls at every step and the method ends for every eps > 0 (Keerthi & Gilbert
2002; Chen, Fan & Lin 2006); the tail is linear where K is definite. No bound on the pairs: one may
be stopped by a bound at once and gain nothing to speak of. Rates polynomial in n and 1/eps need
another choice of pairs (List & Simon 2005; Hush et al. 2006).

Where K has low rank and C is large (a linear kernel at C = 1000) the pairs needed grow like C: most
beta end at +-C, and a pair moves them by (v_i - v_j)/a_ij, which does not know C. Neither rounding
nor duplicates are to blame (tests/test_kernel_methods.py); the active set and the interior points
do not mind.
    gap with b in the middle <= sum_i (hi_i - lo_i) (m - M)/2: proofs_checks/certificate_lemma.py
    monotone steps: proofs_checks/smo_progress.py
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.kernel.cache import Cache, empty_cache, look_up
from jaxopt_svm.methods.kernel.signed import begin, claim, quadratic_of, totals
from jaxopt_svm.methods.refusals import needs_free_intercept, needs_kernel_hinge
from jaxopt_svm.oracles.pairs import first_of, pair_move, violation
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["SMO", "SMOState"]


class SMOState(NamedTuple):
    """beta: (n,) coefficients. v: (n,) y - K beta. cache: rows of K, or (). made: rows computed."""

    beta: Array
    v: Array
    cache: Any
    updates: Array
    made: Array


@register(
    Info(
        name="smo",
        family="kernel",
        problems="kernel SVM, hinge, free intercept",
        certificate="its own dual point",
        lecture="Optimization Methods for SVMs: decomposition",
        reference="Platt 1999; Fan, Chen & Lin 2005",
    ),
)
@pytree
class SMO:
    """Few support vectors, moderate accuracy, large n. Cost of a step: two rows of K.

    second_order: choose the partner by the gain it promises; False: the most violating pair.
    steps: pairs in a pass; n/8 unless given.
    cache: rows of K kept when the problem makes them on demand (gram="rows"); 0 keeps none.
    """

    second_order: bool = static(default=True)
    steps: int | None = static(default=None)
    cache: int = static(default=0)

    bound_on = "gap"
    settles = True

    def check(self, problem) -> None:
        needs_kernel_hinge(self, problem)
        needs_free_intercept(self, problem)
        if self.steps is not None and self.steps < 1:
            raise ValueError(f"SMO.steps: expected at least 1; got {self.steps}")
        if self.cache < 0 or self.cache == 1:
            raise ValueError(f"SMO.cache: expected 0 or at least 2 rows; got {self.cache}")

    def pass_length(self, problem) -> int:
        return self.steps or -(-problem.n // 8)

    def init(self, problem: KernelSVM, start: Point | None = None) -> SMOState:
        cache = empty_cache(self.cache, problem) if self.cache else ()
        zero = jnp.zeros((), jnp.int32)
        return SMOState(*begin(problem, start), cache, zero, zero)

    def draw(self, problem: KernelSVM, key: Array) -> Array:
        del key  # the choice of pairs is greedy
        return jnp.zeros(self.pass_length(problem), jnp.int32)

    def step(self, problem: KernelSVM, state: SMOState, sample) -> SMOState:
        del sample
        cache, made = state.cache, state.made

        def row_of(i):
            nonlocal cache, made
            if not isinstance(cache, Cache):
                made = made + 1
                return problem.rows.row_of(i)
            row, cache, missed = look_up(cache, problem.rows, i)
            made = made + missed
            return row

        quadratic, beta, v = quadratic_of(problem), state.beta, state.v
        first = first_of(quadratic, beta, v)
        move = pair_move(row_of, quadratic, beta, v, first, second_order=self.second_order)
        return SMOState(
            beta=move.put(beta),
            v=move.lower(v),
            cache=cache,
            updates=state.updates + (move.dj != 0).astype(jnp.int32),
            made=made,
        )

    def point(self, problem: KernelSVM, state: SMOState) -> Point:
        return claim(problem, state.beta, state.v)

    def violation(self, problem: KernelSVM, state: SMOState) -> Array:
        """m - M: libsvm's stopping number, in scores."""
        m, M = violation(quadratic_of(problem), state.beta, state.v)
        return m - M

    def counted(self, state: SMOState) -> Spent:
        return totals(state.beta, state.made, state.updates)

    def spent(self, problem: KernelSVM) -> Spent:
        steps = float(self.pass_length(problem))
        return Spent(work=2 * steps / problem.n, oracle_calls=0.0, updates=steps)

    def bound(self, problem: KernelSVM, t) -> None:
        del problem, t
