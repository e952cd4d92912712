r"""Claim. The posterior mean of Gaussian process regression with noise s2 is kernel ridge
regression with alpha = s2, the MAP estimate of the weights, w = (Phi Phi' + s2 I)^{-1} Phi y, and
the minimiser of

    (1/m) sum_i (h(x_i) - y_i)^2 + (s2/m) ||h||_K^2

which as an ERM problem is the squared loss with lam = s2/m. The posterior variance at the data is
at most s2, and the log evidence is log N(y; 0, K + s2 I). Lecture "Introduction to Machine
Learning" (Srebro), Gaussian processes. Rasmussen & Williams 2006.

Check. k = (x x' + 1)^2, whose features (1, sqrt(2) x, x^2) are at hand, and RBF; two noises. The
ERM certificate of the ridge coefficients is zero. False variant: alpha = m s2, the noise of the
mean.
"""

import jax.numpy as jnp
import numpy as np

from jaxopt_svm import RBF, Point, Polynomial, Squared, kernel_ridge, make_gp, make_kernel_svm
from proofs_checks.claims import Claim, Result, equal, smallest

X, Y = np.array([-2.0, -1.0, 0.3, 1.1, 2.0]), np.array([-0.6, -0.5, 0.6, 1.2, 1.2])
GRID = np.linspace(-3.0, 3.0, 31)


def features(x):
    return np.stack([np.ones_like(x), np.sqrt(2.0) * x, x**2])


def evidence(K, s2):
    """log N(y; 0, K + s2 I) by eigenvalues: another route than the Cholesky factor."""
    values, vectors = np.linalg.eigh(np.asarray(K) + s2 * np.eye(len(X)))
    return -0.5 * np.sum((vectors.T @ Y) ** 2 / values + np.log(2 * np.pi * values))


def check() -> Result:
    true, false, m = [], [], len(X)
    for kernel in (Polynomial(), RBF(0.7)):
        for s2 in (0.1,) if isinstance(kernel, RBF) else (0.1, 1e-3):
            gp = make_gp(X, Y, kernel=kernel, noise=s2)
            mean, ridge = gp.mean(GRID), kernel_ridge(X, Y, kernel=kernel, alpha=s2)
            true.append(jnp.min(equal(mean, ridge.predict(GRID))))
            true.append(s2 - jnp.max(gp.variance(X)))
            K = kernel.matrix(X, X)
            true.append(equal(gp.log_evidence(), evidence(K, s2)))
            erm = make_kernel_svm(X[:, None], Y, kernel=kernel, loss=Squared(), lam=s2 / m)
            true.append(-abs(float(erm.certificate(Point(ridge.coefficients)).gap)))
            wrong = kernel_ridge(X, Y, kernel=kernel, alpha=m * s2)
            false.append(float(jnp.min(equal(mean, wrong.predict(GRID)))))
            if isinstance(kernel, Polynomial):
                Phi = features(X)
                w = np.linalg.solve(Phi @ Phi.T + s2 * np.eye(3), Phi @ Y)
                true.append(jnp.min(equal(mean, jnp.asarray(features(GRID).T @ w))))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="gp_is_ridge",
    text="GP posterior mean = kernel ridge with alpha = s2 = MAP weights = ERM with lam = s2/m",
    lecture="Introduction to Machine Learning: Gaussian processes",
    check=check,
)
