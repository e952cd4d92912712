r"""Kernel machines: an SVM, or any loss, on a function f of a reproducing-kernel space.

    P(f, b)  = lam/2 ||f||^2 + sum_i c_i phi(f(x_i) + b, y_i),       f = sum_j beta_j k(x_j, .)
    ||f||^2  = beta' K beta,      scores f(x_i) = (K beta)_i
    beta(alpha)_j = c_j alpha_j / lam
    D(alpha) = -lam/2 beta(alpha)' K beta(alpha) + sum_i c_i (-phi*(-alpha_i))
    and with a free intercept   sum_i c_i alpha_i = 0

alpha is signed and normalised, as everywhere: y_i alpha_i in [0, 1] for the hinge. In the
signed coefficients beta the dual of the hinge is a QP without a single label,

    min  1/2 beta' K beta - y' beta,     lo <= beta <= hi,    (sum beta = 0),

[lo, hi] being [0, c_i/lam] for y_i = 1 and [-c_i/lam, 0] for y_i = -1. Its gradient is K beta - y.
The textbook's c is 1/(n lam), its alpha is |beta|.

Intercepts: "none"; "penalised": the kernel is k + 1, the intercept is sum_j beta_j; "free": w
carries b behind beta. A penalised intercept is another problem than a free one (proofs_checks/
augmentation.py). Lecture "Optimization Methods for SVMs" (Scheinberg), kernel formulation and dual.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.lanes import take_lanes
from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.problems import hinge_dual
from jaxopt_svm.problems.erm import balanced
from jaxopt_svm.problems.make import _matrix
from jaxopt_svm.problems.regularizers import L2

__all__ = ["KernelSVM"]

ENTRIES = 2**23  # of a kernel matrix that scores of new points make at a time


@pytree
class KernelSVM:
    """Gram matrix, labels, loss and lam. Make one with ``make_kernel_svm``.

    w is (n,) beta, or (n + 1,) with a free intercept behind it.
    """

    rows: Any  # the Gram matrix (problems/gram.py)
    y: Array  # (n,) signs or targets
    c: Array  # (n,) weights that sum to one
    lam: Array  # ()
    loss: Any
    kernel: Any = None  # with X: how to score new points; None if K was given
    X: Any = None  # (n, d)
    factor: Any = None  # (n, k) V with V V' about K, for low-rank methods
    labels: tuple | None = static(default=None)
    intercept: str = static(default="none")
    lanes: tuple[str, ...] = static(default=("lam",))  # fields with an entry a lane (a batch)

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    @property
    def free(self) -> bool:
        """Whether w carries an intercept that is not penalised."""
        return self.intercept == "free"

    @property
    def regularizer(self) -> L2:
        """1/2 ||f||^2: in the space of f the link is the identity."""
        return L2(free=self.free)

    def with_lam(self, lam) -> "KernelSVM":
        return dataclasses.replace(self, lam=jnp.asarray(lam, self.c.dtype))

    def origin(self) -> Point:
        w = jnp.zeros(self.n + self.free, self.c.dtype)
        return Point(w, jnp.zeros(self.n, self.c.dtype))

    # --- coefficients, dual points and intercepts ------------------------------------------

    def beta_of(self, alpha):
        """The signed coefficients of a dual point."""
        return hinge_dual.beta_of(self, alpha)

    def alpha_of(self, beta):
        """The dual point of signed coefficients."""
        return hinge_dual.alpha_of(self, beta)

    def box(self) -> hinge_dual.Box:
        """Where the hinge's beta may be."""
        return hinge_dual.box_of(self)

    def best_intercept(self, scores):
        """The intercept with the smallest hinge for these scores."""
        return hinge_dual.best_intercept(self, scores)

    def abar(self, alpha):
        """(n,) the scores K beta(alpha)."""
        return self.rows.times(self.beta_of(alpha))

    def split(self, w) -> tuple[Array, Array]:
        """(beta, b)."""
        return (w[:-1], w[-1]) if self.free else (w, jnp.zeros((), w.dtype))

    def join(self, beta, scores):
        """w from coefficients; a free intercept is the best one for these scores."""
        if not self.free:
            return beta
        return jnp.append(beta, self.best_intercept(scores))

    # --- values ----------------------------------------------------------------------------

    def primal(self, w):
        beta, b = self.split(jnp.asarray(w))
        f = self.rows.times(beta)
        losses = jnp.sum(self.c * self.loss.value(f + b, self.y))
        return self.lam / 2 * jnp.vdot(beta, f) + losses

    def dual(self, alpha):
        beta = self.beta_of(alpha)
        conj = jnp.sum(self.c * self.loss.neg_conj(alpha, self.y))
        return conj - self.lam / 2 * jnp.vdot(beta, self.rows.times(beta))

    def complete(self, point: Point) -> Point:
        """alpha from the point, or alpha_i = -slope_i; clipped, and balanced if b is free."""
        alpha = point.dual
        if alpha is None:
            beta, b = self.split(point.w)
            alpha = -self.loss.slope(self.rows.times(beta) + b, self.y)
        alpha = self.loss.clip(alpha, self.y)
        return Point(point.w, balanced(self.c, alpha) if self.free else alpha)

    def certificate(self, point: Point) -> Certificate:
        """Valid for any w and any alpha; K beta and K beta(alpha) are computed here, together.

        floor: eps times the absolute values of what is summed, products with rows of K
        included, whose rounding is at most the row's length times that of the coefficients.
        """
        w, alpha = self.complete(point)
        (beta, b), own = self.split(w), self.beta_of(alpha)
        f, u = self.rows.times(jnp.stack([beta, own], axis=1)).T
        losses = self.c * self.loss.value(f + b, self.y)
        conjugates = self.c * self.loss.neg_conj(alpha, self.y)
        penalty, conj = self.lam / 2 * jnp.vdot(beta, f), self.lam / 2 * jnp.vdot(own, u)
        primal, dual = penalty + jnp.sum(losses), jnp.sum(conjugates) - conj
        slope = self.c * jnp.abs(self.loss.slope(f + b, self.y))
        in_f = (slope + self.lam / 2 * jnp.abs(beta)) @ self.rows.lengths * jnp.linalg.norm(beta)
        in_u = self.lam / 2 * (jnp.abs(own) @ self.rows.lengths) * jnp.linalg.norm(own)
        terms = jnp.sum(jnp.abs(losses) + jnp.abs(conjugates) + self.c * jnp.abs(alpha * self.y))
        terms = terms + jnp.abs(b) * jnp.sum(slope) + jnp.abs(penalty) + jnp.abs(conj)
        floor = jnp.finfo(primal.dtype).eps * (terms + in_f + in_u)
        return Certificate(primal, dual, primal - dual, floor)

    # --- new points ------------------------------------------------------------------------

    def scores(self, w, X) -> np.ndarray:
        """f(x) + b for rows of X; if the Gram matrix was given, for rows k(x, x_1), ..., k(x, x_n).

        w may have a first axis of lanes. Kernel rows are made in blocks, and only over the points
        that have a coefficient.
        """
        if "kernel" in self.lanes and np.ndim(self.lam):  # a width a lane: no matrix is shared
            alone = [take_lanes(self, k) for k in range(len(w))]
            return np.stack([one.scores(wk, X) for one, wk in zip(alone, w)])
        w, X = np.asarray(w), np.asarray(_matrix(X)).astype(self.c.dtype)
        columns = self.n if self.kernel is None else self.X.shape[1]
        if X.shape[1] != columns:
            raise ValueError(
                f"X: expected {columns} columns, as in the training data; got {X.shape[1]}"
            )
        beta, b = (w[..., :-1], w[..., -1:]) if self.free else (w, np.zeros((1,), w.dtype))
        if self.kernel is None:
            constant = 1.0 if self.intercept == "penalised" else 0.0
            return (beta @ (X + constant).T + b).astype(w.dtype)
        used = np.flatnonzero((beta != 0).reshape(-1, self.n).any(0))
        points, beta = self.X[used], jnp.asarray(beta[..., used])
        size = max(1, ENTRIES // max(1, used.size))
        parts = [
            _block_scores(self.kernel, points, beta, jnp.asarray(X[lo : lo + size]))
            for lo in range(0, X.shape[0], size)
        ]
        return np.concatenate([np.asarray(part) for part in parts], axis=-1) + b


@jax.jit
def _block_scores(kernel, points, beta, X):
    """(..., m) the scores of the rows of X."""
    return jnp.tensordot(beta, kernel.matrix(points, X), 1)
