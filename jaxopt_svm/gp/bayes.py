r"""Bayes beside MAP, in one dimension, where every integral can be done.

    w ~ N(0, s2),  P(y | x, w) = 1/(1 + exp(-y w x))         logistic regression with one weight

    MAP        argmax p(w | S) = argmin L_S(w) + w^2/(2 m s2): LogisticRegression(C=s2)
    mean       integral of w p(w | S): not the mode, since the posterior is not Gaussian
    predict    P(y_q | x_q, S) = integral of P(y_q | x_q, w) p(w | S)

A posterior is a density on a grid. ``through(g)`` is the density of u = g(w), p_u = p_w/g'(w): its
mode is not g of the mode, so MAP depends on the parameters chosen; the prediction does not.
For w ~ N(m, s^2) and u = e^w the mode of u is exp(m - s^2), not exp(m).

Lecture "Introduction to Machine Learning" (Srebro), MAP and Bayes.
Checked in proofs_checks/map_reparametrised.py, logistic_map.py.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.gp.checks import points, targets
from jaxopt_svm.problems.make import check_lam

__all__ = ["Posterior", "logistic_posterior"]

GRID, TAIL = 20_001, 12.0


@pytree
class Posterior:
    """A density on a grid, in some parameter u, of the model's own parameter w."""

    u: Array  # (g,) increasing
    w: Array  # (g,) the same points in the model's own parameter
    log_density: Array  # (g,) of u, up to a constant

    @property
    def density(self) -> Array:
        """(g,) that integrates to one by the trapezoid rule."""
        p = jnp.exp(self.log_density - jnp.max(self.log_density))
        return p / jnp.trapezoid(p, self.u)

    def expect(self, values) -> Array:
        """The integral of values(u) p(u), values given on the grid."""
        return jnp.trapezoid(values * self.density, self.u)

    @property
    def mean(self) -> Array:
        return self.expect(self.u)

    @property
    def mode(self) -> Array:
        """argmax of the density, refined by the parabola through three points of its logarithm."""
        k = jnp.clip(jnp.argmax(self.log_density), 1, self.u.shape[0] - 2)
        around = k + jnp.arange(-1, 2)
        (a, b, c), (f, g, h) = self.u[around], self.log_density[around]
        over = (b - a) ** 2 * (g - h) - (b - c) ** 2 * (g - f)
        under = (b - a) * (g - h) - (b - c) * (g - f)
        return b - 0.5 * over / jnp.where(under == 0.0, 1.0, under)

    def through(self, g: Callable) -> "Posterior":
        """The same belief in the parameter g(u), g increasing and differentiable."""
        slope = jax.vmap(jax.grad(g))(self.u)
        return Posterior(jax.vmap(g)(self.u), self.w, self.log_density - jnp.log(slope))

    def predict(self, x) -> Array:
        """P(y = +1 | x, S): logistic in w x, averaged over the posterior."""
        x = jnp.atleast_1d(jnp.asarray(x, self.w.dtype))
        return jax.vmap(lambda q: self.expect(jax.nn.sigmoid(q * self.w)))(x)


def logistic_posterior(
    x: Any, y: Any, *, variance: float = 1.0, grid: int = GRID, tail: float = TAIL
) -> Posterior:
    """p(w | S) for one weight with prior N(0, variance).

    Args:
      x: (n,) inputs. y: (n,) signs.
      grid: points of the grid, over [-tail, tail] prior standard deviations.
    """
    s2 = check_lam("variance", variance)
    if s2.ndim:
        raise ValueError("variance: expected one number, that of the prior")
    if grid < 3:
        raise ValueError(f"grid: expected at least 3 points; got {grid}")
    x = points(x, "x")
    if x.shape[1] != 1:
        raise ValueError(f"x: expected one input an example; got {x.shape[1]}")
    y = targets(y, x.shape[0], x.dtype)
    if not bool(np.isin(np.asarray(y), (-1.0, 1.0)).all()):
        raise ValueError("y: expected signs, -1 or +1")
    ends = float(tail * np.sqrt(s2))
    w = jnp.linspace(-ends, ends, grid, dtype=x.dtype)
    likelihood = -jnp.sum(jax.nn.softplus(-jnp.outer(w, y * x[:, 0])), axis=1)
    return Posterior(w, w, likelihood - w**2 / (2.0 * float(s2)))
