r"""Claim. SGD on fresh examples minimises the risk itself: eta = B/(R sqrt(T)), E||x||^2 <= R^2,

    E L_D(mean of w_1..w_T) <= inf over ||w|| <= B of L_D + B R/sqrt(T),          no projection.

Lectures "Introduction to Machine Learning" (Srebro), one pass; "Optimization Methods for SVMs"
(Scheinberg), stochastic approximation. Nemirovski et al., SIAM J. Optim. 19 (2009).

Check. A population of five atoms: the expectation is exact over all 5^T sequences, T = 1, 2, 4,
with the package's own step, infimum over a fine net of the ball. False variant: half the bound,
where T = 1 and one atom attain it.
"""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import Hinge, Horizon, OnePass, Population, make_ball
from proofs_checks.claims import Claim, Result, smallest

B = 1.5


def population(X, y, B) -> Population:
    """Uniform over the rows of X; the kept sample is the population itself."""
    ball = make_ball(X, y, loss=Hinge(), B=B)
    R = jnp.sqrt(jnp.mean(ball.rows.sqnorms))
    return Population(ball.risk, ball.lam, None, R)


def lowest(problem) -> float:
    """min of L_D over the ball, on a net fine enough that the rest is below 1e-4."""
    angle, length = np.linspace(0, 2 * np.pi, 1441), np.linspace(0, float(problem.lam), 401)
    ws = np.stack([np.outer(length, f(angle)).ravel() for f in (np.cos, np.sin)], axis=1)
    if problem.d == 1:
        ws = np.linspace(-float(problem.lam), float(problem.lam), 4001)[:, None]
    return float(jnp.min(jax.jit(jax.vmap(problem.primal))(jnp.asarray(ws))))


def ratio(problem, T: int) -> float:
    """E L_D(mean) - inf, over the bound."""
    method = OnePass(Horizon(float(T)))
    every = jnp.asarray(np.array(list(product(range(problem.n), repeat=T)), np.int32))

    def run(sequence):
        def step(state, i):
            sample = (problem.rows.X[i], problem.y[i])
            return method.step(problem, state, sample), state.w

        mean = jnp.mean(lax.scan(step, method.init(problem), sequence)[1], axis=0)
        return jnp.mean(problem.loss.value(problem.rows.matvec(mean), problem.y))

    excess = float(jnp.mean(jax.jit(jax.vmap(run))(every))) - lowest(problem)
    return excess / float(problem.lam * problem.R / np.sqrt(T))


def check() -> Result:
    rng = np.random.default_rng(26)
    X = rng.normal(size=(5, 2))
    many = population(X, np.array([1.0, 1.0, -1.0, -1.0, 1.0]), B)
    single = population(np.array([[0.5], [-0.5]]), np.array([1.0, -1.0]), 1.0)
    tight = ratio(single, 1)
    slacks = [1.0 - ratio(many, T) for T in (1, 2, 4)]
    return Result(smallest(*slacks, 1.0 - tight), 1.0 - 2 * tight)


claim = Claim(
    name="one_pass",
    text="fresh examples: E L_D(mean) <= inf L_D + B R/sqrt(T), with no projection",
    lecture="Introduction to Machine Learning: one pass",
    check=check,
)
