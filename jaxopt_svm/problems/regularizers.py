r"""Regularisers g, 1-strongly convex, with their conjugates.

    l2            g = ||w||^2/2                 g* = ||u||^2/2                 link(u) = u
    elastic net   g = ||w||^2/2 + kappa |w|_1   g* = ||soft(u, kappa)||^2/2   link = soft(., kappa)

They enter the objective as lam g(w): on a grid of lam, kappa stays fixed and the l1 strength is
lam kappa. ``link`` = grad g* acts on every coordinate by itself, so a sparse row can apply it
to the few coordinates it touches. With ``free`` the last coordinate is an intercept outside g;
its conjugate then demands that the last coordinate of u be 0.

Lecture "Empirical Risk Minimization", regularisers; checked in proofs_checks/moreau.py.
"""

import jax.numpy as jnp

from jaxopt_svm.core.pytree import pytree, static

__all__ = ["L2", "ElasticNet", "soft"]


def soft(u, kappa):
    """Soft thresholding: argmin_x kappa |x| + (x - u)^2 / 2, coordinate by coordinate."""
    return jnp.sign(u) * jnp.maximum(jnp.abs(u) - kappa, 0.0)


def _penalised(w, free: bool):
    """w with the intercept, which no penalty sees, set to zero."""
    return w.at[-1].set(0.0) if free else w


@pytree
class L2:
    """g = ||w||^2 / 2."""

    free: bool = static(default=False)

    linear = True

    def value(self, w):
        return 0.5 * jnp.sum(_penalised(w, self.free) ** 2)

    def conj(self, u):
        return 0.5 * jnp.sum(_penalised(u, self.free) ** 2)

    def link(self, u):
        return _penalised(u, self.free)

    def grad(self, w):
        return _penalised(w, self.free)

    def prox(self, x, t):
        """argmin_w t g(w) + ||w - x||^2 / 2."""
        shrunk = x / (1.0 + t)
        return shrunk.at[-1].set(x[-1]) if self.free else shrunk


@pytree
class ElasticNet:
    """g = ||w||^2 / 2 + kappa ||w||_1."""

    kappa: float = 0.1
    free: bool = static(default=False)

    linear = False

    def value(self, w):
        w = _penalised(w, self.free)
        return 0.5 * jnp.sum(w**2) + self.kappa * jnp.sum(jnp.abs(w))

    def conj(self, u):
        return 0.5 * jnp.sum(soft(_penalised(u, self.free), self.kappa) ** 2)

    def link(self, u):
        return _penalised(soft(u, self.kappa), self.free)

    def grad(self, w):
        """A subgradient (0 for the kink at 0)."""
        w = _penalised(w, self.free)
        return w + self.kappa * jnp.sign(w)

    def prox(self, x, t):
        """argmin_w t g(w) + ||w - x||^2 / 2."""
        shrunk = soft(x, t * self.kappa) / (1.0 + t)
        return shrunk.at[-1].set(x[-1]) if self.free else shrunk
