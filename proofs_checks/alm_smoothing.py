r"""Claim. phi^mu(z) = max_x { -phi*(-x) - z x - (mu/2)(x - a)^2 }, whose maximiser alpha(z) is the
step of SDCA at curvature mu, is convex and smooth with

    (phi^mu)'(z) = -alpha(z),      0 <= -alpha'(z) <= 1/mu
    phi(z) - mu/2 max (x - a)^2 <= phi^mu(z) <= phi(z)
    phi^mu(z) = phi(z) where a = alpha(z): the smoothing is exact at the right multipliers

and for the hinge the fixed points of a <- alpha(X w) are the optimal pairs. Rockafellar 1976.

Check. Every scalar loss on a grid of z, multipliers a and mu: slopes by central differences of the
maximum itself, taken over a fine grid of x for the losses on an interval. A full run for the end.
False variants: the sandwich with mu/4 in place of mu/2, and the slope with the wrong sign.
"""

import jax.numpy as jnp
import numpy as np

import jaxopt_svm as js
from proofs_checks.claims import Claim, Result, equal, smallest

Z = np.linspace(-3.0, 3.0, 61)[:, None, None]
A = np.linspace(0.0, 1.0, 6)[None, :, None]
MU = np.array([0.05, 0.5, 2.0])[None, None, :]
LOSSES = (js.Hinge(), js.SmoothHinge(0.3), js.Logistic())


def smoothed(loss, z):
    """phi^mu at its maximiser, and the maximiser."""
    one = jnp.ones_like(jnp.asarray(z + A + MU))
    x = loss.dual_step(z * one, A * one, one, MU * one)
    return loss.neg_conj(x, one) - z * x - MU / 2 * (x - A) ** 2, x


def case(loss):
    value, x = smoothed(loss, Z)
    one = jnp.ones_like(value)
    phi = loss.value(Z * one, one)
    h = 1e-5
    slope = (smoothed(loss, Z + h)[0] - smoothed(loss, Z - h)[0]) / (2 * h)
    steep = (smoothed(loss, Z + h)[1] - smoothed(loss, Z - h)[1]) / (2 * h)
    grid = jnp.linspace(0.0, 1.0, 2001)
    best = jnp.max(loss.neg_conj(grid, jnp.ones_like(grid)) - 0.7 * grid - 0.25 * (grid - 0.2) ** 2)
    there = loss.dual_step(jnp.array(0.7), jnp.array(0.2), jnp.array(1.0), jnp.array(0.5))
    direct = loss.neg_conj(there, jnp.array(1.0)) - 0.7 * there - 0.25 * (there - 0.2) ** 2
    distance = jnp.maximum(A, 1.0 - A) ** 2  # of the multiplier from the far end of [0, 1]
    again = loss.dual_step(Z * one, x, one, MU * one)  # multipliers put where the answer is
    settled = jnp.abs(again - x) < 1e-9
    centred = loss.neg_conj(x, one) - Z * x
    true = [
        1e-4 + equal(slope, -x),  # at a kink the difference is off by h/mu
        1e-6 - np.asarray(steep),
        1e-6 + np.asarray(1.0 / MU + steep),
        np.asarray(phi - value) + 1e-12,
        np.asarray(value - (phi - MU / 2 * distance)) + 1e-12,
        np.asarray(jnp.where(settled, 1e-9 - jnp.abs(centred - phi), 0.0)),
        1e-6 - np.abs(np.asarray(best - direct)),
    ]
    false = [
        smallest(np.asarray(value - (phi - MU / 4 * distance))),
        smallest(1e-6 + equal(slope, x)),
    ]
    return smallest(*(np.asarray(t) for t in true)), false


def check() -> Result:
    found = [case(loss) for loss in LOSSES]
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 4))
    p = js.make_erm(X, np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0), lam=0.01)
    one = js.solve(p, js.ALMNewton(), rtol=1e-12)
    respond = p.loss.dual_step(p.rows.matvec(one.w), one.dual, p.y, jnp.full(40, 0.1))
    fixed = 1e-5 - float(jnp.max(jnp.abs(respond - one.dual)))
    # each false variant must fail for the hinge, whose smoothing is all there is
    return Result(smallest(fixed, *(t for t, _ in found)), float(max(found[0][1])))


claim = Claim(
    name="alm_smoothing",
    text="smoothing around multipliers: slope -alpha(z), within mu/2, exact at the right ones",
    lecture="Optimization Methods for SVMs: second-order methods (an addition)",
    check=check,
)
