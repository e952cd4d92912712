"""A population for experiments on learning: noisy labels of a plane, and stacks of samples."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm import ERM, make_erm
from jaxopt_svm.core.pytree import pytree

__all__ = ["Plane", "plane", "samples"]


@pytree
class Plane:
    """x on the unit sphere; y = sign(<w, x> + 0.05 noise), turned over with probability 0.05."""

    w: Array

    def __call__(self, key: Array):
        at, noise, turn = jax.random.split(key, 3)
        x = jax.random.normal(at, self.w.shape, self.w.dtype)
        x = x / jnp.linalg.norm(x)
        z = x @ self.w + 0.05 * jax.random.normal(noise, (), self.w.dtype)
        sign = jnp.where(z > 0, 1.0, -1.0)
        return x, jnp.where(jax.random.uniform(turn) < 0.05, -sign, sign).astype(x.dtype)


def plane(d: int, seed: int = 0) -> Plane:
    w = np.random.default_rng(seed).normal(size=d)
    return Plane(jnp.asarray(w / np.linalg.norm(w)))


def samples(draw: Any, m: int, seeds: int, first: int = 0) -> ERM:
    """``seeds`` samples of m examples as one hinge problem whose rows and labels have lanes."""
    keys = jax.vmap(jax.random.key)(jnp.arange(first, first + seeds))
    many = jax.jit(jax.vmap(lambda key: jax.vmap(draw)(jax.random.split(key, m))))
    X, y = many(keys)
    each = [make_erm(x, t) for x, t in zip(np.asarray(X), np.asarray(y))]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)
