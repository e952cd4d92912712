r"""Claim. For every w and every feasible alpha, with P* = P(w*) = D(alpha*),

    P(w) >= D(alpha),   and   w* = grad g*(abar*),  -alpha*_i in d phi_i(<x_i, w*>)
    P(w) - P* >= (lam/2) ||w - w*||^2
    D* - D(alpha) >= (gamma/2) sum_i c_i ||alpha_i - alpha*_i||^2

Lecture "Empirical Risk Minimization" (Richtarik), duality and optimality conditions.

Check. Random w and alpha, near the optimum and far from it, on weighted problems with all losses
and with the elastic net, one output and three; w* and alpha* from a tight solve, whose gap has to
be below 1e-10. Moves along a feature that no example has make the primal bound an equality for l2.
False variant: P(w) - P* >= lam ||w - w*||^2, the factor 1/2 dropped; it fails in every case.
"""

import jax
import jax.numpy as jnp
import numpy as np

from proofs_checks.claims import (
    PAIRS,
    VECTOR_PAIRS,
    Claim,
    Result,
    feasible,
    inner,
    optimum,
    smallest,
    spread,
    subdifferential,
    toy,
)

COUNT = 300


@jax.jit
def slacks(problem, best, ws, alphas):
    loss, lam = problem.loss, problem.lam
    w, alpha = best
    primal, dual = jax.vmap(problem.primal)(ws), jax.vmap(problem.dual)(alphas)
    top, bottom = problem.primal(w), problem.dual(alpha)
    in_w = inner(ws - w[None], ws - w[None])
    in_alpha = jax.vmap(inner)(alphas - alpha[None], alphas - alpha[None]) @ problem.c
    kkt = subdifferential(loss, -alpha, problem.rows.matvec(w), problem.y, 1e-6)
    true = [
        jnp.min(primal) - jnp.max(dual),
        1e-10 - (top - bottom),
        jnp.min(jnp.where(problem.c > 0, kkt, 0.0)),
        -jnp.max(jnp.abs(w - problem.w_of(alpha))),
        jnp.min(primal - top - lam / 2 * in_w),
        jnp.min(bottom - dual - loss.gamma / 2 * in_alpha),
    ]
    return true, jnp.min(primal - top - lam * in_w)


def case(loss, regularizer, rng):
    problem = toy(loss, regularizer)
    best = optimum(problem)
    shape = (COUNT, *best.w.shape)
    sizes = lambda: spread(rng, -2.0, 1.0, COUNT, *(1,) * best.w.ndim)
    moves = sizes() * rng.normal(size=shape)
    along = np.zeros(shape)
    along[:, -1] = 1.0
    ws = best.w[None] + np.concatenate([moves, sizes() * along])
    alphas = [feasible(problem, rng, COUNT), feasible(problem, rng, COUNT, around=best.dual)]
    return slacks(problem, best, ws, np.concatenate(alphas))


def check() -> Result:
    rng = np.random.default_rng(3)
    found = [case(loss, g, rng) for loss, g in (*PAIRS, *VECTOR_PAIRS)]
    return Result(smallest(*(smallest(*t) for t, _ in found)), max(float(f) for _, f in found))


claim = Claim(
    name="weak_duality",
    text="P >= D, equal at the optimum; distances bounded by P - P* and D* - D",
    lecture="Empirical Risk Minimization: duality",
    check=check,
)
