r"""Losses phi(z, y), z = <x, w>, with their duals in closed form.

For each loss, with b = y a for signs y in {-1, +1}:

    value      phi(z, y)
    slope      an element of the subdifferential in z (at a kink: the flat side)
    neg_conj   -phi*(-a), for a in its domain
    clip       the nearest a in the domain of phi*(-.)
    dual_step  argmax_x  -phi*(-x) - z x - (q/2)(x - a)^2         one coordinate of SDCA, at
               score z and curvature q >= 0; returns the new x
    prox       argmin_x  t phi(x) + (x - z)^2 / 2
    gamma      phi is (1/gamma)-smooth (0: not smooth);  lipschitz: |phi'| <= 1

Losses of several scores at once are in ``vector_losses``.

All are plain jax functions, differentiable where phi is: ``loss.value`` trains a network as
well as a linear model. Lecture "Empirical Risk Minimization", losses; every identity is
checked in proofs_checks/ (conjugates, dual_steps, moreau, subgradients).
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy

from jaxopt_svm.core.pytree import pytree

__all__ = ["Absolute", "Hinge", "Logistic", "SmoothHinge", "Squared", "SquaredHinge"]

NEWTON_STEPS = 12


def _over(numerator, q):
    """numerator / q where q may be 0 (an all-zero row, a zero weight): huge, not nan."""
    return numerator / jnp.maximum(q, jnp.finfo(jnp.result_type(numerator)).tiny)


@pytree
class Hinge:
    """phi = max(0, 1 - y z). Not smooth. -phi*(-a) = b on 0 <= b <= 1."""

    smooth = False
    lipschitz = True
    regression = False
    vector = False
    gamma = 0.0

    def value(self, z, y):
        return jnp.maximum(0.0, 1.0 - y * z)

    def slope(self, z, y):
        return jnp.where(y * z < 1.0, -y, jnp.zeros_like(z))

    def neg_conj(self, a, y):
        return a * y

    def clip(self, a, y):
        return y * jnp.clip(a * y, 0.0, 1.0)

    def dual_step(self, z, a, y, q):
        return y * jnp.clip(a * y + _over(1.0 - y * z, q), 0.0, 1.0)

    def prox(self, z, y, t):
        u = y * z
        return jnp.where(u >= 1.0, z, jnp.where(u <= 1.0 - t, z + t * y, y))


@pytree
class SmoothHinge:
    """Huber-smoothed hinge: quadratic on 1 - mu < y z < 1. gamma = mu.

    -phi*(-a) = b - mu b^2/2 on 0 <= b <= 1, and hinge - mu/2 <= phi <= hinge.
    """

    mu: float = 1.0

    smooth = True
    lipschitz = True
    regression = False
    vector = False

    @property
    def gamma(self):
        return self.mu

    def value(self, z, y):
        # a (1 - yz) - mu a^2/2 at its maximiser a: the same three pieces, one expression
        a = jnp.clip((1.0 - y * z) / self.mu, 0.0, 1.0)
        return a * (1.0 - y * z) - self.mu * a * a / 2

    def slope(self, z, y):
        return -y * jnp.clip((1.0 - y * z) / self.mu, 0.0, 1.0)

    def neg_conj(self, a, y):
        return a * y - self.mu * a * a / 2

    def clip(self, a, y):
        return y * jnp.clip(a * y, 0.0, 1.0)

    def dual_step(self, z, a, y, q):
        b = a * y
        return y * jnp.clip(b + (1.0 - y * z - self.mu * b) / (q + self.mu), 0.0, 1.0)

    def prox(self, z, y, t):
        u = y * z
        middle = y * (t + self.mu * u) / (t + self.mu)
        return jnp.where(u >= 1.0, z, jnp.where(u <= 1.0 - self.mu - t, z + t * y, middle))


@pytree
class SquaredHinge:
    """phi = max(0, 1 - y z)^2 / (2 mu); mu = 1/2 is scikit-learn's. gamma = mu.

    -phi*(-a) = b - mu b^2/2 on b >= 0.
    """

    mu: float = 0.5

    smooth = True
    lipschitz = False
    regression = False
    vector = False

    @property
    def gamma(self):
        return self.mu

    def value(self, z, y):
        return jnp.maximum(0.0, 1.0 - y * z) ** 2 / (2 * self.mu)

    def slope(self, z, y):
        return -y * jnp.maximum(0.0, 1.0 - y * z) / self.mu

    def neg_conj(self, a, y):
        return a * y - self.mu * a * a / 2

    def clip(self, a, y):
        return y * jnp.maximum(a * y, 0.0)

    def dual_step(self, z, a, y, q):
        b = a * y
        return y * jnp.maximum(0.0, b + (1.0 - y * z - self.mu * b) / (q + self.mu))

    def prox(self, z, y, t):
        u = y * z
        return jnp.where(u >= 1.0, z, y * (t + self.mu * u) / (t + self.mu))


def _monotone_root(shift, q, b):
    """The root s of s + shift + q (sigmoid(s) - b) = 0.

    The left side increases in s, is convex for s < 0 and concave for s > 0, so Newton started
    between 0 and the root approaches it monotonically; bracketing does not (it cycles). By
    symmetry take the root positive. With tau = shift + q (1 - b) it solves s + tau = q/(1 + e^s),
    so it lies above -tau and above log(q/2) - log(1 + log(q/2) + tau): a start within a few
    Newton steps of the root however large q is.
    """
    sign = jnp.where(shift + q * (0.5 - b) > 0, -1.0, 1.0).astype(jnp.result_type(shift))
    tau = jnp.where(sign > 0, shift + q * (1.0 - b), q * b - shift)
    level = jnp.log(jnp.maximum(q / 2, 1.0))
    far = level - jnp.log1p(jnp.maximum(level + tau, 0.0))
    s = jnp.maximum(jnp.maximum(far, -tau), 0.0)
    for _ in range(NEWTON_STEPS):
        x = jax.nn.sigmoid(-s)  # 1 - sigmoid(s), without cancellation
        s = s - (s + tau - q * x) / (1.0 + q * x * (1.0 - x))
    return sign * s


@pytree
class Logistic:
    """phi = log(1 + exp(-y z)). It is 1/4-smooth: gamma = 4.

    -phi*(-a) = -b log b - (1 - b) log(1 - b) on 0 <= b <= 1.
    """

    smooth = True
    lipschitz = True
    regression = False
    vector = False
    gamma = 4.0

    def value(self, z, y):
        return jax.nn.softplus(-y * z)

    def slope(self, z, y):
        return -y * jax.nn.sigmoid(-y * z)

    def neg_conj(self, a, y):
        b = jnp.clip(a * y, 0.0, 1.0)
        return -xlogy(b, b) - xlogy(1.0 - b, 1.0 - b)

    def clip(self, a, y):
        return y * jnp.clip(a * y, 0.0, 1.0)

    def dual_step(self, z, a, y, q):
        return y * jax.nn.sigmoid(_monotone_root(y * z, q, a * y))

    def prox(self, z, y, t):
        return z + t * y * jax.nn.sigmoid(_monotone_root(y * z, t, jnp.zeros_like(z)))


@pytree
class Squared:
    """phi = (z - y)^2 / (2 mu), y a real target. gamma = mu. -phi*(-a) = a y - mu a^2/2."""

    mu: float = 1.0

    smooth = True
    lipschitz = False
    regression = True
    vector = False

    @property
    def gamma(self):
        return self.mu

    def value(self, z, y):
        return (z - y) ** 2 / (2 * self.mu)

    def slope(self, z, y):
        return (z - y) / self.mu

    def neg_conj(self, a, y):
        return a * y - self.mu * a * a / 2

    def clip(self, a, y):
        del y
        return a

    def dual_step(self, z, a, y, q):
        return a + (y - z - self.mu * a) / (q + self.mu)

    def prox(self, z, y, t):
        return (self.mu * z + t * y) / (self.mu + t)


@pytree
class Absolute:
    """phi = |z - y|, y a real target. Not smooth. -phi*(-a) = a y on |a| <= 1."""

    smooth = False
    lipschitz = True
    regression = True
    vector = False
    gamma = 0.0

    def value(self, z, y):
        return jnp.abs(z - y)

    def slope(self, z, y):
        return jnp.sign(z - y)

    def neg_conj(self, a, y):
        return a * y

    def clip(self, a, y):
        del y
        return jnp.clip(a, -1.0, 1.0)

    def dual_step(self, z, a, y, q):
        return jnp.clip(a + _over(y - z, q), -1.0, 1.0)

    def prox(self, z, y, t):
        r = z - y
        return y + jnp.sign(r) * jnp.maximum(jnp.abs(r) - t, 0.0)
