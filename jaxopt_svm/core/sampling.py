r"""Samplings: which examples a step looks at, and the constants that make its step safe.

A sampling S has marginals p_i = Prob(i in S) and constants v with

    E || sum_{i in S} h_i x_i ||^2  <=  sum_i p_i v_i h_i^2      for all h        (ESO)

    serial (one example)   v_i = L_i = ||x_i||^2
    tau-nice               one of three rules, see core/eso.py

Other random sets are in core/sets.py. Every sampling knows its ``pair_probabilities``, the matrix
P_ij = Prob(i in S and j in S). Lecture "Empirical Risk Minimization" (Richtarik), samplings and
ESO; Qu & Richtarik, arXiv:1412.8063. Checked in proofs_checks/eso.py.

A serial sampling draws an order of n visits and cuts it into steps; the order does not
depend on how it is cut.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.eso import SparseESO
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.shuffle import shuffle

__all__ = [
    "Cyclic",
    "Importance",
    "Nice",
    "Norms",
    "Optimal",
    "Powers",
    "Shuffled",
    "Uniform",
    "choose",
    "cut",
    "distinct",
]


def cut(order: Array, size: int, n: int) -> Sample:
    """One pass of visits as steps of ``size``; padding has index n and a False mask."""
    steps = -(-order.shape[0] // size)
    missing = steps * size - order.shape[0]
    index = jnp.pad(order, (0, missing), constant_values=n).reshape(steps, size)
    return Sample(index, None if missing == 0 else index < n)


class Serial:
    """One example after the other."""

    serial = True
    unique = False

    def check(self, problem) -> None:
        del problem

    def constants(self, problem):
        raise TypeError(f"{type(self).__name__} must define constants")

    def pair_probabilities(self, problem):
        """Never two at once."""
        return jnp.diag(self.constants(problem)[0])


class Even(Serial):
    """Every example as likely as any other."""

    def constants(self, problem):
        return jnp.full_like(problem.rows.sqnorms, 1.0 / problem.n), problem.rows.sqnorms


@pytree
class Shuffled(Even):
    """Every example once a pass, in a fresh random order. The practical default."""

    unique = True

    def draw(self, problem, key: Array, size: int) -> Sample:
        return cut(shuffle(key, problem.n), size, problem.n)


@pytree
class Cyclic(Even):
    """Every example once a pass, always in the order of the data."""

    unique = True

    def draw(self, problem, key: Array, size: int) -> Sample:
        del key
        return cut(jnp.arange(problem.n, dtype=jnp.int32), size, problem.n)


@pytree
class Uniform(Even):
    """Examples drawn independently, each with probability 1/n: what the theorems assume."""

    def draw(self, problem, key: Array, size: int) -> Sample:
        order = jax.random.randint(key, (problem.n,), 0, problem.n, dtype=jnp.int32)
        return cut(order, size, problem.n)


def choose(p: Array, key: Array, count: int) -> Array:
    """``count`` independent draws with probabilities p, by inverting the distribution function.

    The function is kept in integers: sums of float32 probabilities would lose the small ones.
    """
    shares = p / jnp.sum(p) * float(2**31)
    edges = jnp.cumsum(jnp.maximum(shares.astype(jnp.uint32), jnp.uint32(1)), dtype=jnp.uint32)
    u = jax.random.randint(key, (count,), jnp.uint32(0), edges[-1], jnp.uint32)
    return jnp.searchsorted(edges, u, side="right").astype(jnp.int32)


@pytree
class Importance(Serial):
    """Examples drawn independently with given probabilities p (n,)."""

    p: Array

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
        return self.p.astype(problem.rows.sqnorms.dtype), problem.rows.sqnorms

    def draw(self, problem, key: Array, size: int) -> Sample:
        return cut(choose(self.p, key, problem.n), size, problem.n)


def _conditioning(problem) -> Array:
    """1 + c_i L_i / (lam gamma), or what stands for it when the loss is not smooth."""
    curvature = problem.c * problem.rows.sqnorms
    if problem.loss.smooth:
        return 1.0 + curvature / (problem.lam * problem.loss.gamma)
    tiny = jnp.finfo(curvature.dtype).tiny
    return 1.0 / problem.n + curvature / jnp.maximum(jnp.sum(curvature), tiny)


@pytree
class Optimal(Serial):
    """p_i proportional to 1 + c_i L_i / (lam gamma): the best serial sampling for a smooth loss.

    With a non-smooth loss (gamma = 0) it falls back to p_i proportional to
    1/n + c_i L_i / sum_j c_j L_j, which keeps every example in play. p depends on lam, so
    under a sweep every lane draws its own examples.
    """

    def constants(self, problem):
        score = _conditioning(problem)
        return score / jnp.sum(score), problem.rows.sqnorms

    def draw(self, problem, key: Array, size: int) -> Sample:
        p, _ = self.constants(problem)
        return cut(choose(p, key, problem.n), size, problem.n)


@pytree
class Powers(Serial):
    """p_i proportional to (1 + c_i L_i / (lam gamma))^a: RCDM's samplings.

    For the coordinates of w the score is that of Lc_j = lam + L_j/gamma. a = 0 is uniform, a = 1
    is ``Optimal``, a = 1/2 suits accelerated methods. Every lane draws its own examples.
    """

    a: float = 0.5

    def constants(self, problem):
        score = _conditioning(problem) ** self.a
        return score / jnp.sum(score), problem.rows.sqnorms

    def draw(self, problem, key: Array, size: int) -> Sample:
        return cut(choose(self.constants(problem)[0], key, problem.n), size, problem.n)


@pytree
class Norms(Serial):
    """p_i = 1/(2n) + ||x_i|| / (2 sum_j ||x_j||): SPDC's own weights, half uniform."""

    def constants(self, problem):
        norms = jnp.sqrt(problem.rows.sqnorms)
        total = jnp.maximum(jnp.sum(norms), jnp.finfo(norms.dtype).tiny)
        return 0.5 / problem.n + 0.5 * norms / total, problem.rows.sqnorms

    def draw(self, problem, key: Array, size: int) -> Sample:
        return cut(choose(self.constants(problem)[0], key, problem.n), size, problem.n)


def distinct(key: Array, count: int, n: int, tau: int) -> Array:
    """(count, tau): tau distinct numbers below n, all sets equally likely.

    Floyd's algorithm, all sets side by side: exact, and no sort over n.
    """

    def pick(chosen, j):
        # the candidate for slot j is uniform on {0..n - tau + j}; a repeat takes the top
        top = n - tau + j
        new = jax.random.randint(jax.random.fold_in(key, j), (count,), 0, top + 1, jnp.int32)
        repeat = jnp.any(chosen == new[:, None], axis=1)
        new = jnp.where(repeat, top, new)
        return lax.dynamic_update_index_in_dim(chosen, new, j, 1), None

    empty = jnp.full((count, tau), -1, jnp.int32)
    return lax.scan(pick, empty, jnp.arange(tau, dtype=jnp.int32))[0]


@pytree
class Nice:
    """tau distinct examples at once, every set of tau equally likely.

    eso: where v comes from, ``SparseESO()``, ``EigenESO()`` or ``SpectralESO()``; the second
      needs dense rows.
    """

    tau: int = static(default=8)
    eso: Any = SparseESO()

    serial = False
    unique = True

    def check(self, problem) -> None:
        if not 1 <= self.tau <= problem.n:
            raise ValueError(f"Nice: tau must lie between 1 and n = {problem.n}; got {self.tau}")
        self.eso.check(problem.rows)

    def constants(self, problem):
        rows, n = problem.rows, problem.n
        share = (self.tau - 1) / max(1, n - 1)
        return jnp.full_like(rows.sqnorms, self.tau / n), self.eso.constants(rows, share)

    def pair_probabilities(self, problem):
        n, tau = problem.n, self.tau
        return evenly(n, tau / n, tau * (tau - 1) / max(1, n * (n - 1)), problem.rows.sqnorms.dtype)

    def draw(self, problem, key: Array, size: int) -> Sample:
        del size
        n, tau = problem.n, self.tau
        return Sample(distinct(key, -(-n // tau), n, tau))


def evenly(n: int, same: float, other: float, dtype) -> Array:
    """(n, n) with ``same`` on the diagonal and ``other`` elsewhere."""
    return jnp.where(jnp.eye(n, dtype=bool), same, other).astype(dtype)
