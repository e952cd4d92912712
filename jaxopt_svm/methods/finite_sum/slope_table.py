r"""What SAG and SAGA share: a slope remembered for every example, and the gradient they make.

    s_i   phi'(<x_i, w>, y_i) at the last visit of i
    g     sum_i c_i s_i x_i

-s is a dual point that is always feasible, for every lam; the certificate takes fresh slopes, at
the price of the product X w it needs anyway.
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.visits import Visits
from jaxopt_svm.methods.finite_sum.terms import check_terms, data_gradient, slopes
from jaxopt_svm.problems.erm import ERM

__all__ = ["SlopeTable"]


class SlopeTable(Visits):
    """State: vectors (w, g), tables (s,), scalars (eta,)."""

    eta: Any

    def check(self, problem) -> None:
        check_terms(self, problem)

    def safe_step(self, problem: ERM) -> Any:
        """The theorem's step size."""
        raise TypeError(f"{type(self).__name__} must define safe_step")

    def step_size(self, problem: ERM):
        eta = self.safe_step(problem) if self.eta is None else self.eta
        return jnp.asarray(eta, problem.lam.dtype)

    def init(self, problem: ERM, start: Point | None = None) -> At:
        w = (problem.origin() if start is None else start).w
        s = slopes(problem, w)
        return At((w, data_gradient(problem, s)), (s,), (self.step_size(problem),))

    def point(self, problem: ERM, state: At) -> Point:
        del problem
        return Point(state.vectors[0])
