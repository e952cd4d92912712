r"""Claim. Shotgun, tau coordinates at once each with the step it would take alone, converges while
tau < d/rho + 1, rho the largest eigenvalue of B'B scaled to unit diagonal; PCDM, whose steps the
ESO damps, converges for every tau.
Lecture "Empirical Risk Minimization" (Richtarik), Shotgun, PCDM; Bradley et al., ICML 2011,
arXiv:1105.5379.

Check. P(w) - P* after many steps of the package's methods, least squares: Shotgun with the largest
safe tau on Gaussian features, PCDM with tau = d on d equal features, where rho = d.
False variant: Shotgun with tau = d on those; it multiplies its error by about d a step.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import Squared, make_erm, pcdm, prepare, shotgun
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, smallest

D, N, LAM = 8, 30, 0.1


@jax.jit
def last_value(problem, method, samples):
    step = lambda state, index: (method.step(problem, state, Sample(index)), None)
    state = lax.scan(step, method.init(problem), samples)[0]
    return problem.primal(method.point(problem, state).w)


def excess(X, method, steps: int) -> float:
    """P - P* after ``steps`` sets of coordinates."""
    rng = np.random.default_rng(0)
    y = X @ np.linspace(-1.0, 1.0, D) + 0.3
    problem = prepare(make_erm(X, y, loss=Squared(), lam=LAM), method)
    best = np.linalg.solve(X.T @ X / N + LAM * np.eye(D), X.T @ y / N)
    order = np.stack([rng.permutation(D)[: method.sampling.tau] for _ in range(steps)])
    reached = last_value(problem, method, jnp.asarray(order, jnp.int32))
    return float(reached - problem.primal(jnp.asarray(best)))


def largest_safe(X) -> int:
    unit = X / np.linalg.norm(X, axis=0)
    return int(np.ceil(D / np.linalg.eigvalsh(unit.T @ unit)[-1]))


def check() -> Result:
    rng = np.random.default_rng(22)
    X = rng.normal(size=(N, D))
    equal = np.repeat(rng.normal(size=(N, 1)), D, axis=1)
    tau = largest_safe(X)
    assert tau > 2, "the safe number has to say something"
    right = (-excess(X, shotgun(tau), 800), -excess(equal, pcdm(D), 2000))
    return Result(smallest(*right), -excess(equal, shotgun(D), 40))


claim = Claim(
    name="shotgun_diverges",
    text="Shotgun converges for tau < d/rho + 1, diverges on equal features; PCDM never does",
    lecture="Empirical Risk Minimization: Shotgun",
    check=check,
)
