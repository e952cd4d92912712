r"""Claim. At the optimum of an SVM without intercept

    lam ||w*||^2 + sum_i c_i hinge_i(w*) = sum_i c_i y_i alpha*_i <= 1,     so  ||w*|| <=
    1/sqrt(lam).

It is strong duality: P* = D* with w* = w(alpha*). (P(0) = 1 alone gives only sqrt(2/lam).)
Lecture "Optimization Methods for SVMs" (Scheinberg), projection onto ||w|| <= 1/sqrt(lam).

Check. Three kernels, four values of lam, exact solutions. False variant: lam/2 in place of lam.
"""

import jax.numpy as jnp
import numpy as np

from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.kernel_toys import KERNELS, exact, toy_kernel

LAMS = (0.01, 0.1, 0.5, 1.0)


def case(problem):
    beta, _ = exact(problem)
    f = problem.rows.times(beta)
    square, hinge = beta @ f, jnp.sum(problem.c * jnp.maximum(0.0, 1.0 - problem.y * f))
    mean = jnp.sum(problem.c * problem.y * problem.alpha_of(beta))
    lam = problem.lam
    true = smallest(equal(lam * square + hinge, mean), 1.0 - mean, 1.0 / lam - square)
    return true, float(equal(lam / 2 * square + hinge, mean))


def check() -> Result:
    problems = [toy_kernel(kernel, intercept="none") for kernel in KERNELS]
    found = [case(p.with_lam(lam)) for p in problems for lam in LAMS]
    return Result(smallest(*(t for t, _ in found)), float(np.max([f for _, f in found])))


claim = Claim(
    name="norm_bound",
    text="lam ||w*||^2 + mean hinge = mean alpha <= 1, so ||w*|| <= 1/sqrt(lam)",
    lecture="Optimization Methods for SVMs: subgradient step and projection",
    check=check,
)
