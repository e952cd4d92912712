r"""Claim. Pegasos by counts, f_t = 1/(lam (t - 1)) sum_j n c_j count_j y_j k(x_j, .), takes the
steps of Pegasos: with a linear kernel the scores agree at every step, and with any kernel

    ||f_t||_K <= R/lam,   R = max_i n c_i sqrt(k(x_i, x_i)).

Lecture "Optimization Methods for SVMs" (Scheinberg), Pegasos with kernels.
Shalev-Shwartz, Singer, Srebro & Cotter, Math. Prog. 127 (2011).

Check. Random sequences of 150 steps on a weighted problem, both methods of the package.
False variant: counts over lam t, the number of the step instead of the steps taken.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import RBF, Hinge, KernelPegasos, Linear, make_kernel_svm, pegasos
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, iterates, smallest, toy

STEPS = 150


def functions(problem, sequence):
    """(STEPS, n) the coefficients of f_t before each step."""
    method = KernelPegasos()

    def step(state, i):
        return method.step(problem, state, Sample(i)), method.point(problem, state).w

    return lax.scan(step, method.init(problem), sequence)[1]


def check() -> Result:
    rng, linear = np.random.default_rng(36), toy(Hinge())
    X, y = np.asarray(linear.rows.X), np.asarray(linear.y)
    options = {"lam": float(linear.lam), "weights": np.asarray(linear.c)}
    sequence = jnp.asarray(rng.integers(0, linear.n, (STEPS, 1), dtype=np.int32))
    scores = iterates(linear, pegasos(block=1), sequence) @ linear.rows.X.T
    same = make_kernel_svm(X, y, kernel=Linear(), **options)
    ours = functions(same, sequence) @ same.rows.K
    late = ours * (jnp.arange(0.0, STEPS) / jnp.arange(1.0, STEPS + 1))[:, None]
    curved = make_kernel_svm(X, y, kernel=RBF(0.5), **options)
    beta = functions(curved, sequence)
    norms = jnp.sqrt(jnp.einsum("ti,ij,tj->t", beta, curved.rows.K, beta))
    R = jnp.max(curved.n * curved.c * jnp.sqrt(curved.rows.diagonal))
    true = [jnp.min(equal(ours, scores)), jnp.min(1.0 - norms * curved.lam / R)]
    return Result(smallest(*true), float(jnp.min(equal(late[5:], scores[5:]))))


claim = Claim(
    name="kernel_counts",
    text="Pegasos by integer counts takes the steps of Pegasos, on any kernel",
    lecture="Optimization Methods for SVMs: Pegasos",
    check=check,
)
