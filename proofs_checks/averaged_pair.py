r"""Claim. The pair BCFW returns with ``average`` after k visits is a feasible one,

    abar_k = 2/(k(k+1)) sum_{j<=k} j a_j,   wbar_k the same mean of the w_j, so wbar_k = w(abar_k)

or, as a recursion, wbar_{k+1} = k/(k+2) wbar_k + 2/(k+2) w_{k+1}. As P is convex and D concave its
gap is at most the same mean of the gaps P(w_j) - D(alpha_j).
Lacoste-Julien, Jaggi, Schmidt & Pletscher, ICML 2013, arXiv:1207.4747, who take
the weights from Lacoste-Julien, Schmidt & Bach, arXiv:1212.2002.

Check. The package's averages, masses of examples that rested included, after every visit of a run
drawn with repeats, against means of the path written out; the certificate of the pair.
False variant: the plain mean, every visit with the same weight.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jaxopt_svm import BCFW, Point, Uniform
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import Y, listed, mixture, table

PASSES = 10


@jax.jit
def path(problem, method, start):
    """After every visit: w and masses, the pair returned, and its certificate."""
    drawn = jax.vmap(lambda key: method.draw(problem, key))(random.split(random.key(4), PASSES))
    drawn = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), drawn)

    def step(state, turn):
        state = method.step(problem, state, turn)
        pair = method.point(problem, state)
        certificate = problem.certificate(pair)
        return state, (state.w, state.masses, pair.w, pair.dual.masses, certificate)

    return lax.scan(step, method.init(problem, start), drawn)[1]


def check() -> Result:
    problem = table()
    facts = listed(problem)
    start = Point(None, mixture(problem, facts, facts.start()))
    method = BCFW(Uniform(), average=True, block=1, capacity=Y)
    w, a, wbar, abar, certificate = (
        jax.tree.map(np.asarray, x) for x in path(problem, method, start)
    )
    k = np.arange(1.0, len(w) + 1)

    def mean(x, weights):
        shape = (-1, *(1,) * (x.ndim - 1))
        return np.cumsum(weights.reshape(shape) * x, 0) / np.cumsum(weights).reshape(shape)

    recursion, now = [], np.zeros(w.shape[1])
    for j, latest in enumerate(w):
        now = j / (j + 2) * now + 2 / (j + 2) * latest
        recursion.append(now)
    gaps = facts.primal(w) - facts.dual(a)
    true = [
        equal(wbar, mean(w, k)),
        equal(abar, mean(a, k)),
        equal(wbar, np.array(recursion)),
        equal(wbar, facts.w_of(abar)),
        -np.abs(abar.sum(-1) - 1),
        abar,
        equal(certificate.gap, facts.primal(wbar) - facts.dual(abar)),
        certificate.gap,
        mean(gaps, k) - certificate.gap,
    ]
    plain = smallest(equal(jnp.asarray(wbar), mean(w, np.ones_like(k))))
    return Result(smallest(*true), plain)


claim = Claim(
    name="averaged_pair",
    text="averaged BCFW: weights 1, 2, 3, ...; feasible, w = w(alpha), gap below the mean of gaps",
    lecture="Online solvers: steepest ascent",
    check=check,
)
