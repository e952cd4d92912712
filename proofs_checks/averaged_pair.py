r"""Claim. The pair BCFW returns with ``average`` after k visits is a feasible one,

    abar_k = 2/(k(k+1)) sum_{j<=k} j a_j,   wbar_k the same mean of the w_j, so wbar_k = w(abar_k)

or, as a recursion, wbar_{k+1} = k/(k+2) wbar_k + 2/(k+2) w_{k+1}. As P is convex and D concave its
gap is at most the same mean of the gaps P(w_j) - D(alpha_j).
Lacoste-Julien, Jaggi, Schmidt & Pletscher, ICML 2013, arXiv:1207.4747; the same
weights for SGD: Lacoste-Julien, Schmidt & Bach, arXiv:1212.2002.

Check. The package's averages, masses of examples that rested included, after every visit of a run
drawn with repeats, against means of the path written out; the certificate of the pair; blocks of
four visits, where wbar = w(abar) ties the two sums together.
False variant: the plain mean, every visit with the same weight.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import BCFW, Point, Uniform
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.structured.label_visits import Turn
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import Y, listed, mixture, table


@jax.jit
def path(problem, method, start, index):
    """After every step: w and masses, and the pair returned. index: (steps, block)."""

    def step(state, i):
        turn = Turn(Sample(i), jnp.asarray(True), jnp.asarray(False))
        state = method.step(problem, state, turn)
        pair = method.point(problem, state)
        return state, (state.w, state.masses, pair.w, pair.dual.masses)

    return lax.scan(step, method.init(problem, start), index)[1]


certified = jax.jit(lambda problem, pair: problem.certificate(pair))


def run(n: int, block: int, steps: int):
    """(problem, facts, path) of averaged BCFW, examples drawn with repeats."""
    problem = table(n=n)
    facts = listed(problem)
    index = np.random.default_rng(42).integers(0, n, (steps, block), np.int32)
    start = Point(None, mixture(problem, facts, facts.start()))
    method = BCFW(Uniform(), average=True, block=block, capacity=Y)
    return problem, facts, [np.asarray(x) for x in path(problem, method, start, index)]


def mean(x, weights):
    """Means of the first 1, 2, ... entries with these weights."""
    shape = (-1, *(1,) * (x.ndim - 1))
    return np.cumsum(weights.reshape(shape) * x, 0) / np.cumsum(weights).reshape(shape)


def check() -> Result:
    problem, facts, (w, a, wbar, abar) = run(6, 1, 60)
    k = np.arange(1.0, len(w) + 1)
    recursion, now = [], np.zeros(w.shape[1])
    for j, latest in enumerate(w):
        now = j / (j + 2) * now + 2 / (j + 2) * latest
        recursion.append(now)
    gaps, gap = facts.primal(w) - facts.dual(a), facts.primal(wbar) - facts.dual(abar)
    last = Point(jnp.asarray(wbar[-1]), mixture(problem, facts, abar[-1]))
    # several visits a step: w is summed at every visit, masses when an example comes again
    _, other, (_, _, w_block, a_block) = run(12, 4, 20)
    true = [
        equal(wbar, mean(w, k)),
        equal(abar, mean(a, k)),
        equal(wbar, np.array(recursion)),
        equal(wbar, facts.w_of(abar)),
        equal(w_block, other.w_of(a_block)),
        *(-np.abs(x.sum(-1) - 1) for x in (abar, a_block)),
        *(abar, a_block),
        gap,
        mean(gaps, k) - gap,
        equal(certified(problem, last).gap, gap[-1]),
    ]
    return Result(smallest(*true), smallest(equal(wbar, mean(w, np.ones_like(k)))))


claim = Claim(
    name="averaged_pair",
    text="averaged BCFW: weights 1, 2, 3, ...; feasible, w = w(alpha), gap below the mean of gaps",
    lecture="Online solvers: steepest ascent",
    check=check,
)
