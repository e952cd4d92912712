r"""Expected separable overapproximation: constants v that make a step on a random set safe.

    E || sum_{i in S} h_i x_i ||^2  <=  sum_i p_i v_i h_i^2   for all h              (ESO)
    that is   P o X X'  <=  Diag(p v),     P_ij = Prob(i in S and j in S),  p_i = P_ii

With J_j the examples that have feature j, and lambda'(M) the largest eigenvalue of M scaled to
unit diagonal, the left side splits over the features, so for any sampling

    v_i = sum_j lambda'(P_{J_j}) x_ij^2            ``eso_constants``, for small n
    r   = lambda_max(D^{-1/2} (P o X X') D^{-1/2}),  D = Diag(p v)     ``eso_ratio``

v is safe if and only if r <= 1, and r v is the tightest rescaling of it. Both are for checks and
for samplings of one's own; those of the package have closed forms (core/sampling.py, core/sets.py).

For tau distinct examples, all sets equally likely, with share = (tau - 1)/(n - 1):

    SparseESO     v_i = sum_j (1 + (omega_j - 1) share) x_ij^2,           omega_j = |J_j|
    EigenESO      v_i = L_i (1 + (s - 1) share),                          s = lambda'(X X')
    SpectralESO   v_i = R^2 (1 + (n sigma^2 - 1) share),  n sigma^2 = lambda_max(X X')/R^2

The last is mSDCA's beta_b R^2 (R^2 the largest L_i = ||x_i||^2), the same for all examples.
Lecture "Empirical Risk Minimization" (Richtarik), samplings and ESO, mSDCA;
Qu & Richtarik, arXiv:1412.8063; Takac, Bijral, Richtarik & Srebro, arXiv:1303.2314.
Checked in proofs_checks/eso.py and proofs_checks/eso_general.py.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.pytree import pytree

__all__ = ["EigenESO", "SparseESO", "SpectralESO", "eso_constants", "eso_ratio"]

LARGEST_EIGENPROBLEM = 4096


def largest_eigenvalue(M: Array) -> Array:
    """Never an underestimate: eigvalsh errs by a few eps of the norm, times the size at worst."""
    s = jnp.linalg.eigvalsh(M)[-1]
    return s * (1.0 + (32 + 4 * M.shape[-1]) * jnp.finfo(s.dtype).eps)


@pytree
class SparseESO:
    """From the pattern alone; good when few examples share a feature. Any rows, any size."""

    def check(self, rows: Any) -> None:
        del rows

    def constants(self, rows: Any, share: float) -> Array:
        omega = jnp.maximum(rows.column_counts(), 1).astype(rows.sqnorms.dtype)
        return rows.weighted_sqnorms(1.0 + (omega - 1.0) * share)


@pytree
class EigenESO:
    """From the largest eigenvalue of the rows scaled to length one: good for dense rows."""

    def check(self, rows: Any) -> None:
        needs_gram(self, rows)

    def constants(self, rows: Any, share: float) -> Array:
        s = jnp.maximum(largest_eigenvalue(rows.smaller_gram(unit=True)), 1.0)
        return rows.sqnorms * (1.0 + (s - 1.0) * share)


@pytree
class SpectralESO:
    """One constant for all examples, from lambda_max(X X'): the lecture's mSDCA.

    Where that eigenvalue is too dear (sparse rows, both sides large) it is bounded by the largest
    row sum times the largest column sum of |X|, which is safe.
    """

    def check(self, rows: Any) -> None:
        del rows

    def constants(self, rows: Any, share: float) -> Array:
        R2 = jnp.max(rows.sqnorms)
        exact = rows.spans and min(rows.shape) <= LARGEST_EIGENPROBLEM
        top = largest_eigenvalue(rows.smaller_gram()) if exact else rows.norm_product()
        top = jnp.maximum(top, R2)
        return jnp.full_like(rows.sqnorms, 1.0) * (R2 + (top - R2) * share)


def needs_gram(rule: Any, rows: Any) -> None:
    """Refuse where the smaller Gram matrix has no exact eigenvalue at a sensible price."""
    name, (n, d) = type(rule).__name__, rows.shape
    if not rows.spans:
        raise ValueError(f"{name} needs dense rows; use SparseESO() for sparse data")
    if min(n, d) > LARGEST_EIGENPROBLEM:
        raise ValueError(
            f"{name} needs min(n, d) <= {LARGEST_EIGENPROBLEM} for an exact eigenvalue; "
            f"got n = {n}, d = {d}. Use SparseESO()"
        )


def _scales(d: Array) -> Array:
    """d^{-1/2}, and 0 where d = 0: what does not count adds nothing."""
    return jnp.where(d > 0, 1.0 / jnp.sqrt(jnp.where(d > 0, d, 1.0)), 0.0)


def _matrix(rows: Any) -> Array:
    return rows.toarray() if hasattr(rows, "toarray") else jnp.asarray(rows)


@jax.jit
def eso_constants(rows: Any, P: Array) -> Array:
    """(n,) v_i = sum_j lambda'(P_{J_j}) x_ij^2 for any pair probabilities P (n, n).

    rows: an ERM problem's ``rows`` or a matrix X (n, d). Costs d eigenvalue problems of size n.
    """
    X = _matrix(rows)
    P = jnp.asarray(P, X.dtype)
    s = _scales(jnp.diagonal(P))
    unit = s[:, None] * P * s[None, :]

    def one(has):
        # rows outside J_j are zero and add eigenvalues 0 only
        return largest_eigenvalue(jnp.where(has[:, None] & has[None, :], unit, 0.0))

    return (X * X) @ lax.map(one, (X != 0).T)


@jax.jit
def eso_ratio(rows: Any, P: Array, v: Array) -> Array:
    """r with: v is safe if and only if r <= 1; r v is the tightest rescaling of v.

    An example with x_i != 0, p_i > 0 and v_i = 0 makes r infinite.
    """
    X = _matrix(rows)
    P, v = jnp.asarray(P, X.dtype), jnp.asarray(v, X.dtype)
    p = jnp.diagonal(P)
    s, G = _scales(p * v), X @ X.T
    wrong = jnp.any((jnp.diagonal(G) > 0) & (p > 0) & (v <= 0))
    r = jnp.linalg.eigvalsh(s[:, None] * (P * G) * s[None, :])[-1]
    return jnp.where(wrong, jnp.inf, r)
