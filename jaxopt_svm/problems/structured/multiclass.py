r"""Multiclass by a cost matrix (Crammer and Singer): one of K labels an example.

    <w, psi(x, y)> = <W_y, x>,   l(y, y') = cost[y, y'],   mu(y) = e_y

w is W (F, K) read row by row. With cost = 1 - I this is Crammer and Singer's machine; a dual point
is a distribution over the K labels, n K numbers.
Crammer and Singer, JMLR 2001; lecture "Online solvers for convex risk minimization" (Franc).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.problems.structured.model import Model

__all__ = ["Multiclass"]


@pytree
class Multiclass(Model):
    """x: tokens without a node axis. y: () integer. mu: (K,)."""

    cost: Array  # (K, K), zero diagonal
    F: int = static()

    @property
    def K(self) -> int:
        return self.cost.shape[0]

    @property
    def size(self) -> int:
        return self.F * self.K

    def parts(self, w) -> dict[str, Any]:
        """w by name."""
        return {"unary": w.reshape(self.F, self.K)}

    def potentials(self, w, x):
        return x.scores(w.reshape(self.F, self.K))

    def loss(self, x, y):
        return self.cost[y]

    def decode(self, theta, x):
        return jnp.max(theta), lax.argmax(theta, 0, jnp.int32)

    def _valid(self, labels):
        """Labels that can be, whatever was claimed."""
        return jnp.clip(jnp.asarray(labels).astype(jnp.int32), 0, self.K - 1)

    def statistics(self, x, label):
        return (jnp.arange(self.K, dtype=jnp.int32) == self._valid(label)).astype(self.cost.dtype)

    def score(self, theta, x, label):
        return theta[self._valid(label)]

    def mix(self, x, labels, masses):
        return jnp.zeros(self.K, masses.dtype).at[self._valid(labels)].add(masses)

    def add(self, w, x, mu):
        none = jnp.zeros((0, self.K), mu.dtype)
        return x.add(w.reshape(self.F, self.K), mu, none).reshape(self.size)

    def sqnorm(self, x, mu):
        return x.gram * (mu @ mu)

    def pull(self, x, mu):
        return x.gram * mu

    def sqlengths(self, x, labels):
        return jnp.full(labels.shape, x.gram)

    def limits(self, x):
        """sqrt(2) ||x|| and the largest cost."""
        return jnp.sqrt(2 * x.gram), jnp.max(self.cost)

    def every_label(self, x):
        del x
        return jnp.arange(self.K, dtype=jnp.int32)

    def log_partition(self, theta, x):
        """log sum_y exp theta_y; its gradient is the softmax."""
        return jax.nn.logsumexp(theta)

    def repair(self, x, mu):
        """The distribution a claimed mu (K,) stands for: clipped and normalised."""
        mu = jnp.where(mu > 0, mu, 0)
        total = jnp.sum(mu)
        return jnp.where(total > 0, mu / jnp.where(total > 0, total, 1), 1.0 / self.K)

    def summary(self, x, mu):
        return mu
