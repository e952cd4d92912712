r"""The interior-point method on a dense Gram matrix.

    (K + D) dbeta + db 1 = r:   one Cholesky factor of an n x n matrix an iteration, O(n^3/3)

A pass is one iteration of predictor_corrector.py. 10 to 25 iterations whatever C and the data are,
and accurate to rounding; O(n^2) memory. In a batch the lanes are solved one after the other, so
that memory does not grow.

Lecture "Optimization Methods for SVMs" (Scheinberg), interior point methods.
Mehrotra 1992; Ferris & Munson 2002. Theory: O(n log 1/eps) iterations, or O(sqrt(n) log 1/eps) with
short steps. The certificate clips and balances beta first: a last iterate is not quite feasible.
"""

import jax.numpy as jnp
from jax.custom_batching import sequential_vmap
from jax.scipy.linalg import cho_solve

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.refusals import needs_kernel_hinge
from jaxopt_svm.methods.second_order.iterations import Iterations
from jaxopt_svm.methods.second_order.predictor_corrector import (
    Interior,
    beta_at,
    iterate,
    start_inside,
)
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["InteriorPoint"]


@register(
    Info(
        name="interior_point",
        family="second_order",
        problems="kernel SVM, hinge, any intercept",
        certificate="its own dual point, made feasible",
        lecture="Optimization Methods for SVMs: interior point methods",
        reference="Mehrotra 1992; Ferris & Munson 2002",
    ),
)
@pytree
class InteriorPoint(Iterations):
    """Any C, high accuracy, n up to some thousands. Cost of a pass: n^3/3.

    tol: summed complementarity, relative to the objective, at which it ends by itself.
    """

    tol: float = 1e-13

    certified_every = 1  # an iteration is dear, so each is certified
    settles = True

    def check(self, problem) -> None:
        needs_kernel_hinge(self, problem)

    def init(self, problem: KernelSVM, start: Point | None = None) -> Interior:
        box = problem.box()
        middle = (box.lo + box.hi) / 2
        beta = middle if start is None else problem.beta_of(problem.complete(start).dual)
        return start_inside(box, problem.y, problem.rows.times, beta)

    def step(self, problem: KernelSVM, state: Interior, sample) -> Interior:
        del sample
        return _dense_iteration(problem, jnp.asarray(self.tol, problem.c.dtype), state)

    def point(self, problem: KernelSVM, state: Interior) -> Point:
        beta = beta_at(problem.box(), state)
        # b of the iterate is what its complementarity says; cheap, and exact in the limit
        w = jnp.append(beta, state.b) if problem.free else beta
        return Point(w, problem.alpha_of(beta))

    def counted(self, state: Interior) -> Spent:
        # a factorisation touches every row n/3 times, which is not what work compares: one pass
        done = state.iterations.astype(state.b.dtype)
        return Spent(work=done, oracle_calls=jnp.zeros_like(done), updates=done)


@sequential_vmap
def _dense_iteration(problem: KernelSVM, tol, state: Interior) -> Interior:
    n = problem.n
    K = problem.rows.take_rows(jnp.arange(n, dtype=jnp.int32))

    def factorise(weight):
        """Solve with K + D through W^(1/2) K W^(1/2) + 1, W = 1/D: no entry overflows."""
        root = jnp.sqrt(weight)
        L = jnp.linalg.cholesky(root[:, None] * K * root[None, :] + jnp.eye(n, dtype=K.dtype))

        def solve(right):
            return root[:, None] * cho_solve((L, True), root[:, None] * right)

        def refined(right):
            # one step of refinement: the corrector needs the digits
            z = solve(right)
            left = K @ z + z / jnp.where(weight > 0, weight, 1.0)[:, None]
            return z + solve(jnp.where(weight[:, None] > 0, right - left, 0.0))

        return refined

    times = lambda a: K @ a
    return iterate(problem.box(), problem.y, problem.free, times, factorise, tol, state)
