r"""Claim. Leaving out bounded variables that look settled never changes the answer, because the
answer is given only after v has been computed for everybody and nobody violates.

Lecture "Optimization Methods for SVMs" (Scheinberg): "we do need to compute the entire vector to
verify optimality". Joachims 1999; Fan, Chen & Lin 2005.

Check. Both forms of ShrinkingSMO against exact solutions, and the final check has happened. False
variant: shrinking by the same rule without taking anybody back: some of those left out were needed.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxopt_svm import RBF, Linear, ShrinkingSMO
from jaxopt_svm.methods.kernel.shrinking import relevance
from jaxopt_svm.oracles.pairs import first_of, pair_move, violation
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.kernel_toys import exact, quadratic, toy_kernel

ROUNDS, EVERY = 400, 3


def objective(problem, beta):
    return beta @ problem.rows.times(beta) / 2 - problem.y @ beta


@jax.jit
def with_check(problem, method):
    step = lambda _, state: method.step(problem, state, 0)
    return lax.fori_loop(0, ROUNDS, step, method.init(problem))


@jax.jit
def without_check(problem):
    """Shrink after every few pairs and never look back."""
    q, K = quadratic(problem), problem.rows.K

    def shrink(_, carry):
        beta, v, active = carry

        def pair(_, carry):
            beta, v = carry
            first, row_of = first_of(q, beta, v, among=active), lambda i: K[i]
            move = pair_move(row_of, q, beta, v, first, second_order=True, among=active)
            return move.put(beta), jnp.where(active, move.lower(v), v)

        beta, v = lax.fori_loop(0, EVERY, pair, (beta, v))
        m, M = violation(q, beta, v, among=active)
        return beta, v, active & (relevance(q, beta, v, m, M) >= 0)

    start = (jnp.zeros_like(problem.y), problem.y, jnp.ones(problem.n, bool))
    return lax.fori_loop(0, ROUNDS, shrink, start)[0]


def check() -> Result:
    true, false = [], []
    for kernel, C in ((RBF(0.5), 10.0), (Linear(), 1.0)):
        problem = toy_kernel(kernel, C=C, n=40, seed=3)
        best = objective(problem, exact(problem)[0])
        for method in (ShrinkingSMO(every=EVERY), ShrinkingSMO(size=20, every=50)):
            state = with_check(problem, method)
            checked = jnp.where(state.checks > 0, 0.0, -1.0)
            true += [equal(objective(problem, state.beta), best), checked]
        false.append(float(equal(objective(problem, without_check(problem)), best)))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="shrinking_check",
    text="shrinking with a final full check has the same optimum, without it it has not",
    lecture="Optimization Methods for SVMs: reducing the cost of finding B",
    check=check,
    tolerance=1e-8,
)
