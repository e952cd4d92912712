r"""Claim. A primal point certifies itself. With alpha_i = -phi'_i(<x_i, w>), which is feasible,

    P(w) - D(alpha) = ||grad P(w)||^2 / (2 lam)                          for l2 and every loss,

since all braces of the examples vanish (see split_identity) and the brace of g is
||w - abar||^2/2 with lam (w - abar) = grad P(w).
Lecture "Empirical Risk Minimization" (Richtarik), optimality conditions.

Check. problem.certificate of random w without a dual point, all losses, one output and three,
weights.
False variant: ||grad P(w)||^2 / lam, the factor 1/2 dropped.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Point
from proofs_checks.claims import LOSSES, VECTOR, Claim, Result, equal, smallest, spread, toy

COUNT = 300


@jax.jit
def slacks(problem, ws):
    gap = jax.vmap(lambda w: problem.certificate(Point(w)).gap)(ws)
    squared = jax.vmap(lambda w: jnp.sum(problem.grad(w) ** 2))(ws)
    bound = lambda factor: jnp.min(equal(gap, factor * squared / problem.lam))
    return bound(0.5), bound(1.0)


def check() -> Result:
    rng = np.random.default_rng(6)
    found = []
    for loss in (*LOSSES, *VECTOR):
        problem = toy(loss)
        shape = problem.origin().w.shape
        sizes = spread(rng, -2.0, 1.0, COUNT, *(1,) * len(shape))
        ws = sizes * rng.normal(size=(COUNT, *shape))
        found.append(slacks(problem, ws))
    return Result(smallest(*(t for t, _ in found)), max(float(f) for _, f in found))


claim = Claim(
    name="primal_certificate",
    text="with alpha = -phi'(Xw) the gap is ||grad P(w)||^2 / (2 lam)",
    lecture="Empirical Risk Minimization: optimality",
    check=check,
)
