r"""The width of a kernel by evidence: maximise log p(y | X, kernel, noise) with optax.

Every parameter p of the kernel that is positive, and the noise, moves as p e^theta from theta = 0,
so it stays positive; a parameter that is 0 stays 0. The best parameters seen are kept.

Lecture "Introduction to Machine Learning" (Srebro), Gaussian processes.
Rasmussen & Williams 2006, section 5.4.1. Gradient against differences: tests/test_gp.py.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array, lax

from jaxopt_svm.gp.checks import check_gram
from jaxopt_svm.gp.regression import GP, condition, log_evidence

__all__ = ["Fit", "fit_gp"]

STEPS, RATE = 200, 0.05


class Fit(NamedTuple):
    """gp: with the best parameters seen. evidence: (steps + 1,) log evidence along the way."""

    gp: GP
    evidence: Array


def _at(parameters, theta):
    return jax.tree.map(lambda p, t: p * jnp.exp(t), parameters, theta)


def fit_gp(
    gp: GP,
    *,
    steps: int = STEPS,
    optimizer: optax.GradientTransformation | None = None,
    noise: bool = True,
) -> Fit:
    """Climb the log evidence from the parameters of ``gp``.

    Args:
      steps: of the optimizer (default Adam with rate 0.05), each one factorisation.
      noise: whether the noise moves too; if it is 0 it stays 0.
    """
    if steps < 1:
        raise ValueError(f"steps: expected at least 1; got {steps}")
    tx = optax.adam(RATE) if optimizer is None else optimizer
    dtype = gp.X.dtype
    start = jax.tree.map(lambda p: jnp.asarray(p, dtype), (gp.kernel, gp.noise))

    def loss(theta):
        kernel, s2 = _at(start, theta)
        return -log_evidence(kernel, s2 if noise else start[1], gp.X, gp.y)

    def step(carry, _):
        theta, opt, best, least = carry
        value, slope = jax.value_and_grad(loss)(theta)
        better = value < least
        best = jax.tree.map(lambda a, b: jnp.where(better, a, b), theta, best)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes integer counts with floats
            updates, opt = tx.update(slope, opt, theta)
            theta = optax.apply_updates(theta, updates)
        return (theta, opt, best, jnp.where(better, value, least)), -value

    @jax.jit
    def climb():
        theta = jax.tree.map(jnp.zeros_like, start)
        first = (theta, tx.init(theta), theta, jnp.asarray(jnp.inf, dtype))
        (_, _, best, _), evidence = lax.scan(step, first, None, length=steps + 1)
        kernel, s2 = _at(start, best)
        return condition(kernel, s2 if noise else start[1], gp.X, gp.y), evidence

    best, evidence = climb()
    check_gram(best.kernel, best.X, float(best.noise))
    return Fit(best, evidence)
