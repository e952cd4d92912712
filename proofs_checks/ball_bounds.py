r"""Claim. Projected (stochastic) subgradient steps in a ball of radius B from w_1 = 0, E||g_t||^2
<= G^2:

    eta = B/(G sqrt(T))      E L(mean of w_1..w_T) - L*     <= B G/sqrt(T)
                             E L(mean of w_2..w_{T+1}) - L* <= B G/sqrt(T) (1 + 1/(2T))
    eta_t = B/(G sqrt(t))    E L(mean of w_1..w_T) - L*     <= 3 B G/sqrt(T)

and on all examples the same bounds hold for the certified gap of the mean w with the mean of the
dual points -phi'(w_t), since it is at most the regret of the linearised losses. Lecture
"Introduction to Machine Learning" (Srebro), subgradient descent and SGD (the second mean is the
printed one, and 1 is printed for 3). Zinkevich, ICML 2003.

Check. The package's methods at T = 1 and 100 for full steps, each T a run of its own; expectations
exact over all n^T sequences, and over all b-subsets. False variant: half the bound, which a single
example attains at T = 1 with w_1.
"""

import functools
from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SGD, AnyTime, Ball, Hinge, Horizon, Point, Subgradient, Uniform, make_ball
from proofs_checks.claims import Claim, Result, iterates, optimum, smallest, toy

HORIZONS = (1, 100)


def with_optimum(lam: float, n: int = 6) -> tuple[Ball, jax.Array]:
    """A ball problem with its known optimal value."""
    problem = toy(Hinge(), n=n, lam=lam)
    best = optimum(problem)
    ball = Ball(problem, jnp.linalg.norm(best.w))
    return ball, ball.primal(best.w)


@functools.partial(jax.jit, static_argnames="T")
def full(ball, level, rule, T: int):
    """Slacks of L(mean), the shifted mean, and the certified gap, relative to the bound."""
    method = Subgradient(rule)
    ws = iterates(ball, method, jnp.zeros(T + 1, jnp.int32))
    slopes = jax.vmap(lambda w: -ball.loss.slope(ball.rows.matvec(w), ball.y))(ws[:-1])
    bound = ball.lam * ball.slope_bound() / np.sqrt(T) * (3.0 if isinstance(rule, AnyTime) else 1.0)
    mean, shifted = jnp.mean(ws[:-1], axis=0), jnp.mean(ws[1:], axis=0)
    gap = ball.certificate(Point(mean, jnp.mean(slopes, axis=0))).gap
    promised = method.mean_bound(ball, T)
    return (
        1.0 - (ball.primal(mean) - level) / bound,
        1.0 - gap / bound,
        1.0 - (ball.primal(shifted) - level) / promised,
    )


def expected(ball, level, rule, samples):
    """The mean over all sequences of L(mean) - L*, against the bound."""
    samples = jnp.asarray(np.array(samples, np.int32))
    T, b = samples.shape[1:]
    method = SGD(rule, Uniform(), batch=b, block=1)
    run = lambda s: ball.primal(jnp.mean(iterates(ball, method, s), axis=0))
    excess = jnp.mean(jax.jit(jax.vmap(run))(samples)) - level
    bound = ball.lam * ball.slope_bound() / np.sqrt(T) * (3.0 if isinstance(rule, AnyTime) else 1.0)
    return 1.0 - excess / bound


def check() -> Result:
    slacks = []
    for lam in (0.02, 0.3):
        ball, level = with_optimum(lam)
        for T in HORIZONS:
            rules = (Horizon(float(T)), AnyTime()) if T == 100 else (Horizon(float(T)),)
            for rule in rules:
                slacks += full(ball, level, rule, T)
    ball, level = with_optimum(0.1, n=4)
    every = range(4)
    singles = np.array(list(product(every, repeat=5)))[:, :, None]
    pairs = [list(s) for s in product(list(combinations(every, 2)), repeat=3)]
    for samples in (singles, pairs):
        T = np.shape(samples)[1]
        slacks.append(expected(ball, level, Horizon(float(T)), samples))
    slacks.append(expected(ball, level, AnyTime(), singles))
    # one example whose loss falls from 1 to 1 - B R over the ball: w_1 = 0 is all of B G above
    single = make_ball(np.array([[0.5], [-0.5]]), [1, -1], B=1.0)
    tight = full(single, single.primal(jnp.array([1.0])), Horizon(1.0), 1)[0]
    return Result(smallest(*slacks, tight), float(1.0 - 2 * (1.0 - tight)))


claim = Claim(
    name="ball_bounds",
    text="mean of T projected steps: L - L* and the gap <= B G/sqrt(T); decaying steps: 3 times",
    lecture="Introduction to Machine Learning: SGD with a norm constraint",
    check=check,
)
