r"""Samplings: which examples a step looks at, and the constants that make its step safe.

A sampling S has marginals p_i = Prob(i in S) and constants v with

    E || sum_{i in S} h_i x_i ||^2  <=  sum_i p_i v_i h_i^2      for all h        (ESO)

    serial (one example)   v_i = L_i = ||x_i||^2
    tau-nice, sparse       v_i = sum_j (1 + (omega_j - 1)(tau - 1)/(n - 1)) x_ij^2
    tau-nice, eigenvalue   v_i = L_i (1 + (s - 1)(tau - 1)/(n - 1)),  s = lambda'(X X')

omega_j counts the examples with feature j; lambda'(M) is the largest eigenvalue of M scaled to
unit diagonal. Lecture "Empirical Risk Minimization" (Richtarik), samplings and ESO;
Qu & Richtarik, arXiv:1412.8063. Checked in proofs_checks/eso.py.

A serial sampling draws an order of n visits and cuts it into steps; the order does not
depend on how it is cut.
"""

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.shuffle import shuffle

__all__ = ["Importance", "Nice", "Optimal", "Shuffled", "Uniform", "cut"]

LARGEST_EIGENPROBLEM = 4096


def cut(order: Array, size: int, n: int) -> Sample:
    """One pass of visits as steps of ``size``; padding has index n and a False mask."""
    steps = -(-order.shape[0] // size)
    missing = steps * size - order.shape[0]
    index = jnp.pad(order, (0, missing), constant_values=n).reshape(steps, size)
    return Sample(index, None if missing == 0 else index < n)


@pytree
class Shuffled:
    """Every example once a pass, in a fresh random order. The practical default."""

    serial = True
    unique = True

    def check(self, problem) -> None:
        del problem

    def constants(self, problem):
        return jnp.full_like(problem.rows.sqnorms, 1.0 / problem.n), problem.rows.sqnorms

    def draw(self, problem, key: Array, size: int) -> Sample:
        return cut(shuffle(key, problem.n), size, problem.n)


@pytree
class Uniform:
    """Examples drawn independently, each with probability 1/n: what the theorems assume."""

    serial = True
    unique = False

    def check(self, problem) -> None:
        del problem

    def constants(self, problem):
        return jnp.full_like(problem.rows.sqnorms, 1.0 / problem.n), problem.rows.sqnorms

    def draw(self, problem, key: Array, size: int) -> Sample:
        order = jax.random.randint(key, (problem.n,), 0, problem.n, dtype=jnp.int32)
        return cut(order, size, problem.n)


def _draw_by(p: Array, key: Array, n: int) -> Array:
    """n independent draws with probabilities p, by inverting the distribution function."""
    edges = jnp.cumsum(p)
    u = jax.random.uniform(key, (n,), p.dtype) * edges[-1]
    return jnp.minimum(jnp.searchsorted(edges, u, side="right"), n - 1).astype(jnp.int32)


@pytree
class Importance:
    """Examples drawn independently with given probabilities p (n,)."""

    p: Array

    serial = True
    unique = False

    def check(self, problem) -> None:
        if self.p.shape != (problem.n,):
            raise ValueError(
                f"Importance: p must have shape ({problem.n},), one probability an example; "
                f"got {self.p.shape}"
            )
        if not bool(jnp.all(self.p > 0)):
            raise ValueError("Importance: every p_i must be positive, or example i is never seen")
        total = float(jnp.sum(self.p))
        if abs(total - 1.0) > 1e-4:
            raise ValueError(f"Importance: p must sum to 1; it sums to {total:.6g}")

    def constants(self, problem):
        return self.p, problem.rows.sqnorms

    def draw(self, problem, key: Array, size: int) -> Sample:
        return cut(_draw_by(self.p, key, problem.n), size, problem.n)


@pytree
class Optimal:
    """p_i proportional to 1 + c_i L_i / (lam gamma): the best serial sampling for a smooth loss.

    With a non-smooth loss (gamma = 0) it falls back to p_i proportional to
    1/n + c_i L_i / sum_j c_j L_j, which keeps every example in play. p depends on lam, so
    under a sweep every lane draws its own examples.
    """

    serial = True
    unique = False

    def check(self, problem) -> None:
        del problem

    def constants(self, problem):
        sqnorms = problem.rows.sqnorms
        curvature = problem.c * sqnorms
        if problem.loss.smooth:
            score = 1.0 + curvature / (problem.lam * problem.loss.gamma)
        else:
            tiny = jnp.finfo(curvature.dtype).tiny
            score = 1.0 / problem.n + curvature / jnp.maximum(jnp.sum(curvature), tiny)
        return score / jnp.sum(score), sqnorms

    def draw(self, problem, key: Array, size: int) -> Sample:
        p, _ = self.constants(problem)
        return cut(_draw_by(p, key, problem.n), size, problem.n)


@pytree
class Nice:
    """tau distinct examples at once, every set of tau equally likely.

    eigen=False takes the sparse constants (good when features are shared by few examples),
    eigen=True the eigenvalue ones (exact: eigvalsh of the smaller Gram matrix; dense rows).
    """

    tau: int = static(default=8)
    eigen: bool = static(default=False)

    serial = False
    unique = True

    def check(self, problem) -> None:
        n, d = problem.rows.shape
        if not 1 <= self.tau <= n:
            raise ValueError(f"Nice: tau must lie between 1 and n = {n}; got {self.tau}")
        if self.eigen and not problem.rows.spans:
            raise ValueError("Nice(eigen=True) needs dense rows; use eigen=False for sparse data")
        if self.eigen and min(n, d) > LARGEST_EIGENPROBLEM:
            raise ValueError(
                f"Nice(eigen=True) needs min(n, d) <= {LARGEST_EIGENPROBLEM} for an exact "
                f"eigenvalue; got n = {n}, d = {d}. Use eigen=False"
            )

    def constants(self, problem):
        rows, n = problem.rows, problem.n
        share = (self.tau - 1) / max(1, n - 1)
        p = jnp.full_like(rows.sqnorms, self.tau / n)
        if self.eigen:
            s = jnp.linalg.eigvalsh(rows.unit_gram())[-1]
            # never an underestimate: eigvalsh is accurate to a few eps of the spectral norm
            s = s * (1.0 + 32 * jnp.finfo(s.dtype).eps)
            return p, rows.sqnorms * (1.0 + (jnp.maximum(s, 1.0) - 1.0) * share)
        omega = rows.column_counts().astype(rows.sqnorms.dtype)
        return p, rows.weighted_sqnorms(1.0 + (jnp.maximum(omega, 1.0) - 1.0) * share)

    def draw(self, problem, key: Array, size: int) -> Sample:
        """Floyd's algorithm, all steps of the pass side by side: exact, no sort over n."""
        del size
        n, tau = problem.n, self.tau
        steps = -(-n // tau)

        def choose(chosen, j):
            # the candidate for slot j is uniform on {0..n - tau + j}; a repeat takes the top
            top = n - tau + j
            pick = jax.random.randint(jax.random.fold_in(key, j), (steps,), 0, top + 1, jnp.int32)
            repeat = jnp.any(chosen == pick[:, None], axis=1)
            pick = jnp.where(repeat, top, pick)
            return lax.dynamic_update_index_in_dim(chosen, pick, j, 1), None

        empty = jnp.full((steps, tau), -1, jnp.int32)
        return Sample(lax.scan(choose, empty, jnp.arange(tau, dtype=jnp.int32))[0])
