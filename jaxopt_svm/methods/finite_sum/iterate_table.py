r"""Finito and MISO1: the minimiser of a sum of quadratic models, one per example.

    minimise P(w) = (1/n) sum_i f_i(w)      (terms.py)

Remember k_i, the point where example i was last visited, and model f_i by its slope there and
a curvature s. The mean of the models has its minimum at

    w = mean_i k_i - (1/(s n)) sum_i f_i'(k_i)

A visit of example i sets k_i = w and moves w there.

    finito   s = a lam with a = 2: fast, needs n >= 2 Lf/lam (big data in the authors' words)
    miso1    s = Lf: an upper model, always safe, slow

The quadratic part beyond (lam/2)||w||^2 is what keeps the points k_i, not just their slopes, in
memory: n d numbers for each lam. ``miso`` (s = lam) needs n.
Lecture "Empirical Risk Minimization" (Richtarik), Finito and MISO.
Defazio, Caetano & Domke, ICML 2014, arXiv:1407.2710; Mairal, arXiv:1402.4419.

Rate of Finito, i uniform, n >= 2 Lf/lam, kbar = mean_i k_i:
    E[P(kbar_t)] - P* <= (3/(4 lam)) (1 - 1/(2n))^t ||grad P(kbar_0)||^2
    checked in proofs_checks/finito_bound.py.
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.core.visits import Visits
from jaxopt_svm.methods.finite_sum.terms import (
    check_terms,
    data_gradient,
    slopes,
    term_smoothness,
)
from jaxopt_svm.problems.erm import ERM

__all__ = ["Finito", "miso1"]


@pytree
class StrongConvexity:
    """s = a lam: Finito."""

    a: float = 2.0

    def curvature(self, problem):
        return self.a * problem.lam


@pytree
class Smoothness:
    """s = Lf: every model lies above its f_i."""

    def curvature(self, problem):
        return term_smoothness(problem)


@register(
    Info(
        name="finito",
        family="finite_sum",
        problems="ERM, smooth loss, l2, n >= 2 Lf/lam",
        certificate="from slopes",
        lecture="Empirical Risk Minimization: Finito",
        reference="Defazio, Caetano & Domke 2014, arXiv:1407.2710",
    )
)
@pytree
class Finito(Visits):
    """State: vectors (kbar, g), tables (k, s), scalars (curvature,). Visit: one row and O(d).

    model: ``StrongConvexity(a)`` or ``Smoothness()``. Memory: n (d + 1) numbers a lam.
    """

    model: Any = StrongConvexity()
    sampling: Any = Shuffled()
    block: int = static(default=32)

    bound_on = "primal"

    def check(self, problem) -> None:
        check_terms(self, problem)

    def linear(self, problem) -> bool:
        del problem
        return False  # k_i is a vector of its own, outside the span of a block

    def init(self, problem: ERM, start: Point | None = None) -> At:
        w = (problem.origin() if start is None else start).w
        s = slopes(problem, w)
        k = jnp.broadcast_to(w, (problem.n, *w.shape))
        curvature = jnp.asarray(self.model.curvature(problem), w.dtype)
        return At((w, data_gradient(problem, s)), (k, s), (curvature,))

    def _minimiser(self, problem: ERM, kbar, g, curvature):
        return kbar - (g + problem.lam * kbar) / curvature

    def visit(self, problem: ERM, example: Example, at: At) -> At:
        (kbar, g), (k, old), (curvature,), (row, y, c) = *at[:3], example
        w = self._minimiser(problem, kbar, g, curvature)
        s = problem.loss.slope(row.dot(w), y)
        kbar, g = kbar + (w - k) / problem.n, row.add(g, c * (s - old))
        return At((kbar, g), (w, s), at.scalars)

    def point(self, problem: ERM, state: At) -> Point:
        return Point(self._minimiser(problem, *state.vectors, *state.scalars))

    def bound(self, problem: ERM, t) -> None:
        del problem, t  # the theorem is about kbar, not about w


@register(
    Info(
        name="miso1",
        family="finite_sum",
        problems="ERM, smooth loss, l2",
        certificate="from slopes",
        lecture="Empirical Risk Minimization: MISO",
        reference="Mairal 2015, arXiv:1402.4419",
    )
)
def miso1(block: int = 32) -> Finito:
    """MISO with upper models of curvature Lf: no condition on n, but slow."""
    return Finito(Smoothness(), block=block)
