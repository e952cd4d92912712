r"""Claim. With w = w(alpha) and gap = P(w) - D(alpha),

    ||w - w*|| <= sqrt(2 gap / lam)

so a row whose margin differs from 1 by more than ||x_i|| sqrt(2 gap/lam) has alpha*_i = 0 (margin
above 1) or y_i alpha*_i = 1 (below), for the hinge: it can be left out for good.

Ndiaye, Fercoq, Gramfort & Salmon 2017; P is lam-strongly convex and P(w*) >= D(alpha).

Check. The distance and the sides, from alphas along a run of SDCA on a separable and on a noisy
problem, lam 1e-3 to 1, against w* solved to a relative gap of 1e-12.
False variant: the radius sqrt(gap/lam), a factor sqrt(2) short. Two opposite examples have w* = 0,
and a w near it beside the optimal alpha is sqrt(2 gap/lam) away: the bound is tight.
"""

import jax.numpy as jnp
import numpy as np

import jaxopt_svm as js
from jaxopt_svm.wrappers.shrinking import slack
from proofs_checks.claims import Claim, Result, smallest


def problem(lam: float, noise: float):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 6)) * rng.uniform(0.2, 6.0, size=(80, 1))
    y = np.where(X @ rng.normal(size=6) + noise * rng.normal(size=80) > 0, 1.0, -1.0)
    return js.make_erm(X, y, lam=lam)


def case(lam: float, noise: float):
    p = problem(lam, noise)
    best = js.solve(p, js.ALMNewton(), rtol=1e-13, max_passes=200)
    tight = float(jnp.sqrt(2 * jnp.maximum(best.certificate.gap, best.certificate.floor) / lam))
    margins = p.y * p.rows.matvec(best.w)
    norms = jnp.sqrt(p.rows.sqnorms)
    alphas = [js.solve(p, js.SDCA(), rtol=0.0, max_passes=k).dual for k in (1, 2, 4, 8, 16, 64)]
    true = []
    for alpha in alphas:
        w = p.w_of(alpha)
        gap = p.certificate(js.Point(w, alpha)).gap
        radius = jnp.sqrt(2 * jnp.maximum(gap, 0.0) / lam)
        true.append(float(radius - jnp.linalg.norm(w - best.w)) + tight)
        b = p.y * alpha
        fixed = jnp.isinf(slack(p, w, alpha))
        # at 0: the margin stays above 1; at the end: below
        side = jnp.where(b <= 0, margins - 1.0, 1.0 - margins)
        true.append(float(jnp.min(jnp.where(fixed, side, 1.0))) + float(tight * norms.max()))
    return smallest(*true)


def short_radius() -> float:
    """By how much of ||w - w*|| the shorter radius misses."""
    p = js.make_erm(np.array([[1.0], [1.0]]), np.array([1.0, -1.0]), lam=1.0)
    slacks = []
    for e in (1e-3, 1e-2, 1e-1):
        w = jnp.array([e])
        gap = p.certificate(js.Point(w, jnp.array([1.0, -1.0]))).gap
        slacks.append(float(jnp.sqrt(gap / p.lam) / e - 1.0))
    return smallest(*slacks)


def check() -> Result:
    found = [case(lam, noise) for lam in (1e-3, 1e-2, 1.0) for noise in (0.0, 2.0)]
    return Result(smallest(*found), short_radius())


claim = Claim(
    name="gap_safe",
    text="||w - w*|| <= sqrt(2 gap/lam); rows further than that from the margin are fixed for good",
    lecture="Optimization Methods for SVMs: shrinking (an addition)",
    check=check,
)
