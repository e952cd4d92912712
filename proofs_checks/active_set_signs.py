r"""Claim. At the optimum the slacks of the variables at bounds are

    s_0  = Q_0s alpha_s + c Q_0c e + y_0 b - 1 >= 0,      xi_c = 1 - Q_cs alpha_s - c Q_cc e - y_c b
    >= 0,

so the active-set method stops. Lecture "Optimization Methods for SVMs" (Scheinberg), step 2, prints
both with the opposite signs: with those the method would go on at the optimum for ever.

Check. Exact solutions, three kernels, C = 0.3 and 3, in the lecture's own letters. False variant:
the printed formulas.
"""

import jax.numpy as jnp

from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.kernel_toys import KERNELS, exact, toy_kernel


def slacks(problem):
    """(s_0, xi_c), inf where a variable is of the other kind."""
    beta, b = exact(problem)
    y, c = problem.y, 1.0 / (problem.n * problem.lam)
    alpha, Q = y * beta, y[:, None] * y[None, :] * problem.rows.K
    at_0, at_c = alpha <= 0.0, alpha >= c * (1.0 - 1e-12)
    r = Q @ alpha + y * b - 1.0
    return jnp.where(at_0, r, jnp.inf), jnp.where(at_c, -r, jnp.inf)


def check() -> Result:
    true, false = [], []
    for kernel in KERNELS:
        for C in (0.3, 3.0):
            s, xi = slacks(toy_kernel(kernel, C=C))
            true.append(smallest(s, xi))
            printed = (
                jnp.where(jnp.isfinite(s), -s, jnp.inf),
                jnp.where(jnp.isfinite(xi), -xi, jnp.inf),
            )
            false.append(smallest(*printed))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="active_set_signs",
    text="s_0 = r_0 and xi_c = -r_c are >= 0 at the optimum; the printed signs never stop",
    lecture="Optimization Methods for SVMs: active set method, step 2",
    check=check,
    tolerance=1e-8,
)
