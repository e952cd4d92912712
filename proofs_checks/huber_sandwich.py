r"""Claim. The Huber-smoothed hinge phi_mu(z) = max over a in [0, 1] of a (1 - z) - mu a^2/2
satisfies

    hinge - mu/2 <= phi_mu <= hinge,     phi_mu' = -clip((1 - z)/mu, 0, 1) is (1/mu)-Lipschitz,

and its alpha certifies the hinge as well: with alpha = -phi_mu' the gap of the hinge problem
is at most that of the smoothed one plus mu/2.
Lecture "Optimization Methods for SVMs" (Scheinberg), Huber loss. Nesterov, Math. Prog. 103 (2005).

Check. A fine grid of margins and slopes for mu from 0.01 to 2, the maximum by search; certificates
at random w. False variants, both of which have to fail: mu/4 in the sandwich, and the constant of
the slope halved.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Hinge, Point, SmoothHinge
from proofs_checks.claims import Claim, Result, equal, maximum, smallest, spread, toy

MUS, COUNT = (0.01, 0.5, 2.0), 100


@jax.jit
def pieces(mu):
    z = jnp.linspace(-3.0, 3.0, 4001)
    y, smooth, hinge = jnp.ones_like(z), SmoothHinge(mu), Hinge()
    value, slope = smooth.value(z, y), smooth.slope(z, y)
    best = maximum(lambda a: a * (1.0 - z) - mu * a**2 / 2, jnp.zeros_like(z), jnp.ones_like(z))
    below = hinge.value(z, y) - value
    steep = jnp.max(jnp.abs(jnp.diff(slope) / jnp.diff(z))) * mu
    true = (jnp.min(below), jnp.min(mu / 2 - below), jnp.min(equal(value, best)), 1.0 - steep)
    return true, jnp.min(mu / 4 - below) / mu, 1.0 - 2 * steep


@jax.jit
def certificates(problem, mu, ws):
    smooth = dataclasses.replace(problem, loss=SmoothHinge(mu))

    def one(w):
        alpha = -smooth.loss.slope(smooth.rows.matvec(w), smooth.y)
        point = Point(w, alpha)
        return smooth.certificate(point).gap + mu / 2 - problem.certificate(point).gap

    return jnp.min(jax.vmap(one)(ws))


def check() -> Result:
    rng, problem, true, quarter, steep = np.random.default_rng(28), toy(Hinge()), [], [], []
    for mu in MUS:
        found = pieces(mu)
        true += found[0]
        quarter.append(float(found[1]))
        steep.append(float(found[2]))
        ws = spread(rng, -1, 1, COUNT, 1) * rng.normal(size=(COUNT, problem.d))
        true.append(certificates(problem, mu, ws))
    return Result(smallest(*true), max(*quarter, *steep))


claim = Claim(
    name="huber_sandwich",
    text="hinge - mu/2 <= phi_mu <= hinge; phi_mu' is 1/mu-Lipschitz and certifies the hinge",
    lecture="Optimization Methods for SVMs: Huber loss",
    check=check,
)
