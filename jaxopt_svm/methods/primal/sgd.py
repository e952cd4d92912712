r"""Stochastic subgradient descent, projected or not, on single examples or mini-batches.

    w <- (1 - eta_t lam) w - (eta_t / k) sum_{i in A_t} n c_i phi'(<x_i, w>, y_i) x_i
    w <- w min(1, B / ||w||)                                             if projected

E over uniform i of n c_i phi'_i x_i + lam w is a subgradient of P. With eta_t = 1/(lam t) and
k = 1 on the hinge this is Pegasos; B = 1/sqrt(lam) contains the optimum of the hinge.

The dual point it carries. With eta_t = 1/(lam (t + t0)) and no projection the steps telescope:

    w_{T+1} = (1/lam) sum_i c_i alpha_i x_i,   alpha_i = (n A_i + t0 alpha^1_i) / (T + t0),

A_i the sum of -phi'_i over the visits of i. Clipped to its domain it is dual feasible, and after
whole shuffled passes (of single examples, or batches that divide n) it needs no clipping. So
this SGD has a certificate of its own.

Lectures "SGD" (Srebro), "Optimization methods for SVMs" (Scheinberg), "Online solvers" (Franc).
Shalev-Shwartz, Singer, Srebro & Cotter, Math. Prog. 127 (2011).

Bounds on E[P] - P* (proofs_checks/pegasos_bound.py, sgd_regimes.py), E||g||^2 <= G^2:
    1/(lam t), uniform average     G^2 (1 + ln T) / (2 lam T)
    1/(lam t), last iterate        17 G^2 (1 + ln t) / (lam t)
"""

from typing import Any

import jax.numpy as jnp
from jax import lax

from jaxopt_svm.core.blocks import At, Example, parallel_step
from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled, Uniform
from jaxopt_svm.core.visits import BLOCK, Visits
from jaxopt_svm.methods.primal.step_rules import InverseLam
from jaxopt_svm.methods.refusals import needs_erm, needs_l2, refuse_free_intercept
from jaxopt_svm.problems.erm import ERM

__all__ = ["SGD", "pegasos"]

TINY = 1e-30


@register(
    Info(
        name="sgd",
        family="primal",
        problems="ERM, any loss, l2",
        certificate="its own dual point with step 1/(lam t), else from slopes",
        lecture="Introduction to Machine Learning: SGD",
        reference="Robbins & Monro 1951; Shalev-Shwartz et al. 2011",
    )
)
@pytree
class SGD(Visits):
    """Cheap rough answers, and the baseline of every comparison. Cost of a step: k rows.

    rule: a step rule. batch: k, the size of a mini-batch. project: keep ||w|| <= radius.
    radius: 1/sqrt(lam) unless given.
    """

    rule: Any = InverseLam()
    sampling: Any = Shuffled()
    radius: Any = None
    batch: int = static(default=1)
    project: bool = static(default=False)
    block: int = static(default=BLOCK)

    bound_on = "primal"

    @property
    def certified(self) -> bool:
        """Whether the steps telescope into a dual point (static)."""
        return isinstance(self.rule, InverseLam) and not self.project

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_l2(self, problem)
        refuse_free_intercept(self, problem)
        self.sampling.check(problem)
        if not self.sampling.serial:
            raise ValueError("SGD: for sets of examples use batch=k with a serial sampling")
        if not 1 <= self.batch <= problem.n:
            raise ValueError(f"SGD: batch must lie between 1 and n = {problem.n}; got {self.batch}")

    def init(self, problem: ERM, start: Point | None = None) -> At:
        start = problem.origin() if start is None else start
        t = jnp.ones((), jnp.int32)
        tables = ()
        w = start.w
        if self._starts_at_zero():
            # with t0 = 0 the first step would erase w: starting at 0 keeps every shrink positive
            w = jnp.where(self.rule.t0 > 0, w, 0.0)
        if self.certified:
            alpha = jnp.where(self.rule.t0 > 0, problem.complete(start).dual, 0.0)
            w, tables = problem.abar(alpha), (self.rule.t0 * alpha / problem.n,)
        scalars = (t, jnp.sum(w * w)) if self.project else (t,)
        return At(vectors=(w,), tables=tables, scalars=scalars)

    def refresh(self, problem: ERM, state: At) -> At:
        """||w||^2 is carried by a recursion inside a block, and recomputed between blocks."""
        if not self.project:
            return state
        (w,), (t, _) = state.vectors, state.scalars
        return At((w,), state.tables, (t, jnp.sum(w * w)))

    def _starts_at_zero(self) -> bool:
        """Step 1/(lam t): its first shrink is 0, but acts on w = 0 (static)."""
        return isinstance(self.rule, InverseLam)

    def _into_ball(self, problem, norm2):
        """min(1, B / ||w||): the projection is a scaling, so it stays linear in w."""
        radius = 1.0 / jnp.sqrt(problem.lam) if self.radius is None else self.radius
        return jnp.minimum(1.0, radius * lax.rsqrt(jnp.maximum(norm2, TINY)))

    def visit(self, problem: ERM, example: Example, at: At) -> At:
        (w,), (row, y, c) = at.vectors, example
        t, eta = at.scalars[0], self.rule.size(problem, at.scalars[0])
        z = row.dot(w)
        slope = problem.loss.slope(z, y)
        shrink, move = 1.0 - eta * problem.lam, -eta * problem.n * c * slope
        shrink = jnp.where(shrink > 0, shrink, 1.0) if self._starts_at_zero() else shrink
        w = row.add(shrink * w, move)
        scalars = (t + 1,)
        if self.project:
            crossed, moved = jnp.sum(move * z), jnp.sum(move**2) * row.sqnorm
            norm2 = shrink**2 * at.scalars[1] + 2 * shrink * crossed + moved
            scale = self._into_ball(problem, norm2)
            w, scalars = scale * w, (t + 1, scale**2 * norm2)
        tables = (at.tables[0] - slope,) if self.certified else ()
        return At((w,), tables, scalars)

    def draw(self, problem: ERM, key) -> Sample:
        size = self.block_size(problem) if self.batch == 1 else self.batch
        return self.sampling.draw(problem, key, size)

    def step(self, problem: ERM, state: At, sample: Sample) -> At:
        if self.batch == 1:
            return super().step(problem, state, sample)
        return self._minibatch(problem, state, sample)

    def _minibatch(self, problem: ERM, state: At, sample: Sample) -> At:
        """k slopes at the same w, one step along their mean."""
        k = self.batch if sample.mask is None else jnp.sum(sample.mask)
        k = jnp.asarray(k, problem.lam.dtype)
        t, eta = state.scalars[0], self.rule.size(problem, state.scalars[0])

        def share(problem, example: Example, at: At) -> At:
            (w,), (row, y, c) = at.vectors, example
            slope = problem.loss.slope(row.dot(w), y)
            w = row.add((1.0 - eta * problem.lam / k) * w, -eta / k * problem.n * c * slope)
            return At((w,), tuple(a - slope / k for a in at.tables), at.scalars)

        new = parallel_step(share, problem, state, sample)
        (w,), scalars = new.vectors, (t + 1,)
        if self.project:
            norm2 = jnp.sum(w * w)
            scale = self._into_ball(problem, norm2)
            w, scalars = scale * w, (t + 1, scale**2 * norm2)
        return At((w,), new.tables, scalars)

    def point(self, problem: ERM, state: At) -> Point:
        (w,), t = state.vectors, state.scalars[0]
        if not self.certified:
            return Point(w)
        steps = (t - 1).astype(w.dtype) + self.rule.t0
        return Point(w, problem.n * state.tables[0] / jnp.maximum(steps, TINY))

    def spent(self, problem: ERM) -> Spent:
        updates = float(-(-problem.n // self.batch))
        return Spent(work=1.0, oracle_calls=0.0, updates=updates)

    def gradient_bound(self, problem: ERM):
        """G with ||g_t|| <= G for losses with |phi'| <= 1, ||w_t|| bounded by induction."""
        R = jnp.max(problem.n * problem.c * jnp.sqrt(problem.rows.sqnorms))
        return jnp.sqrt(problem.lam) + R if self.project else 2.0 * R

    def bound(self, problem: ERM, t):
        """17 G^2 (1 + ln t)/(lam t) on E[P(w_t)] - P*, step 1/(lam t), |phi'| <= 1."""
        if not isinstance(self.rule, InverseLam) or not problem.loss.lipschitz:
            return None
        t = jnp.maximum(jnp.asarray(t, problem.lam.dtype), 1.0)
        G = self.gradient_bound(problem)
        return 17 * G**2 * (1.0 + jnp.log(t)) / (problem.lam * t)


@register(
    Info(
        name="pegasos",
        family="primal",
        problems="ERM, any loss, l2",
        certificate="its own dual point without projection, else from slopes",
        lecture="Optimization Methods for SVMs: Pegasos",
        reference="Shalev-Shwartz, Singer & Srebro, ICML 2007",
    )
)
def pegasos(batch: int = 1, project: bool = False, block: int = BLOCK) -> SGD:
    """SGD with step 1/(lam t) on k independent uniform draws, optionally projected."""
    return SGD(InverseLam(), Uniform(), None, batch=batch, project=project, block=block)
