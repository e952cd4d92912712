"""What the Gram matrix of a Gaussian process has to be, checked on the host before any algebra."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxopt_svm.problems.kernels import Kernel
from jaxopt_svm.problems.make import _refuse_non_finite, check_lam, working_dtype

__all__ = ["check_gram", "check_kernel", "check_noise", "jitter", "points", "targets"]

JITTER = 1e-10  # of the mean diagonal, or 10 eps if that is more
NEGATIVE = 1e-6  # an eigenvalue this far below zero, relative to the largest, is no rounding


def points(X: Any, name: str = "X") -> Any:
    """(n, d) points; a vector of n numbers is n points on a line."""
    X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{name}: expected real numbers; got an array of dtype {X.dtype}")
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name}: expected points of shape (n,) or (n, d); got {X.shape}")
    X = X.astype(working_dtype(X.dtype))
    _refuse_non_finite(name, X)
    return jnp.asarray(X)


def targets(y: Any, n: int, dtype) -> Any:
    y = np.asarray(y)
    if y.shape != (n,) or y.dtype.kind not in "fiub":
        raise ValueError(f"y: expected {n} numbers, one a point of X; got {y.shape}")
    _refuse_non_finite("y", y)
    return jnp.asarray(y.astype(dtype))


def check_kernel(kernel: Any) -> None:
    if not isinstance(kernel, Kernel):
        raise ValueError(f"kernel: expected a kernel such as js.RBF(0.5); got {kernel!r}")
    kernel.check()


def check_noise(noise: Any) -> None:
    if np.asarray(noise).shape == () and float(noise) == 0.0:
        return
    if check_lam("noise", noise).ndim:
        raise ValueError("noise: expected one number, the variance of the noise")


def jitter(diagonal):
    """What stands for no noise at all: 1e-10 of the mean diagonal, more in float32."""
    return max(JITTER, 10 * float(jnp.finfo(diagonal.dtype).eps)) * jnp.mean(diagonal)


def check_gram(kernel: Kernel, X: Any, noise: float) -> None:
    """K is positive semidefinite and, without noise, of full rank."""
    values = np.linalg.eigvalsh(np.asarray(kernel.matrix(X, X), np.float64))
    if not np.isfinite(values).all():
        raise ValueError("kernel: its matrix on X has entries that are not finite")
    smallest, largest = values[0], max(values[-1], 0.0)
    if smallest < -NEGATIVE * max(largest, -smallest):
        raise ValueError(
            f"kernel: not positive definite on X: eigenvalues from {smallest:.3g} to {largest:.3g}"
        )
    small = float(jitter(kernel.diagonal(X)))
    rank = int(np.sum(values > small))
    if noise == 0.0 and rank < len(values):
        raise ValueError(
            f"noise: without noise K must have full rank, and it has rank {rank} of {len(values)} "
            f"(eigenvalues above the jitter {small:.1e}): no function of this kernel passes "
            f"through any {len(values)} values. Give noise > 0; noise={small:.1e} is that jitter"
        )
