r"""Stochastic subgradient descent, projected or not, on single examples or mini-batches.

    w <- (1 - eta_t lam) w - (eta_t / k) sum_{i in A_t} n c_i phi'(<x_i, w>, y_i) x_i
    w <- w min(1, B / ||w||)                                             if projected

E over uniform i of n c_i phi'_i x_i + lam w is a subgradient of P. With eta_t = 1/(lam t) and
k = 1 on the hinge this is Pegasos; B = 1/sqrt(lam) contains the optimum of the hinge. On a problem
over a ball lam is 0 and B the ball's: the lecture's SGD with a norm constraint.

The dual point it carries. With eta_t = 1/(lam (t + t0)) and no projection the steps telescope:

    w_{T+1} = (1/lam) sum_i c_i alpha_i x_i,   alpha_i = (n A_i + t0 alpha^1_i) / (T + t0),

A_i the sum of -phi'_i over the visits of i. Clipped to its domain it is dual feasible, and after
whole shuffled passes (of single examples, or batches that divide n) it needs no clipping. So
this SGD has a certificate of its own. On a ball alpha_i = n A_i / T for every step rule: the regret
of the linearised losses bounds the gap of the two means (proofs_checks/ball_bounds.py).

Lectures "SGD" (Srebro), "Optimization methods for SVMs" (Scheinberg), "Online solvers" (Franc).
Shalev-Shwartz, Singer, Srebro & Cotter, Math. Prog. 127 (2011).

Bounds on E[P] - P* (proofs_checks/pegasos_bound.py, sgd_regimes.py), E||g||^2 <= G^2:
    1/(lam t), uniform average     G^2 (1 + ln T) / (2 lam T)
    1/(lam t), last iterate        17 G^2 (1 + ln t) / (lam t)
    those of a ball                see step_rules
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
from jaxopt_svm.methods.primal.step_rules import AnyTime, InverseLam
from jaxopt_svm.methods.refusals import needs_examples, needs_l2, refuse_free_intercept

__all__ = ["SGD", "pegasos"]

TINY = 1e-30


@register(
    Info(
        name="sgd",
        family="primal",
        problems="ERM, any loss, l2; over a ball",
        certificate="its own dual point on a ball or with step 1/(lam t), else from slopes",
        lecture="Introduction to Machine Learning: SGD",
        reference="Robbins & Monro 1951; Shalev-Shwartz et al. 2011",
    )
)
@pytree
class SGD(Visits):
    """Cheap rough answers, and the baseline of every comparison. Cost of a step: k rows.

    rule: a step rule; None is 1/(lam t), on a ball B/(G sqrt(t)). batch: k, size of a mini-batch.
    project: keep ||w|| <= radius, on a ball always. radius: the problem's own unless given.
    """

    rule: Any = None
    sampling: Any = Shuffled()
    radius: Any = None
    batch: int = static(default=1)
    project: bool = static(default=False)
    block: int = static(default=BLOCK)

    bound_on = "primal"

    def step_rule(self, problem) -> Any:
        if self.rule is not None:
            return self.rule
        return AnyTime() if problem.bounded else InverseLam()

    def projects(self, problem) -> bool:
        return self.project or problem.bounded

    def _telescopes(self, problem) -> bool:
        """Step 1/(lam t): its first shrink is 0, but acts on w = 0 (static)."""
        return isinstance(self.step_rule(problem), InverseLam)

    def certified(self, problem) -> bool:
        """Whether the steps add up to a dual point (static)."""
        return problem.bounded or (self._telescopes(problem) and not self.project)

    def check(self, problem) -> None:
        needs_examples(self, problem)
        needs_l2(self, problem)
        refuse_free_intercept(self, problem)
        self.sampling.check(problem)
        if not self.sampling.serial:
            raise ValueError("SGD: for sets of examples use batch=k with a serial sampling")
        if not 1 <= self.batch <= problem.n:
            raise ValueError(f"SGD: batch must lie between 1 and n = {problem.n}; got {self.batch}")
        if problem.bounded and self._telescopes(problem):
            raise ValueError("SGD: a ball has no lam for the rule InverseLam; use AnyTime()")

    def init(self, problem, start: Point | None = None) -> At:
        start = problem.origin() if start is None else start
        t, w, tables = jnp.ones((), jnp.int32), start.w, ()
        if problem.bounded:
            w, tables = problem.project(w), (jnp.zeros_like(problem.y),)
        elif self._telescopes(problem):
            # with t0 = 0 the first step would erase w: starting at 0 keeps every shrink positive
            t0 = self.step_rule(problem).t0
            w = jnp.where(t0 > 0, w, 0.0)
            if self.certified(problem):
                alpha = jnp.where(t0 > 0, problem.complete(start).dual, 0.0)
                w, tables = problem.abar(alpha), (t0 * alpha / problem.n,)
        scalars = (t, jnp.sum(w * w)) if self.projects(problem) else (t,)
        return At(vectors=(w,), tables=tables, scalars=scalars)

    def refresh(self, problem, state: At) -> At:
        """||w||^2 is carried by a recursion inside a block, and recomputed between blocks."""
        if not self.projects(problem):
            return state
        (w,), (t, _) = state.vectors, state.scalars
        return At((w,), state.tables, (t, jnp.sum(w * w)))

    def _radius(self, problem):
        return problem.radius if self.radius is None or problem.bounded else self.radius

    def _into_ball(self, problem, norm2):
        """min(1, B / ||w||): the projection is a scaling, so it stays linear in w."""
        return jnp.minimum(1.0, self._radius(problem) * lax.rsqrt(jnp.maximum(norm2, TINY)))

    def visit(self, problem, example: Example, at: At) -> At:
        (w,), (row, y, c) = at.vectors, example
        t, eta = at.scalars[0], self.step_rule(problem).size(problem, at.scalars[0])
        z = row.dot(w)
        slope = problem.loss.slope(z, y)
        shrink, move = 1.0 - eta * problem.strength, -eta * problem.n * c * slope
        shrink = jnp.where(shrink > 0, shrink, 1.0) if self._telescopes(problem) else shrink
        w = row.add(shrink * w, move)
        scalars = (t + 1,)
        if self.projects(problem):
            crossed, moved = jnp.sum(move * z), jnp.sum(move**2) * row.sqnorm
            norm2 = shrink**2 * at.scalars[1] + 2 * shrink * crossed + moved
            scale = self._into_ball(problem, norm2)
            w, scalars = scale * w, (t + 1, scale**2 * norm2)
        tables = (at.tables[0] - slope,) if self.certified(problem) else ()
        return At((w,), tables, scalars)

    def draw(self, problem, key) -> Sample:
        size = self.block_size(problem) if self.batch == 1 else self.batch
        return self.sampling.draw(problem, key, size)

    def step(self, problem, state: At, sample: Sample) -> At:
        if self.batch == 1:
            return super().step(problem, state, sample)
        return self._minibatch(problem, state, sample)

    def _minibatch(self, problem, state: At, sample: Sample) -> At:
        """k slopes at the same w, one step along their mean."""
        k = self.batch if sample.mask is None else jnp.sum(sample.mask)
        k = jnp.asarray(k, problem.lam.dtype)
        t, eta = state.scalars[0], self.step_rule(problem).size(problem, state.scalars[0])

        def share(problem, example: Example, at: At) -> At:
            (w,), (row, y, c) = at.vectors, example
            slope = problem.loss.slope(row.dot(w), y)
            w = row.add((1.0 - eta * problem.strength / k) * w, -eta / k * problem.n * c * slope)
            return At((w,), tuple(a - slope / k for a in at.tables), at.scalars)

        new = parallel_step(share, problem, state, sample)
        (w,), scalars = new.vectors, (t + 1,)
        if self.projects(problem):
            norm2 = jnp.sum(w * w)
            scale = self._into_ball(problem, norm2)
            w, scalars = scale * w, (t + 1, scale**2 * norm2)
        return At((w,), new.tables, scalars)

    def point(self, problem, state: At) -> Point:
        (w,), t = state.vectors, state.scalars[0]
        if not self.certified(problem):
            return Point(w)
        t0 = 0.0 if problem.bounded else self.step_rule(problem).t0
        steps = (t - 1).astype(w.dtype) + t0
        return Point(w, problem.n * state.tables[0] / jnp.maximum(steps, TINY))

    def spent(self, problem) -> Spent:
        updates = float(-(-problem.n // self.batch))
        return Spent(work=1.0, oracle_calls=0.0, updates=updates)

    def gradient_bound(self, problem):
        """G with ||g_t|| <= G for losses with |phi'| <= 1, ||w_t|| bounded by induction."""
        R = problem.slope_bound()
        return R + problem.strength * self._radius(problem) if self.projects(problem) else 2.0 * R

    def _theorem(self, problem, t, name: str):
        """The rule's bound called ``name``, where its assumptions hold."""
        rule = self.step_rule(problem)
        if not (problem.loss.lipschitz and hasattr(rule, name)):
            return None
        if not (self._telescopes(problem) or self.projects(problem)):
            return None
        t = jnp.maximum(jnp.asarray(t, problem.lam.dtype), 1.0)
        return getattr(rule, name)(problem, self.gradient_bound(problem), t)

    def bound(self, problem, t):
        """On E[P(w_t)] - P*: 17 G^2 (1 + ln t)/(lam t) with step 1/(lam t)."""
        return self._theorem(problem, t, "last_bound")

    def mean_bound(self, problem, t):
        """On E[P] - P* for the uniform mean of the iterates after 1..t steps."""
        return self._theorem(problem, t, "mean_bound")


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
