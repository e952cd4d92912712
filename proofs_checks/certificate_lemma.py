r"""Claim. For feasible beta with m > M the duality gap with b = (m + M)/2 is at most

    P - D <= (m - M)/2          (unnormalised: n c (m - M)/2)

because every example's Fenchel-Young term is at most c_i (m - M)/2: v_i lies beyond b by at most
half the violation on a side where beta_i can move. It ties SMO's stopping number to the
certificate.

The same gap from v alone is sum_i (hi_i - beta_i) [v_i - b]_+ + (beta_i - lo_i) [b - v_i]_+, over
1/lam: what a pass of decomposition watches.

Check. Random feasible beta, three kernels, and beta = 0, where it is an equality. Also the best
intercept (a weighted quantile) is no worse than any of a fine grid. False variant: (m - M)/4.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.oracles.pairs import gap_of, violation
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.kernel_toys import KERNELS, feasible_beta, quadratic, toy_kernel

COUNT = 200


@jax.jit
def slacks(problem, betas, grid):
    def one(beta):
        f = problem.rows.times(beta)
        m, M = violation(quadratic(problem), beta, problem.y - f)
        dual = problem.dual(problem.alpha_of(beta))
        value = lambda b: problem.primal(jnp.append(beta, b)) - dual
        gap, best = value((m + M) / 2), value(problem.best_intercept(f))
        others = jnp.min(jax.vmap(value)(grid))
        from_v = equal(problem.lam * gap_of(quadratic(problem), beta, problem.y - f), gap)
        true = jnp.minimum((m - M) / 2 - gap, jnp.minimum(others, gap) - best)
        true = jnp.minimum(true, from_v)
        return jnp.where(m > M, true, 0.0), jnp.where(m > M, (m - M) / 4 - gap, 0.0)

    true, false = jax.vmap(one)(betas)
    return jnp.min(true), jnp.min(false)


def check() -> Result:
    rng = np.random.default_rng(0)
    found = []
    for kernel in KERNELS:
        problem = toy_kernel(kernel)
        betas = feasible_beta(problem, rng, COUNT).at[0].set(0.0)
        found.append(slacks(problem, betas, jnp.linspace(-4.0, 4.0, 81)))
    return Result(smallest(*(t for t, _ in found)), max(float(f) for _, f in found))


claim = Claim(
    name="certificate_lemma",
    text="gap with the middle intercept <= (m - M)/2; the best intercept is a quantile",
    lecture="Optimization Methods for SVMs: optimality conditions",
    check=check,
)
