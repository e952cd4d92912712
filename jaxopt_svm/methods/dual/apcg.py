r"""APCG: accelerated proximal coordinate gradient on the dual.

With a = sqrt(mu)/n the method keeps x and z in R^n (dual points) and, for a random i,

    y = (x + a z)/(1 + a),   z+ = (1 - a) z + a y + delta e_i,   x+ = y + n a delta e_i,

delta from the coordinate step at zb_i = ((1 - a) z + a y)_i with curvature
q = a (R^2 + lam gamma n)/lam - gamma and score <x_i, w(y)> + gamma (y_i - zb_i).
In s = x + z and r = x - z the mixing is diagonal:

    s+ = s + (n a + 1) delta e_i,    r+ = rho r + (n a - 1) delta e_i,    rho = (1 - a)/(1 + a)
    y = (s + rho r)/2,               zb = (s - rho r)/2

so one entry is touched a step: r_i is stored with the time of its last visit and decayed when it
is read. Their images in R^d are two carried vectors.

Lecture "Empirical Risk Minimization" (Richtarik), APCG.
Lin, Lu & Xiao, NIPS 2014, arXiv:1407.1296.

Rate: E[D* - D(x_k)] <= (1 - a)^k (D* - D(x_0) + (mu/2)||x_0 - x*||_L^2),
    mu = lam gamma n/(R^2 + lam gamma n)   (proofs_checks/accelerated_bounds.py).
One common L: with L_i, q could be negative.
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Uniform
from jaxopt_svm.core.visits import BLOCK, Visits
from jaxopt_svm.methods.dual.rates import powers, smoothness, start_gap
from jaxopt_svm.methods.refusals import (
    needs_erm,
    needs_scalar,
    needs_smooth,
    needs_uniform_visits,
    refuse_free_intercept,
)
from jaxopt_svm.problems.erm import ERM

__all__ = ["APCG"]


@register(
    Info(
        name="apcg",
        family="dual",
        problems="ERM, smooth loss, l2 or elastic net",
        certificate="its own dual point, clipped",
        lecture="Empirical Risk Minimization: APCG",
        reference="Lin, Lu & Xiao 2014, arXiv:1407.1296",
    )
)
@pytree
class APCG(Visits):
    """State: vectors (abar of s, of r), tables (s, r, last), scalars (t, a, q). One row a visit."""

    sampling: Any = Uniform()
    block: int = static(default=BLOCK)

    bound_on = "dual"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_scalar(self, problem)
        needs_smooth(self, problem)
        refuse_free_intercept(self, problem)
        needs_uniform_visits(self, self.sampling)
        self.sampling.check(problem)

    def linear(self, problem) -> bool:
        return problem.regularizer.linear

    def steps(self, problem: ERM):
        """(a, q): the momentum and the curvature, in units of n c_i alpha_i."""
        gamma = smoothness(problem)
        R2, x = jnp.max(problem.rows.sqnorms), problem.lam * gamma * problem.n
        a = jnp.sqrt(x / (R2 + x)) / problem.n
        return a, a * (R2 + x) / problem.lam - gamma

    def init(self, problem: ERM, start: Point | None = None) -> At:
        alpha = problem.complete(problem.origin() if start is None else start).dual
        last = jnp.zeros(problem.n, jnp.int32)
        scalars = (jnp.zeros((), jnp.int32), *self.steps(problem))
        abar = problem.abar(alpha)
        return At((2 * abar, jnp.zeros_like(abar)), (2 * alpha, 0 * alpha, last), scalars)

    def visit(self, problem: ERM, example: Example, at: At) -> At:
        (in_s, in_r), (s, r, last), (t, a, q) = at.vectors, at.tables, at.scalars
        (row, y, c), n, gamma = example, problem.n, smoothness(problem)
        rho = (1.0 - a) / (1.0 + a)
        # 1. mix: r decays for everybody, this entry since its own last visit
        in_r = rho * in_r
        r = r * rho ** (t + 1 - last).astype(rho.dtype)
        here, zb = (s + r) / 2, (s - r) / 2
        # 2. the coordinate step, in units of n c_i alpha_i
        z = row.dot((in_s + in_r) / 2, problem.regularizer.link) + gamma * n * c * (here - zb)
        delta = problem.loss.dual_step(z, zb, y, q * n * c) - zb
        # 3. s and r gain it, and so do their images
        gain_s, gain_r = (n * a + 1.0) * delta, (n * a - 1.0) * delta
        in_s = row.add(in_s, c * gain_s / problem.lam)
        in_r = row.add(in_r, c * gain_r / problem.lam)
        tables = (s + gain_s, r + gain_r, t + 1)
        return At((in_s, in_r), tables, (t + 1, a, q), at.constants)

    def point(self, problem: ERM, state: At) -> Point:
        (in_s, in_r), (s, r, last), (t, a, _) = state.vectors, state.tables, state.scalars
        rho = (1.0 - a) / (1.0 + a)
        r = r * rho ** (t - last).astype(rho.dtype)
        return Point(problem.regularizer.link((in_s + in_r) / 2), (s + r) / 2)

    def bound(self, problem: ERM, t):
        """(1 - a)^t 2 gap_0 on E[D* - D]: (mu L/2)||x*||^2 <= gap_0, since mu L = gamma / n."""
        return 2 * start_gap(problem) * powers(problem, self.steps(problem)[0], t)
