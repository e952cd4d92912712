r"""Gaussian process classification with the logistic likelihood, by MAP and Laplace.

    h ~ GP(0, k),   P(y | x) = 1/(1 + exp(-y h(x))),   y in {-1, +1}
    log p(h | y) = -sum_i log(1 + exp(-y_i h_i)) - 1/2 h'K^{-1}h + const

Its mode is kernel logistic regression: n times the ERM objective with lam = 1/n, whose duality gap
(times n, in nats) certifies it. Newton in the coefficients a, h = K a:

    W = diag s_i (1 - s_i),  s = 1/(1 + exp(-h)),   B = I + W^1/2 K W^1/2 = L L'
    a <- b - W^1/2 B^{-1} W^1/2 K b,     b = W h + grad log p(y | h)

with the best of a few step lengths, so that the objective never falls. Laplace's Gaussian about
the mode gives h(x) ~ N(m, v), and the probability averages over it,

    P(y = 1 | x) = E 1/(1 + exp(-h)),  h ~ N(m, v)             by quadrature, or MacKay's
                 ~ 1/(1 + exp(-m/sqrt(1 + pi v/8)))            closed form

which is closer to 1/2 than the plug-in 1/(1 + exp(-m)), and on the same side.
Lecture "Introduction to Machine Learning" (Srebro), Gaussian processes and Bayes. Rasmussen &
Williams 2006, algorithms 3.1 and 3.2; MacKay 1992. Checked in proofs_checks/laplace_shrinks.py.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.linalg import solve_triangular

from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.gp.checks import check_gram, check_kernel, points
from jaxopt_svm.problems.kernel import KernelSVM
from jaxopt_svm.problems.losses import Logistic
from jaxopt_svm.problems.make_kernel import make_kernel_svm

__all__ = ["GPClassifier", "average_sigmoid", "mackay_sigmoid", "make_gp_classifier"]

NEWTON_STEPS = 40
NODES, TAIL = 401, 8.5


def average_sigmoid(mean, variance):
    """E 1/(1 + exp(-h)), h ~ N(mean, variance), by the trapezoid rule.

    For analytic functions it converges exponentially: error below 1e-6 up to variance 1000, where
    Gauss-Hermite with 64 nodes has 3e-2.
    """
    u = np.linspace(-TAIL, TAIL, NODES)
    weights = np.exp(-(u**2) / 2) / np.sum(np.exp(-(u**2) / 2))
    dtype = jnp.result_type(mean)
    h = mean[..., None] + jnp.multiply.outer(jnp.sqrt(variance), jnp.asarray(u, dtype))
    return jnp.tensordot(jax.nn.sigmoid(h), jnp.asarray(weights, dtype), 1)


def mackay_sigmoid(mean, variance):
    """The same in closed form, to a few percent."""
    return jax.nn.sigmoid(mean / jnp.sqrt(1.0 + jnp.pi * variance / 8.0))


@pytree
class GPClassifier:
    """Laplace's approximation at the mode. Make one with ``make_gp_classifier``."""

    problem: KernelSVM  # kernel logistic regression with lam = 1/n: its Gram matrix, its labels
    a: Array  # (n,) coefficients of the mode, h = K a
    root: Array  # (n,) W^1/2 at the mode
    L: Array  # (n, n)

    def latent(self, X) -> tuple[Array, Array]:
        """(q,) mean and variance of h(x) under Laplace's Gaussian."""
        X, kernel = points(X).astype(self.problem.c.dtype), self.problem.kernel
        if X.shape[1] != self.problem.X.shape[1]:
            raise ValueError(f"X: expected {self.problem.X.shape[1]} columns; got {X.shape[1]}")
        across = kernel.matrix(self.problem.X, X)
        A = solve_triangular(self.L, self.root[:, None] * across, lower=True)
        variance = jnp.maximum(kernel.diagonal(X) - jnp.sum(A * A, axis=0), 0.0)
        # at the mode a is the slope of the likelihood, which is exact to rounding where a is not
        return across.T @ self._slope(), variance

    def _slope(self):
        h = self.problem.rows.times(self.a)
        return -self.problem.loss.slope(h, self.problem.y)

    def probability(self, X) -> Array:
        """(q,) P(y = +1 | x), averaged over h; +1 is the second label."""
        return average_sigmoid(*self.latent(X))

    def map_probability(self, X) -> Array:
        """(q,) the plug-in 1/(1 + exp(-h(x))) of kernel logistic regression."""
        return jax.nn.sigmoid(self.latent(X)[0])

    def predict(self, X) -> np.ndarray:
        """The user's own labels."""
        first, second = self.problem.labels or (-1.0, 1.0)
        return np.where(np.asarray(self.probability(X)) > 0.5, second, first)

    def log_evidence(self) -> Array:
        """Laplace's log p(y | X, kernel)."""
        h = self.problem.rows.times(self.a)
        fit = -0.5 * self.a @ h - jnp.sum(self.problem.loss.value(h, self.problem.y))
        return fit - jnp.sum(jnp.log(jnp.diagonal(self.L)))

    def certificate(self) -> Certificate:
        """Of the mode: -log p(h, y)/n against its dual, per example."""
        return self.problem.certificate(Point(self.a))


@jax.jit
def _laplace(problem: KernelSVM) -> GPClassifier:
    K, y, loss = problem.rows.K.astype(problem.c.dtype), problem.y, problem.loss
    eye = jnp.eye(problem.n, dtype=K.dtype)
    sizes = 0.5 ** jnp.arange(0.0, 12.0, dtype=K.dtype)

    def curvature(h):
        s = jax.nn.sigmoid(h)
        root = jnp.sqrt(s * (1.0 - s))
        return root, jnp.linalg.cholesky(eye + root[:, None] * K * root[None, :])

    def newton(_, a):
        h = K @ a
        root, L = curvature(h)
        b = root**2 * h - loss.slope(h, y)
        inner = solve_triangular(L, root * (K @ b), lower=True)
        new = b - root * solve_triangular(L, inner, lower=True, trans="T")
        # the objective along the way, for a few lengths: O(n) each
        d, dh = new - a, K @ (new - a)
        level = lambda t: 0.5 * (a + t * d) @ (h + t * dh) + jnp.sum(loss.value(h + t * dh, y))
        return a + sizes[jnp.argmin(jax.vmap(level)(sizes))] * d

    a = lax.fori_loop(0, NEWTON_STEPS, newton, jnp.zeros_like(y))
    root, L = curvature(K @ a)
    return GPClassifier(problem, a, root, L)


def make_gp_classifier(X: Any, y: Any, *, kernel: Any) -> GPClassifier:
    """The posterior of a Gaussian process given labels, by Laplace's method.

    Args:
      X: (n, d) points, or (n,) on a line. y: (n,) two labels of any kind.
      kernel: such as ``4.0 * js.RBF(0.5)``; its scale is the prior variance of h. The noise of the
        labels is the logistic likelihood's own, so K need not have full rank.
    """
    check_kernel(kernel)
    X = points(X)
    check_gram(kernel, X, 1.0)
    lam = 1.0 / X.shape[0]
    return _laplace(make_kernel_svm(X, y, kernel=kernel, loss=Logistic(), lam=lam))
