"""What a claim is, and the small problems and searches the claims share.

A slack is right side minus left side of an inequality (of an equality: minus the error), so a
claim holds when its worst slack is not negative beyond rounding. Each check carries a false
variant, the nearest wrong statement, whose slack has to be clearly negative: the check has teeth.
Points are made with numpy: op by op, jax would compile every little operation for itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import (
    ERM,
    L2,
    SDCA,
    Absolute,
    ElasticNet,
    Hinge,
    Logistic,
    MultiSquared,
    Point,
    SmoothHinge,
    Softmax,
    Squared,
    SquaredHinge,
    make_erm,
)
from jaxopt_svm.core.protocols import Sample

__all__ = [
    "LOSSES",
    "PAIRS",
    "REGULARIZERS",
    "SMOOTH",
    "VECTOR",
    "VECTOR_PAIRS",
    "Claim",
    "Result",
    "clipped",
    "equal",
    "feasible",
    "inner",
    "iterates",
    "maximum",
    "optimum",
    "smallest",
    "spread",
    "subdifferential",
    "targets",
    "toy",
]

PASSES = 2000
MARGIN = 1e3  # a false variant has to fail by this many tolerances

LOSSES = (Hinge(), SmoothHinge(0.5), SquaredHinge(0.5), Logistic(), Squared(0.7), Absolute())
SMOOTH = tuple(loss for loss in LOSSES if loss.smooth)
REGULARIZERS = (L2(), ElasticNet(0.3))
# every loss with l2, and one with the elastic net
PAIRS = (*((loss, L2()) for loss in LOSSES), (Logistic(), ElasticNet(0.3)))
# losses of several outputs
VECTOR = (Softmax(), MultiSquared(0.7))
VECTOR_PAIRS = (*((loss, L2()) for loss in VECTOR), (Softmax(), ElasticNet(0.3)))
OUTPUTS = 3


class Result(NamedTuple):
    """The worst slack of a claim over all its cases, and that of its false variant."""

    slack: float
    false_slack: float


class Claim(NamedTuple):
    """One theorem. ``check`` computes both slacks; ``tolerance`` is what rounding may cost."""

    name: str
    text: str
    lecture: str
    check: Callable[[], Result]
    tolerance: float = 1e-9

    def holds(self, result: Result) -> bool:
        return bool(result.slack >= -self.tolerance)

    def false_variant_fails(self, result: Result) -> bool:
        return bool(result.false_slack < -MARGIN * self.tolerance)


def smallest(*slacks) -> float:
    """The worst of all slacks; nan stays nan, so that it cannot pass."""
    return float(np.min([np.min(np.asarray(s)) for s in slacks]))


@jax.jit
def equal(a, b):
    """The slack of a = b, relative."""
    return -jnp.abs(a - b) / (1.0 + jnp.maximum(jnp.abs(a), jnp.abs(b)))


def inner(a, b):
    """a_i b_i for each example i, summed over outputs where there are several."""
    return jnp.sum(a * b, axis=tuple(range(1, a.ndim)))


def toy(loss: Any, regularizer: Any = None, *, n: int = 6, lam: float = 0.1, seed: int = 0) -> ERM:
    """A weighted problem with n >= 4 examples in 5 features, every awkward case on board.

    Row 0 is long, heavy and alone in its feature; row 1 is all zero; example 2 has weight 0;
    the last feature is never seen.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.7)
    X[:, [0, 4]], X[:2] = 0.0, 0.0
    X[0, 0] = 2.5
    weights = rng.uniform(0.6, 1.4, n)
    weights[0], weights[2] = 1.8, 0.0
    if loss.vector:
        y = rng.normal(size=(n, OUTPUTS)) if loss.regression else np.arange(n) % OUTPUTS
    else:
        signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        y = rng.normal(size=n) if loss.regression else signs
    return make_erm(X, y, loss=loss, lam=lam, weights=weights, regularizer=regularizer)


def targets(loss: Any, rng: np.random.Generator, count: int):
    """(count,) targets a loss may meet: signs, or real numbers."""
    drawn = rng.normal(size=count)
    return drawn if loss.regression else np.where(drawn > 0, 1.0, -1.0)


def spread(rng: np.random.Generator, lo: float, hi: float, *shape: int):
    """Positive numbers of every size: 10^lo to 10^hi, evenly in the logarithm."""
    return 10.0 ** rng.uniform(lo, hi, shape)


def feasible(problem: ERM, rng: np.random.Generator, count: int, around=None):
    """(count, n) dual points: corners, interior points, and all distances from ``around``.

    With several outputs they are (count, n, m).
    """
    y = np.asarray(problem.y)
    centre = 0.5 * y if around is None else np.asarray(around)
    sizes = spread(rng, -2.0, 0.7, count, *(1,) * y.ndim)
    return clipped(problem, centre[None] + sizes * rng.normal(size=(count, *y.shape)))


@jax.jit
def clipped(problem: ERM, alphas):
    """(count, n, ...) the nearest feasible points."""
    return jax.vmap(problem.loss.clip, (0, None))(alphas, problem.y)


def optimum(problem: ERM) -> Point:
    """w* and alpha*, as numpy arrays."""
    return jax.device_get(_optimum(problem))


@jax.jit
def _optimum(problem: ERM) -> Point:
    """SDCA in a fixed order, far more passes than such small problems need."""
    method, order = SDCA(), Sample(jnp.arange(problem.n, dtype=jnp.int32))
    one_pass = lambda _, state: method.step(problem, state, order)
    state = lax.fori_loop(0, PASSES, one_pass, method.init(problem))
    alpha = method.point(problem, state).dual
    return Point(problem.w_of(alpha), alpha)


def iterates(problem: ERM, method: Any, samples):
    """(T, d) the points w_1, w_2, ... before each of the T steps given by ``samples``."""

    def step(state, index):
        return method.step(problem, state, Sample(index)), method.point(problem, state).w

    return lax.scan(step, method.init(problem), samples)[1]


def maximum(f: Callable, lo, hi):
    """The largest value of a concave f on [lo, hi], by ternary search; elementwise."""

    def narrow(_, ends):
        lo, hi = ends
        a, b = lo + (hi - lo) / 3, hi - (hi - lo) / 3
        left = f(a) >= f(b)
        return jnp.where(left, lo, a), jnp.where(left, b, hi)

    inner = f(sum(lax.fori_loop(0, 120, narrow, (lo, hi))) / 2)
    return jnp.maximum(inner, jnp.maximum(f(lo), f(hi)))


def subdifferential(loss: Any, s, z, y, width):
    """The slack of s in [phi'_-(z), phi'_+(z)], when z is known to ``width`` only.

    Slopes are monotone, so slope(z - width) <= s <= slope(z + width) says just that. For several
    outputs, where phi is smooth: |s - phi'(z)| <= width/gamma.
    """
    if loss.vector:
        return width / loss.gamma - jnp.linalg.norm(s - loss.slope(z, y), axis=-1)
    return jnp.minimum(s - loss.slope(z - width, y), loss.slope(z + width, y) - s)
