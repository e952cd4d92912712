r"""Claim. With |phi'| <= 1 the risk L(w) = sum_i c_i phi(<x_i, w>, y_i) is Lipschitz:

    |L(w) - L(v)| <= sum_i c_i ||x_i|| ||w - v|| <= R ||w - v||,     R = max_i n c_i ||x_i||

so every subgradient is at most R long, and (BR/eps)^2 steps reach eps on a ball of radius B.
Lecture "Introduction to Machine Learning" (Srebro), hinge over a ball; "Optimization Methods for
SVMs" (Scheinberg), SAA, where |phi'| <= 1 is what is needed and |phi| <= 1 is printed.

Check. Random pairs and subgradients for every loss with |phi'| <= 1; R tight for one example.
False variants, both of which have to fail: R/2 in place of R, and |phi| <= 1 for the hinge.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Hinge, make_ball
from proofs_checks.claims import LOSSES, Claim, Result, smallest, spread, toy

COUNT = 300


def ratios(problem, ws, vs):
    """max |L(w) - L(v)|/||w - v|| and max ||g(w)||, over R."""
    L = lambda w: jnp.sum(problem.c * problem.loss.value(problem.rows.matvec(w), problem.y))
    slope = jax.vmap(lambda w, v: jnp.abs(L(w) - L(v)) / jnp.linalg.norm(w - v))(ws, vs)
    grad = lambda w: problem.rows.rmatvec(
        problem.c * problem.loss.slope(problem.rows.matvec(w), problem.y)
    )
    R = problem.slope_bound()
    return jnp.maximum(slope, jnp.linalg.norm(jax.vmap(grad)(ws), axis=1)) / R


def check() -> Result:
    rng, true = np.random.default_rng(23), []
    for loss in LOSSES:
        if loss.lipschitz:
            problem = toy(loss)
            ws = spread(rng, -1, 1, COUNT, 1) * rng.normal(size=(COUNT, problem.d))
            vs = ws + spread(rng, -2, 1, COUNT, 1) * rng.normal(size=(COUNT, problem.d))
            true.append(1.0 - jnp.max(ratios(problem, ws, vs)))
    clash = make_ball(np.array([[2.0], [2.0]]), [1, -1], loss=Hinge()).risk
    steep = make_ball(np.array([[2.0], [-2.0]]), [1, -1], loss=Hinge()).risk
    tight = jnp.max(ratios(steep, jnp.array([[-1.0]]), jnp.array([[0.0]])))
    highest = jnp.max(clash.loss.value(clash.rows.matvec(jnp.array([1.0])), clash.y))
    return Result(smallest(*true, 1.0 - tight), max(float(1.0 - 2 * tight), float(1.0 - highest)))


claim = Claim(
    name="hinge_lipschitz",
    text="|phi'| <= 1 makes the risk R-Lipschitz; |phi| <= 1 is neither needed nor true",
    lecture="Introduction to Machine Learning: hinge over a ball",
    check=check,
)
