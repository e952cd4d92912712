r"""SPDC: stochastic primal-dual coordinate method, a saddle-point method with extrapolation.

    alpha_i <- argmax_a -phi*(-a) - <x_i, xbar> a - (q_i/2)(a - alpha_i)^2     for i in a batch of m
    u       = -lam abar - (n/m) lam (change of abar)
    x+      = prox_{tau lam g}(x - tau u),     xbar = x+ + theta (x+ - x)

    tau = (1/2R) sqrt(m gamma/(n lam)), sigma = (1/2R) sqrt(n lam/(m gamma)), q_i = n c_i/sigma
    theta = 1 - 1/(n/m + R sqrt(n/(m lam gamma))),  R = max ||x_i||, gamma / max n c_i for gamma

weighted: p_i = 1/(2n) + ||x_i||/(2 sum ||x_j||), mean norm Rb with 1/(4 Rb) for 1/(2R),
    theta = 1 - 1/(2n + 2 Rb sqrt(n/(lam gamma))), q_i = p_i n^2 c_i/sigma, and the row added
    to u is amplified by 1/(n p_i).

Lecture "Empirical Risk Minimization" (Richtarik), SPDC.
Zhang & Xiao, ICML 2015, arXiv:1409.3257.

Rate: the potential (1/2tau + lam)||x - x*||^2 + (1/4sigma + gamma)||alpha - alpha*||^2/m shrinks by
theta a step in expectation (proofs_checks/accelerated_bounds.py).
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Norms, Uniform
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.dual.dual_visits import DualVisits
from jaxopt_svm.methods.dual.rates import largest_curvature, smoothness, start_gap
from jaxopt_svm.methods.refusals import (
    needs_erm,
    needs_smooth,
    needs_uniform_sets,
    refuse_free_intercept,
)
from jaxopt_svm.problems.erm import ERM

__all__ = ["SPDC"]


@register(
    Info(
        name="spdc",
        family="dual",
        problems="ERM, smooth loss, l2 or elastic net",
        certificate="its own dual point",
        lecture="Empirical Risk Minimization: SPDC",
        reference="Zhang & Xiao 2015, arXiv:1409.3257",
    )
)
@pytree
class SPDC(DualVisits):
    """State: vectors (x, xbar, abar), scalars (tau, sigma, theta). Cost of a visit: one row.

    sampling: ``Uniform()`` or ``Shuffled()`` for m = 1, ``Nice(m)`` for batches, ``Norms()`` for
      the weighted form.
    """

    sampling: Any = Uniform()
    block: int = static(default=BLOCK)

    bound_on = "primal"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_smooth(self, problem)
        refuse_free_intercept(self, problem)
        if not self._weighted():
            needs_uniform_sets(self, self.sampling)
        self.sampling.check(problem)

    def _weighted(self) -> bool:
        return isinstance(self.sampling, Norms)

    def linear(self, problem: ERM) -> bool:
        # xbar is made anew in every step, so sparse rows cannot carry it lazily: there a visit
        # costs O(d), and sets Nice(m) share that cost among m rows
        return problem.regularizer.linear and problem.rows.spans

    def steps(self, problem: ERM):
        """(tau, sigma, theta) for this lam."""
        n, m, lam = problem.n, self.set_size(), problem.lam
        if self._weighted():
            mean, gamma = jnp.mean(jnp.sqrt(problem.rows.sqnorms)), smoothness(problem)
            tau, sigma = jnp.sqrt(gamma / (n * lam)) / 4, jnp.sqrt(n * lam / gamma) / 4
            theta = 1.0 - 1.0 / (2 * n + 2 * mean * jnp.sqrt(n / (lam * gamma)))
            return tau / mean, sigma / mean, theta
        R = jnp.sqrt(jnp.max(problem.rows.sqnorms))
        gamma = smoothness(problem)
        tau = jnp.sqrt(m * gamma / (n * lam)) / (2 * R)
        sigma = jnp.sqrt(n * lam / (m * gamma)) / (2 * R)
        return tau, sigma, 1.0 - 1.0 / (n / m + R * jnp.sqrt(n / (m * lam * gamma)))

    def init(self, problem: ERM, start: Point | None = None) -> At:
        start = problem.complete(problem.origin() if start is None else start)
        vectors = (start.w, start.w, problem.abar(start.dual))
        p = self.sampling.constants(problem)[0] if self._weighted() else ()
        return At(vectors, (start.dual,), self.steps(problem), p)

    def look(self, problem: ERM, own, abar, scalars):
        del problem, abar, scalars
        return own[1], None

    def coordinate(self, problem: ERM, example: Example, z, alpha, at: At):
        _, sigma, _ = at.scalars
        q = problem.n * example.c / sigma
        if self._weighted():
            q = q * at.constants * problem.n
        return problem.loss.dual_step(z, alpha, example.y, q)

    def after(self, problem: ERM, own, old, abar, at: At):
        (x, _), (tau, _, theta) = own, at.scalars
        # the change of abar stands for a sum over all examples: amplified by 1/p_i, or n/m
        amplified = 1.0 / at.constants if self._weighted() else problem.n / self.set_size()
        u = -problem.lam * (old + amplified * (abar - old))
        new = problem.regularizer.prox(x - tau * u, tau * problem.lam)
        return new, new + theta * (new - x)

    def point(self, problem: ERM, state: At) -> Point:
        del problem
        return Point(state.vectors[0], state.tables[0])

    def bound(self, problem: ERM, t):
        """P(x_t) - P* from the potential: ||x*||^2 <= 2 gap/lam, mean alpha*^2 <= 2 gap/gamma."""
        if self._weighted():
            return None
        tau, sigma, theta = self.steps(problem)
        gamma, gap = smoothness(problem), start_gap(problem)
        in_x = 1 / (2 * tau) + problem.lam
        first = in_x * 2 * gap / problem.lam
        first = first + (1 / (2 * sigma) + gamma) * problem.n * 2 * gap / (gamma * self.set_size())
        curvature = problem.lam + largest_curvature(problem) / problem.loss.gamma
        t = jnp.asarray(t, problem.lam.dtype)
        return curvature / 2 * first / in_x * jnp.exp(t * jnp.log(theta))
