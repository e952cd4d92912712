r"""Claim. A pair that no bound stops lowers the objective by exactly (v_i - v_j)^2 / (2 a_ij);
every step of SMO lowers it, and a step of decomposition lowers it at least as much as the most
violating pair alone.

Lecture "Optimization Methods for SVMs" (Scheinberg), decomposition; Keerthi & Gilbert 2002.
Check. Random feasible beta, three kernels, first and second order. False variant: the
factor 1/2 is missing.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Decomposition
from jaxopt_svm.methods.kernel.decomposition import DecompositionState
from jaxopt_svm.oracles.pairs import first_of, pair_move
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.kernel_toys import KERNELS, feasible_beta, quadratic, toy_kernel

COUNT = 60


@jax.jit
def slacks(problem, betas):
    q, K = quadratic(problem), problem.rows.K
    objective = lambda beta: beta @ (K @ beta) / 2 - problem.y @ beta

    def pair(beta, second_order):
        v = problem.y - K @ beta
        first = first_of(q, beta, v)
        move = pair_move(lambda i: K[i], q, beta, v, first, second_order=second_order)
        fell = objective(beta) - objective(move.put(beta))
        i, j = move.i, move.j
        a = K[i, i] + K[j, j] - 2 * K[i, j]
        promised = (v[i] - v[j]) ** 2 / (2 * jnp.maximum(a, 1e-12))
        inside = jnp.abs(move.di - (v[i] - v[j]) / jnp.maximum(a, 1e-12)) < 1e-12
        moved = move.di != 0
        exactly = jnp.where(inside & moved, equal(fell, promised), 0.0)
        doubled = jnp.where(inside & moved, equal(fell, 2 * promised), 0.0)
        return fell, exactly, doubled

    def one(beta):
        first, exact1, wrong = pair(beta, False)
        second, exact2, _ = pair(beta, True)
        zero = jnp.zeros((), jnp.int32)
        state = DecompositionState(beta, problem.y - K @ beta, zero, zero, zero > 0)
        after = Decomposition(q=6, accuracy=1e-3).one(problem, state)
        more = objective(beta) - objective(after.beta) - first
        worst = jnp.stack([exact1, exact2, first, second, more])
        return jnp.min(worst), wrong

    true, false = jax.vmap(one)(betas)
    return jnp.min(true), jnp.min(false)


def check() -> Result:
    rng = np.random.default_rng(0)
    problems = [toy_kernel(kernel, C=5.0) for kernel in KERNELS]
    found = [slacks(p, feasible_beta(p, rng, COUNT)) for p in problems]
    return Result(smallest(*(t for t, _ in found)), min(float(f) for _, f in found))


claim = Claim(
    name="smo_progress",
    text="a free pair gains (v_i - v_j)^2/(2 a_ij); steps are monotone; q variables gain more",
    lecture="Optimization Methods for SVMs: decomposition methods",
    check=check,
)
