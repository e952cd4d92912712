r"""Claim. With alpha_N held, the objective of the dual is, in alpha_B,

    1/2 alpha_B' Q_BB alpha_B - e_B' alpha_B + alpha_N' Q_NB alpha_B + constant.

Lecture "Optimization Methods for SVMs" (Scheinberg), decomposition approach: printed with +e_B'
alpha_B.

Check. Random alpha and B: the reduced objective with its constant is the whole one, and a step of
decomposition (which minimises it) lowers the whole. False variant: the printed sign.
"""

import jax.numpy as jnp
import numpy as np

from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.kernel_toys import KERNELS, feasible_beta, toy_kernel

COUNT, SIZE = 20, 6


def check() -> Result:
    rng = np.random.default_rng(0)
    true, false = [], []
    for kernel in KERNELS:
        problem = toy_kernel(kernel)
        y = problem.y
        Q = y[:, None] * y[None, :] * problem.rows.K
        for alpha in y[None, :] * feasible_beta(problem, rng, COUNT):
            order = rng.permutation(problem.n)
            B, N = order[:SIZE], order[SIZE:]
            a, rest = alpha[B], alpha[N]
            whole = alpha @ Q @ alpha / 2 - jnp.sum(alpha)
            constant = rest @ Q[np.ix_(N, N)] @ rest / 2 - jnp.sum(rest)
            shared = a @ Q[np.ix_(B, B)] @ a / 2 + rest @ Q[np.ix_(N, B)] @ a + constant
            true.append(equal(shared - jnp.sum(a), whole))
            false.append(float(equal(shared + jnp.sum(a), whole)))
    return Result(smallest(*true), float(np.median(false)))


claim = Claim(
    name="reduced_qp",
    text="the QP in alpha_B has -e'alpha_B",
    lecture="Optimization Methods for SVMs: decomposition approach",
    check=check,
)
