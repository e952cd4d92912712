r"""Accelerated proximal SDCA: SDCA inside an accelerated outer loop, for ill-conditioned problems.

    kappa = max(0, R^2/(gamma n) - lam), lam' = lam + kappa, R^2 = max n c_i L_i
    w_t ~ argmin P(w) + (kappa/2)||w - y_{t-1}||^2       by warm-started SDCA with lam' for lam
    y_t = w_t + beta (w_t - w_{t-1}),   beta = (1 - eta)/(1 + eta)
    eta = sqrt(mu/(mu + kappa)), mu = lam/2

The inner problem has w = abar' + (kappa/lam') y with abar' = (1/lam') sum_i c_i alpha_i x_i, and
condition number about n: a fixed number of passes, even one, solves it well enough. One step is
one outer iteration.
When lam >= R^2/(gamma n) there is nothing to accelerate, kappa = 0 and this is SDCA.

Lecture "Empirical Risk Minimization" (Richtarik), AccProx-SDCA.
Shalev-Shwartz & Zhang, Math. Prog. 155 (2016), arXiv:1309.2375.

Complexity O~(n + sqrt(n R^2/(lam gamma))) against O~(n + R^2/(lam gamma)) of SDCA.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.blocks import At, Example, serial_step
from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.dual.rates import largest_curvature
from jaxopt_svm.methods.refusals import (
    needs_erm,
    needs_l2,
    needs_smooth,
    needs_uniform_visits,
    refuse_free_intercept,
)
from jaxopt_svm.problems.erm import ERM

__all__ = ["AccProxSDCA", "AccProxState"]


class AccProxState(NamedTuple):
    """alpha: (n,). w, y: (d,) last outer iterate and its extrapolation."""

    alpha: Array
    w: Array
    y: Array


@register(
    Info(
        name="accprox_sdca",
        family="dual",
        problems="ERM, smooth loss, l2",
        certificate="its own dual point",
        lecture="Empirical Risk Minimization: AccProx-SDCA",
        reference="Shalev-Shwartz & Zhang 2016, arXiv:1309.2375",
    )
)
@pytree
class AccProxSDCA:
    """For lam well below R^2/(gamma n). Cost of a step: ``inner`` passes of SDCA.

    inner: passes for each inner problem. block: visits done together.
    """

    sampling: Any = Shuffled()
    inner: int = static(default=1)
    block: int = static(default=BLOCK)

    bound_on = "gap"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_l2(self, problem)
        needs_smooth(self, problem)
        refuse_free_intercept(self, problem)
        needs_uniform_visits(self, self.sampling)
        if self.inner < 1:
            raise ValueError(f"AccProxSDCA: inner must be at least 1; got {self.inner}")

    def steps(self, problem: ERM):
        """(kappa, beta) for this lam."""
        ratio = largest_curvature(problem) / (problem.loss.gamma * problem.n)
        kappa = jnp.maximum(ratio - problem.lam, 0.0)
        eta = jnp.sqrt(0.5 * problem.lam / (0.5 * problem.lam + kappa))
        return kappa, (1.0 - eta) / (1.0 + eta)

    def init(self, problem: ERM, start: Point | None = None) -> AccProxState:
        alpha = problem.complete(problem.origin() if start is None else start).dual
        w = problem.w_of(alpha)
        return AccProxState(alpha, w, w)

    def draw(self, problem: ERM, key):
        size = self.block if problem.rows.spans or self.block == 1 else 8 * self.block
        draw = lambda k: self.sampling.draw(problem, k, size)
        passes = jax.vmap(draw)(jax.random.split(key, self.inner))
        return jax.tree.map(lambda x: x.reshape(1, -1, *x.shape[2:]), passes)

    def visit(self, problem: ERM, example: Example, at: At) -> At:
        """SDCA on the problem with lam' (``problem`` has it), scores shifted by the prox centre."""
        (abar, centre), (alpha,), (row, y, c) = at.vectors, at.tables, example
        z = row.dot(abar + centre)
        new = problem.loss.dual_step(z, alpha, y, c * row.sqnorm / problem.lam)
        return At((row.add(abar, c * (new - alpha) / problem.lam), centre), (new,), at.scalars)

    def step(self, problem: ERM, state: AccProxState, sample) -> AccProxState:
        kappa, beta = self.steps(problem)
        inner = problem.with_lam(problem.lam + kappa)
        centre = kappa / inner.lam * state.y
        facts = {"unique": self.sampling.unique, "linear": True, "scales": False}

        def visits(at, some):
            return serial_step(self.visit, inner, at, some, **facts), None

        start = At((inner.abar(state.alpha), centre), (state.alpha,))
        solved, _ = lax.scan(visits, start, sample)
        w = solved.vectors[0] + centre
        return AccProxState(solved.tables[0], w, w + beta * (w - state.w))

    def point(self, problem: ERM, state: AccProxState) -> Point:
        del problem
        return Point(state.w, state.alpha)

    def spent(self, problem: ERM) -> Spent:
        del problem
        return Spent(work=float(self.inner), oracle_calls=0.0, updates=1.0)

    def bound(self, problem: ERM, t) -> None:
        del problem, t
