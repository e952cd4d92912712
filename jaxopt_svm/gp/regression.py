r"""Gaussian process regression: a random function, seen through noise.

    h ~ GP(0, k),   y_i = h(x_i) + e_i,   e_i ~ N(0, s2)

    K + s2 I = L L',   A = L^{-1} K_*,   b = L^{-1} y
    mean of h(x_*)         A' b                     = kernel ridge with alpha = s2
    covariance             K_** - A'A
    log evidence           -1/2 b'b - sum_i log L_ii - (n/2) log 2 pi

The mean is also the MAP estimate, argmin (1/m) sum (h_i - y_i)^2 + (s2/m) ||h||_K^2, and as s2 -> 0
the interpolant of least norm, whose norm^2 is y'K^{-1}y. The prior is exp(-1/2 ||h||_K^2), with the
one-half. Mode and mean agree because the posterior is Gaussian; with other likelihoods they do not.
With s2 = 0 a jitter of 1e-10 of the mean diagonal takes its place, if K has full rank.

All is differentiable in the kernel's parameters and the noise. Cost: n^3/3, and n^2 a new point.
Lecture "Introduction to Machine Learning" (Srebro), Gaussian processes. Rasmussen & Williams 2006,
algorithm 2.1; Kimeldorf & Wahba 1970. Checked in proofs_checks/gp_is_ridge.py, gp_prior.py.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import solve_triangular

from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.gp.checks import check_gram, check_kernel, check_noise, jitter, points, targets

__all__ = ["GP", "condition", "gaussian_sample", "log_evidence", "make_gp", "prior_sample"]


def gaussian_sample(mean, covariance, key: Array, count: int) -> Array:
    """(count, q) draws of N(mean, covariance), which may be singular."""
    values, vectors = jnp.linalg.eigh(covariance)
    z = jax.random.normal(key, (count, mean.shape[0]), mean.dtype)
    scaled = z * jnp.sqrt(jnp.maximum(values, 0.0))[None, :]
    return mean[None, :] + scaled @ vectors.T


@pytree
class GP:
    """The posterior given X and y. Make one with ``make_gp``."""

    kernel: Any
    noise: Array  # (): s2
    X: Array  # (n, d)
    y: Array  # (n,)
    L: Array  # (n, n)
    b: Array  # (n,)

    def _seen(self, X) -> tuple[Array, Array]:
        """The new points, and A = L^{-1} K_*."""
        X = points(X) if not isinstance(X, jax.Array) or X.ndim != 2 else X
        X = X.astype(self.X.dtype)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"X: expected {self.X.shape[1]} columns; got {X.shape[1]}")
        return X, solve_triangular(self.L, self.kernel.matrix(self.X, X), lower=True)

    def mean(self, X) -> Array:
        """(q,) E[h(x) | y]."""
        return self._seen(X)[1].T @ self.b

    def covariance(self, X) -> Array:
        """(q, q) of h at the rows of X, without the noise of a new observation."""
        X, A = self._seen(X)
        return self.kernel.matrix(X, X) - A.T @ A

    def variance(self, X) -> Array:
        """(q,) of h(x): the diagonal of ``covariance``, never negative."""
        X, A = self._seen(X)
        return jnp.maximum(self.kernel.diagonal(X) - jnp.sum(A * A, axis=0), 0.0)

    def sample(self, X, key: Array, count: int = 1) -> Array:
        """(count, q) functions drawn from the posterior, at the rows of X."""
        X, A = self._seen(X)
        covariance = self.kernel.matrix(X, X) - A.T @ A
        return gaussian_sample(A.T @ self.b, covariance, key, count)

    def log_evidence(self) -> Array:
        """log p(y | X, kernel, noise)."""
        n = self.y.shape[0]
        logs = jnp.sum(jnp.log(jnp.diagonal(self.L)))
        return -0.5 * jnp.sum(self.b**2) - logs - 0.5 * n * jnp.log(2 * jnp.pi)

    def coefficients(self) -> Array:
        """(n,) (K + s2 I)^{-1} y: the mean is sum_j coefficients_j k(x_j, .)."""
        return solve_triangular(self.L, self.b, lower=True, trans="T")

    def squared_norm(self) -> Array:
        """||mean||_K^2; without noise y'K^{-1}y, the least of all interpolants."""
        a = self.coefficients()
        return a @ (self.kernel.matrix(self.X, self.X) @ a)


def condition(kernel: Any, noise, X: Array, y: Array) -> GP:
    """The posterior, as a pure function of arrays: jit, vmap and differentiate it."""
    noise = jnp.asarray(noise, X.dtype)
    K = kernel.matrix(X, X)
    level = jnp.maximum(noise, jitter(jnp.diagonal(K)))
    L = jnp.linalg.cholesky(K + level * jnp.eye(X.shape[0], dtype=X.dtype))
    return GP(kernel, noise, X, y, L, solve_triangular(L, y, lower=True))


def log_evidence(kernel: Any, noise, X: Array, y: Array) -> Array:
    """log p(y | X, kernel, noise), differentiable in the parameters of the kernel and the noise."""
    return condition(kernel, noise, X, y).log_evidence()


def make_gp(X: Any, y: Any, *, kernel: Any, noise: float = 0.0) -> GP:
    """Gaussian process regression on (X, y).

    Args:
      X: (n, d) points, or (n,) points on a line. y: (n,) values.
      kernel: a kernel of ``jaxopt_svm.problems.kernels``, such as ``js.RBF(0.5)``.
      noise: the variance s2 of the noise, as alpha of scikit-learn's KernelRidge and
        GaussianProcessRegressor. 0 asks for a kernel matrix of full rank.
    """
    check_kernel(kernel)
    check_noise(noise)
    X = points(X)
    y = targets(y, X.shape[0], X.dtype)
    check_gram(kernel, X, float(noise))
    return jax.jit(condition)(kernel, jnp.asarray(noise, X.dtype), X, y)


def prior_sample(kernel: Any, X: Any, key: Array, count: int = 1) -> Array:
    """(count, q) functions drawn from GP(0, kernel), at the points X."""
    check_kernel(kernel)
    X = points(X)
    zero = jnp.zeros(X.shape[0], X.dtype)
    return gaussian_sample(zero, kernel.matrix(X, X), key, count)
