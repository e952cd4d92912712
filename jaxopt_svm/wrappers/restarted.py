r"""Restarts: Restarted(method) forgets the method's momentum every few passes.

An accelerated method with E[F(x_K) - F*] <= C ||x_0 - x*||^2/K^2 has no linear rate of its own, but
F - F* >= (sigma/2)||x - x*||^2, so K ~ sqrt(C/sigma) steps divide F - F* by a constant: started
anew from where they led, they do so again, and the rate is linear. ``every`` is that number in
passes; the methods below know it from the same theorem, for each lam its own. It is the safe
choice: where the data are kinder than lam alone, a smaller ``every`` is faster.

    alpha     ALPHA, one coordinate at a time, p_j proportional to Lc_j^(1/2), its best choice
    approx    APPROX, tau-nice sets
    hydra2    Hydra^2, features over nodes

Lecture "Empirical Risk Minimization" (Richtarik), APPROX, ALPHA, Hydra^2.
Fercoq & Richtarik, arXiv:1312.5799; Qu & Richtarik, arXiv:1412.8060; Fercoq, Qu, Richtarik & Takac,
arXiv:1405.5300. Rate: proofs_checks/approx_bound.py, applied stretch by stretch.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.sharding import Mesh

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, name_of, register
from jaxopt_svm.core.sampling import Nice, Powers
from jaxopt_svm.core.sets import Distributed
from jaxopt_svm.methods.coordinate.alpha import Alpha
from jaxopt_svm.methods.dual.rates import start_gap
from jaxopt_svm.problems.coordinates import Features, FeaturesOnNodes
from jaxopt_svm.wrappers.wrapper import Wrapper

__all__ = ["Restarted", "alpha", "approx", "hydra2"]


class RestartedState(NamedTuple):
    """inner: the method's state. passes: since the last restart. every: passes between two."""

    inner: Any
    passes: Array
    every: Array


@pytree
class Restarted(Wrapper):
    """``method``, restarted from its own point. One step is a whole pass.

    every: passes between restarts; None asks the method's ``period``. A method with a ``restart``
      does it without touching the data; any other is made anew from its point.
    """

    method: Any
    every: int | None = static(default=None)

    @property
    def bound_on(self) -> str:
        return self.method.bound_on

    @property
    def name(self) -> str:
        return f"restarted({name_of(self.method)})"

    def check(self, problem) -> None:
        self.method.check(problem)
        if self.every is None and not hasattr(self.method, "period"):
            raise ValueError(f"Restarted: say every how many passes; {name_of(self.method)} cannot")
        if self.every is None and not problem.loss.smooth:
            raise ValueError("Restarted: no theory says when, the loss is not smooth; give every=")
        if self.every is not None and self.every < 1:
            raise ValueError(f"Restarted: every must be at least 1; got {self.every}")

    def _every(self, problem) -> Array:
        own = self.method.period(problem) if self.every is None else self.every
        return jnp.asarray(own, jnp.int32)

    def init(self, problem, start: Point | None = None) -> RestartedState:
        inner = self.method.init(problem, start)
        return RestartedState(inner, jnp.zeros((), jnp.int32), self._every(problem))

    def draw(self, problem, key: Array):
        return jax.tree.map(lambda x: x[None], self.method.draw(problem, key))

    def step(self, problem, state: RestartedState, sample) -> RestartedState:
        one = lambda s, x: (self.method.step(problem, s, x), None)
        inner = lax.scan(one, state.inner, sample)[0]
        # lanes restart at different times, so this is a choice and not a branch: once a pass
        now = state.passes + 1 >= state.every
        inner = jax.tree.map(lambda a, b: jnp.where(now, a, b), self._fresh(problem, inner), inner)
        return RestartedState(inner, jnp.where(now, 0, state.passes + 1), state.every)

    def _fresh(self, problem, inner):
        if hasattr(self.method, "restart"):
            return self.method.restart(problem, inner)
        return self.method.init(problem, self.method.point(problem, inner))

    def point(self, problem, state: RestartedState) -> Point:
        return self.method.point(problem, state.inner)

    def spent(self, problem) -> Spent:
        return self.method.spent(problem)

    def bound(self, problem, t):
        """The method's ``shrink`` over every whole stretch, and over what has begun of the last."""
        if not hasattr(self.method, "shrink") or not problem.loss.smooth:
            return None
        problem = self.prepare(problem)
        steps = self._every(problem).astype(problem.lam.dtype) * self.method.updates(problem)
        t = jnp.asarray(t, problem.lam.dtype)
        whole, rest = jnp.floor(t / steps), t % steps
        last = jnp.where(rest > 0, self.method.shrink(problem, jnp.maximum(rest, 1.0)), 1.0)
        return start_gap(problem) * self.method.shrink(problem, steps) ** whole * last


def _info(name: str, title: str, reference: str) -> Info:
    return Info(
        name=name,
        family="coordinate",
        problems="ERM, smooth loss, l2 or elastic net",
        certificate="from slopes",
        lecture=f"Empirical Risk Minimization: {title}",
        reference=reference,
    )


@register(_info("alpha", "ALPHA", "Qu & Richtarik 2014, arXiv:1412.8060"))
def alpha(sampling: Any = None, on: Any = None) -> Restarted:
    """ALPHA with any sampling of coordinates, restarted."""
    sampling = Powers(0.5) if sampling is None else sampling
    return Restarted(Alpha(sampling, Features() if on is None else on))


@register(_info("approx", "APPROX", "Fercoq & Richtarik 2013, arXiv:1312.5799"))
def approx(tau: int = 4, on: Any = None, eso: Any = None) -> Restarted:
    """ALPHA on tau coordinates at once, restarted; ``eso`` as for ``Nice``."""
    sampling = Nice(tau) if eso is None else Nice(tau, eso)
    return Restarted(Alpha(sampling, Features() if on is None else on))


@register(_info("hydra2", "Hydra^2", "Fercoq et al. 2014, arXiv:1405.5300"))
def hydra2(nodes: int = 4, tau: int = 1, mesh: Mesh | None = None) -> Restarted:
    """ALPHA on features over ``nodes``, tau of each node a step, restarted."""
    return Restarted(Alpha(Distributed(nodes, tau), FeaturesOnNodes(nodes, mesh)))
