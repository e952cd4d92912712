r"""Claim. AdaGrad reaches the optimum of the SVM if the shrink is preconditioned like the loss, or
part of the gradient; kept apart, as on the slide, it leads elsewhere: the loss part of a step
decays like 1/sqrt(t), a constant shrink does not and drives w to 0.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), AdaGrad, "shrinking is separate".

Check. Full batches on a table with features of unlike scales, the mean of the second half of the
iterates: P - P* below 2 % of P(0) - P* in the two coupled modes. False variant: the decoupled one.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import AdaGrad, Adaptive, Constant, Coupled, Decoupled, Preconditioned
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.structured_toys import listed, optimum, written

STEPS = 20_000


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


def check() -> Result:
    problem = toy()
    facts = listed(problem)
    least = facts.dual(optimum(facts))
    room = 0.02 * (facts.primal(np.zeros(3)) - least)

    def slack(shrink) -> float:
        method = Adaptive(AdaGrad(), Constant(0.5), shrink)
        return float(room - (problem.primal(mean_of_second_half(problem, method)) - least))

    return Result(smallest(slack(Preconditioned()), slack(Coupled())), slack(Decoupled()))


claim = Claim(
    name="shrink_modes",
    text="AdaGrad: the preconditioned and the coupled shrink reach the optimum, a separate one not",
    lecture="SGD for Structures: AdaGrad",
    check=check,
)
