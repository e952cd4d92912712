r"""Claim. Visits in blocks are the visits one by one: SDCA and SGD with block = B take the same
iterates as with block = 1, for any order of examples, repeats inside a block included.

Every carried vector stays in the span of itself and the rows of the block, so B visits are
determined by X_b X_b' and the products X_b v (jaxopt_svm/core/blocks.py). Used by the lectures'
serial methods: "Empirical Risk Minimization" (SDCA), "SGD" (Pegasos).

Check. One order with repeats, cut into steps of 1 and of 12, all tables and vectors compared.
Two false variants, both of which have to fail: the visits of a block all from the same state,
and a repeated example that does not see its own earlier move.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import SDCA, SGD, ElasticNet, Hinge, InverseLam, Logistic, Shuffled, Uniform
from jaxopt_svm.core.blocks import parallel_step
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, smallest, toy

VISITS = 24


@jax.jit
def after(problem, method, order):
    """The state after the visits of ``order`` (steps, size)."""
    step = lambda state, index: (method.step(problem, state, Sample(index)), None)
    return lax.scan(step, method.init(problem), order)[0]


def distance(a, b):
    """The worst relative difference of two states, as a slack."""
    pairs = zip(jax.tree.leaves((a.vectors, a.tables)), jax.tree.leaves((b.vectors, b.tables)))
    return smallest(*(equal(x, y) for x, y in pairs))


def check() -> Result:
    order = np.random.default_rng(16).integers(0, 6, VISITS, dtype=np.int32)
    cut = lambda size: jnp.asarray(order.reshape(-1, size))
    cases = (
        (toy(Logistic()), SDCA(Uniform())),
        (toy(Logistic(), ElasticNet(0.3)), SDCA(Uniform())),
        (toy(Hinge()), SGD(InverseLam(), Uniform())),
        (toy(Hinge()), SGD(InverseLam(), Uniform(), project=True)),
    )
    slacks = []
    for problem, method in cases:
        one_by_one = after(problem, method, cut(1))
        slacks.append(distance(after(problem, method, cut(12)), one_by_one))
    problem, method = cases[0]
    one_by_one = after(problem, method, cut(1))
    at_once = lambda s, index: (parallel_step(method.visit, problem, s, Sample(index)), None)
    together = lax.scan(at_once, method.init(problem), cut(12))[0]
    forgetful = after(problem, SDCA(Shuffled()), cut(12))
    return Result(
        smallest(*slacks), max(distance(together, one_by_one), distance(forgetful, one_by_one))
    )


claim = Claim(
    name="blocks_exact",
    text="SDCA and SGD in blocks take the iterates of one visit at a time, repeats included",
    lecture="Empirical Risk Minimization: SDCA",
    check=check,
)
