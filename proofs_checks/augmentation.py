r"""Claim. Appending a constant feature is not a free intercept. It is the box QP of K + 1, whose
solution has b = sum beta, penalised: b^2/2 is part of the objective; a free intercept has sum beta
= 0.

Lecture "Optimization Methods for SVMs" (Scheinberg) treats the intercept by the feature (x, 1) and
writes the dual with y'alpha = 0.

Check. Linear models: the augmented ERM problem and the kernel problem of k + 1 have one optimum,
its intercept is sum beta, and P of the free one is no larger. False variant: the two intercepts are
equal.
"""

import jax.numpy as jnp

from jaxopt_svm import Hinge, Linear, make_erm
from proofs_checks.claims import Claim, Result, equal, optimum, smallest
from proofs_checks.kernel_toys import exact, points, toy_kernel


def check() -> Result:
    X, y = points()
    true, false = [], []
    for C in (0.1, 1.0):
        linear = make_erm(X, y, loss=Hinge(), C=C, intercept="penalised")
        penalised = toy_kernel(Linear(), C=C, intercept="penalised")
        free = toy_kernel(Linear(), C=C, intercept="free")
        w = optimum(linear).w
        (beta, _), (balanced, b) = exact(penalised), exact(free)
        same = equal(linear.primal(w), penalised.primal(beta))
        intercept = equal(w[-1], jnp.sum(beta))
        lower = penalised.primal(beta) - free.primal(jnp.append(balanced, b))
        true += [same, intercept, lower, -jnp.abs(jnp.sum(balanced))]
        false.append(float(equal(jnp.sum(beta), b)))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="augmentation",
    text="(x, 1) is the box QP of K + 1 with b = sum beta, another problem than a free b",
    lecture="Optimization Methods for SVMs: support vector machines",
    check=check,
    tolerance=1e-7,
)
