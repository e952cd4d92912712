r"""Claim. An epoch multiplies E[P - P*] by at most

    SVRG II   1/(mu h (1 - 2Lh) m) + 2Lh/(1 - 2Lh)
    S2GD      (1 - nu h)^m/(beta mu h (1 - 2Lh)) + 2(L - mu)h/(1 - 2Lh)
    mS2GD     1/(m h mu (1 - 4hLa)) + 4hLa (m + 1)/(m (1 - 4hLa)),        a = (n - b)/(b (n - 1))
    S2CD      r/((1 - r)(1 - 2 Lhat h)) + 2 Lhat h/(1 - 2 Lhat h),        r = (1 - mu h)^m

beta = sum_t (1 - nu h)^(m - t).
Lecture "Empirical Risk Minimization" (Richtarik); Johnson & Zhang, NIPS 2013; arXiv:1312.1666,
1504.04407, 1412.6293. S2CD with the penalty as a term of its own.

Check. Exact, for squared losses: an inner step is then affine, u+ = B u for u = (1, y - w*), so
E[u u'] follows U+ = mean B U B' over the outcomes, and P - P* is linear in it. B is the derivative
of the package's own inner step on each example, subset or pair; starts along random directions and
along each axis. False variant: half the factor of S2GD, and of S2CD, whose bounds are nearly tight
along a feature nobody has.
"""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import MS2GD, S2CD, SVRG, AnyBefore, Geometric, Point, Squared, Uniform
from jaxopt_svm.core.blocks import At
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.finite_sum.terms import (
    data_gradient,
    data_smoothness,
    slopes,
    term_smoothness,
)
from proofs_checks.claims import Claim, Result, optimum, smallest, toy


def svrg_step(problem, method, x):
    """The inner step on each example, and the probabilities."""
    s = slopes(problem, x)
    g = data_gradient(problem, s)

    def inner(y, i):
        at = At((y, g), (), (method.step_size(problem), 1), s)
        new = method.block_step(method.visit, problem, at, Sample(i[None]), scales=True)
        return new.vectors[0]

    return inner, jnp.arange(problem.n, dtype=jnp.int32), jnp.full(problem.n, 1.0 / problem.n)


def batch_step(problem, method, x):
    s = slopes(problem, x)
    G, h = data_gradient(problem, s), method.step_size(problem)

    def inner(y, index):
        v = method.direction(problem, y, s, G, index)
        return problem.regularizer.prox(y - h * v, h * problem.lam)

    subsets = jnp.asarray(np.array(list(combinations(range(problem.n), method.b)), np.int32))
    return inner, subsets, jnp.full(len(subsets), 1.0 / len(subsets))


def pair_step(problem, method, x):
    state, n, d = method.init(problem, Point(x)), problem.n, problem.d
    s, grad, X = slopes(problem, x), problem.grad(x), problem.rows.toarray()
    omega = problem.rows.row_counts().astype(x.dtype)

    def inner(y, pair):
        i, j, of_penalty = pair
        given = (i, j, X[i, j], omega[i], of_penalty == 1)
        return y.at[j].add(method.change(problem, state, y, s[i], grad, given))

    weight = omega[:, None] * n * problem.c[:, None] * X**2 / problem.loss.gamma
    data = [(i, j, 0) for i in range(n) for j in range(d)]
    pairs = jnp.asarray(data + [(0, j, 1) for j in range(d)], jnp.int32)
    chances = jnp.concatenate([weight.reshape(-1), jnp.full(d, n * problem.lam)])
    return inner, pairs, chances / jnp.sum(chances)


@jax.jit
def ratio(problem, method, best, x, law):
    """E[P(x+) - P*]/(P(x) - P*) for an epoch whose length has the law (m + 1,)."""
    step = {SVRG: svrg_step, MS2GD: batch_step, S2CD: pair_step}[type(method)]
    inner, outcomes, chances = step(problem, method, x)
    d = problem.d

    def matrix(outcome):
        centred = lambda e: inner(best + e, outcome) - best
        A, b = jax.jacfwd(centred)(jnp.zeros(d)), centred(jnp.zeros(d))
        top = jnp.zeros((1, d + 1)).at[0, 0].set(1.0)
        return jnp.concatenate([top, jnp.concatenate([b[:, None], A], axis=1)])

    B = jax.vmap(matrix)(outcomes)
    H = jax.hessian(problem.primal)(best)
    u = jnp.concatenate([jnp.ones(1), x - best])
    excess = lambda U: 0.5 * jnp.sum(H * U[1:, 1:])

    def forward(U, _):
        moved = jnp.einsum("k,kij,jl,kml->im", chances, B, U, B)
        return moved, excess(U)

    U = jnp.outer(u, u)
    _, path = lax.scan(forward, U, None, length=law.shape[0])
    return law @ path / excess(U)


def lengths(problem, method):
    """(m + 1,) the probabilities of t = 0..m."""
    m = method.inner_steps(problem)
    if isinstance(method.law, AnyBefore):
        return jnp.concatenate([jnp.full(m, 1.0 / m), jnp.zeros(1)])
    if isinstance(method.law, Geometric):
        h = method.init(problem).h
        return jnp.concatenate([jnp.zeros(1), method.law.weights(problem, m, h)])
    return jnp.concatenate([jnp.zeros(1), jnp.full(m, 1.0 / m)])


def check() -> Result:
    rng = np.random.default_rng(4)
    problem = toy(Squared(0.7), lam=0.5)
    best, mu = optimum(problem).w, problem.lam
    starts = best[None] + jnp.concatenate(
        [jnp.eye(problem.d), jnp.asarray(rng.normal(size=(4, 5)))]
    )
    L, La, Lhat = term_smoothness(problem), data_smoothness(problem), S2CD().init(problem).Lhat
    methods = [
        SVRG(0.1 / L, AnyBefore(), Uniform(), m=int(20 * L / mu), block=1),
        SVRG(0.02 / L, Geometric(), Uniform(), m=int(120 * L / mu), block=1),
        MS2GD(0.2 / La, b=3, m=int(20 * La / mu)),
        S2CD(0.02 / Lhat, m=int(120 * Lhat / mu)),
    ]
    found = []
    for method in methods:
        law = lengths(problem, method)
        ratios = jax.vmap(ratio, (None, None, None, 0, None))(problem, method, best, starts, law)
        factor = method.factor(problem)
        assert float(factor) < 1.0
        found.append((factor - ratios, factor / 2 - ratios))
    return Result(smallest(*(t for t, _ in found)), max(smallest(found[k][1]) for k in (1, 3)))


claim = Claim(
    name="svrg_epochs",
    text="the factor of an epoch of SVRG II, S2GD, mS2GD and S2CD, in exact expectation",
    lecture="Empirical Risk Minimization: SVRG, S2GD, mS2GD, S2CD",
    check=check,
)
