r"""Claim. (V V' + D)^-1 r = D^-1 r - D^-1 V (1 + V' D^-1 V)^-1 V' D^-1 r, so an iteration of the
low-rank interior-point method costs O(n k^2); and one step of refinement keeps it accurate when D
spreads over 16 orders.

Lecture "Optimization Methods for SVMs" (Scheinberg), interior point methods, O(k^2 n); Fine &
Scheinberg 2001.
Check. Random V, D from 1e-8 to 1e8, residuals relative to the right side. False variant: 1 - V'
D^-1 V.
"""

import jax.numpy as jnp
import numpy as np

from jaxopt_svm.methods.second_order.interior_point_lowrank import solver_of
from jaxopt_svm.problems.rows import make_dense
from proofs_checks.claims import Claim, Result, smallest

N, RANK = 40, 5


def residual(V, D, r, z):
    left = V @ (V.T @ z) + D[:, None] * z
    return -jnp.max(jnp.abs(left - r)) / jnp.max(jnp.abs(r))


def check() -> Result:
    rng = np.random.default_rng(0)
    V, r = jnp.asarray(rng.normal(size=(N, RANK))), jnp.asarray(rng.normal(size=(N, 2)))
    true, false = [], []
    for spread in (0.0, 2.0, 8.0):
        D = jnp.asarray(10.0 ** rng.uniform(-spread, spread, N))
        true.append(residual(V, D, r, solver_of(make_dense(V))(1.0 / D)(r)))
        scaled = r / D[:, None]
        wrong = np.linalg.solve(np.eye(RANK) - V.T @ (V / D[:, None]), V.T @ scaled)
        false.append(float(residual(V, D, r, scaled - (V / D[:, None]) @ wrong)))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="woodbury",
    text="(VV' + D)^-1 through a k x k matrix, accurate after one refinement",
    lecture="Optimization Methods for SVMs: interior point methods",
    check=check,
    tolerance=1e-8,
)
