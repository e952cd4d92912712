r"""Claim. For losses of m outputs, phi on R^m, everything said about one output stays true:

    -phi*(-a) <= phi(z) + <a, z>,  with equality at a = -phi'(z)              (Fenchel-Young)
    ||phi'(z) - phi'(v)|| <= ||z - v|| / gamma,   phi*(-.) is gamma-strongly convex
    x = dual_step(z, a, y, q):  -x = phi'(z + q (x - a)), and x beats any feasible b by
        ((gamma + q)/2) ||x - b||^2
    dual_step(z, a, y, q) = (prox_{q phi}(zeta) - zeta)/q,   zeta = z - q a   (Moreau)
    clip is the nearest feasible point:  <a - clip(a), b - clip(a)> <= 0 for every feasible b
    E[D(alpha+)] - D(alpha) >= theta (P(w(alpha)) - D(alpha)) for one step of SDCA

The softmax loss has gamma = 2: its Hessian diag(p) - pp' has norm at most 1/2, reached for two
even classes. Lecture "Empirical Risk Minimization" (Richtarik), whose A_i has m columns;
Shalev-Shwartz & Zhang, arXiv:1309.2375, section 5, for the multiclass case.

Check. Random points, corners and centres of the simplex, m = 3 and 20, q = 0 and 1e-3 to 1e8;
moves between two even classes, where gamma is tight. The step of SDCA at m = 3 over all its
outcomes, so the expectation is exact. False variants, all of which have to fail: gamma 10 % too
large (for both losses, in both forms), the step with curvature q/2, zeta = z + q a, and theta
of the unweighted problem.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Nice, Uniform
from proofs_checks.claims import (
    VECTOR,
    Claim,
    Result,
    clipped,
    equal,
    feasible,
    optimum,
    smallest,
    spread,
    subdifferential,
    toy,
)
from proofs_checks.sdca_one_step import both

COUNT = 1500
OUTPUTS = (3, 20)


def dot(a, b):
    return jnp.sum(a * b, axis=-1)


def norm(a):
    return jnp.linalg.norm(a, axis=-1)


def points(loss, rng, m):
    """Scores z and v, dual points a and b, targets and curvatures."""
    onehot = lambda: np.eye(m)[rng.integers(0, m, COUNT)]
    y = rng.normal(size=(COUNT, m)) if loss.regression else onehot()
    z = spread(rng, -1.0, 1.0, COUNT, 1) * rng.normal(size=(COUNT, m))
    v = z + spread(rng, -3.0, 1.0, COUNT, 1) * rng.normal(size=(COUNT, m))
    wide = lambda: y - spread(rng, -2.0, 1.0, COUNT, 1) * rng.normal(size=(COUNT, m))
    clip = jax.jit(loss.clip)
    a, b = np.asarray(clip(wide(), y)), np.asarray(clip(wide(), y))
    a = np.where(rng.random((COUNT, 1)) < 0.2, y - onehot(), a)
    q = np.where(rng.random(COUNT) < 0.1, 0.0, spread(rng, -3.0, 8.0, COUNT))
    return z, v, a, b, y, q


def even(rng, m, y):
    """Scores and dual points near two even classes, moved from one class to the other."""
    move = rng.uniform(0.05, 0.2, (COUNT, 1)) * np.eye(m)[:1]
    move = move - np.roll(move, 1, axis=-1)
    centre = np.where(np.arange(m) < 2, 0.5, 0.0)[None, :]
    z = np.log(centre + 1e-12)
    return z + move, z - move, y - centre - move, y - centre + move


def curvature(loss, gamma, y, moved):
    """Slacks of (1/gamma)-smoothness of phi and of gamma-strong convexity of phi*(-.)."""
    z, v, a, b = moved
    smooth = norm(z - v) - gamma * norm(loss.slope(z, y) - loss.slope(v, y))
    f = lambda a: loss.neg_conj(a, y)
    strong = f((a + b) / 2) - (f(a) + f(b)) / 2 - gamma / 8 * norm(a - b) ** 2
    return [jnp.min(smooth), jnp.min(strong)]


def step_slacks(loss, x, z, a, b, y, q):
    """The optimality of x, by the condition and by comparison with b."""
    width = 1e-11 * (1.0 + norm(z) + q * (1.0 + norm(x) + norm(a)))
    condition = subdifferential(loss, -x, z + q[:, None] * (x - a), y, width)
    value = lambda x: loss.neg_conj(x, y) - dot(z, x) - q / 2 * norm(x - a) ** 2
    best, other = value(x), value(b)
    ahead = best - other - (loss.gamma + q) / 2 * norm(x - b) ** 2
    return [jnp.min(condition), jnp.min(ahead / (1.0 + jnp.abs(best) + jnp.abs(other)))]


@jax.jit
def slacks(loss, given, near):
    z, v, a, b, y, q = given
    at, t = -loss.slope(z, y), q + 0.01
    new = loss.dual_step(z, a, y, q)
    wild = y - 3.0 * z
    clipped = loss.clip(wild, y)
    split = lambda zeta: equal(
        loss.dual_step(z, a, y, t), (loss.prox(zeta, y, t) - zeta) / t[:, None]
    )
    true = [
        jnp.min(loss.value(z, y) + dot(a, z) - loss.neg_conj(a, y)),
        jnp.min(equal(loss.value(z, y) + dot(at, z), loss.neg_conj(at, y))),
        *(jnp.min(equal(loss.clip(s, y), s)) for s in (at, new, a)),
        *curvature(loss, loss.gamma, y, (z, v, a, b)),
        *curvature(loss, loss.gamma, y, near),
        *step_slacks(loss, new, z, a, b, y, q),
        *step_slacks(loss, new, z, a, 0.999 * new + 0.001 * b, y, q),
        jnp.min(split(z - t[:, None] * a)),
        jnp.min(-dot(wild - clipped, b - clipped) / (1.0 + norm(wild) * norm(b - clipped))),
    ]
    half = loss.dual_step(z, a, y, q / 2)
    false = [
        *curvature(loss, 1.1 * loss.gamma, y, near),
        *step_slacks(loss, half, z, a, new, y, q),
        jnp.min(split(z + t[:, None] * a)),
    ]
    return true, false


def contraction(loss, rng):
    """The one-step claim, from random alpha and from alpha* with one example moved."""
    problem = toy(loss)
    best = optimum(problem).dual
    move = spread(rng, -2.0, 0.5, 150, 1, 1) * rng.normal(size=(150, *best.shape))
    move[:, 1:] = 0.0
    single = clipped(problem, best[None] + move)
    alphas = [feasible(problem, rng, 150), feasible(problem, rng, 150, best), single]
    return [both(problem, s, np.concatenate(alphas)) for s in (Uniform(), Nice(3))]


def check() -> Result:
    rng = np.random.default_rng(20)
    true, false = [], []
    for loss in VECTOR:
        for m in OUTPUTS:
            given = points(loss, rng, m)
            good, bad = slacks(loss, given, even(rng, m, given[4]))
            true += good
            false += bad
    steps = {loss: contraction(loss, rng) for loss in VECTOR}
    true += [good for found in steps.values() for good, _ in found]
    false += [bad for _, bad in steps[VECTOR[1]]]
    return Result(smallest(*true), max(float(f) for f in false))


claim = Claim(
    name="vector_losses",
    text="several outputs: conjugates, gamma = 2 of the softmax, dual steps, SDCA's one step",
    lecture="Empirical Risk Minimization: losses",
    check=check,
)
