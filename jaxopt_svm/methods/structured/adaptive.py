r"""AdaGrad, RMSProp and Adam for structured outputs, through optax, and where the shrink goes.

    g = (1/k) sum_{i in S} n c_i [psi(x_i, u_i) - psi(x_i, y_i)]      of the loss, without lam w
    AdaGrad   v <- v + g^2                    rate 1/sqrt(v)          optax.scale_by_rss
    RMSProp   v <- beta v + (1 - beta) g^2    rate 1/sqrt(v)          optax.scale_by_rms
    Adam      means m, v with corrections     m/(sqrt(v) + eps)       optax.scale_by_adam

These ignore the scale of g, so C (or lam) must enter by the shrink, in one of three ways:
    Preconditioned()  w <- w - gamma (g + lam w) rate, v from g alone: the optimum is a fixed point
                      (gamma lam w rate cut off at w, see the class)
    Coupled()         g + lam w in place of g: the optimum is a fixed point
    Decoupled()       w <- w - gamma (g rate + lam w), as on the slide: another fixed point, since
                      the loss part of a step decays and the shrink does not; ``check`` warns

Lecture "Stochastic Gradient Descent for Structures" (Srikumar), per-parameter rates.
Duchi, Hazan & Singer, JMLR 2011; Tieleman & Hinton 2012; Kingma & Ba, ICLR 2015.
AdaGrad's regret: proofs_checks/adagrad_regret.py. The equalities with optax and the fixed points:
proofs_checks/optax_equalities.py, shrink_modes.py
"""

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, name_of, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.methods.primal.step_rules import Constant, InverseSqrt
from jaxopt_svm.methods.refusals import needs_structures
from jaxopt_svm.problems.structured.problem import Structured

__all__ = [
    "AdaGrad",
    "Adam",
    "Adaptive",
    "Coupled",
    "Decoupled",
    "Preconditioned",
    "RMSProp",
    "structured_adagrad",
    "structured_adam",
    "structured_rmsprop",
]


@pytree
class AdaGrad:
    """Rates 1/sqrt(sum of all squares): a feature seen rarely keeps a large one."""

    def tx(self) -> optax.GradientTransformation:
        return optax.scale_by_rss(initial_accumulator_value=0.0, eps=0.0)

    def rate(self, state):
        """Of the shrink; 0 where a feature has never been seen (0/0 on the slide)."""
        v = state.sum_of_squares
        return jnp.where(v > 0, jax.lax.rsqrt(jnp.where(v > 0, v, 1)), 0)


@pytree
class RMSProp:
    """Rates by a running mean of squares: they do not die out."""

    beta: float = 0.9
    eps: float = 1e-30  # eps = 0 gives nan on features never seen

    def tx(self) -> optax.GradientTransformation:
        return optax.scale_by_rms(decay=self.beta, eps=self.eps)

    def rate(self, state):
        v = state.nu
        return jnp.where(v > 0, jax.lax.rsqrt(v + self.eps), 0)


@pytree
class Adam:
    """Means of g and g^2 with their start corrected."""

    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8

    def tx(self) -> optax.GradientTransformation:
        return optax.scale_by_adam(self.b1, self.b2, self.eps)

    def rate(self, state):
        v = state.nu / (1 - self.b2 ** state.count.astype(state.nu.dtype))
        return jnp.where(v > 0, 1 / (jnp.sqrt(v) + self.eps), 0)


@pytree
class Preconditioned:
    """Statistics from the loss alone; loss and shrink divided alike.

    A departure from the formula above: a shrink never crosses zero. Where a feature has not been
    seen for k steps, RMSProp's v is beta^k of what it was, and the printed factor of w,
    1 - gamma lam/sqrt(v), passes -1 and then any bound. Where the cut acts, gamma lam rate > 1, the
    optimum is no fixed point: there the weight of a feature that is away is set to 0. AdaGrad's
    rates only fall, and a gamma that decays ends it for features that do occur.
    """

    def direction(self, scaling, g, decay, opt, w, gamma):
        update, opt = scaling.tx().update(g, opt, w)
        shrink = scaling.rate(opt) * decay
        return update + jnp.where(jnp.abs(gamma * shrink) > jnp.abs(w), w / gamma, shrink), opt


@pytree
class Coupled:
    """lam w is part of the gradient: optax.add_decayed_weights before the scaling."""

    def direction(self, scaling, g, decay, opt, w, gamma):
        del gamma
        return scaling.tx().update(g + decay, opt, w)


@pytree
class Decoupled:
    """lam w beside the scaled gradient: optax.add_decayed_weights after it, as in adamw."""

    def direction(self, scaling, g, decay, opt, w, gamma):
        del gamma
        update, opt = scaling.tx().update(g, opt, w)
        return update + decay, opt


class AdaptiveState(NamedTuple):
    """w: (d,). opt: optax's state. t: the step to come."""

    w: Array
    opt: Any
    t: Array


@pytree
class Adaptive:
    """Needs no knowledge of the scale of features. Cost of a step: k decodings and O(d).

    scaling: ``AdaGrad()``, ``RMSProp()`` or ``Adam()``. rule: gamma_t, a step rule. shrink:
    ``Preconditioned()``, ``Coupled()`` or ``Decoupled()``. batch: examples a step.
    """

    scaling: Any = AdaGrad()
    rule: Any = Constant(0.1)
    shrink: Any = Preconditioned()
    sampling: Any = Shuffled()
    batch: int = static(default=8)

    bound_on = "primal"

    @property
    def name(self) -> str:
        return f"structured_{type(self.scaling).__name__.lower()}"

    def check(self, problem) -> None:
        needs_structures(self, problem)
        self.sampling.check(problem)
        if not isinstance(self.scaling, AdaGrad | RMSProp | Adam):
            raise ValueError(
                f"scaling: expected AdaGrad(), RMSProp() or Adam(); got {self.scaling!r}"
            )
        if not isinstance(self.shrink, Preconditioned | Coupled | Decoupled):
            raise ValueError(
                f"shrink: expected Preconditioned(), Coupled() or Decoupled(); got {self.shrink!r}"
            )
        if not 1 <= self.batch <= problem.n:
            raise ValueError(
                f"{name_of(self)}: batch must lie between 1 and n = {problem.n}; got {self.batch}"
            )
        if isinstance(self.shrink, Decoupled):
            gamma = float(self.rule.size(problem, jnp.ones((), jnp.int32)) * problem.lam)
            if not gamma < 1:
                raise ValueError(f"rule: 1 - lam gamma = {1 - gamma:g} flips the sign of w")
            warnings.warn(
                "shrink=Decoupled() does not have the optimum of the problem as its fixed point; "
                "Preconditioned() and Coupled() do",
                stacklevel=2,
            )

    def init(self, problem: Structured, start: Point | None = None) -> AdaptiveState:
        w = jnp.asarray((problem.origin() if start is None else start).w)
        return AdaptiveState(w, self.scaling.tx().init(w), jnp.ones((), jnp.int32))

    def draw(self, problem, key: Array) -> Sample:
        return self.sampling.draw(problem, key, self.batch)

    def step(self, problem: Structured, state: AdaptiveState, sample: Sample) -> AdaptiveState:
        w, opt, t = state
        g, gamma = problem.loss_grad(w, sample), self.rule.size(problem, t)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes integer counts with floats
            move, opt = self.shrink.direction(self.scaling, g, problem.lam * w, opt, w, gamma)
        return AdaptiveState(w - gamma * move, opt, t + 1)

    def point(self, problem, state: AdaptiveState) -> Point:
        del problem
        return Point(state.w)

    def spent(self, problem) -> Spent:
        n = float(problem.n)
        return Spent(work=1.0, oracle_calls=n, updates=float(np.ceil(n / self.batch)))

    def bound(self, problem, t):
        del problem, t


def _info(name: str, reference: str) -> Info:
    return Info(
        name=name,
        family="structured",
        problems="structured hinge and log-loss",
        certificate="from decoded labels",
        lecture="Stochastic Gradient Descent for Structures: per-parameter rates",
        reference=reference,
    )


@register(_info("structured_adagrad", "Duchi, Hazan & Singer 2011, JMLR"))
def structured_adagrad(gamma: float = 0.1, batch: int = 8) -> Adaptive:
    """AdaGrad with a constant gamma, the shrink preconditioned."""
    return Adaptive(AdaGrad(), Constant(gamma), batch=batch)


@register(_info("structured_rmsprop", "Tieleman & Hinton 2012, lecture"))
def structured_rmsprop(gamma: float = 0.02, batch: int = 8) -> Adaptive:
    """RMSProp with gamma/sqrt(t), the shrink preconditioned."""
    return Adaptive(RMSProp(), InverseSqrt(gamma), batch=batch)


@register(_info("structured_adam", "Kingma & Ba 2015, ICLR"))
def structured_adam(gamma: float = 0.05, batch: int = 8) -> Adaptive:
    """Adam with gamma/sqrt(t), the shrink preconditioned."""
    return Adaptive(Adam(), InverseSqrt(gamma), batch=batch)
