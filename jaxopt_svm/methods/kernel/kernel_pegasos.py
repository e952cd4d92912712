r"""Pegasos on a kernel, by counting: how often each example has been on the wrong side.

    f_t = 1/(lam (t - 1)) sum_j n c_j count_j y_j k(x_j, .)
    draw i;  if y_i f_t(x_i) < 1:  count_i <- count_i + 1

These are the iterates of Pegasos without projection: its steps 1/(lam t) telescope, so f is the sum
of the examples that were added, over lam T. Counts are integers, so nothing drifts however many
steps are taken, and the dual point alpha_i = n y_i count_i/T needs no storage of its own.

Lecture "Optimization Methods for SVMs" (Scheinberg), Pegasos.
Shalev-Shwartz, Singer, Srebro & Cotter, Math. Prog. 127 (2011), section 4.

Bound, last iterate: 17 G^2 (1 + ln t)/(lam t), G = 2 max_i n c_i sqrt(K_ii) (sgd_regimes.py).
Equal to the linear method, step by step: proofs_checks/kernel_counts.py.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Uniform
from jaxopt_svm.methods.primal.step_rules import InverseLam
from jaxopt_svm.methods.refusals import needs_kernel_hinge, refuse_free_intercept
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["KernelPegasos"]


class KernelPegasosState(NamedTuple):
    """counts: (n,) integers. t: the number of the next step."""

    counts: Array
    t: Array


@register(
    Info(
        name="kernel_pegasos",
        family="kernel",
        problems="kernel SVM, hinge",
        certificate="its own dual point",
        lecture="Optimization Methods for SVMs: Pegasos",
        reference="Shalev-Shwartz et al. 2011",
    )
)
@pytree
class KernelPegasos:
    """Rough answers at one row of K a step, whatever n is. Cost of a step: one row of K.

    sampling: ``Uniform()`` for the theorem, ``Shuffled()`` for whole passes, after which alpha
      needs no clipping.
    """

    sampling: Any = Uniform()

    bound_on = "primal"

    def check(self, problem) -> None:
        needs_kernel_hinge(self, problem)
        refuse_free_intercept(self, problem)
        self.sampling.check(problem)
        if not self.sampling.serial:
            raise ValueError("KernelPegasos visits one example a step; use Uniform()")

    def init(self, problem: KernelSVM, start: Point | None = None) -> KernelPegasosState:
        del start  # the first step forgets where it came from
        return KernelPegasosState(jnp.zeros(problem.n, jnp.int32), jnp.ones((), jnp.int32))

    def draw(self, problem: KernelSVM, key: Array) -> Sample:
        return self.sampling.draw(problem, key, 1)

    def alpha(self, problem: KernelSVM, state: KernelPegasosState) -> Array:
        """(n,) n y_i count_i / T, not yet clipped."""
        steps = jnp.maximum(state.t - 1, 1).astype(problem.c.dtype)
        return problem.n * problem.y * state.counts.astype(problem.c.dtype) / steps

    def step(self, problem: KernelSVM, state: KernelPegasosState, sample: Sample):
        (i,) = sample.index
        # 1. the score of example i
        z = problem.rows.row_of(i) @ problem.beta_of(self.alpha(problem, state))
        # 2. one more mistake, or not
        wrong = problem.y[i] * z < 1.0
        counts = state.counts.at[i].add(wrong.astype(jnp.int32))
        return KernelPegasosState(counts, state.t + 1)

    def point(self, problem: KernelSVM, state: KernelPegasosState) -> Point:
        alpha = self.alpha(problem, state)
        return Point(problem.beta_of(alpha), alpha)

    def spent(self, problem: KernelSVM) -> Spent:
        return Spent(work=1.0, oracle_calls=0.0, updates=float(problem.n))

    def bound(self, problem: KernelSVM, t):
        """17 G^2 (1 + ln t)/(lam t) on E[P(f_t)] - P*."""
        G = 2.0 * jnp.max(problem.n * problem.c * jnp.sqrt(problem.rows.diagonal))
        t = jnp.maximum(jnp.asarray(t, problem.lam.dtype), 1.0)
        return InverseLam().last_bound(problem, G, t)
