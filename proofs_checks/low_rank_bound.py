r"""Claim. Let K~ = V V' from incomplete Cholesky, f and f~ the dual objectives (to be minimised) of
K and K~, beta~ the solution for K~. K - K~ is positive semidefinite with trace delta, and

    0 <= f* - f~* <= 1/2 beta~' (K - K~) beta~ <= 1/2 c^2 n_SV delta.

Fine & Scheinberg, JMLR 2 (2001). Lecture "Optimization Methods for SVMs" (Scheinberg), interior
point methods.
Check. RBF and polynomial kernels, ranks 1 to 5, C from 0.01 (all at bounds: the middle inequality
is tight) to 10. The polynomial kernel of degree 2 in two features has rank 6: exact from there on.
False variant: 1/4 in place of 1/2.
"""

import jax.numpy as jnp
import numpy as np

from jaxopt_svm import RBF, Polynomial, make_kernel_svm
from jaxopt_svm.oracles.incomplete_cholesky import incomplete_cholesky
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.kernel_toys import exact, points

RANK = 6


def minimum(problem):
    beta, _ = exact(problem)
    return beta, beta @ problem.rows.times(beta) / 2 - problem.y @ beta


def case(kernel, C, rank):
    """Slacks of the three inequalities, and of the false one."""
    X, y = points()
    true_K = make_kernel_svm(X, y, kernel=kernel, C=C)
    found = incomplete_cholesky(true_K.rows, RANK, 0.0)
    V = np.asarray(found.V)[:, :rank]
    left = np.asarray(true_K.rows.K) - V @ V.T
    approximate = make_kernel_svm(V @ V.T, y, kernel="precomputed", C=C)
    (_, f), (beta, low) = minimum(true_K), minimum(approximate)
    bound, vectors = beta @ left @ beta / 2, float(jnp.sum(jnp.abs(beta) > 1e-12))
    psd = float(np.linalg.eigvalsh(left)[0])
    worst = C**2 * vectors * np.trace(left) / 2
    scale = 1.0 + jnp.abs(f)
    true = smallest((f - low) / scale, (bound - (f - low)) / scale, (worst - bound) / scale, psd)
    return true, float((bound / 2 - (f - low)) / scale)


def check() -> Result:
    cases = [(k, C) for k in (RBF(0.5), Polynomial(0.5, 1.0)) for C in (0.01, 1.0)]
    found = [case(kernel, C, rank) for kernel, C in cases for rank in (1, 3, 5)]
    X, y = points()
    rows = make_kernel_svm(X, y, kernel=Polynomial(0.5, 1.0)).rows
    exactly = -abs(float(incomplete_cholesky(rows, RANK, 0.0).left)) / float(jnp.sum(rows.diagonal))
    return Result(smallest(*(t for t, _ in found), exactly), min(f for _, f in found))


claim = Claim(
    name="low_rank_bound",
    text="0 <= f* - f~* <= 1/2 beta~'(K - VV')beta~ <= 1/2 c^2 n_SV trace",
    lecture="Optimization Methods for SVMs: interior point methods",
    check=check,
    tolerance=1e-8,
)
