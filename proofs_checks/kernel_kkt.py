r"""Claim. beta with sum beta = 0 in the box is optimal with intercept b exactly if r = K beta - y +
b has

    r_i >= 0 where beta_i = lo_i,     r_i = 0 inside,     r_i <= 0 where beta_i = hi_i,

and then P = D. In the lecture's letters: Q alpha + y b - s + xi = e, with s and xi the slacks.

Lecture "Optimization Methods for SVMs" (Scheinberg), KKT conditions: printed with +y beta, beta
being the intercept of w'x + beta elsewhere; the sign has to be that of -b.

Check. Exact solutions for three kernels and C = 0.1, 1, 10. False variant: the printed sign.
"""

import jax.numpy as jnp

from jaxopt_svm import Point
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.kernel_toys import KERNELS, exact, toy_kernel


def conditions(problem, beta, b):
    lo, hi = problem.box()
    r = problem.rows.times(beta) - problem.y + b
    inside = jnp.where((beta > lo) & (beta < hi), -jnp.abs(r), 0.0)
    ends = jnp.where(beta <= lo, r, jnp.where(beta >= hi, -r, 0.0))
    return smallest(inside, ends, -jnp.abs(jnp.sum(beta)))


def check() -> Result:
    true, false = [], []
    for kernel in KERNELS:
        for C in (0.1, 1.0, 10.0):
            problem = toy_kernel(kernel, C=C)
            beta, b = exact(problem)
            point = Point(jnp.append(beta, b), problem.alpha_of(beta))
            gap = -jnp.abs(problem.certificate(point).gap)
            true += [conditions(problem, beta, b), gap]
            if abs(float(b)) > 1e-3:
                false.append(conditions(problem, beta, -b))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="kernel_kkt",
    text="Q alpha + y b - s + xi = e with complementary slacks is optimality, and P = D",
    lecture="Optimization Methods for SVMs: optimality conditions",
    check=check,
    tolerance=1e-8,
)
