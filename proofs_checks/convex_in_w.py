r"""Claim. A convex loss of an affine function of w is convex in w, and so are sums of them. With

    h_w(x) = w x + w^2   (not affine in w)

the hinge [1 - y h_w]_+ is convex for y = -1 and not for y = +1: at x = 1 the value at -1/2, the
middle of -2 and 1, is 1.25, and both ends have 0. Of the penalties ||w||_1 and ||w||_2^2 are convex
and the number of non-zero weights is not. Lecture "Introduction to Machine Learning" (Srebro),
convexity.

Check. Jensen's inequality on random segments, also across kinks. False variants, both of which
have to fail: y = +1, as printed without the sign, and the number of non-zeros.
"""

import jax
import jax.numpy as jnp
import numpy as np

from proofs_checks.claims import LOSSES, Claim, Result, smallest, spread, targets

COUNT = 500


def jensen(f, a, b, s):
    """The worst slack of f(s a + (1 - s) b) <= s f(a) + (1 - s) f(b)."""
    one = lambda a, b, s: s * f(a) + (1 - s) * f(b) - f(s * a + (1 - s) * b)
    return jnp.min(jax.vmap(one)(a, b, s))


def curved(y):
    return lambda w: jnp.maximum(0.0, 1.0 - y * (w[0] + w[0] ** 2))


def check() -> Result:
    rng, true = np.random.default_rng(22), []
    a, b = (spread(rng, -1, 1, COUNT, 1) * rng.normal(size=(COUNT, 3)) for _ in range(2))
    s = jnp.asarray(rng.random(COUNT))
    X, shift = jnp.asarray(rng.normal(size=(4, 3))), jnp.asarray(rng.normal(size=4))
    for loss in LOSSES:
        y = targets(loss, rng, 4)
        true.append(
            jensen(lambda w, y=y, loss=loss: jnp.sum(loss.value(X @ w + shift, y)), a, b, s)
        )
    kinked = lambda w: jnp.maximum(0.0, 4.0 + 2.0 * w[0])  # the lecture's x = (-2, -3)
    norms = (lambda w: jnp.sum(jnp.abs(w)), lambda w: jnp.sum(w**2))
    true += [jensen(f, a, b, s) for f in (kinked, curved(-1.0), *norms)]
    lecture = jensen(curved(1.0), jnp.array([[-2.0]]), jnp.array([[1.0]]), jnp.array([0.5]))
    # between two points of different axes both weights are there
    nonzeros = lambda w: jnp.sum(jnp.where(w != 0, 1.0, 0.0))
    few = jensen(nonzeros, jnp.eye(3)[:2], jnp.eye(3)[1:], s[:2])
    return Result(smallest(*true), max(float(lecture), float(few)))


claim = Claim(
    name="convex_in_w",
    text="convex of affine is convex in w; [1 - y(wx + w^2)]_+ is so for y = -1 only",
    lecture="Introduction to Machine Learning: convexity",
    check=check,
)
