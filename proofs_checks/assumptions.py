r"""Claim. What the two assumptions of the lecture cover, and what they do not:

    A1   |phi'(a) - phi'(b)| <= |a - b|/gamma     smooth losses; the hinge and |a - y| have none
    A2   g(v) >= g(w) + <s, v - w> + 1/2 ||v - w||^2   for a SUBgradient s of g at w

The lecture writes grad g, which the elastic net does not have at 0. Optimality is
w* = grad g*(abar(alpha*)), alpha_i* = -phi_i'(<x_i, w*>); only for ridge is that w* = abar(alpha*),
the equation dfSDCA starts from, so dfSDCA is a method for ridge.
Lecture "Empirical Risk Minimization" (Richtarik), assumptions; dfSDCA, motivation.

Check. Random points, all losses, both regularisers, optima by SDCA. False variants, all of which
have to fail: A1 with gamma = 1/2 for the hinge, one slope for the elastic net at 0 (A2 would then
hold with 0 and with kappa alike), and w* = abar(alpha*) for the elastic net.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import L2, ElasticNet, Hinge, Logistic
from proofs_checks.claims import (
    REGULARIZERS,
    SMOOTH,
    Claim,
    Result,
    equal,
    optimum,
    smallest,
    targets,
    toy,
)

COUNT = 2000
KAPPA = 0.3


@jax.jit
def quotient(loss, gamma, a, b, y):
    """The slack of A1."""
    return jnp.min(jnp.abs(a - b) / gamma - jnp.abs(loss.slope(a, y) - loss.slope(b, y)))


@jax.jit
def strongly(g, slopes, ws, vs):
    """The slack of A2, with the slopes given."""
    value, apart = jax.vmap(g.value), vs - ws
    return jnp.min(value(vs) - value(ws) - jnp.sum(slopes * apart + apart**2 / 2, axis=1))


def check() -> Result:
    rng, true = np.random.default_rng(81), []
    for loss in SMOOTH:
        a, b = 3.0 * rng.normal(size=(2, COUNT))
        true.append(quotient(loss, loss.gamma, a, b, targets(loss, rng, COUNT)))
    near = rng.uniform(0.9, 1.1, (2, COUNT))
    kink = quotient(Hinge(), 0.5, *near, np.ones(COUNT))
    ws, vs = rng.normal(size=(2, 60, 3))
    ws[:, 0] = 0.0  # where the elastic net has a kink
    for g in REGULARIZERS:
        kappa = KAPPA if isinstance(g, ElasticNet) else 0.0
        true.append(strongly(g, ws + kappa * np.sign(ws), ws, vs))
    lifted = ws + KAPPA * np.where(ws == 0, 2.0, np.sign(ws))  # no subgradient: |s| > kappa
    slope = strongly(ElasticNet(KAPPA), lifted, ws, vs)
    for g in (L2(), ElasticNet(KAPPA)):
        problem = toy(Logistic(), g)
        best = optimum(problem)
        abar = problem.abar(best.dual)
        true.append(equal(best.w, g.link(abar)))
        true.append(
            1e-6 + equal(best.dual, -Logistic().slope(problem.rows.matvec(best.w), problem.y))
        )
        apart = smallest(equal(best.w, abar))
    return Result(smallest(*true), max(float(kink), float(slope), apart))


claim = Claim(
    name="assumptions",
    text="A1 for smooth losses, A2 with subgradients; w* = abar(alpha*) for ridge only",
    lecture="Empirical Risk Minimization: assumptions",
    check=check,
)
