r"""SAG: the stochastic average gradient.

    minimise P(w) = (1/n) sum_i f_i(w)      (terms.py)

With the remembered slopes s_i and g = sum_i c_i s_i x_i, a visit of example i is

    1. s = phi'(<x_i, w>, y_i)
    2. g += c_i (s - s_i) x_i;   s_i = s
    3. w -= eta (g + lam w)

A step along a gradient that is up to date in one term: its mean is not grad P (SAGA's is).
Lecture "Empirical Risk Minimization" (Richtarik), SAG.
Le Roux, Schmidt & Bach, NIPS 2012; Schmidt, Le Roux & Bach, Math. Prog. 162 (2017).

Rate with eta = 1/(16 Lf), i uniform:  O((1 - min(lam/(16 Lf), 1/(8n)))^t).
Examples are drawn with replacement, as the theorem has it, and here it matters: in shuffled passes
SAG can swing instead of converging (seen on texts, and on one shared feature with n = 300 but not
with n = 1000: tests/test_finite_sum.py). SAGA has shown no such trouble and gains from shuffling.
That the direction is biased is the false variant of proofs_checks/finite_sum_unbiased.py.
"""

from typing import Any

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Uniform
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.finite_sum.slope_table import SlopeTable
from jaxopt_svm.methods.finite_sum.terms import term_smoothness
from jaxopt_svm.problems.erm import ERM

__all__ = ["SAG"]


@register(
    Info(
        name="sag",
        family="finite_sum",
        problems="ERM, smooth loss, l2",
        certificate="from slopes",
        lecture="Empirical Risk Minimization: SAG",
        reference="Schmidt, Le Roux & Bach 2017, arXiv:1309.2388",
    )
)
@pytree
class SAG(SlopeTable):
    """Cost of a visit: one row.

    eta: the step size; 1/(16 Lf), the theorem's, unless given (1/Lf is often faster).
    """

    eta: Any = None
    sampling: Any = Uniform()
    block: int = static(default=BLOCK)

    bound_on = "primal"

    def safe_step(self, problem: ERM):
        return 1.0 / (16.0 * term_smoothness(problem))

    def visit(self, problem: ERM, example: Example, at: At) -> At:
        (w, g), (old,), (eta,), (row, y, c) = at.vectors, at.tables, at.scalars, example
        s = problem.loss.slope(row.dot(w), y)
        g = row.add(g, c * (s - old))
        w = (1.0 - eta * problem.lam) * w - eta * g
        return At((w, g), (s,), at.scalars)

    def bound(self, problem: ERM, t) -> None:
        del problem, t  # the constant in front of the rate is not given in the lecture
