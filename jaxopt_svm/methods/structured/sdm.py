r"""SDM: the sequential dual method, two labels at a time until an example is nearly optimal.

A visit of example i with its cached labels V_i
    1. u = argmax_y H_i(y; w) by decoding, psi_i = H_i(u; w) - min over a_v > 0 of H_i(v; w)
    2. if psi_i > eps: u joins V_i, and up to ``inner`` times
           u = argmax over V_i of H_i,   v = argmin over a_v > 0 of H_i   (the most violating pair)
           stop if H_i(u) - H_i(v) <= eps/2
           t = min(a_v, lam (H_i(u) - H_i(v))/(c_i N_uv));  move t from v to u
A pass is one round of such visits with decodings and ``sweeps`` rounds without any. G_i <= psi_i,
so psi_i <= eps for all i at one w certifies a gap of eps (proofs_checks/sdm_violation.py).

``Steepest()`` reads "the two variables of steepest ascent" to the letter, v = argmax
a_v (H_i(u) - H_i(v)); ``MostViolating()`` is the paper's pair. Scores after a move need no
feature vectors: H_i(k) changes by (c_i t/lam) <psi(k), psi(v) - psi(u)>.

Lecture "Online solvers for convex risk minimization" (Franc) names it.
Balamurugan, Shevade, Sundararajan & Keerthi, SIAM SDM 2011; Keerthi et al., KDD 2008.
"""

from typing import Any

import jax.numpy as jnp
from jax import lax

from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.methods.structured.label_cache import CAPACITY
from jaxopt_svm.methods.structured.label_visits import BLOCK, LabelVisits, Moved, Slots
from jaxopt_svm.oracles.line_search import segment
from jaxopt_svm.problems.structured.problem import Example, Structured

__all__ = ["SDM", "MostViolating", "Steepest"]


@pytree
class MostViolating:
    """v with the lowest score among those with mass."""

    def pick(self, scores, masses, most):
        del most
        return jnp.argmin(jnp.where(masses > 0, scores, jnp.inf))


@pytree
class Steepest:
    """v with the largest slope a_v (H(u) - H(v))."""

    def pick(self, scores, masses, most):
        return jnp.argmax(masses * (most - scores))


@register(
    Info(
        name="sdm",
        family="structured",
        problems="structured hinge",
        certificate="its own dual point",
        lecture="Online solvers: two variables at a time",
        reference="Balamurugan et al. 2011, SIAM SDM",
    )
)
@pytree
class SDM(LabelVisits):
    """Fewest decodings, when they are the costly part. Cost of a visit: as many pair steps as
    ``inner``, O(T^2) for each cached label; one decoding in the first round of a pass only.

    sweeps: rounds without decodings a pass. pair: ``MostViolating()`` or ``Steepest()``.
    sampling, eps, block, capacity: as for ``BCFW``.
    """

    sampling: Any = Shuffled()
    pair: Any = MostViolating()
    eps: float = 0.0
    sweeps: int = static(default=2)
    inner: int = static(default=4)
    block: int = static(default=BLOCK)
    capacity: int = static(default=CAPACITY)

    def turns(self) -> int:
        return 1 + self.sweeps

    def check(self, problem) -> None:
        super().check(problem)
        if self.sweeps < 0 or self.inner < 1:
            raise ValueError(
                f"SDM: expected sweeps >= 0 and inner >= 1; got {self.sweeps}, {self.inner}"
            )

    def needs(self, problem, at: Slots):
        """psi_i."""
        lowest = jnp.min(jnp.where(at.masses > 0, at.scores, jnp.inf))
        return at.scores[at.u] - lowest

    def move(self, problem: Structured, example: Example, at: Slots) -> Moved:
        model, x, ratio = problem.model, example.x, example.c / problem.lam
        sizes = model.sqlengths(x, at.labels)

        def pair_step(_, now):
            H, a = now
            u = jnp.argmax(jnp.where(at.known, H, -jnp.inf))
            v = self.pair.pick(H, a, H[u])
            with_u, with_v = (model.products(x, at.labels[k], at.labels) for k in (u, v))
            # moving all of a_v: slope a_v (H(u) - H(v)), curvature ratio a_v^2 N_uv
            N = jnp.maximum(sizes[u] + sizes[v] - 2 * with_u[v], 0)
            t = a[v] * segment(a[v] * (H[u] - H[v]), ratio * a[v] ** 2 * N)
            t = jnp.where(H[u] - H[v] > self.eps / 2, t, 0)
            return H + ratio * t * (with_v - with_u), a.at[v].add(-t).at[u].add(t)

        _, masses = lax.fori_loop(0, self.inner, pair_step, (at.scores, at.masses))
        return Moved(masses, at.labels, at.masses - masses)
