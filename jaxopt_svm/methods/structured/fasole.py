r"""FASOLE: near-maximal gain, mass moved between two labels of one example.

A visit of example i, with masses a_v on its cached labels v and alpha_v = c_i a_v
    1. u = argmax_y H_i(y; w), by decoding; a cached label as good is preferred
    2. G_i = H_i(u; w) - sum_v a_v H_i(v; w)                       update only if G_i > eps
    3. for every cached v with a_v > 0 and Delta_v = H_i(u; w) - H_i(v; w) > 0,
       N_v = ||psi(x_i, u) - psi(x_i, v)||^2:
           tau_v = min(1, lam Delta_v/(alpha_v N_v))
           delta_v = lam Delta_v^2/(2 N_v)                     if tau_v < 1,
                     alpha_v Delta_v - alpha_v^2 N_v/(2 lam)   if tau_v = 1
    4. v = argmax delta_v: move tau_v a_v from v to u;  w += (tau_v alpha_v/lam)(psi(v) - psi(u))
Few labels have mass, so w is sparse in labels, and D rises by delta_v at each update.

Lecture "Online solvers for convex risk minimization" (Franc), near-maximal gain.
Franc, "FASOLE: Fast Algorithm for Structured Output LEarning", ECML-PKDD 2014.

Gain of an update, k labels with mass other than u: min(lam eps^2/(32 Dm^2), c_i eps/(4k)) or more;
the lemma on the slide fails for this rule                          proofs_checks/fasole_gain.py
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.methods.structured.label_cache import CAPACITY
from jaxopt_svm.methods.structured.label_visits import BLOCK, LabelVisits, Moved, Slots
from jaxopt_svm.oracles.line_search import gain, segment
from jaxopt_svm.problems.structured.problem import Example, Structured

__all__ = ["FASOLE", "pair_move"]


def pair_move(at: Slots, v, t) -> Moved:
    """t of mass from slot v to slot u."""
    masses = at.masses.at[v].add(-t).at[at.u].add(t)
    two = jnp.stack([v, at.u])
    return Moved(masses, at.labels[two], jnp.stack([t, -t]))


@register(
    Info(
        name="fasole",
        family="structured",
        problems="structured hinge",
        certificate="its own dual point",
        lecture="Online solvers: near-maximal gain",
        reference="Franc 2014, ECML-PKDD",
    )
)
@pytree
class FASOLE(LabelVisits):
    """Fewer decodings than BCFW for a tight gap. Cost of a visit: one decoding, and O(T^2) for
    each cached label.

    sampling, eps, block, capacity: as for ``BCFW``.
    """

    sampling: Any = Shuffled()
    eps: float = 0.0
    block: int = static(default=BLOCK)
    capacity: int = static(default=CAPACITY)

    def move(self, problem: Structured, example: Example, at: Slots) -> Moved:
        a, c, lam = at.masses, example.c, problem.lam
        Delta = at.scores[at.u] - at.scores
        sizes = problem.model.sqlengths(example.x, at.labels)
        products = problem.model.products(example.x, at.labels[at.u], at.labels)
        N = jnp.maximum(sizes + sizes[at.u] - 2 * products, 0)
        # along the segment that empties v: slope alpha_v Delta_v, curvature alpha_v^2 N_v/lam
        g, q = c * a * Delta, (c * a) ** 2 * N / lam
        v = jnp.argmax(jnp.where((a > 0) & (Delta > 0), gain(g, q), -1))
        # full transfers leave an exact zero: the slot is free again
        return pair_move(at, v, segment(g, q)[v] * a[v])
