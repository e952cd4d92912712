r"""Claim. Among serial samplings p_i ~ 1 + c_i L_i/(lam gamma) makes the rate of SDCA best:

    theta(p) = min_i p_i lam gamma / (c_i L_i + lam gamma)  <=  theta(p_opt)
             = 1 / (n + sum_i c_i L_i / (lam gamma)),

while uniform p gives 1 / (n + n max_i c_i L_i / (lam gamma)); the bracket with c_i = 1/n is the
lecture's n + mean L_i/(lam gamma). Lecture "Empirical Risk Minimization" (Richtarik), serial
samplings; Zhao & Zhang, ICML 2015, arXiv:1401.2753.

Check. theta of SDCA with Optimal, Uniform and many random p, for smooth losses and three lam.
False variant: p_i proportional to c_i L_i + 2 lam gamma is at least as good.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SDCA, Importance, Optimal, Uniform
from proofs_checks.claims import SMOOTH, Claim, Result, equal, smallest, toy

COUNT = 500


@jax.jit
def slacks(problem, ps):
    n, x = problem.n, problem.lam * problem.loss.gamma
    curvature = problem.c * problem.rows.sqnorms
    theta = lambda p: SDCA(Importance(p)).theta(problem)
    best, uniform = SDCA(Optimal()).theta(problem), SDCA(Uniform()).theta(problem)
    best_p = Optimal().constants(problem)[0]
    near = best_p[None, :] * jnp.exp(0.05 * jnp.log(ps))
    near = near / jnp.sum(near, axis=1, keepdims=True)
    wrong = (curvature + 2 * x) / jnp.sum(curvature + 2 * x)
    true = [
        equal(1.0 / best, n + jnp.sum(curvature) / x),
        equal(1.0 / uniform, n + n * jnp.max(curvature) / x),
        1.0 - jnp.max(jax.vmap(theta)(jnp.concatenate([ps, near]))) / best,
    ]
    return true, theta(wrong) / best - 1.0


def check() -> Result:
    rng = np.random.default_rng(7)
    found = []
    for loss in SMOOTH:
        for lam in (0.01, 0.1, 1.0):
            problem = toy(loss, lam=lam)
            found.append(slacks(problem, jnp.asarray(rng.dirichlet(np.ones(problem.n), COUNT))))
    return Result(smallest(*(smallest(*t) for t, _ in found)), max(float(f) for _, f in found))


claim = Claim(
    name="optimal_sampling",
    text="p_i ~ 1 + c_i L_i/(lam gamma) maximises theta: 1/(n + sum c_i L_i/(lam gamma))",
    lecture="Empirical Risk Minimization: samplings",
    check=check,
)
