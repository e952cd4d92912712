r"""Claim. One method, two views of a problem:
    - coordinate descent on the examples, a tau-nice set at a time, is SDCA with that sampling: the
      same alpha after every step;
    - PCDM with tau = 1 is serial coordinate descent on the same coordinates;
    - both views carry the image of x: B w, or abar.
Lecture "Empirical Risk Minimization" (Richtarik): SDCA is randomised coordinate ascent on the dual;
PCDM. Richtarik & Takac, arXiv:1212.0873.

Check. The same samples through both, many steps, smooth and non-smooth losses, l2 and elastic net,
weights with a zero. False variant: the examples' steps without damping (v_i = L_i) are SDCA's.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import (
    SDCA,
    CoordinateDescent,
    ElasticNet,
    Examples,
    Hinge,
    Logistic,
    Nice,
    Squared,
    Undamped,
    Uniform,
    prepare,
)
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, smallest, toy

STEPS = 40


@jax.jit
def tables(problem, method, samples):
    """The last state, and the first table after every step."""

    def step(state, index):
        state = method.step(problem, state, Sample(index))
        return state, state.tables[0]

    return lax.scan(step, method.init(problem), samples)


def check() -> Result:
    rng = np.random.default_rng(21)
    right, wrong = [], []
    pick = lambda n, tau: np.stack([rng.permutation(n)[:tau] for _ in range(STEPS)])
    draw = lambda n, tau: jnp.asarray(pick(n, tau), jnp.int32)
    # examples: SDCA
    for loss, regularizer in ((Hinge(), None), (Logistic(), ElasticNet(0.3))):
        problem = toy(loss, regularizer)
        samples, sampling = draw(problem.n, 3), Nice(3)
        theirs = tables(problem, SDCA(sampling), samples)[1]
        last, mine = tables(problem, CoordinateDescent(sampling, Examples()), samples)
        undamped = CoordinateDescent(Nice(3, Undamped()), Examples())
        right += [equal(mine, theirs), equal(last.vectors[0], problem.abar(mine[-1]))]
        wrong.append(smallest(equal(tables(problem, undamped, samples)[1], theirs)))
    # features: one at a time, in a set or in a block
    for loss, regularizer in ((Squared(0.7), None), (Logistic(), ElasticNet(0.3))):
        problem = toy(loss, regularizer)
        one = CoordinateDescent(Nice(1))
        problem, samples = prepare(problem, one), draw(problem.d, 1)
        last, mine = tables(problem, one, samples)
        serial = CoordinateDescent(Uniform(), block=1)
        right.append(equal(mine, tables(problem, serial, samples)[1]))
        blocks = tables(problem, CoordinateDescent(Uniform()), samples.reshape(-1, 8))[1]
        right += [equal(mine[7::8], blocks)]
        right.append(equal(last.vectors[0], one.on.of(problem).image(mine[-1])))
    return Result(smallest(*right), max(wrong))


claim = Claim(
    name="coordinate_views",
    text="PCDM on examples is SDCA, step by step; with tau = 1 it is serial descent",
    lecture="Empirical Risk Minimization: PCDM",
    check=check,
)
