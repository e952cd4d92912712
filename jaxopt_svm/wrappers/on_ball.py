r"""A problem over a ball by a method for penalties: OnBall(method) finds the lam of the ball.

    D(alpha) = max over lam > 0 of  D_lam(alpha) - lam B^2/2

is jointly concave in alpha and lam (||u||^2/lam is convex), so it can be climbed in turns: a pass
of ``method`` on lam/2 ||w||^2 + L(w), then the best lam for its alpha,

    lam <- ||u||/B = lam ||w(alpha)||/B,          u = sum_i c_i alpha_i x_i.

At rest ||w(alpha)|| = B. Both turns raise D, which is the ball's own certificate; w is w(alpha),
projected. Where the ball holds the minimiser of L, lam falls to 0 and the certificate closes as
slowly as that of L without any regulariser.

Lecture "Introduction to Machine Learning" (Srebro), norm constraint against penalty.
Checked in proofs_checks/ball_duality.py.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import Info, name_of, register
from jaxopt_svm.methods.dual.sdca import SDCA
from jaxopt_svm.problems.ball import Ball
from jaxopt_svm.wrappers.wrapper import Wrapper

__all__ = ["OnBall", "ball_sdca"]


class OnBallState(NamedTuple):
    """inner: the method's state at ``lam``. least: below which lam does not go."""

    inner: Any
    lam: Array
    least: Array


@pytree
class OnBall(Wrapper):
    """``method`` (one that carries a dual point) on a ball. One step is a whole pass.

    Cost of a step: a pass of the method and one to rebuild w(alpha) for the new lam.
    """

    method: Any = SDCA()

    bound_on = "primal"

    @property
    def name(self) -> str:
        return f"on_ball({name_of(self.method)})"

    def check(self, problem) -> None:
        if not isinstance(problem, Ball):
            raise ValueError(
                f"OnBall solves problems over a ball (js.make_ball); got {type(problem).__name__}"
            )
        if hasattr(self.method, "grown"):
            raise ValueError(
                f"OnBall: {name_of(self.method)} would lose its working set with every change of "
                "lam; use SDCA"
            )
        self.method.check(problem.penalised(1.0))

    def init(self, problem: Ball, start: Point | None = None) -> OnBallState:
        # the slopes at 0 give a lam of the right order, whatever alpha the start has
        origin = problem.origin()
        u = problem.grad(origin.w)
        tiny = jnp.finfo(u.dtype).tiny
        first = jnp.maximum(jnp.sqrt(jnp.sum(u * u)) / problem.lam, tiny)
        least = first * jnp.sqrt(jnp.finfo(u.dtype).eps)
        start = origin if start is None else start
        if start.dual is not None:
            v = problem.rows.rmatvec(problem.weighted(problem.complete(start).dual))
            own = jnp.sqrt(jnp.sum(v * v)) / problem.lam
            first = jnp.where(own > least, own, first)
        inner = self.method.init(problem.penalised(first), start)
        return OnBallState(inner, first, least)

    def draw(self, problem: Ball, key: Array):
        samples = self.method.draw(problem.penalised(1.0), key)
        return jax.tree.map(lambda x: x[None], samples)

    def step(self, problem: Ball, state: OnBallState, sample) -> OnBallState:
        # 1. a pass at this lam
        now = problem.penalised(state.lam)
        one = lambda s, x: (self.method.step(now, s, x), None)
        point = self.method.point(now, lax.scan(one, state.inner, sample)[0])
        # 2. the best lam for its alpha
        length = jnp.sqrt(jnp.sum(point.w * point.w))
        lam = jnp.maximum(state.lam * length / problem.lam, state.least)
        # 3. the same alpha, its w rebuilt
        return OnBallState(self.method.init(problem.penalised(lam), point), lam, state.least)

    def point(self, problem: Ball, state: OnBallState) -> Point:
        return self.method.point(problem.penalised(state.lam), state.inner)

    def spent(self, problem: Ball) -> Spent:
        own = self.method.spent(problem.penalised(1.0))
        return Spent(own.work + 1.0, own.oracle_calls, own.updates)

    def bound(self, problem: Ball, t) -> None:
        del problem, t


@register(
    Info(
        name="ball_sdca",
        family="wrappers",
        problems="examples over a ball, any loss",
        certificate="its own dual point",
        lecture="Introduction to Machine Learning: norm constraint",
        reference="SDCA with the multiplier of the ball, in turns",
    ),
    suits=lambda problem: isinstance(problem, Ball),
)
def ball_sdca() -> OnBall:
    """SDCA on a ball: the first choice there."""
    return OnBall(SDCA())
