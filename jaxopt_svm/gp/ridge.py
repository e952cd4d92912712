r"""Kernel ridge regression, the posterior mean of a Gaussian process without its probabilities.

    min over f of  sum_i (f(x_i) - y_i)^2 + alpha ||f||_K^2,     f = sum_j a_j k(x_j, .)
    a = (K + alpha I)^{-1} y

As an ERM problem (``make_kernel_svm`` with ``Squared()``) alpha = n lam. Cost: n^3/3.
Saunders, Gammerman & Vovk, ICML 1998. Checked in proofs_checks/gp_is_ridge.py.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import cho_factor, cho_solve

from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.gp.checks import check_gram, check_kernel, points, targets
from jaxopt_svm.problems.make import check_lam

__all__ = ["KernelRidge", "kernel_ridge"]


@pytree
class KernelRidge:
    """A fitted function. Make one with ``kernel_ridge``."""

    kernel: Any
    X: Array  # (n, d)
    coefficients: Array  # (n,)

    def predict(self, X) -> Array:
        """(q,) f(x)."""
        X = points(X).astype(self.X.dtype)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"X: expected {self.X.shape[1]} columns; got {X.shape[1]}")
        return self.kernel.matrix(X, self.X) @ self.coefficients


@jax.jit
def _coefficients(kernel, alpha, X, y):
    K = kernel.matrix(X, X)
    return cho_solve(cho_factor(K + alpha * jnp.eye(X.shape[0], dtype=X.dtype)), y)


def kernel_ridge(X: Any, y: Any, *, kernel: Any, alpha: float = 1.0) -> KernelRidge:
    """Fit f to (X, y); alpha > 0 as in scikit-learn's KernelRidge."""
    check_kernel(kernel)
    level = check_lam("alpha", alpha)
    if level.ndim:
        raise ValueError("alpha: expected one number")
    X = points(X)
    y = targets(y, X.shape[0], X.dtype)
    check_gram(kernel, X, float(level))
    return KernelRidge(kernel, X, _coefficients(kernel, jnp.asarray(level, X.dtype), X, y))
