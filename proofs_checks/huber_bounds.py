r"""Claim. On f_mu = lam/2 ||w||^2 + smoothed hinge, L = lam + ||sum c_i x_i x_i'||/mu, kappa =
L/lam, from w = 0 after T steps

    AGD   f_mu(w_T) - f_mu* <= (1 - 1/sqrt(kappa))^T f_mu(0)
    GD    f_mu(w_T) - f_mu* <= (1 - 1/kappa)^T f_mu(0)

and the hinge objective is within mu/2 of it: P(w_T) - P* <= that + mu/2. So O(1/sqrt(eps)) or, not
using lam, O(1/eps) steps need acceleration and mu proportional to eps. Lecture "Optimization
Methods for SVMs" (Scheinberg), Huber loss, where plain descent is given that rate. Nesterov,
Introductory Lectures on Convex Optimization (2004), theorem 2.2.3.

Check. The package's methods at every T up to 300, mu = 0.3 and 0.03; their bound for the hinge too.
False variant: plain descent held to the accelerated bound.
"""

import jax
import jax.numpy as jnp

from jaxopt_svm import Hinge, huber_agd, huber_gd
from jaxopt_svm.methods.primal.huber import curvature
from proofs_checks.claims import Claim, Result, iterates, optimum, smallest, toy

T = 300


@jax.jit
def excesses(problem, method, smooth_best, best):
    """f_mu(w_t) - f_mu* over f_mu(0) for every t, and the slack of the package's own bound."""
    f = method.smoothed(problem, method.mu)
    ws = iterates(problem, method, jnp.zeros(T + 1, jnp.int32))
    smooth = jax.vmap(f.primal)(ws) - f.primal(smooth_best.w)
    hinge = jax.vmap(problem.primal)(ws) - problem.primal(best.w)
    promised = jax.vmap(lambda t: method.bound(problem, t))(jnp.arange(T + 1.0))
    return smooth / f.primal(jnp.zeros(f.d)), jnp.min(promised - hinge)


def check() -> Result:
    problem, true, false = toy(Hinge(), lam=0.02), [], []
    best = optimum(problem)
    for mu in (0.3, 0.03):
        agd, gd = huber_agd(mu), huber_gd(mu)
        f = agd.smoothed(problem, mu)
        smooth_best = optimum(f)
        kappa = agd.smoothness(f, curvature(problem)) / f.lam
        fast = (1.0 - 1.0 / jnp.sqrt(kappa)) ** jnp.arange(T + 1.0)
        slow = (1.0 - 1.0 / kappa) ** jnp.arange(T + 1.0)
        quick, own_quick = excesses(problem, agd, smooth_best, best)
        plain, own_plain = excesses(problem, gd, smooth_best, best)
        true += [jnp.min(fast - quick), jnp.min(slow - plain), own_quick, own_plain]
        false.append(float(jnp.min(fast - plain)))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="huber_bounds",
    text="smoothed hinge: AGD (1 - 1/sqrt(kappa))^T, GD (1 - 1/kappa)^T, and mu/2 for the hinge",
    lecture="Optimization Methods for SVMs: Huber loss",
    check=check,
)
