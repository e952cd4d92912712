r"""Frank-Wolfe: the masses of all examples moved together toward the decoded labels.

    1. u_i = argmax_y H_i(y; w) for all i                                   n decodings
    2. g = sum_i c_i [H_i(u_i; w) - <alpha_i, H_i(.; w)>] = P(w) - D(alpha)
    3. w_s = w(u),  q = lam ||w - w_s||^2
    4. t = argmax over [0, 1] of t g - t^2 q/2, or t = 2/(k + 2)
    5. alpha+ = (1 - t) alpha + t u,   w+ = (1 - t) w + t w_s
g is the gap of every step for free: sum_i c_i <alpha_i, H_i> = L - lam ||w||^2 with
L = sum_i c_i l(y_i, alpha_i), which moves as w does.

Lecture "Online solvers for convex risk minimization" (Franc), the batch form of steepest ascent.
Lacoste-Julien, Jaggi, Schmidt & Pletscher, ICML 2013, arXiv:1207.4747

Rate, ||psi(x_i, y) - psi(x_i, y_i)|| <= Dm, k >= 1:  D* - D(alpha_k) <= 8 Dm^2/(lam (k + 2))
                                                                     proofs_checks/bcfw_rate.py
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.structured.label_cache import (
    CAPACITY,
    LabelCache,
    LabelState,
    find_slot,
)
from jaxopt_svm.methods.structured.steps import LineSearch
from jaxopt_svm.problems.structured.mixture import Mixture
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["FrankWolfe"]


@register(
    Info(
        name="frank_wolfe",
        family="structured",
        problems="structured hinge",
        certificate="its own dual point",
        lecture="Online solvers: steepest feasible ascent, all examples at once",
        reference="Lacoste-Julien et al. 2013, arXiv:1207.4747",
    )
)
@pytree
class FrankWolfe(LabelCache):
    """The batch baseline: n decodings a step, all independent. A pass is one step.

    steps: ``LineSearch()`` or ``Decreasing()``. capacity: labels an example, grown by the drivers.
    """

    steps: Any = LineSearch()
    capacity: int = static(default=CAPACITY)

    bound_on = "dual"
    settles = True

    def extra(self, problem: Structured, dual: Mixture) -> Array:
        """L."""
        return problem.lost(dual)

    def draw(self, problem, key: Array) -> Array:
        del problem, key
        return jnp.zeros(1, jnp.int32)

    def spent(self, problem) -> Spent:
        return Spent(work=1.0, oracle_calls=float(problem.n), updates=1.0)

    def step(self, problem: Structured, state: LabelState, sample) -> LabelState:
        del sample
        w, L = state.w, state.extra
        # 1. decode, and find every label its slot
        value, label = problem.oracles(w)
        slot, room = jax.vmap(find_slot, (0, 0, None, 0))(state.labels, state.masses, False, label)
        # example by example: tables that are divided over devices stay where they are
        put = lambda own, slot, room, label: own.at[slot].set(jnp.where(room, label, own[slot]))
        labels = jax.vmap(put)(state.labels, slot, room, label)
        # 2., 3.
        g = problem.c @ value - L + problem.lam * (w @ w)
        corner = Mixture(label[:, None], jnp.ones_like(problem.c)[:, None])
        w_s, L_s = problem.rebuild(corner) / problem.lam, problem.lost(corner)
        q = problem.lam * jnp.sum((w - w_s) ** 2)
        # 4. all examples move together, so one without a slot holds up all of them
        full = ~jnp.all(room)
        t = jnp.where(full, 0, self.steps.length(g, q, state.updates, 1))
        # 5.
        return LabelState(
            w=(1 - t) * w + t * w_s,
            labels=labels,
            masses=jax.vmap(lambda own, slot: own.at[slot].add(t))((1 - t) * state.masses, slot),
            gaps=(),
            visits=state.visits + problem.n,
            calls=state.calls + problem.n,
            updates=state.updates + (t > 0).astype(jnp.int32),
            full=state.full | full,
            extra=(1 - t) * L + t * L_s,
        )

    def bound(self, problem: Structured, t):
        """D* - D(alpha_k) <= 8 Dm^2/(lam (k + 2)) from the first step on."""
        limits = problem.limits()
        if limits is None:
            return None
        return 8 * limits.feature**2 / (problem.lam * (jnp.asarray(t, problem.c.dtype) + 2))
