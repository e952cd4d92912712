r"""BCFW: block-coordinate Frank-Wolfe, the steepest feasible ascent of one example's mass.

    maximise  D(alpha) = -lam/2 ||w(alpha)||^2 + sum_i c_i l(y_i, alpha_i)

A visit of example i, with H_i(y; w) = l(y_i, y) + <w, psi(x_i, y) - psi(x_i, y_i)>
    1. u = argmax_y H_i(y; w)                                       one decoding
    2. G_i = H_i(u; w) - <alpha_i, H_i(.; w)>                       update only if G_i > eps
    3. g = c_i G_i,  q = (c_i^2/lam) ||psi(x_i, u) - psi(x_i, alpha_i)||^2
    4. t = argmax over [0, 1] of t g - t^2 q/2, or t = 2n/(k + 2n)  (k visits so far)
    5. alpha_i+ = (1 - t) alpha_i + t u,  and w with it
With ``average`` the pair returned is the mean of all (w, alpha) with weights 1, 2, 3, ...

Lecture "Online solvers for convex risk minimization" (Franc), steepest ascent.
Lacoste-Julien, Jaggi, Schmidt & Pletscher, ICML 2013, arXiv:1207.4747
Osokin et al., ICML 2016, arXiv:1605.09346 (gap-proportional sampling)

Rate, uniform sampling, ||psi(x_i, y) - psi(x_i, y_i)|| <= Dm, C = (4 Dm^2/lam) sum_i c_i^2:
    E[D* - D(alpha_k)] <= 2n/(k + 2n) (C + D* - D(alpha_0))          proofs_checks/bcfw_rate.py
Each update gains min(eps^2 lam/(8 Dm^2), c_i eps/2) or more         proofs_checks/bcfw_gain.py
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.methods.structured.label_cache import CAPACITY, LabelState
from jaxopt_svm.methods.structured.label_visits import BLOCK, LabelVisits, Moved, Slots
from jaxopt_svm.methods.structured.steps import LineSearch
from jaxopt_svm.problems.structured.mixture import Mixture
from jaxopt_svm.problems.structured.problem import Example, Structured

__all__ = ["BCFW"]


class Mean(NamedTuple):
    """Sums over visits with weights 1, 2, 3, ...; those of the masses lazily.

    masses: (n, S) sums up to the visit when an example last changed. since: (n,) the total weight
    then. t: visits. w: (d,).
    """

    w: Array
    masses: Array
    since: Array
    t: Array


def total_weight(t, dtype):
    """1 + 2 + ... + t."""
    t = t.astype(dtype)
    return t * (t + 1) / 2


@register(
    Info(
        name="bcfw",
        family="structured",
        problems="structured hinge",
        certificate="its own dual point",
        lecture="Online solvers: steepest feasible ascent",
        reference="Lacoste-Julien et al. 2013, arXiv:1207.4747",
    ),
    suits=lambda problem: isinstance(problem, Structured) and problem.hinge,
)
@pytree
class BCFW(LabelVisits):
    """The simple first choice. Cost of a visit: one decoding, and one update of w.

    sampling: ``Shuffled()``, ``Cyclic()``, ``Uniform()`` (the theorem's) or ``GapProportional()``.
    steps: ``LineSearch()`` or ``Decreasing()``. average: return the weighted mean pair.
    eps: visits with G_i <= eps change nothing; a pass of such visits ends the solve.
    block: examples decoded together. capacity: labels an example, grown by the drivers.
    """

    sampling: Any = Shuffled()
    steps: Any = LineSearch()
    eps: float = 0.0
    average: bool = static(default=False)
    block: int = static(default=BLOCK)
    capacity: int = static(default=CAPACITY)

    bound_on = "dual"

    def move(self, problem: Structured, example: Example, at: Slots) -> Moved:
        model, x = problem.model, example.x
        corner = jnp.zeros_like(at.masses).at[at.u].set(1)
        away = model.mix(x, at.labels, at.masses - corner)
        g = example.c * at.gap
        q = example.c**2 / problem.lam * model.sqnorm(x, away)
        t = self.steps.length(g, q, at.k, problem.n)
        masses = (1 - t) * at.masses + t * corner
        return Moved(masses, jax.tree.map(lambda m: t * m, away))

    def extra(self, problem, dual):
        if not self.average:
            return ()
        none, w = jnp.zeros((), jnp.int32), jnp.zeros_like(problem.origin().w)
        return Mean(w, jnp.zeros_like(dual.masses), jnp.zeros_like(problem.c), none)

    def kept(self, extra, index):
        return extra.masses.at[index].get(mode="clip") > 0 if self.average else False

    def along(self, extra, w, counts):
        if not self.average:
            return extra
        t = extra.t + counts.astype(jnp.int32)
        return extra._replace(w=extra.w + jnp.where(counts, t.astype(w.dtype), 0) * w, t=t)

    def after(self, extra, before, index, masses, counts):
        if not self.average:
            return extra
        # visit j comes after W_j; the masses it found have stood since the example's visit before
        t, size = before.t + jnp.cumsum(counts, dtype=jnp.int32), index.shape[0]
        W = total_weight(t - counts.astype(jnp.int32), masses.dtype)
        earlier = jnp.tril(index[:, None] == index[None, :], -1)
        last = jnp.max(jnp.where(earlier, jnp.arange(size)[None], -1), axis=1)
        since = jnp.where(last >= 0, W[last], before.since.at[index].get(mode="clip"))
        stood = jnp.where(counts, W - since, 0)
        return extra._replace(
            masses=before.masses.at[index].add(stood[:, None] * masses, mode="drop"),
            since=before.since.at[index].max(W, mode="drop"),
        )

    def point(self, problem, state: LabelState) -> Point:
        if not self.average:
            return super().point(problem, state)
        w, sums, since, t = state.extra
        weight = total_weight(t, w.dtype)
        sums = sums + (weight - since)[:, None] * state.masses
        safe = jnp.where(t > 0, weight, 1)
        pick = lambda mean, now: jnp.where(t > 0, mean / safe, now)
        return Point(pick(w, state.w), Mixture(state.labels, pick(sums, state.masses)))

    def bound(self, problem: Structured, t):
        """E[D* - D(alpha_k)] <= 2n/(k + 2n) ((4 Dm^2/lam) sum_i c_i^2 + l_max) from w = 0."""
        limits, n = problem.limits(), problem.n
        if limits is None:
            return None
        t = jnp.asarray(t, problem.c.dtype)
        curvature = 4 * limits.feature**2 / problem.lam * jnp.sum(problem.c**2)
        return 2 * n / (t + 2 * n) * (curvature + limits.loss)
