r"""Kernels k(x, z) as values: parameters are leaves, sums, products and scalings are kernels again.

    Linear      <x, z>
    RBF         exp(-gamma ||x - z||^2)
    Polynomial  (gamma <x, z> + offset)^degree,            offset >= 0
    Periodic    exp(-gamma sum_j sin^2(frequency (x_j - z_j)))
    k1 + k2,  k1 * k2,  3.0 * k,  k + 1.0

A kernel is written for one pair of points, ``kernel(x, z)``; that is its definition.
``kernel.matrix(X, Z)`` and ``kernel.diagonal(X)`` are the fast forms, equal to its vmap. All are
plain jax functions of points and parameters, so a width can be vmapped or differentiated.

Periodic is positive definite because exp(-g sin^2 u) = e^(-g/2) exp((g/2) cos 2u) has the positive
Fourier coefficients e^(-g/2) I_n(g/2), I_n being the modified Bessel function.

Lectures "Introduction to Machine Learning" (Srebro), Gaussian processes, and "Optimization Methods
for SVMs" (Scheinberg), kernel formulation.
Schoelkopf & Smola, Learning with Kernels (2002), chapter 2 and section 13.1 (closure rules).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.pytree import pytree, static

__all__ = [
    "RBF",
    "ConstantKernel",
    "Kernel",
    "Linear",
    "Periodic",
    "Polynomial",
    "Product",
    "Scaled",
    "Sum",
    "scale_gamma",
]


def _column(X) -> Array:
    """(n, d) points; a vector of n numbers is n points on a line."""
    X = jnp.asarray(X)
    return X[:, None] if X.ndim == 1 else X


def _require(name: str, value: Any, *, positive: bool = True) -> None:
    """Every entry of a parameter is a finite number > 0 (or >= 0)."""
    try:
        values = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number; got {value!r}") from None
    good = np.isfinite(values) & ((values > 0) if positive else (values >= 0))
    if values.size == 0 or not good.all():
        wanted = "positive finite" if positive else "finite, not negative,"
        shown = f"{values[~good].flat[0]:g}" if values.size else "none"
        raise ValueError(f"{name}: expected {wanted} numbers; got {shown}")


def _is_number(other: Any) -> bool:
    return jnp.ndim(other) == 0 and not isinstance(other, str | Kernel)


class Kernel:
    """Symmetric, positive semidefinite k(x, z). A new kernel defines ``__call__`` and ``check``."""

    __array_ufunc__ = None  # numpy scalars leave `2.0 * kernel` to us

    def __call__(self, x, z) -> Array:
        """k of one pair of points."""
        raise TypeError(f"{type(self).__name__} must define __call__")

    def check(self) -> None:
        """Refuse parameters for which this is no kernel; host side."""

    def matrix(self, X, Z) -> Array:
        """(n, m) k(x_i, z_j)."""
        return jax.vmap(lambda x: jax.vmap(lambda z: self(x, z))(_column(Z)))(_column(X))

    def diagonal(self, X) -> Array:
        """(n,) k(x_i, x_i)."""
        return jax.vmap(lambda x: self(x, x))(_column(X))

    def __add__(self, other) -> "Kernel":
        if isinstance(other, Kernel):
            return Sum(self, other)
        return Sum(self, ConstantKernel(other)) if _is_number(other) else NotImplemented

    def __mul__(self, other) -> "Kernel":
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if _is_number(other) else NotImplemented

    __radd__ = __add__
    __rmul__ = __mul__


@pytree
class Linear(Kernel):
    """<x, z>."""

    def __call__(self, x, z):
        return jnp.sum(x * z)

    def matrix(self, X, Z):
        return _column(X) @ _column(Z).T

    def diagonal(self, X):
        return jnp.sum(_column(X) ** 2, axis=1)


@pytree
class RBF(Kernel):
    """exp(-gamma ||x - z||^2). ``scale_gamma(X)`` is scikit-learn's gamma="scale"."""

    gamma: Any = 1.0

    def __call__(self, x, z):
        return jnp.exp(-self.gamma * jnp.sum((x - z) ** 2))

    def check(self) -> None:
        _require("RBF.gamma", self.gamma)

    def matrix(self, X, Z):
        X, Z = _column(X), _column(Z)
        # distances do not change under a shift, and their rounding does: it grows with the norms
        centre = jnp.mean(Z, axis=0, keepdims=True)
        X, Z = X - centre, Z - centre
        squares = jnp.sum(X**2, axis=1)[:, None] + jnp.sum(Z**2, axis=1)[None, :]
        return jnp.exp(-self.gamma * jnp.maximum(squares - 2.0 * (X @ Z.T), 0.0))

    def diagonal(self, X):
        return jnp.ones(_column(X).shape[0], _column(X).dtype)


@pytree
class Polynomial(Kernel):
    """(gamma <x, z> + offset)^degree, degree a positive integer."""

    gamma: Any = 1.0
    offset: Any = 1.0
    degree: int = static(default=2)

    def __call__(self, x, z):
        return (self.gamma * jnp.sum(x * z) + self.offset) ** self.degree

    def check(self) -> None:
        _require("Polynomial.gamma", self.gamma)
        # a negative offset makes a negative Taylor coefficient, and an indefinite matrix
        _require("Polynomial.offset", self.offset, positive=False)
        if isinstance(self.degree, bool) or not isinstance(self.degree, int) or self.degree < 1:
            raise ValueError(f"Polynomial.degree: expected an integer >= 1; got {self.degree!r}")

    def matrix(self, X, Z):
        return (self.gamma * (_column(X) @ _column(Z).T) + self.offset) ** self.degree

    def diagonal(self, X):
        return (self.gamma * jnp.sum(_column(X) ** 2, axis=1) + self.offset) ** self.degree


@pytree
class Periodic(Kernel):
    """exp(-gamma sum_j sin^2(frequency (x_j - z_j))), of period pi/frequency in each coordinate."""

    gamma: Any = 1.0
    frequency: Any = 1.0

    def __call__(self, x, z):
        return jnp.exp(-self.gamma * jnp.sum(jnp.sin(self.frequency * (x - z)) ** 2))

    def check(self) -> None:
        _require("Periodic.gamma", self.gamma)
        _require("Periodic.frequency", self.frequency)

    def matrix(self, X, Z):
        # sin^2 u = (1 - cos 2u)/2, and cos 2(a - b) is a product of points on the unit circle
        def circle(X):
            angle = 2.0 * self.frequency * _column(X)
            return jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=1)

        d = _column(X).shape[1]
        return jnp.exp(-self.gamma * jnp.maximum(d - circle(X) @ circle(Z).T, 0.0) / 2.0)

    def diagonal(self, X):
        return jnp.ones(_column(X).shape[0], _column(X).dtype)


@pytree
class ConstantKernel(Kernel):
    """The same value for every pair: the kernel of a penalised intercept."""

    value: Any = 1.0

    def __call__(self, x, z):
        return jnp.full_like(jnp.sum(x * z), self.value)

    def check(self) -> None:
        _require("ConstantKernel.value", self.value, positive=False)

    def matrix(self, X, Z):
        X, Z = _column(X), _column(Z)
        return jnp.full((X.shape[0], Z.shape[0]), self.value, X.dtype)

    def diagonal(self, X):
        return jnp.full(_column(X).shape[0], self.value, _column(X).dtype)


@pytree
class Sum(Kernel):
    """k1 + k2: features side by side."""

    first: Any
    second: Any

    def __call__(self, x, z):
        return self.first(x, z) + self.second(x, z)

    def check(self) -> None:
        self.first.check()
        self.second.check()

    def matrix(self, X, Z):
        return self.first.matrix(X, Z) + self.second.matrix(X, Z)

    def diagonal(self, X):
        return self.first.diagonal(X) + self.second.diagonal(X)


@pytree
class Product(Kernel):
    """k1 k2: products of features (Schur)."""

    first: Any
    second: Any

    def __call__(self, x, z):
        return self.first(x, z) * self.second(x, z)

    def check(self) -> None:
        self.first.check()
        self.second.check()

    def matrix(self, X, Z):
        return self.first.matrix(X, Z) * self.second.matrix(X, Z)

    def diagonal(self, X):
        return self.first.diagonal(X) * self.second.diagonal(X)


@pytree
class Scaled(Kernel):
    """scale k, scale >= 0."""

    kernel: Any
    scale: Any = 1.0

    def __call__(self, x, z):
        return self.scale * self.kernel(x, z)

    def check(self) -> None:
        self.kernel.check()
        _require("Scaled.scale", self.scale, positive=False)

    def matrix(self, X, Z):
        return self.scale * self.kernel.matrix(X, Z)

    def diagonal(self, X):
        return self.scale * self.kernel.diagonal(X)


def scale_gamma(X) -> float:
    """1 / (d var(X)): the width scikit-learn calls gamma="scale"."""
    X = np.asarray(X, np.float64)
    variance = X.var()
    return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0
