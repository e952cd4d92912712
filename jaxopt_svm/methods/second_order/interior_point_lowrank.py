r"""The interior-point method with a low-rank kernel, and for linear models.

    K = V V', V (n, k):   (V V' + D)^-1 r = D^-1 r - D^-1 V (1 + V' D^-1 V)^-1 V' D^-1 r

so an iteration forms one k x k matrix: O(m k^2) work for the m rows whose 1/D is not negligible,
and O(n k) memory. A linear model is exactly
this with V = X. For a kernel V is the incomplete Cholesky factor of K (at most ``rank`` columns):
the iterations solve the problem of V V', the certificate is that of the true K, so it says what the
approximation costs; once the approximate problem is solved the lane ends as "settled".

The formula loses digits when D spreads over many orders; one refinement brings back most of them.

Lecture "Optimization Methods for SVMs" (Scheinberg), interior point methods, O(k^2 n) a step.
Fine & Scheinberg, JMLR 2 (2001); Woodsend & Gondzio, COAP 49 (2011).
Checked: proofs_checks/woodbury.py, low_rank_bound.py.
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax.custom_batching import sequential_vmap
from jax.scipy.linalg import cho_solve

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.refusals import needs_hinge_and_factor
from jaxopt_svm.methods.second_order.curvature import gathered
from jaxopt_svm.methods.second_order.iterations import Iterations
from jaxopt_svm.methods.second_order.predictor_corrector import (
    Interior,
    beta_at,
    iterate,
    start_inside,
)
from jaxopt_svm.oracles.incomplete_cholesky import incomplete_cholesky
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.hinge_dual import alpha_of, best_intercept, beta_of, box_of
from jaxopt_svm.problems.rows import make_dense

__all__ = ["InteriorPointLowRank", "solver_of"]

NEGLIGIBLE = 1e-8  # what a row adds to 1 + V'D^-1 V, below which the product leaves it out


def solver_of(V):
    """factorise(weight) -> solve(right): (V V' + D)^-1 right for several columns, weight = 1/D.

    V: rows, dense, in one piece or divided over nodes.
    """

    def factorise(weight):
        # a row at its bound has next to no weight: the refinement makes up for what is left out.
        # Beside the 1, not beside the largest weight: that one is in a few directions only
        heavy = jnp.where(weight * V.sqnorms > NEGLIGIBLE, weight, 0.0)
        n, k = V.shape
        L = jnp.linalg.cholesky(jnp.eye(k, dtype=weight.dtype) + gathered(V, heavy, n).H)

        def solve(right):
            scaled = weight[:, None] * right
            return scaled - weight[:, None] * V.matvec(cho_solve((L, True), V.rmatvec(scaled)))

        def refined(right):
            z = solve(right)
            left = V.matvec(V.rmatvec(z)) + z / jnp.where(weight > 0, weight, 1.0)[:, None]
            return z + solve(jnp.where(weight[:, None] > 0, right - left, 0.0))

        return refined

    return factorise


@register(
    Info(
        name="interior_point_lowrank",
        family="second_order",
        problems="linear ERM (dense rows) and kernel SVM, hinge, any intercept",
        certificate="its own dual point, made feasible",
        lecture="Optimization Methods for SVMs: interior point methods",
        reference="Fine & Scheinberg 2001",
    ),
)
@pytree
class InteriorPointLowRank(Iterations):
    """Small lam and few features (or a kernel of low rank): iterations do not grow with 1/lam.

    rank: most columns of V, for kernels. trace: what may be left of trace K, relative.
    tol: summed complementarity, relative to the objective, at which it ends by itself.
    """

    rank: int = static(default=256)
    trace: float = 1e-9
    tol: float = 1e-13

    certified_every = 1  # an iteration is dear, so each is certified
    settles = True

    def check(self, problem) -> None:
        needs_hinge_and_factor(self, problem)
        if self.rank < 1:
            raise ValueError(f"InteriorPointLowRank.rank: expected at least 1; got {self.rank}")

    def prepare(self, problem: Any) -> Any:
        """A kernel problem with its factor V."""
        if isinstance(problem, ERM):
            return problem
        most, total = min(self.rank, problem.n), jnp.sum(problem.rows.diagonal)
        found = incomplete_cholesky(problem.rows, most, self.trace * total)
        # few shapes: a multiple of eight columns, the zero ones do no harm
        columns = min(most, -(-max(1, int(found.used)) // 8) * 8)
        return dataclasses.replace(problem, factor=found.V[:, :columns])

    def factor(self, problem: Any) -> Any:
        """V by rows; without the column of a free intercept, which is no part of K."""
        if not isinstance(problem, ERM):
            return make_dense(problem.factor)
        return problem.rows.without_last() if problem.regularizer.free else problem.rows

    def init(self, problem: Any, start: Point | None = None) -> Interior:
        box, V = box_of(problem), self.factor(problem)
        middle = (box.lo + box.hi) / 2
        beta = middle if start is None else beta_of(problem, problem.complete(start).dual)
        return start_inside(box, problem.y, lambda a: V.matvec(V.rmatvec(a)), beta)

    def step(self, problem: Any, state: Interior, sample) -> Interior:
        del sample
        tol = jnp.asarray(self.tol, problem.c.dtype)
        free = problem.intercept == "free"
        return _iteration(free)(self.factor(problem), box_of(problem), problem.y, tol, state)

    def point(self, problem: Any, state: Interior) -> Point:
        beta = beta_at(box_of(problem), state)
        w, b = beta, state.b
        if isinstance(problem, ERM):
            V = self.factor(problem)
            w = V.rmatvec(beta)
            b = best_intercept(problem, V.matvec(w)) if problem.regularizer.free else b
        w = jnp.append(w, b) if problem.intercept == "free" else w
        return Point(w, alpha_of(problem, beta))

    def counted(self, state: Interior) -> Spent:
        done = state.iterations.astype(state.b.dtype)
        return Spent(work=done, oracle_calls=jnp.zeros_like(done), updates=done)


def _iteration(free: bool):
    """One iteration for V; in a batch lane after lane, so that memory does not grow."""

    @sequential_vmap
    def one(V, box, y, tol, state: Interior) -> Interior:
        times = lambda a: V.matvec(V.rmatvec(a))
        return iterate(box, y, free, times, solver_of(V), tol, state)

    return one
