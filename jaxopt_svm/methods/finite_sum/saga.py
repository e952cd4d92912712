r"""SAGA: SAG made unbiased, with a step size that needs no strong convexity constant.

    minimise P(w) = (1/n) sum_i f_i(w)      (terms.py)

With the remembered slopes s_i and g = sum_i c_i s_i x_i, a visit of example i is

    1. s = phi'(<x_i, w>, y_i)
    2. w -= eta (n c_i (s - s_i) x_i + g + lam w)         with the old g
    3. g += c_i (s - s_i) x_i;   s_i = s

Lecture "Empirical Risk Minimization" (Richtarik), SAGA.
Defazio, Bach & Lacoste-Julien, NIPS 2014, arXiv:1407.0202.

Rate, i uniform. With u_i the point where s_i was taken and k = 1/(2 eta (1 - eta lam) n), let
    T = sum_i c_i {phi_i(u_i) - phi_i(w*) - phi_i'(w*) <x_i, u_i - w*>} + k ||w - w*||^2.
    E[T+] <= (1 - min(1/(4n), lam/(3 Lf))) T            for eta = 1/(3 Lf)
    E[T+] <= (1 - eta lam) T                            for eta = 1/(2 (lam n + Lf))
    checked step by step in proofs_checks/saga_lyapunov.py
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.dual.rates import powers, start_gap
from jaxopt_svm.methods.finite_sum.slope_table import SlopeTable
from jaxopt_svm.methods.finite_sum.terms import term_smoothness
from jaxopt_svm.problems.erm import ERM

__all__ = ["SAGA"]


@register(
    Info(
        name="saga",
        family="finite_sum",
        problems="ERM, smooth loss, l2",
        certificate="from slopes",
        lecture="Empirical Risk Minimization: SAGA",
        reference="Defazio, Bach & Lacoste-Julien 2014, arXiv:1407.0202",
    )
)
@pytree
class SAGA(SlopeTable):
    """The first choice among primal methods for smooth losses. Cost of a visit: one row.

    eta: 1/(3 Lf) unless given.
    """

    eta: Any = None
    sampling: Any = Shuffled()
    block: int = static(default=BLOCK)

    bound_on = "primal"

    def safe_step(self, problem: ERM):
        return 1.0 / (3.0 * term_smoothness(problem))

    def visit(self, problem: ERM, example: Example, at: At) -> At:
        (w, g), (old,), (eta,), (row, y, c) = at.vectors, at.tables, at.scalars, example
        s = problem.loss.slope(row.dot(w), y)
        w = (1.0 - eta * problem.lam) * w - eta * g
        w = row.add(w, -eta * problem.n * c * (s - old))
        g = row.add(g, c * (s - old))
        return At((w, g), (s,), at.scalars)

    def potential_weight(self, problem: ERM):
        """k of the Lyapunov function."""
        eta = self.step_size(problem)
        return 1.0 / (2.0 * eta * (1.0 - eta * problem.lam) * problem.n)

    def contraction(self, problem: ERM):
        """The share of T a step removes, for eta = 1/(3 Lf)."""
        by_steps = problem.lam / (3.0 * term_smoothness(problem))
        return jnp.minimum(1.0 / (4.0 * problem.n), by_steps)

    def bound(self, problem: ERM, t):
        """On E[P(w_t)] - P* <= (Lf/2) E||w_t - w*||^2 <= (Lf/2k) E[T_t], from w = 0.

        T_0 <= (P(0) - P*) + k ||w*||^2 <= gap_0 (1 + 2k/lam).
        """
        if self.eta is not None:
            return None
        k = self.potential_weight(problem)
        start = start_gap(problem) * (1.0 + 2.0 * k / problem.lam)
        front = term_smoothness(problem) / (2.0 * k)
        return front * start * powers(problem, self.contraction(problem), t)
