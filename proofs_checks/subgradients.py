r"""Claim. slope and grad are subgradients, also at kinks: for all z, v, w, u, s > 0

    phi(v) >= phi(z) + phi'(z) (v - z),        P(w + s u) >= P(w) + s <grad P(w), u>

and where phi is (1/gamma)-smooth and g is l2, with L = lam + sum_i c_i ||x_i||^2 / gamma, also
P(w + s u) <= P(w) + s <grad P(w), u> + s^2 L/2 for ||u|| = 1: grad P is the gradient.
Lectures "SGD" (Srebro), subgradients, and "Optimization Methods for SVMs" (Scheinberg).

Check. Exact inequalities instead of finite differences, for s from 1e-4 to 10; half of the
points lie on a kink, of phi and (by moving w along one row) of P.
False variant: slopes 10 % too steep; it fails for every loss and for every P.
"""

import jax
import jax.numpy as jnp
import numpy as np

from proofs_checks.claims import (
    LOSSES,
    PAIRS,
    Claim,
    Result,
    smallest,
    spread,
    targets,
    toy,
)

COUNT = 400


@jax.jit
def loss_slacks(loss, z, v, y):
    slope = loss.slope(z, y)
    above = lambda factor: loss.value(v, y) - loss.value(z, y) - factor * slope * (v - z)
    return jnp.min(above(1.0)), jnp.min(above(1.1))


@jax.jit
def problem_slacks(problem, ws, us, sizes):
    def one(w, u, s, k):
        # onto the kink <x_i, w> = y_i of example i, for half of the points
        i = k % problem.n
        x = problem.rows.X[i]
        z, length = jnp.vdot(x, w), jnp.maximum(problem.rows.sqnorms[i], 1e-30)
        w = jnp.where(k < COUNT // 2, w + (problem.y[i] - z) / length * x, w)
        rise, inner = problem.primal(w + s * u) - problem.primal(w), jnp.vdot(problem.grad(w), u)
        true = (rise - s * inner) / s
        if problem.loss.smooth and problem.regularizer.linear:
            curvature = jnp.sum(problem.c * problem.rows.sqnorms) / problem.loss.gamma
            true = jnp.minimum(true, inner + s * (problem.lam + curvature) / 2 - rise / s)
        return true, rise / s - 1.1 * inner

    return [jnp.min(s) for s in jax.vmap(one)(ws, us, sizes, jnp.arange(COUNT))]


def case(loss, regularizer, rng):
    problem = toy(loss, regularizer)
    us = rng.normal(size=(COUNT, problem.d))
    us = jnp.asarray(us / np.linalg.norm(us, axis=1, keepdims=True))
    ws = jnp.asarray(rng.normal(size=(COUNT, problem.d)) * (rng.random((COUNT, 5)) < 0.8))
    return problem_slacks(problem, ws, us, spread(rng, -4.0, 1.0, COUNT))


def line(loss, rng):
    y = targets(loss, rng, COUNT)
    z = jnp.where(rng.random(COUNT) < 0.5, y, 2.0 * rng.normal(size=COUNT))
    return loss_slacks(loss, z, z + spread(rng, -2.0, 1.0, COUNT) * rng.normal(size=COUNT), y)


def check() -> Result:
    rng = np.random.default_rng(5)
    found = [line(loss, rng) for loss in LOSSES]
    found += [case(loss, g, rng) for loss, g in PAIRS]
    return Result(smallest(*(t for t, _ in found)), max(float(f) for _, f in found))


claim = Claim(
    name="subgradients",
    text="slope and grad are subgradients, also at kinks; gradients where P is smooth",
    lecture="Introduction to Machine Learning: subgradients",
    check=check,
)
