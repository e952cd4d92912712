r"""Claim. For h = <w, phi(x)>, w ~ N(0, I), the values at any points are N(0, K): with a
Gaussian process prior

    log p(h) - log p(h') = -1/2 (||h||_K^2 - ||h'||_K^2),      ||h||_K^2 = h'K^{-1}h,

with the one-half. Drawn functions have covariance K, drawn posteriors the posterior's.
Lecture "Introduction to Machine Learning" (Srebro), Gaussian processes (printed: exp(-||h||^2)).

Check. log p as a telescoping product of one-dimensional conditionals, which knows no K^{-1};
moments of 40,000 draws within six standard errors. False variant: the one-half dropped, as printed.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import RBF, Periodic, Polynomial, make_gp, prior_sample
from proofs_checks.claims import Claim, Result, equal, smallest

X = np.array([-1.7, -0.4, 0.3, 1.1])
DRAWS = 40_000


def log_density(K, h) -> float:
    """sum_i log N(h_i; mean and variance given h_1..h_{i-1})."""
    total = 0.0
    for i in range(len(h)):
        a = np.linalg.solve(K[:i, :i], K[:i, i]) if i else np.zeros(0)
        mean, variance = a @ h[:i], K[i, i] - a @ K[:i, i]
        total += -0.5 * (h[i] - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    return total


def moments(draws, mean, covariance):
    """Slack of the sample's mean and covariance, within six standard errors."""
    centred = np.asarray(draws) - np.asarray(mean)[None, :]
    found, scale = centred.T @ centred / DRAWS, np.diag(covariance)
    error = 6 * np.sqrt((np.outer(scale, scale) + np.asarray(covariance) ** 2) / DRAWS)
    first = 6 * np.sqrt(scale / DRAWS) + 1e-9 - np.abs(centred.mean(0))
    return smallest(first, error + 1e-9 - np.abs(found - covariance))


def check() -> Result:
    rng, true, false = np.random.default_rng(29), [], []
    for kernel in (RBF(0.8), Periodic()):
        K = np.asarray(kernel.matrix(X, X))
        h, other = rng.normal(size=(2, 4)) @ np.linalg.cholesky(K).T
        norm = lambda h, K=K: h @ np.linalg.solve(K, h)
        difference = log_density(K, h) - log_density(K, other)
        true.append(equal(difference, -0.5 * (norm(h) - norm(other))))
        false.append(float(equal(difference, -(norm(h) - norm(other)))))
    key = jax.random.key(0)
    for kernel in (RBF(0.8), Polynomial()):
        zero, K = np.zeros(4), np.asarray(kernel.matrix(X, X))
        true.append(moments(prior_sample(kernel, X, key, DRAWS), zero, K))
    gp, at = make_gp(X, np.sin(X), kernel=RBF(0.8), noise=0.1), np.array([0.0, 0.7])
    drawn = gp.sample(at, key, DRAWS)
    true.append(moments(drawn, gp.mean(at), np.asarray(gp.covariance(at))))
    true.append(jnp.min(equal(jnp.diagonal(gp.covariance(at)), gp.variance(at))))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="gp_prior",
    text="log p(h) = -1/2 ||h||_K^2 + const; draws have the covariance of the process",
    lecture="Introduction to Machine Learning: Gaussian processes",
    check=check,
)
