r"""What a model of structured outputs answers, one example at a time. Yours too.

Everything is linear in the *statistics* mu(y) of a label y: an array, or a pytree of arrays, such
as "which label at which node, which pair on which edge".

    <w, psi(x, y)> = <theta, mu(y)>,   theta = potentials(w, x), linear in w
    l(y, y')       = <loss(x, y), mu(y')>,  and 0 at y' = y

So a loss-augmented score is <theta + loss, mu(y')>: decoding and loss-augmented decoding are one
function. The features psi are never written: psi(x, mu) is the transpose of w -> potentials(w, x).
A loss that does not decompose has a statistic of its own: mu(y) = (..., l(y_i, y)).

A model is a ``@pytree`` that inherits ``Model`` and writes the five things below; the rest follows,
and may be written again where the structure makes it cheaper. x is one example (a pytree), y and
``label`` an integer array of fixed shape.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = ["Model", "inner"]


def inner(a, b) -> Array:
    """<a, b> over pytrees of arrays."""
    parts = jax.tree.map(lambda x, y: jnp.sum(x * y), a, b)
    return jax.tree.reduce(jnp.add, parts)


class Model:
    """The contract. A label that cannot be must become one that can in ``statistics`` (clip it):
    certificates are recomputed from labels a method claims."""

    @property
    def size(self) -> int:
        """Number of parameters: w is (size,)."""
        raise NotImplementedError

    def potentials(self, w, x) -> Any:
        """theta, shaped like mu and linear in w."""
        raise NotImplementedError

    def loss(self, x, y) -> Any:
        """The loss against the truth y, shaped like mu, >= 0 on every label and 0 on y."""
        raise NotImplementedError

    def decode(self, theta, x) -> tuple[Array, Array]:
        """(value, label) of max_y <theta, mu(y)>."""
        raise NotImplementedError

    def statistics(self, x, label) -> Any:
        """mu(label)."""
        raise NotImplementedError

    # what follows from these five

    def plain(self, x, y) -> tuple[Any, Any, Any]:
        """(model, x, y) that predict; another for models made to rescale a loss."""
        return self, x, y

    def score(self, theta, x, label) -> Array:
        """<theta, mu(label)>."""
        return inner(theta, self.statistics(x, label))

    def mix(self, x, labels, masses) -> Any:
        """sum_k masses_k mu(labels_k); the leading axis counts labels."""

        def add(total, at):
            mu = self.statistics(x, at[0])
            return jax.tree.map(lambda t, m: t + at[1] * m, total, mu), None

        none = jax.eval_shape(self.statistics, x, labels[0])
        start = jax.tree.map(lambda m: jnp.zeros(m.shape, masses.dtype), none)
        return lax.scan(add, start, (labels, masses))[0]

    def features(self, x, mu) -> Array:
        """(size,) psi(x, mu) = sum_y mass_y psi(x, y), the transpose of ``potentials``."""
        dtype = jax.tree.leaves(mu)[0].dtype
        w = jax.ShapeDtypeStruct((self.size,), dtype)
        return jax.linear_transpose(lambda w: self.potentials(w, x), w)(mu)[0]

    def add(self, w, x, mu) -> Array:
        """w + psi(x, mu)."""
        return w + self.features(x, mu)

    def sqnorm(self, x, mu) -> Array:
        """||psi(x, mu)||^2."""
        psi = self.features(x, mu)
        return psi @ psi

    def pull(self, x, mu) -> Any:
        """The potentials of w = psi(x, mu), so that <psi(x, mu), psi(x, y)> = <pull(mu), mu(y)>."""
        return self.potentials(self.features(x, mu), x)

    def sqlengths(self, x, labels) -> Array:
        """(k,) ||psi(x, labels_k)||^2."""
        return jax.vmap(lambda label: self.sqnorm(x, self.statistics(x, label)))(labels)

    def products(self, x, label, labels) -> Array:
        """(k,) <psi(x, label), psi(x, labels_k)>."""
        theta = self.pull(x, self.statistics(x, label))
        return jax.vmap(self.score, (None, None, 0))(theta, x, labels)
