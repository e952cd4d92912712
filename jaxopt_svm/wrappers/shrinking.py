r"""Shrinking for serial dual methods on the hinge: visit the rows that can still move.

An example stays where it is as long as its margin y_i <x_i, w> keeps to its side of 1,

    alpha_i at 0:  slack_i = margin - 1        alpha_i at its end:  slack_i = 1 - margin
    in between, or on the wrong side:  slack_i = 0

so ||w - w_new|| must exceed slack_i/||x_i|| before a visit does anything. A pass of the wrapper
takes the margins of all rows once, picks the n/share rows with the least slack_i/||x_i|| over all
lanes, visits each of them ``rounds`` times, and then every row once. So nothing is assumed of the
others, and what SDCA promises for its passes still holds.

Gap-safe: ||w - w*|| <= sqrt(2 gap/lam), so a row with slack_i > ||x_i|| sqrt(2 gap/lam) is on its
final side for good (proofs_checks/gap_safe.py). Such rows leave: no pass visits them any more, and
passes get shorter as the gap falls.

All lanes of a sweep visit the same rows, so Gram blocks are shared; which rows these are depends on
the company a lane keeps. Joachims 1999; Hsieh et al. 2008; Ndiaye et al. 2017 (gap-safe rules).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core import registry
from jaxopt_svm.core.lanes import least_over_lanes, one_pass_over
from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import cut
from jaxopt_svm.core.shuffle import shuffle
from jaxopt_svm.methods.dual.sdca import SDCA
from jaxopt_svm.methods.refusals import needs_erm, needs_hinge, needs_l2

__all__ = ["Shrinking", "shrinking_sdca", "slack"]


def slack(problem, w, alpha) -> Array:
    """(n,) how far w may move before a visit of the row does anything; inf: never again."""
    z = problem.products(w)
    margin, b = problem.y * z, problem.y * alpha
    beyond = jnp.where(b <= 0.0, margin - 1.0, jnp.where(b >= 1.0, 1.0 - margin, 0.0))
    # a row without features still has to be visited until its alpha is at its end
    lengths = jnp.sqrt(jnp.maximum(problem.rows.sqnorms, jnp.finfo(z.dtype).tiny))
    distance = jnp.maximum(beyond, 0.0) / lengths
    primal = jnp.sum(problem.c * problem.loss.value(z, problem.y))
    dual = jnp.sum(problem.c * b)
    gap = primal - dual + 2.0 * problem.lam * problem.regularizer.value(w)  # w is w(alpha)
    safe = distance > jnp.sqrt(2.0 * jnp.maximum(gap, 0.0) / problem.lam)
    return jnp.where((problem.c > 0) & ~safe, distance, jnp.inf)


@pytree
class Shrinking:
    """Few examples near the margin, many passes to go. A pass costs 2 + rounds/share passes.

    method: a serial dual method such as ``SDCA()``. share: one row in so many is visited.
    """

    method: Any
    share: int = static(default=8)
    rounds: int = static(default=8)

    bound_on = "gap"
    kernels = "small"

    @property
    def name(self) -> str:
        return f"shrinking_{registry.name_of(self.method)}"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_hinge(self, problem)
        needs_l2(self, problem)
        self.method.check(problem)
        for name, value in (("share", self.share), ("rounds", self.rounds)):
            if value < 1:
                raise ValueError(f"Shrinking.{name}: expected at least 1; got {value}")
        if not (hasattr(self.method, "visit") and self.method.sampling.unique):
            raise ValueError(
                "Shrinking wraps a serial dual method that visits shuffled examples, such as "
                f"SDCA(); got {registry.name_of(self.method)}"
            )

    def _count(self, problem) -> int:
        return -(-problem.n // self.share)

    def init(self, problem, start: Point | None = None) -> Any:
        return self.method.init(problem, start)

    def draw(self, problem, key: Array) -> Sample:
        """``rounds`` orders of places among the rows by slack, and one of all rows."""
        n, m, size = problem.n, self._count(problem), self.method.block_size(problem)
        keys = jax.random.split(key, self.rounds + 1)
        few = jax.vmap(lambda k: cut(shuffle(k, m), size, m).index)(keys[1:])
        index = jnp.where(few < m, few, n).reshape(-1, size)
        index = jnp.concatenate([index, cut(shuffle(keys[0], n), size, n).index])
        return Sample(index, index < n)

    def aim(self, problem, state, drawn: Sample) -> Sample:
        w, alpha = self.method.point(problem, state)
        distance = least_over_lanes(slack(problem, w, alpha))
        order = jnp.argsort(distance).astype(jnp.int32)
        live = jnp.sum(jnp.isfinite(distance), dtype=jnp.int32)  # the safe ones are the last
        stays = drawn.index < live
        # blocks without a visit to the end; inside a block, padding comes last
        blocks = jnp.argsort(~jnp.any(stays, axis=1), stable=True)
        places, stays = drawn.index[blocks], stays[blocks]
        inside = jnp.argsort(~stays, axis=1, stable=True)
        places, stays = (jnp.take_along_axis(x, inside, axis=1) for x in (places, stays))
        picked = jnp.append(order, jnp.int32(problem.n))
        return Sample(jnp.where(stays, picked[places], problem.n), stays)

    def step(self, problem, state, sample: Sample) -> Any:
        return self.method.step(problem, state, sample)

    def walk_pass(self, problem, state, drawn: Sample) -> Any:
        if not problem.rows.spans:
            return one_pass_over(self.method, problem, state, drawn)  # padding costs nothing there
        index, stays = drawn.index, jnp.asarray(drawn.mask)
        body = lambda k, s: self.step(problem, s, Sample(index[k], stays[k]))
        return lax.fori_loop(0, jnp.sum(jnp.any(stays, axis=1)), body, state)

    def point(self, problem, state) -> Point:
        return self.method.point(problem, state)

    def spent(self, problem) -> Spent:
        visits = problem.n + self.rounds * self._count(problem)  # while no row is safe
        return Spent(work=1.0 + visits / problem.n, oracle_calls=0.0, updates=float(visits))

    def bound(self, problem, t) -> None:
        del problem, t


@register(
    Info(
        name="shrinking_sdca",
        family="wrappers",
        problems="ERM, hinge, l2",
        certificate="its own dual point",
        lecture="Optimization Methods for SVMs: shrinking",
        reference="Hsieh et al. 2008; Ndiaye et al. 2017",
    )
)
def shrinking_sdca() -> Shrinking:
    """SDCA on the eighth of the rows that matter most, eight times a pass."""
    return Shrinking(SDCA())
