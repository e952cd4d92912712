r"""ASDCA: accelerated mini-batch SDCA.

    u       = (1 - theta) x + theta grad g*(abar)
    alpha_i <- (1 - theta) alpha_i - theta phi'(<x_i, u>, y_i)              for i in the batch of m
    abar    <- abar + (1/lam) sum_{i in batch} c_i (change of alpha_i) x_i
    x       <- (1 - theta) x + theta grad g*(abar)

    theta = 1/4 min {1, sqrt(z/m), z, z^(2/3)/m^(1/3)},
    z = gamma lam n / R^2,  R^2 = max n c_i L_i

It interpolates between SDCA (m = 1) and accelerated gradient descent (m = n).

Lecture "Empirical Risk Minimization" (Richtarik), ASDCA.
Shalev-Shwartz & Zhang, NIPS 2013, arXiv:1305.2581.

Rate: E[P(x_t)] - P* <= (1 - theta m/n)^t (P(0) - D(0))     (proofs_checks/accelerated_bounds.py)
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Uniform
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.dual.dual_visits import DualVisits
from jaxopt_svm.methods.dual.rates import largest_curvature, powers, start_gap
from jaxopt_svm.methods.refusals import (
    needs_erm,
    needs_smooth,
    needs_uniform_sets,
    refuse_free_intercept,
)
from jaxopt_svm.problems.erm import ERM

__all__ = ["ASDCA"]


@register(
    Info(
        name="asdca",
        family="dual",
        problems="ERM, smooth loss, l2 or elastic net",
        certificate="its own dual point",
        lecture="Empirical Risk Minimization: ASDCA",
        reference="Shalev-Shwartz & Zhang 2013, arXiv:1305.2581",
    )
)
@pytree
class ASDCA(DualVisits):
    """State: vectors (x, abar), scalars (theta,). Cost of a visit: one row.

    sampling: ``Uniform()`` or ``Shuffled()`` for m = 1, ``Nice(m)`` for batches.
    """

    sampling: Any = Uniform()
    block: int = static(default=BLOCK)

    bound_on = "primal"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_smooth(self, problem)
        refuse_free_intercept(self, problem)
        needs_uniform_sets(self, self.sampling)
        self.sampling.check(problem)

    def theta(self, problem: ERM):
        m = self.set_size()
        z = problem.loss.gamma * problem.lam * problem.n / largest_curvature(problem)
        terms = (jnp.ones_like(z), jnp.sqrt(z / m), z, z ** (2 / 3) / m ** (1 / 3))
        return jnp.min(jnp.stack(terms)) / 4

    def init(self, problem: ERM, start: Point | None = None) -> At:
        alpha = problem.complete(problem.origin() if start is None else start).dual
        abar = problem.abar(alpha)
        x = problem.regularizer.link(abar)
        return At(vectors=(x, abar), tables=(alpha,), scalars=(self.theta(problem),))

    def look(self, problem: ERM, own, abar, scalars):
        (x,), (theta,) = own, scalars
        return (1.0 - theta) * x + theta * problem.regularizer.link(abar), None

    def coordinate(self, problem: ERM, example: Example, z, alpha, at: At):
        (theta,) = at.scalars
        return (1.0 - theta) * alpha - theta * problem.loss.slope(z, example.y)

    def after(self, problem: ERM, own, old, abar, at: At):
        (x,), (theta,) = own, at.scalars
        return ((1.0 - theta) * x + theta * problem.regularizer.link(abar),)

    def point(self, problem: ERM, state: At) -> Point:
        del problem
        return Point(state.vectors[0], state.tables[0])

    def bound(self, problem: ERM, t):
        """(1 - theta m/n)^t (P(0) - D(0)) on E[P(x_t)] - P*."""
        rate = self.theta(problem) * self.set_size() / problem.n
        return start_gap(problem) * powers(problem, rate, t)
