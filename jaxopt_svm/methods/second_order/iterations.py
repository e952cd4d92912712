"""What the second-order methods share: a pass is one iteration, and nothing is drawn."""

from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Spent

__all__ = ["Iterations"]


class Iterations:
    """work: rows touched / n by an iteration, for methods that do not count them themselves."""

    bound_on = "gap"
    work = 1.0

    def draw(self, problem: Any, key: Array) -> Array:
        del problem, key
        return jnp.zeros(1, jnp.int32)

    def spent(self, problem: Any) -> Spent:
        del problem
        return Spent(work=self.work, oracle_calls=0.0, updates=1.0)

    def bound(self, problem: Any, t) -> None:
        del problem, t
