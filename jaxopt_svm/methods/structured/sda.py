r"""Sequential dual ascent with every label written out: the generic scheme of the lecture.

    maximise  D(alpha) = <b, alpha> - 1/2 ||A alpha||^2
    over      alpha_i(y) >= 0,  sum_y alpha_i(y) = c_i

Column (i, y) of A is (psi(x_i, y) - psi(x_i, y_i))/sqrt(lam), entry (i, y) of b is l(y_i, y), and
w = -A alpha/sqrt(lam). A visit of example i
    1. scores every label: [b - A'A alpha]_i(y) = l(y_i, y) + <w, psi(x_i, y) - psi(x_i, y_i)>
    2. chooses a feasible beta that differs in block i only  (``SteepestAscent``, ``MaximalGain``)
    3. slope g = <beta - alpha, b - A'A alpha>, curvature q = ||A (beta - alpha)||^2
    4. alpha+ = (1 - t) alpha + t beta, t the best in [0, 1]
For labels that can be listed: it is what BCFW and FASOLE are checked against, and the way to try a
direction of one's own. Cost of a visit: |Y| feature vectors; of MaximalGain |Y|^2 pairs of them.

Lecture "Online solvers for convex risk minimization" (Franc), sequential dual ascent.
proofs_checks/segment.py, proofs_checks/trajectories.py
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.methods.refusals import needs_structured
from jaxopt_svm.methods.structured.label_cache import equal_labels
from jaxopt_svm.oracles.line_search import gain, segment
from jaxopt_svm.problems.structured.mixture import Mixture
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["SDA", "MaximalGain", "SteepestAscent"]

MOST_LABELS = 4096


@pytree
class SteepestAscent:
    """beta_i = all mass on u = argmax s: the feasible direction of steepest ascent."""

    def direction(self, a, s, Psi, ratio):
        """beta - a for masses a (Y,), scores s (Y,), features Psi (Y, d), ratio = c_i/lam."""
        del Psi, ratio
        return jnp.zeros_like(a).at[jnp.argmax(s)].set(1) - a


@pytree
class MaximalGain:
    """All of v's mass to u, for the pair (u, v) that gains most: every pair is tried."""

    def direction(self, a, s, Psi, ratio):
        product = Psi @ Psi.T
        size = jnp.diagonal(product)
        N = size[:, None] + size[None, :] - 2 * product
        g = a[None, :] * (s[:, None] - s[None, :])
        best = jnp.argmax(gain(g, ratio * a[None, :] ** 2 * N))
        u, v = jnp.divmod(best, s.shape[0])
        return jnp.zeros_like(a).at[v].add(-a[v]).at[u].add(a[v])


class SDAState(NamedTuple):
    """w: (d,). masses: (n, Y), each row sums to one. visits, updates: counts."""

    w: Array
    masses: Array
    visits: Array
    updates: Array


@register(
    Info(
        name="sda",
        family="structured",
        problems="structured hinge, labels that can be listed",
        certificate="its own dual point",
        lecture="Online solvers: sequential dual ascent",
        reference="Franc 2015, lecture",
    )
)
@pytree
class SDA:
    """sampling: serial. rule: ``SteepestAscent()``, ``MaximalGain()`` or your own.
    eps: visits with G_i <= eps change nothing; a pass of such visits ends the solve.
    """

    sampling: Any = Shuffled()
    rule: Any = SteepestAscent()
    eps: float = 0.0

    @property
    def settles(self) -> bool:
        return self.sampling.unique

    def check(self, problem) -> None:
        needs_structured(self, problem)
        self.sampling.check(problem)
        if not hasattr(problem.model, "every_label"):
            raise ValueError("SDA needs a model that lists its labels (every_label); use BCFW")
        count = problem.model.K ** (problem.y[0].size)
        if count > MOST_LABELS:
            raise ValueError(
                f"SDA writes out every label of an example, here {count}; use BCFW or FASOLE"
            )

    def labels(self, problem: Structured) -> Array:
        """(n, Y, ...)"""
        return jax.vmap(problem.model.every_label)(problem.x).astype(problem.y.dtype)

    def init(self, problem: Structured, start: Point | None = None) -> SDAState:
        dual = problem.complete(problem.origin() if start is None else start).dual
        if not isinstance(dual, Mixture):
            raise ValueError("start: expected a dual point of labels and masses (Mixture), or none")

        def one(every, labels, masses):
            same = lambda label: jnp.argmax(equal_labels(every, label))
            return jnp.zeros(every.shape[0], masses.dtype).at[jax.vmap(same)(labels)].add(masses)

        masses = jax.vmap(one)(self.labels(problem), *dual)
        none = jnp.zeros((), jnp.int32)
        return SDAState(problem.rebuild(dual) / problem.lam, masses, none, none)

    def draw(self, problem, key: Array) -> Sample:
        return self.sampling.draw(problem, key, 1)

    def step(self, problem: Structured, state: SDAState, sample: Sample) -> SDAState:
        i = sample.index[0]
        example, a = problem.take(i), state.masses[i]
        every = problem.model.every_label(example.x)
        # 1. every label's features and score
        mu = jax.vmap(problem.model.statistics, (None, 0))(example.x, every)
        Psi = jax.vmap(problem.model.features, (None, 0))(example.x, mu)
        theta = problem.potentials(state.w, example)
        s = jax.vmap(problem.model.score, (None, None, 0))(theta, example.x, every)
        # 2.
        ratio = example.c / problem.lam
        d = self.rule.direction(a, s, Psi, ratio)
        # 3., 4. both divided by c_i
        step = d @ Psi
        g, q = d @ s, ratio * (step @ step)
        updates = (jnp.max(s) - a @ s > self.eps) & (example.c > 0)
        t = jnp.where(updates, segment(g, q), 0)
        return SDAState(
            w=state.w - ratio * t * step,
            masses=state.masses.at[i].set(a + t * d),
            visits=state.visits + 1,
            updates=state.updates + (t > 0).astype(jnp.int32),
        )

    def point(self, problem, state: SDAState) -> Point:
        return Point(state.w, Mixture(self.labels(problem), state.masses))

    def spent(self, problem) -> Spent:
        return Spent(work=1.0, oracle_calls=float(problem.n), updates=float(problem.n))

    def counted(self, state: SDAState) -> Spent:
        n, dtype = state.masses.shape[-2], state.masses.dtype
        visits = state.visits.astype(dtype)
        return Spent(visits / n, visits, state.updates.astype(dtype))

    def bound(self, problem, t):
        del problem, t
