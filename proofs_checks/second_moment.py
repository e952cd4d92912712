r"""Claim. What SGD needs is E||g_t||^2 <= G^2: with the step B/(G sqrt(T)) on a ball

    E F(mean of w_1..w_T) - F* <= B G/sqrt(T).

||grad F|| <= rho, that is ||E g|| <= rho, is not enough: noise of mean zero leaves F alone.
Lecture "Introduction to Machine Learning" (Srebro), SGD, where the condition is printed for the
gradient of F.

Check. F = |w - 1| on [-1, 1], g = sign(w - 1) + noise, noise = +s or -s by a coin: the expectation
is exact over all 2^T sequences, T = 12, for small and large s. False variant: rho = 1 in the place
of G for s = 50, in the step and in the bound.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from proofs_checks.claims import Claim, Result, smallest

T = 12


@jax.jit
def expected(s, G):
    """E F(mean) - F* over all sequences of coins, steps 1/(G sqrt(T))."""
    coins = jnp.asarray(1.0 - 2.0 * ((np.arange(2**T)[:, None] >> np.arange(T)) & 1))

    def step(w, coin):
        g = jnp.sign(w - 1.0) + s * coin
        return jnp.clip(w - g / (G * np.sqrt(T)), -1.0, 1.0), w

    one = lambda sequence: jnp.abs(jnp.mean(lax.scan(step, 0.0, sequence)[1]) - 1.0)
    return jnp.mean(jax.vmap(one)(coins))


def check() -> Result:
    second = lambda s: np.sqrt(1.0 + s * s)
    true = [second(s) / np.sqrt(T) - expected(s, second(s)) for s in (0.0, 0.5, 2.0, 50.0)]
    return Result(smallest(*true), float(1.0 / np.sqrt(T) - expected(50.0, 1.0)))


claim = Claim(
    name="second_moment",
    text="SGD needs E||g||^2 <= G^2; a bound on ||E g|| does not do",
    lecture="Introduction to Machine Learning: SGD",
    check=check,
)
