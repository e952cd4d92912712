r"""Claim. Finito with a = 2 and n >= 2 Lf/lam, started with all k_i = k_0, i uniform:

    E[P(kbar_t)] - P* <= (3/(4 lam)) (1 - 1/(2n))^t ||grad P(k_0)||^2,     kbar = mean_i k_i

Lecture "Empirical Risk Minimization" (Richtarik), Finito; Defazio, Caetano & Domke, ICML 2014,
arXiv:1407.2710.

Check. Exact, for squared losses: a visit is then affine in (k_1, ..., k_n), so the second moments
U of (1, k) follow U+ = mean B U B' over the examples, and E[P(kbar)] is linear in U. B is the
derivative of the package's own visit; 40 passes, random k_0. False variant: half the
constant.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import Finito, Squared, Uniform
from jaxopt_svm.core.blocks import At
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.finite_sum.terms import data_gradient, data_smoothness
from proofs_checks.claims import Claim, Result, optimum, smallest, toy

PASSES = 40


@jax.jit
def excess(problem, best, starts):
    """(T, starts) E[P(kbar_t)] - P*."""
    method, (n, d) = Finito(sampling=Uniform(), block=1), problem.rows.shape
    curvature = method.model.curvature(problem)
    X = problem.rows.toarray()

    def visit(k, i):
        s = problem.loss.slope(jnp.sum(X * k, axis=1), problem.y)
        state = At((jnp.mean(k, axis=0), data_gradient(problem, s)), (k, s), (curvature,))
        return method.step(problem, state, Sample(i[None])).tables[0]

    def matrix(i):
        centred = lambda e: (visit(best + e.reshape(n, d), i) - best).reshape(-1)
        zero = jnp.zeros(n * d)
        A, b = jax.jacfwd(centred)(zero), centred(zero)
        top = jnp.zeros((1, n * d + 1)).at[0, 0].set(1.0)
        return jnp.concatenate([top, jnp.concatenate([b[:, None], A], axis=1)])

    B, H = jax.vmap(matrix)(jnp.arange(n, dtype=jnp.int32)), jax.hessian(problem.primal)(best[0])
    mean = jnp.concatenate([jnp.zeros((d, 1)), jnp.tile(jnp.eye(d), n) / n], axis=1)

    def path(start):
        u = jnp.concatenate([jnp.ones(1), jnp.tile(start - best[0], n)])
        value = lambda U: 0.5 * jnp.sum(H * (mean @ U @ mean.T))
        forward = lambda U, _: (jnp.mean(B @ U @ B.mT, axis=0), value(U))
        return lax.scan(forward, jnp.outer(u, u), None, length=PASSES * n)[1]

    return jax.vmap(path, out_axes=1)(starts)


def check() -> Result:
    rng = np.random.default_rng(6)
    problem = toy(Squared())
    # n = 2 Lf/lam, the smallest n the theorem allows
    problem = problem.with_lam(2 * data_smoothness(problem) / (problem.n - 2))
    best = optimum(problem).w[None]
    starts = best + jnp.concatenate([jnp.eye(problem.d), jnp.asarray(rng.normal(size=(3, 5)))])
    found = excess(problem, best, starts)
    front = 0.75 / problem.lam * jnp.sum(jax.vmap(problem.grad)(starts) ** 2, axis=1)
    t = jnp.arange(found.shape[0], dtype=front.dtype)[:, None]
    # relative to the bound, which falls over many orders of magnitude
    used = found / (front[None] * jnp.exp(t * jnp.log1p(-0.5 / problem.n)))
    return Result(smallest(1.0 - used), smallest(1.0 - 2.0 * used))


claim = Claim(
    name="finito_bound",
    text="Finito's bound on E[P(kbar)] - P*, in exact expectation at the smallest n allowed",
    lecture="Empirical Risk Minimization: Finito",
    check=check,
)
