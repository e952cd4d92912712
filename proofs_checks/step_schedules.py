r"""Claim. In the C-form, of strong convexity 1, the schedule gamma0/(1 + gamma0 t/C) of the slides
decays like C/t: what is left of the start after T pure shrinks is of the order T^(-C), more than
10 % after 10^5 steps for C = 0.1. The schedule that matches is gamma0/(1 + gamma0 t), which is
Bottou's eta0/(1 + lam eta0 t) in the lam-form, and leaves 1/(1 + gamma0 T). gamma0 > 2 with a large
C makes w grow first. And sum of squares < inf is sufficient, not necessary: c/sqrt(t) converges
without it.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), step sizes.

Check. Products of the package's own step sizes. False variant: the printed schedule forgets its
start like the matching one.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Bottou, CForm, CFormBottou, InverseSqrt, SlideScale
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import multiclass

T = 100_000


@jax.jit
def shrinks(problem, rule):
    """(T,) 1 - lam eta_t."""
    t = jnp.arange(1, T + 1, dtype=jnp.int32)
    return 1 - problem.lam * jax.vmap(lambda t: rule.size(problem, t))(t)


def check() -> Result:
    left = lambda C, rule: float(jnp.abs(jnp.prod(shrinks(multiclass(lam=1 / C), rule))))
    printed, matched = CFormBottou(0.5, SlideScale()), CForm(Bottou(0.5, 1.0))
    small = left(0.1, printed)
    problem, t = multiclass(lam=0.2), np.arange(1.0, T + 1)
    eta0 = 0.5 / 0.2
    bottou = eta0 / (1 + 0.2 * eta0 * t)
    early = jnp.cumprod(shrinks(multiclass(lam=1 / 100), CFormBottou(3.0, SlideScale())))
    # |sum of squares| of c/sqrt(t) grows like log, its excess bound falls all the same
    squares = np.cumsum([float(InverseSqrt(1.0)(k)) ** 2 for k in (0, 9, 99)])
    bound = (2 + np.log(t)) / np.sqrt(t)
    true = [
        small - 0.1,
        1e-3 - left(0.1, matched),
        equal(left(0.1, matched), 1 / (1 + 0.5 * T)),
        equal((1 - shrinks(problem, matched)) / 0.2, bottou),
        jnp.max(jnp.abs(early)) - 100.0,
        equal(squares, np.cumsum([1.0, 0.1, 0.01])),
        np.sum(1 / t) - np.log(T),
        -np.diff(bound[10:]),
    ]
    return Result(smallest(*true), 1 / (1 + 0.5 * T) - small)


claim = Claim(
    name="step_schedules",
    text="gamma0/(1 + gamma0 t/C) leaves T^(-C) of the start in the C-form; 1/sqrt(t) works too",
    lecture="SGD for Structures: step sizes",
    check=check,
)
