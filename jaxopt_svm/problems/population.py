r"""A population: examples without end, (x, y) = draw(key), and the risk of a linear model.

    L_D(w) = E phi(<x, w>, y),     over  ||w|| <= B

A sample drawn once and kept apart stands for the expectation: ``primal`` and ``certificate`` speak
about it, ``risk_of`` gives its standard error. Its certificate bounds the distance from the best w
for that sample, which for n kept examples lies about B R/sqrt(n) below the best risk. Methods
that learn draw fresh examples and never see the kept ones.

    error_decomposition   L_D(w) - L0 = approximation + estimation + optimisation

Lectures "Introduction to Machine Learning" (Srebro), SGD on the population, and "Optimization
Methods for SVMs" (Scheinberg), three errors. Bottou & Bousquet, NIPS 2007; Shalev-Shwartz & Srebro,
ICML 2008. Checked in proofs_checks/error_decomposition.py and one_pass.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.run import solve
from jaxopt_svm.problems.ball import Ball, make_ball
from jaxopt_svm.problems.make import check_lam

__all__ = ["Errors", "Generator", "Population", "error_decomposition", "make_population"]


@pytree
class Generator:
    """A plain function key -> (x, y) as a value that passes through jit."""

    function: Callable = static()

    def __call__(self, key: Array):
        return self.function(key)


@pytree
class Population(Ball):
    """A generator, its loss and a radius. Make one with ``make_population``."""

    generator: Any
    R: Array  # (): E||x||^2 <= R^2

    def slope_bound(self):
        return self.R

    def draw(self, key: Array, count: int):
        """(count, d) and (count,): fresh examples."""
        X, y = jax.vmap(self.generator)(jax.random.split(key, count))
        return X.astype(self.c.dtype), y.astype(self.c.dtype)

    def sample(self, key: Array, count: int) -> Ball:
        """The empirical problem of ``count`` fresh examples, over the same ball."""
        X, y = jax.jit(lambda p, k: p.draw(k, count))(self, key)
        return make_ball(X, y, loss=self.loss, B=float(self.lam))

    def risk_of(self, w) -> tuple[Array, Array]:
        """The mean loss of w on the kept sample, and the standard error of that mean."""
        losses = self.loss.value(self.rows.matvec(jnp.asarray(w)), self.y)
        return jnp.mean(losses), jnp.std(losses) / jnp.sqrt(jnp.asarray(self.n, losses.dtype))


def make_population(
    draw: Any,
    *,
    loss: Any = None,
    B: float = 1.0,
    R: float | None = None,
    keep: int = 4096,
    key: Array | None = None,
) -> Population:
    """A problem whose examples are drawn on demand.

    Args:
      draw: key -> (x, y), x of shape (d,) and y a number (a sign, or a target); a function, or a
        pytree that can be called, whose parameters then are leaves.
      loss: ``Hinge()`` unless given.
      B: the radius of the ball, as for ``make_ball``.
      R: E||x||^2 <= R^2; estimated from the kept sample unless given.
      keep: size of the sample kept apart, which stands for the expectation.
      key: the randomness of that sample (default ``jax.random.key(0)``).
    """
    if not callable(draw):
        raise ValueError(f"draw: expected a function key -> (x, y); got {draw!r}")
    if keep < 2:
        raise ValueError(f"keep: expected at least 2 examples; got {keep}")
    key = jax.random.key(0) if key is None else key
    leaves = jax.tree.leaves(draw)
    generator = Generator(draw) if leaves and leaves[0] is draw else draw
    try:
        x, y = jax.eval_shape(generator, key)
    except (TypeError, ValueError) as error:
        raise ValueError(f"draw: expected draw(key) to return a pair (x, y); {error}") from None
    if not (hasattr(x, "shape") and len(x.shape) == 1 and x.shape[0] > 0 and y.shape == ()):
        shapes = f"{getattr(x, 'shape', x)} and {getattr(y, 'shape', y)}"
        raise ValueError(f"draw: expected x of shape (d,) and y of shape (); got {shapes}")
    X, Y = jax.jit(jax.vmap(generator))(jax.random.split(key, keep))
    kept = make_ball(X, np.asarray(Y), loss=loss, B=B)
    if not kept.loss.regression and set(kept.labels or ()) != {-1.0, 1.0}:
        raise ValueError(f"draw: expected y to be -1 or +1; found {kept.labels}")
    dtype = kept.c.dtype
    length = jnp.sqrt(jnp.mean(kept.rows.sqnorms)) if R is None else check_lam("R", R)
    return Population(kept.risk, kept.lam, generator, jnp.asarray(length, dtype))


class Errors(NamedTuple):
    """approximation: inf over the ball - L0. estimation: of the best w on the sample, above
    that infimum. optimisation: of the given w, above the best on the sample (it may be negative:
    stopping early can help). Their sum is L_D(w) - L0.
    """

    approximation: float
    estimation: float
    optimisation: float


def error_decomposition(
    population: Population, sample: Ball, w: Any, *, lowest: float = 0.0, rtol: float = 1e-3
) -> Errors:
    """Where the risk of w, learnt from ``sample``, comes from.

    Args:
      sample: the empirical problem, such as ``population.sample(key, m)``; its radius defines the
        class. w: what a method made of it.
      lowest: L0, the risk no model can go below, if it is known.
      rtol: to which relative gap the two optima are certified.
    """
    if sample.d != population.d:
        raise ValueError(f"sample: expected {population.d} features; got {sample.d}")
    level = lambda w: float(population.risk_of(sample.project(jnp.asarray(w)))[0])
    best = solve(population.with_lam(sample.lam), rtol=rtol)
    fitted = solve(sample, rtol=rtol)
    best_risk, fitted_risk = level(best.w), level(fitted.w)
    return Errors(best_risk - lowest, fitted_risk - best_risk, level(w) - fitted_risk)
