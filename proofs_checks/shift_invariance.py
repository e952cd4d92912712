r"""Claim. With a free intercept K and K + rho have the same solutions beta and the same b.

On sum beta = 0 the constant adds rho (sum beta)^2 = 0. The active-set method factors K_ss + rho.

Check. Exact solutions for two kernels, rho = 0.3 and 30. False variant: the same without the
intercept, where the constraint that makes it true is missing.
"""

import jax.numpy as jnp

from jaxopt_svm import RBF, Polynomial, make_kernel_svm
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.kernel_toys import exact, points


def difference(kernel, rho, intercept):
    """The slack of: the scores and intercepts of the two solutions are equal."""
    X, y = points()
    one, two = (
        make_kernel_svm(X, y, kernel=k, C=1.0, intercept=intercept) for k in (kernel, kernel + rho)
    )
    (beta, b), (other, b2) = exact(one), exact(two)
    f, g = one.rows.times(beta), one.rows.times(other)
    value = lambda x, scores: x @ scores / 2 - one.y @ x
    objective = equal(value(beta, f), value(other, g))
    return smallest(jnp.min(equal(f, g)), equal(b, b2), objective)


def check() -> Result:
    cases = [(kernel, rho) for kernel in (RBF(0.5), Polynomial(0.5, 1.0)) for rho in (0.3, 30.0)]
    true = [difference(*case, "free") for case in cases]
    return Result(smallest(*true), max(difference(*case, "none") for case in cases))


claim = Claim(
    name="shift_invariance",
    text="with sum beta = 0, K + rho has the solutions of K",
    lecture="Optimization Methods for SVMs: active set method",
    check=check,
    tolerance=1e-8,
)
