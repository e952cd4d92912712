r"""Claim. x = dual_step(z, a, y, q) is the exact coordinate maximiser of SDCA,

    x = argmax  -phi*(-x) - z x - (q/2)(x - a)^2,        q >= 0.

Lecture "Empirical Risk Minimization" (Richtarik), SDCA and Quartz, option I.
Shalev-Shwartz & Zhang, JMLR 14 (2013), arXiv:1209.1873, section 6.

Check. Two ways, for all losses, q = 0 and q from 1e-3 to 1e8, a inside and on the boundary. (For
the logistic loss twelve Newton steps from 0 are enough only to q = 1e4, and lose dual value at
1e8; ours start from a bound on the root.)
the value against a search over the domain, and the optimality condition
-x in d phi(z + q (x - a)), which is sharp to first order.
False variant: the step with curvature q/2, the factor 1/2 of the square counted twice.
"""

import jax
import jax.numpy as jnp
import numpy as np

from proofs_checks.claims import (
    LOSSES,
    Claim,
    Result,
    maximum,
    smallest,
    spread,
    subdifferential,
    targets,
)

COUNT = 3000


def optimality(loss, x, z, a, y, q):
    """The slack of -x in d phi(z + q (x - a)), the point known to a few roundings."""
    size = 1.0 + jnp.abs(z) + q * (1.0 + jnp.abs(x) + jnp.abs(a))
    return subdifferential(loss, -x, z + q * (x - a), y, 1e-11 * size)


def points(loss, rng):
    """Scores (some on the kinks), dual points, targets, and curvatures from 0 to huge."""
    y = targets(loss, rng, COUNT)
    z = jnp.where(rng.random(COUNT) < 0.1, y, 3.0 * rng.normal(size=COUNT))
    a = loss.clip(0.5 * y + rng.normal(size=COUNT), y)
    q = jnp.where(rng.random(COUNT) < 0.1, 0.0, spread(rng, -3.0, 8.0, COUNT))
    return z, a, y, q


@jax.jit
def slacks(loss, z, a, y, q):
    lo, hi = loss.clip(jnp.full_like(y, -1e3), y), loss.clip(jnp.full_like(y, 1e3), y)
    value = lambda x: loss.neg_conj(x, y) - z * x - q / 2 * (x - a) ** 2
    new = loss.dual_step(z, a, y, q)
    best = maximum(value, lo, hi)
    true = [
        jnp.min((value(new) - best) / (1.0 + jnp.abs(best))),
        jnp.min(optimality(loss, new, z, a, y, q)),
        jnp.min(-jnp.abs(loss.clip(new, y) - new)),
    ]
    return true, jnp.min(optimality(loss, loss.dual_step(z, a, y, q / 2), z, a, y, q))


def check() -> Result:
    rng = np.random.default_rng(1)
    found = [slacks(loss, *points(loss, rng)) for loss in LOSSES]
    # the false variant has to fail for every loss
    return Result(smallest(*(smallest(*t) for t, _ in found)), max(float(f) for _, f in found))


claim = Claim(
    name="dual_steps",
    text="dual_step maximises -phi*(-x) - z x - (q/2)(x - a)^2",
    lecture="Empirical Risk Minimization: SDCA",
    check=check,
)
