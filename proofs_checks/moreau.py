r"""Claim. One prox gives all dual steps, and the link of g is the gradient of its conjugate:

    prox_{t phi}(z) = argmin_x t phi(x) + (x - z)^2/2
    dual_step(z, a, y, q) = (prox_{q phi}(zeta) - zeta) / q,        zeta = z - q a   (Moreau)
    g*(u) = sup_w <u, w> - g(w), attained at w = link(u)
    prox_{t g}(x) = argmin_w t g(w) + ||w - x||^2/2

Lecture "Empirical Risk Minimization" (Richtarik), regularisers and SDCA.
Moreau, Bull. SMF 93 (1965).

Check. The prox of a loss by the condition (z - x)/t in d phi(x), everything about g by a search
in each coordinate, at random points; the free intercept is left alone by its prox.
False variant: zeta = z + q a, the other sign of the dual variable.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import L2, ElasticNet
from proofs_checks.claims import (
    LOSSES,
    REGULARIZERS,
    Claim,
    Result,
    equal,
    maximum,
    smallest,
    spread,
    subdifferential,
    targets,
)

COUNT = 2000


def points(loss, rng):
    """Scores, dual points, targets and step sizes."""
    y = targets(loss, rng, COUNT)
    a = loss.clip(0.5 * y + rng.normal(size=COUNT), y)
    return jnp.asarray(3.0 * rng.normal(size=COUNT)), a, y, spread(rng, -2.0, 2.0, COUNT)


@jax.jit
def loss_slacks(loss, z, a, y, t):
    x = loss.prox(z, y, t)
    width = 1e-11 * (1.0 + jnp.abs(z) + t)
    optimal = subdifferential(loss, (z - x) / t, x, y, width) + 1e-11 * (1.0 + jnp.abs(z)) / t
    moreau = lambda zeta: equal(loss.dual_step(z, a, y, t), (loss.prox(zeta, y, t) - zeta) / t)
    true = [jnp.min(optimal), jnp.min(moreau(z - t * a))]
    return true, jnp.min(moreau(z + t * a))


@jax.jit
def regularizer_slacks(g, x):
    t, far = 0.7, jnp.full((1,), 20.0)
    one = lambda w: jax.vmap(g.value)(w[:, None])  # g of each coordinate alone

    def scalar(x):
        conj = maximum(lambda w: x * w - one(w), -far, far)[0]
        prox = -maximum(lambda w: -(t * one(w) + (w - x) ** 2 / 2), -far, far)[0]
        return conj, prox

    conj, moved = jax.vmap(scalar)(x)
    link, prox = g.link(x), g.prox(x, t)
    return [
        jnp.min(equal(g.conj(x), jnp.sum(conj))),
        jnp.min(equal(x * link - one(link), conj)),
        jnp.min(equal(t * one(prox) + (prox - x) ** 2 / 2, moved)),
    ]


def free_slack(g):
    """With a free intercept the prox and the link of g leave the last coordinate out."""
    x = jnp.linspace(-2.0, 2.0, 5)
    bound = jnp.array([g.value(x) - g.value(x.at[-1].set(9.0)), g.prox(x, 0.7)[-1] - x[-1]])
    return -jnp.max(jnp.abs(jnp.append(bound, g.link(x)[-1])))


def check() -> Result:
    rng = np.random.default_rng(2)
    x = jnp.asarray(2.0 * rng.normal(size=200))
    found = [loss_slacks(loss, *points(loss, rng)) for loss in LOSSES]
    rest = [s for g in REGULARIZERS for s in regularizer_slacks(g, x)]
    free = [free_slack(g) for g in (L2(free=True), ElasticNet(0.3, free=True))]
    # the false variant has to fail for every loss
    return Result(
        smallest(*(smallest(*t) for t, _ in found), *rest, *free),
        max(float(f) for _, f in found),
    )


claim = Claim(
    name="moreau",
    text="prox and dual_step are one map; link is the gradient of g*",
    lecture="Empirical Risk Minimization: regularisers",
    check=check,
)
