r"""Claim. For the risk L over ||w|| <= B, with u = sum_i c_i alpha_i x_i,

    D(alpha) = sum_i c_i (-phi*(-alpha_i)) - B ||u||  <=  L* = L(w_B),
    D(alpha) = max over lam > 0 of D_lam(alpha) - lam B^2/2,   attained at lam = ||u||/B,

with equality L* = D* at the alpha of the penalised problem whose ||w*(lam)|| = B; ||w*(lam)|| falls
as lam grows. And for every loss lam ||w*(lam)||^2 <= sum_i c_i phi_i(0): 1 for the hinge, so that
Pegasos projects on 1/sqrt(lam). Lectures "Introduction to Machine Learning" (Srebro), norm
constraint; "Optimization Methods for SVMs" (Scheinberg), the ball of Pegasos.

Check. The penalised optimum at four lam gives four balls with known solutions; random feasible
alpha. False variants, both of which have to fail: B/2 in the place of B, which cuts the optimum
off, and the lemma with half of phi(0).
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Ball, Hinge, Logistic, Squared, make_erm
from proofs_checks.claims import Claim, Result, equal, feasible, optimum, smallest, toy

LAMS, COUNT = (0.02, 0.1, 0.5, 2.0), 200


@jax.jit
def slacks(problem, best, alphas):
    B = jnp.linalg.norm(best.w)
    ball = Ball(problem, B)
    level, dual = ball.primal(best.w), jax.vmap(ball.dual)(alphas)
    lengths = jnp.linalg.norm(jax.vmap(problem.abar)(alphas), axis=1) * problem.lam
    lengths = jnp.maximum(lengths, 1e-12)  # u = 0 wants lam = 0

    def penalised(alpha, lam):
        return ball.penalised(lam).dual(alpha) - lam * B**2 / 2

    at = jax.vmap(penalised)(alphas, lengths / B)
    off = jax.vmap(lambda a, lam: penalised(a, 1.3 * lam))(alphas, lengths / B)
    first = jnp.sum(problem.c * problem.loss.value(jnp.zeros_like(problem.y), problem.y))
    half = ball.dual(best.dual) + B / 2 * jnp.linalg.norm(problem.lam * best.w)
    true = (
        jnp.min(level - dual),
        jnp.min(equal(at, dual)),
        jnp.min(dual - off),
        equal(ball.dual(best.dual), level),
        first - problem.lam * B**2,
        ball.certificate(best).gap + ball.certificate(best).floor,
    )
    return true, level - half, first / 2 - problem.lam * B**2, B


def check() -> Result:
    rng, true, half = np.random.default_rng(24), [], []
    for loss in (Hinge(), Logistic(), Squared(0.7)):
        lengths = []
        for lam in LAMS:
            problem = toy(loss, lam=lam)
            best = optimum(problem)
            found = slacks(problem, best, feasible(problem, rng, COUNT, best.dual))
            true += found[0]
            half.append(float(found[1]))
            lengths.append(float(found[3]))
        true.append(-np.diff(lengths).max())
    # one example at lam = 1 moves to the kink: lam ||w*||^2 = phi(0)
    single = make_erm(np.array([[1.0], [-1.0]]), [1, -1], lam=1.0)
    best = optimum(single)
    found = slacks(single, best, best.dual[None])
    return Result(smallest(*true, *found[0]), max(*half, float(found[2])))


claim = Claim(
    name="ball_duality",
    text="over a ball D = conj - B||u|| = max_lam D_lam - lam B^2/2;  lam ||w*||^2 <= phi(0)",
    lecture="Introduction to Machine Learning: norm constraint",
    check=check,
    tolerance=1e-7,
)
