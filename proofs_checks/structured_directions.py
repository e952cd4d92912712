r"""Claim. A mini-batch of b examples has a direction that is right on average,

    E[ lam w + (1/b) sum_{i in A} n c_i (psi(x_i, u_i) - psi(x_i, y_i)) ] = grad P(w),

with variance 1/b of a single one's for draws with replacement, (n - b)/(b (n - 1)) for subsets; and
away from ties grad P is the gradient: central differences agree.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), mini-batches, checking gradients.

Check. Exact, over all subsets and all pairs, on weighted chains, and on the log-loss of multiclass.
False variant: variance 1/b for subsets.
"""

from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import crf
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import chain, multiclass

COUNT, STEP = 10, 1e-6


@jax.jit
def moments(problem, ws, samples):
    """(COUNT, d) the mean direction, (COUNT,) its variance about grad P."""

    def one(w):
        g = jax.vmap(lambda i: problem.sample_grad(w, Sample(i)))(samples)
        mean = jnp.mean(g, axis=0)
        return mean, jnp.mean(jnp.sum((g - mean[None]) ** 2, axis=1))

    return jax.vmap(one)(ws)


@jax.jit
def differences(problem, ws):
    def one(w):
        at = lambda s: jax.vmap(lambda e: problem.primal(w + s * e))(jnp.eye(problem.d))
        return (at(STEP) - at(-STEP)) / (2 * STEP), problem.grad(w)

    return jax.vmap(one)(ws)


def case(problem, rng):
    ws = jnp.asarray(rng.normal(size=(COUNT, problem.d)))
    n, every = problem.n, range(problem.n)
    of = lambda samples: moments(problem, ws, jnp.asarray(np.array(list(samples), np.int32)))
    slope, g = differences(problem, ws)
    mean, single = of((i,) for i in every)
    true, false = [1e-6 + equal(slope, g), equal(mean, g)], []
    mean, pairs = of(product(every, repeat=2))
    true += [equal(mean, g), equal(pairs, single / 2)]
    mean, subsets = of(combinations(every, 3))
    true += [equal(mean, g), equal(subsets, (n - 3) / (3 * (n - 1)) * single)]
    false.append(smallest(equal(subsets, single / 3)))
    return smallest(*true), max(false)


def check() -> Result:
    rng = np.random.default_rng(60)
    found = [case(problem, rng) for problem in (chain(), crf(multiclass()))]
    return Result(smallest(*(t for t, _ in found)), max(f for _, f in found))


claim = Claim(
    name="structured_directions",
    text="structured mini-batches: unbiased, variance by subsets or pairs; finite differences",
    lecture="SGD for Structures: mini-batches",
    check=check,
)
