r"""Claim. Shotgun, tau coordinates at once each with the step it would take alone, converges while
tau < d/rho + 1, rho the largest eigenvalue of B'B scaled to unit diagonal; PCDM, whose steps the
ESO damps, converges for every tau.
Lecture "Empirical Risk Minimization" (Richtarik), Shotgun, PCDM; Bradley et al., ICML 2011,
arXiv:1105.5379.

Check. P(w) - P* after many passes of the package's methods: Shotgun with the largest safe tau on
Gaussian features, l2 and elastic net; PCDM with tau = d on d equal features, where rho = d.
False variant: Shotgun with tau = d on those; it multiplies its error by about d a step.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import L2, SDCA, ElasticNet, Squared, make_erm, pcdm, prepare, run, shotgun
from proofs_checks.claims import Claim, Result, smallest

D, N, LAM = 8, 30, 0.1


def excess(X, method, regularizer, passes: int) -> float:
    """P - P*, P* from above by no more than the last gap of SDCA."""
    y = X @ np.linspace(-1.0, 1.0, D) + 0.3
    problem = make_erm(X, y, loss=Squared(), lam=LAM, regularizer=regularizer)
    best = run(problem, SDCA(), passes=400, every=400)[1].dual[-1]
    trace = run(prepare(problem, method), method, passes=passes, every=passes)[1]
    return float(trace.primal[-1] - best)


def largest_safe(X) -> int:
    unit = X / np.linalg.norm(X, axis=0)
    rho = float(jnp.linalg.eigvalsh(jnp.asarray(unit.T @ unit))[-1])
    return int(np.ceil(D / rho))


def check() -> Result:
    rng = np.random.default_rng(22)
    X = rng.normal(size=(N, D))
    equal = np.repeat(rng.normal(size=(N, 1)), D, axis=1)
    tau = largest_safe(X)
    assert tau > 2, "the safe number has to say something"
    right = [-excess(X, shotgun(tau), g, 200) for g in (L2(), ElasticNet(0.1))]
    right.append(-excess(equal, pcdm(D), L2(), 800))
    jax.block_until_ready(right)
    return Result(smallest(*right), -excess(equal, shotgun(D), L2(), 20))


claim = Claim(
    name="shotgun_diverges",
    text="Shotgun converges for tau < d/rho + 1, diverges on equal features; PCDM never does",
    lecture="Empirical Risk Minimization: Shotgun",
    check=check,
)
