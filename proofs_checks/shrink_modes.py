r"""Claim. AdaGrad, RMSProp and Adam reach the optimum of the SVM if the shrink is preconditioned
like the loss, or part of the gradient; kept apart, as on the slide, it leads elsewhere: the sizes
of g cancel in the loss part of a step, those of lam w in the shrink do not.

The preconditioned shrink gamma lam w_j/sqrt(v_j) is cut off at w_j, which the slide does not say:
RMSProp forgets, and after k steps in which feature j does not occur v_j = beta^k v_j. Cut off, w_j
keeps its sign and never grows while its feature is away; as printed, w_j is multiplied by
1 - gamma lam/sqrt(v_j), which passes -1 and then any bound.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), AdaGrad, "shrinking is separate".

Check. Full batches on a table with features of unlike scales, the mean of the second half of the
iterates: P - P* below 2 % of P(0) - P* in the two coupled modes. A feature seen once, and then 300
steps without it. False variants, all of which have to fail: the decoupled shrink for each of the
three, and the bound |w_j| <= its first value for the recursion as printed.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import (
    AdaGrad,
    Adam,
    Adaptive,
    Constant,
    Coupled,
    Decoupled,
    InverseSqrt,
    Preconditioned,
    RMSProp,
)
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.structured_toys import listed, optimum, written

STEPS, AWAY = 20_000, 300
SCALINGS = (
    (AdaGrad(), Constant(0.5)),
    (RMSProp(), InverseSqrt(0.5)),
    (Adam(), InverseSqrt(0.5)),
)


def toy():
    rng = np.random.default_rng(8)
    Psi, losses = rng.normal(size=(6, 5, 3)) - 0.8, rng.uniform(0.3, 1.5, (6, 5))
    Psi[:, :, 0] *= 6.0
    Psi[:, 0], losses[:, 0] = 0.0, 0.0
    return written(Psi, losses, lam=0.05)


@jax.jit
def mean_of_second_half(problem, method):
    every = Sample(jnp.arange(problem.n, dtype=jnp.int32))

    def step(k, at):
        state, total = at
        state = method.step(problem, state, every)
        return state, total + jnp.where(k >= STEPS // 2, state.w, 0.0)

    start = (method.init(problem), problem.origin().w)
    return lax.fori_loop(0, STEPS, step, start)[1] / (STEPS - STEPS // 2)


@jax.jit
def away(problem, method):
    """(AWAY + 1,) w_0 after one step with feature 0, and v_0 and w_0 in the steps without it."""
    first = method.step(problem, method.init(problem), Sample(jnp.zeros(1, jnp.int32)))

    def step(state, _):
        state = method.step(problem, state, Sample(jnp.ones(1, jnp.int32)))
        return state, (state.w[0], state.opt.nu[0])

    w, v = lax.scan(step, first, length=AWAY)[1]
    return first.w[0], w, v


def forgotten(gamma: float = 0.1):
    """What the cut keeps, and what the printed recursion makes of the same rates."""
    Psi, losses = np.zeros((6, 5, 3)), np.zeros((6, 5))
    Psi[0, 1, 0], Psi[1:, 1, 1], losses[:, 1] = -1.0, -1.0, 1.0
    problem = written(Psi, losses, lam=0.05)
    method = Adaptive(RMSProp(), Constant(gamma), Preconditioned(), batch=1)
    first, w, v = map(np.asarray, away(problem, method))
    with np.errstate(over="ignore"):
        printed = first * np.cumprod(1 - gamma * float(problem.lam) / np.sqrt(v))
    kept = smallest(first - w[0], -np.diff(w), w)  # falls, and stays >= 0
    assert first > 0, "the step that sees the feature moves its weight"
    return kept, smallest(first - np.abs(printed))


def check() -> Result:
    problem = toy()
    facts = listed(problem)
    least = facts.dual(optimum(facts))
    room = 0.02 * (facts.primal(np.zeros(3)) - least)

    def slack(scaling, rule, shrink) -> float:
        method = Adaptive(scaling, rule, shrink)
        return float(room - (problem.primal(mean_of_second_half(problem, method)) - least))

    kept, printed = forgotten()
    true, false = [kept], [printed]
    for one in SCALINGS:
        true += [slack(*one, shrink) for shrink in (Preconditioned(), Coupled())]
        false.append(slack(*one, Decoupled()))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="shrink_modes",
    text="AdaGrad, RMSProp, Adam: a preconditioned or coupled shrink reaches the optimum",
    lecture="SGD for Structures: AdaGrad",
    check=check,
)
