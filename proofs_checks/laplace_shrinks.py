r"""Claim. For a symmetric posterior h ~ N(m, v) the averaged probability lies between 1/2 and the
plug-in one, on its side:

    |E s(h) - 1/2| <= |s(m) - 1/2|,  (E s(h) - 1/2) m >= 0,      s(h) = 1/(1 + exp(-h)),

and MacKay's s(m/sqrt(1 + pi v/8)) is within 0.02 of E s(h). The mode of the Gaussian process
classifier is kernel logistic regression with lam = 1/n, its duality gap being zero.
Lecture "Introduction to Machine Learning" (Srebro), Bayesian prediction. MacKay 1992; Rasmussen &
Williams 2006, section 3.4.

Check. A grid of m and v, the average against a fine trapezoid rule; a fitted classifier.
False variant: the average lies farther from 1/2 than the plug-in.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import RBF, average_sigmoid, mackay_sigmoid, make_gp_classifier
from proofs_checks.claims import Claim, Result, smallest


@jax.jit
def slacks(m, v):
    average, plug, mackay = average_sigmoid(m, v), jax.nn.sigmoid(m), mackay_sigmoid(m, v)
    u = jnp.linspace(-12.0, 12.0, 3001)
    density = jnp.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    h = m[:, None] + jnp.sqrt(v)[:, None] * u[None, :]
    exact = jax.nn.sigmoid(h) @ density * (u[1] - u[0])
    nearer = jnp.abs(plug - 0.5) - jnp.abs(average - 0.5)
    true = (
        jnp.min(nearer),
        jnp.min((average - 0.5) * m),
        jnp.min(0.02 - jnp.abs(mackay - average)),
        jnp.min(1e-6 - jnp.abs(average - exact)),
    )
    return true, jnp.min(-nearer)


def check() -> Result:
    rng = np.random.default_rng(32)
    m, v = (a.ravel() for a in np.meshgrid(np.linspace(-6, 6, 13), np.geomspace(1e-3, 60, 9)))
    true, false = slacks(jnp.asarray(m), jnp.asarray(v))
    X = rng.normal(size=(20, 2))
    fitted = make_gp_classifier(X, np.where(X[:, 0] > 0, 1, -1), kernel=4.0 * RBF(0.5))
    away = lambda p: np.abs(np.asarray(p) - 0.5)
    at = 2.0 * rng.normal(size=(50, 2))
    shrunk = away(fitted.map_probability(at)) - away(fitted.probability(at))
    gap = -abs(float(fitted.certificate().gap))
    return Result(smallest(*true, shrunk, gap), float(false))


claim = Claim(
    name="laplace_shrinks",
    text="averaging over a symmetric posterior moves probabilities towards 1/2, never across",
    lecture="Introduction to Machine Learning: Bayesian prediction",
    check=check,
)
