r"""Claim. For every loss, with -phi*(-a) as in the package,

    -phi*(-a) = inf_z phi(z) + a z                              for a in the domain
    phi(z) + phi*(-a) = -a z                                    at a = -phi'(z)   (Fenchel-Young)
    |phi'(z) - phi'(v)| <= |z - v| / gamma,   and |phi'| <= 1 where the loss says so
    phi*(-.) is gamma-strongly convex

Lecture "Empirical Risk Minimization" (Richtarik), assumptions and losses. The logistic loss is
1/4-smooth, so its gamma is 4: the lecture's example uses gamma = 1/4, which is 1/gamma.
Shalev-Shwartz & Zhang, JMLR 14 (2013), arXiv:1209.1873, section 1.

Check. The infimum by a search on [-80, 80], the rest at random points, near ones and far ones.
False variant: both sides of the smoothness claim with a gamma 10 % too large, for every loss.
"""

import jax
import jax.numpy as jnp
import numpy as np

from proofs_checks.claims import LOSSES, Claim, Result, equal, maximum, smallest, spread, targets

COUNT = 2000


def curvature(loss, gamma, z, v, y, a, b):
    """Slacks of (1/gamma)-smoothness of phi and of gamma-strong convexity of phi*(-.)."""
    smooth = jnp.abs(z - v) - gamma * jnp.abs(loss.slope(z, y) - loss.slope(v, y))
    f = lambda a: loss.neg_conj(a, y)
    strong = f((a + b) / 2) - (f(a) + f(b)) / 2 - gamma / 8 * (a - b) ** 2
    return smooth, strong


def points(loss, rng):
    """z, a nearby or distant v, targets, and two dual points."""
    y = targets(loss, rng, COUNT)
    z = jnp.asarray(3.0 * rng.normal(size=COUNT))
    v = z + spread(rng, -3.0, 1.0, COUNT) * rng.normal(size=COUNT)
    a, b = (loss.clip(0.5 * y + 1.5 * rng.normal(size=COUNT), y) for _ in range(2))
    return z, v, y, a, b


@jax.jit
def slacks(loss, z, v, y, a, b):
    at = -loss.slope(z, y)
    far = jnp.full_like(z, 80.0)
    infimum = -maximum(lambda x: -(loss.value(x, y) + a * x), -far, far)
    true = [
        equal(loss.neg_conj(a, y), infimum),
        equal(loss.value(z, y) - loss.neg_conj(at, y), -at * z),
        equal(loss.clip(at, y), at),
        *curvature(loss, loss.gamma, z, v, y, a, b),
    ]
    if loss.lipschitz:
        true.append(1.0 - jnp.abs(at))
    false = curvature(loss, 1.1 * loss.gamma, z, v, y, a, b)
    return [jnp.min(s) for s in true], [jnp.min(s) for s in false]


def check() -> Result:
    rng = np.random.default_rng(0)
    found = [(loss, *slacks(loss, *points(loss, rng))) for loss in LOSSES]
    true = smallest(*(smallest(*t) for _, t, _ in found))
    # both halves have to fail, for every smooth loss
    return Result(true, max(float(s) for loss, _, f in found if loss.smooth for s in f))


claim = Claim(
    name="conjugates",
    text="neg_conj is the conjugate; phi is (1/gamma)-smooth, phi* gamma-strongly convex",
    lecture="Empirical Risk Minimization: losses",
    check=check,
)
