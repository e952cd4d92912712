r"""Losses phi(z, y) of m scores at once, z = x' w with w of shape (d, m); see ``losses``.

The same questions as for one score, on the last axis: ``value`` and ``neg_conj`` answer without
it, the others with it; q and t are one number an example.

    dual_step  argmax_x  -phi*(-x) - <z, x> - (q/2)||x - a||^2
    prox       argmin_x  t phi(x) + ||x - z||^2 / 2
    gamma      ||phi'(z) - phi'(v)|| <= ||z - v|| / gamma;  lipschitz: ||phi'|| <= 1

Lecture "Empirical Risk Minimization", where every phi_i has m arguments; every identity is
checked in proofs_checks/vector_losses.py.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import xlog1py, xlogy

from jaxopt_svm.core.pytree import pytree

__all__ = ["MultiSquared", "Softmax"]

OUTER_STEPS = 12  # at most; five are usual
INNER_STEPS = 3


def _each(q):
    """One number an example, against arrays with a last axis of outputs."""
    return q if jnp.ndim(q) == 0 else jnp.expand_dims(q, -1)


def _total(x):
    return jnp.sum(x, axis=-1, keepdims=True)


def _threshold(t, q):
    """tau with sum_k max(t_k - tau, 0) = q: the largest of (sum of the top j, minus q) / j."""
    top = jnp.cumsum(jnp.flip(jnp.sort(t, axis=-1), axis=-1), axis=-1)
    count = jnp.arange(1, t.shape[-1] + 1, dtype=t.dtype)
    count = count.reshape((1,) * (t.ndim - 1) + count.shape)
    return jnp.max((top - q) / count, axis=-1, keepdims=True)


def _log_root(u, q):
    """The root s of s + q e^s = u, for u <= q (so that s <= 0), by Halley's iteration.

    With sigma = s + log q and x = u + log q it solves sigma + e^sigma = x, so sigma <= x, and
    sigma <= log x where x >= 1. That start is at most 0.57 too high; a step leaves at most a
    twelfth of the error cubed.
    """
    log_q = jnp.log(jnp.maximum(q, jnp.finfo(u.dtype).tiny))
    s = jnp.minimum(jnp.minimum(u, 0.0), jnp.log(jnp.maximum(u + log_q, 1.0)) - log_q)
    for _ in range(INNER_STEPS):
        e = q * jnp.exp(s)
        f, slope = s + e - u, 1.0 + e
        s = s - f * slope / (slope * slope - f * e / 2)
    return s


def _entropic_step(t, q):
    """argmax over the simplex of  -sum_k p_k log p_k + <t, p> - (q/2)||p||^2.

    There log p_k + q p_k = t_k - nu for one number nu, chosen such that S = sum_k p_k is 1. S
    decreases and is convex in nu, so Newton from the left approaches the root monotonically, and
    so does nu + log S, because no log p_k falls faster than nu grows. The first is exact where
    all q p_k are large, the second where they are small; the larger of both is taken. Likewise
    for the start: p_k <= 1 gives p_k >= max(t_k - nu, 0)/q and p_k >= exp(t_k - nu - q).
    """
    t = t - jnp.max(t, axis=-1, keepdims=True)

    def step(carry):
        count, nu, _ = carry
        p = jnp.exp(_log_root(t - nu, q))
        total = _total(p)
        newton = (total - 1.0) / _total(p / (1.0 + q * p))
        move = jnp.maximum(newton, jnp.log(jnp.maximum(total, 1.0)))
        return count + 1, nu + move, jnp.max(move)

    nu = jnp.maximum(_threshold(t, q), jax.nn.logsumexp(t, axis=-1, keepdims=True) - q)
    # the error after a step is at most of the order of the step squared
    small = jnp.sqrt(jnp.finfo(t.dtype).eps)
    unfinished = lambda carry: (carry[0] < OUTER_STEPS) & (carry[2] > small)
    nu = lax.while_loop(unfinished, step, (0, nu, jnp.full((), jnp.inf, t.dtype)))[1]
    p = jnp.exp(_log_root(t - nu, q))
    return p / _total(p)


def _dual(p, y):
    """a = y - p from the small entries of p, so that sum(a) = 0 whatever the size of a."""
    others = jnp.where(y > 0, 0.0, p)
    return jnp.where(y > 0, jnp.minimum(_total(others), 1.0), -others)


@pytree
class Softmax:
    """phi = log sum_k exp(z_k) - <y, z>, y one-hot. Its Hessian diag(p) - pp' is at most 1/2:
    gamma = 2. The slope can be as long as sqrt(2).

    -phi*(-a) = -sum_k p_k log p_k for p = y - a in the simplex.
    """

    smooth = True
    lipschitz = False
    regression = False
    vector = True
    gamma = 2.0

    def value(self, z, y):
        # softplus of the others' log-sum-exp over the own score: small losses keep their digits
        margin = z - _total(y * z)
        return jax.nn.softplus(jax.nn.logsumexp(margin, axis=-1, where=y == 0))

    def slope(self, z, y):
        return -_dual(jax.nn.softmax(z, axis=-1), y)

    def neg_conj(self, a, y):
        own = jnp.clip(jnp.sum(y * a, axis=-1), 0.0, 1.0)
        others = jnp.where(y > 0, 0.0, jnp.maximum(-a, 0.0))
        return -xlog1py(1.0 - own, -own) - jnp.sum(xlogy(others, others), axis=-1)

    def clip(self, a, y):
        p = y - a
        nearest = _dual(jnp.maximum(p - _threshold(p, 1.0), 0.0), y)
        # what is feasible up to rounding stays: the projection would cost the digits of small a
        error = a.shape[-1] * jnp.finfo(a.dtype).eps * _total(jnp.abs(a))
        legal = jnp.all(p >= 0.0, axis=-1, keepdims=True) & (jnp.abs(_total(a)) <= error)
        return jnp.where(legal, a, nearest)

    def dual_step(self, z, a, y, q):
        q = _each(q)
        return _dual(_entropic_step(z + q * (y - a), q), y)

    def prox(self, z, y, t):
        return z + _each(t) * self.dual_step(z, jnp.zeros_like(z), y, t)


@pytree
class MultiSquared:
    """phi = ||z - y||^2 / (2 mu), y in R^m. gamma = mu. -phi*(-a) = <a, y> - mu ||a||^2/2."""

    mu: float = 1.0

    smooth = True
    lipschitz = False
    regression = True
    vector = True

    @property
    def gamma(self):
        return self.mu

    def value(self, z, y):
        return jnp.sum((z - y) ** 2, axis=-1) / (2 * self.mu)

    def slope(self, z, y):
        return (z - y) / self.mu

    def neg_conj(self, a, y):
        return jnp.sum(a * y - self.mu * a * a / 2, axis=-1)

    def clip(self, a, y):
        del y
        return a

    def dual_step(self, z, a, y, q):
        return a + (y - z - self.mu * a) / (_each(q) + self.mu)

    def prox(self, z, y, t):
        t = _each(t)
        return (self.mu * z + t * y) / (self.mu + t)
