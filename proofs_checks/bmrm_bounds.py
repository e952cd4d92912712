r"""Claim. Cutting planes bound P* from both sides, however roughly the inner problem is solved:

    D(x_t) = <b, x_t> - (1/(2 lam)) ||U'x_t||^2 <= P* <= best P so far,

D(x_t) never falls, and is the D that the problem finds for the labels and masses of the planes.
Inner gap: f* - f(x) <= max g - <g, x>. With the inner problem solved exactly, after t rounds

    gap <= 8 G^2/(lam (t + 1 - max(0, log2(lam R(0)/G^2)))),  below 4 G^2/lam.

Lecture "Online solvers for convex risk minimization" (Franc), CPA; Teo et al., JMLR 2010.

Check. BMRM on written tables and chains, OCA on tables, exact and with one pair moved a round;
places given up by planes without mass after two rounds. False variant: the value of the model at
w_{t+1} as a lower bound, which it is only when the inner problem is solved.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import BMRM, OCA
from jaxopt_svm.oracles.simplex_qp import solve_simplex
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import chain, listed, optimum, table

ROUNDS = 25


@jax.jit
def rounds(problem, method):
    def step(state, sample):
        state = method.step(problem, state, sample)
        D = problem.dual(method.point(problem, state).dual)
        model = jnp.max(jnp.where(state.known, state.b - state.u @ state.w, -jnp.inf))
        value = problem.lam / 2 * (state.w @ state.w) + model
        return state, (state.lower, D, state.best, problem.primal(state.best_w), value)

    return lax.scan(step, method.init(problem), jnp.zeros(ROUNDS, jnp.int32))[1]


def case(problem, method, exact: bool):
    facts = listed(problem)
    least = facts.dual(optimum(facts))
    lower, D, best, P, model = map(np.asarray, rounds(problem, method))
    slacks = [least - lower, best - least, np.diff(lower), equal(lower, D), equal(best, P)]
    if exact:
        bound = method.bound(problem, np.arange(1.0, ROUNDS + 1))
        slacks.append((np.asarray(bound) - (best - lower)) / (1 + np.asarray(bound)))
    return smallest(*slacks), smallest(least - model)


def inner_gap():
    """Small programs on the simplex, stopped after 0, 1, ... pairs, against many pairs."""
    rng, slacks = np.random.default_rng(51), []
    solve = jax.jit(solve_simplex)
    for k in (1, 7):
        A = jnp.asarray(rng.normal(size=(k, 3)))
        b, known = jnp.asarray(rng.normal(size=k)), jnp.asarray(np.arange(k) < max(1, k - 1))
        start = jnp.zeros(k).at[0].set(1.0)
        best = solve(A @ A.T, b, start, known, 0.0, 5000)
        slacks += [jnp.min(best.x), equal(jnp.sum(best.x), 1.0), 1e-9 - best.gap]
        slacks.append(-jnp.max(jnp.where(known, 0.0, best.x)))
        for steps in (0, 3):
            one = solve(A @ A.T, b, start, known, 0.0, steps)
            slacks += [best.value - one.value, one.gap - (best.value - one.value)]
    return smallest(*slacks)


def check() -> Result:
    rough = BMRM(share=0.5, patience=2, inner=1, capacity=32)
    exact = BMRM(share=0.0)
    found = [
        case(problem, method, method is not rough)
        for problem, method in ((chain(), exact), (table(), exact), (table(), rough))
    ]
    searched, _ = case(table(), OCA(capacity=128), False)
    true = smallest(inner_gap(), searched, *(t for t, _ in found))
    return Result(true, found[-1][1])


claim = Claim(
    name="bmrm_bounds",
    text="cutting planes: D(x_t) rises, D <= P* <= best P with any inner solver; rounds to a gap",
    lecture="Online solvers: cutting planes",
    check=check,
)
