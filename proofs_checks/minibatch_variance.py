r"""Claim. A mini-batch of b of n examples without replacement has a direction g_b of variance

    E||g_b - grad P||^2 = (n - b) / (b (n - 1)) E||g_1 - grad P||^2,

with replacement 1/b of it. Lecture "SGD" (Srebro), mini-batches; the same factor rules mS2GD,
Konecny, Liu, Richtarik & Takac, arXiv:1410.4744.

Check. Exact: the package's step on all subsets of b = 2, 3, n and on all pairs with repeats.
False variant: the factor 1/b for subsets, which forgets that they do not repeat.
"""

from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SGD, Constant, Hinge, Point, Uniform
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, smallest, toy

ETA = 0.25
COUNT = 50


@jax.jit
def variance(problem, method, ws, samples):
    """(COUNT,) E||(w - w+)/eta - grad P(w)||^2 over the samples."""

    def one(w):
        state = method.init(problem, Point(w))
        move = lambda index: w - method.step(problem, state, Sample(index)).vectors[0]
        error = jax.vmap(move)(samples) / ETA - problem.grad(w)[None, :]
        return jnp.mean(jnp.sum(error**2, axis=1))

    return jax.vmap(one)(ws)


def check() -> Result:
    rng, problem = np.random.default_rng(12), toy(Hinge())
    n, every = problem.n, range(problem.n)
    ws = jnp.asarray(2.0 * rng.normal(size=(COUNT, problem.d)))

    def of(samples):
        samples = np.array(list(samples), np.int32)
        method = SGD(Constant(ETA), Uniform(), batch=samples.shape[1], block=1)
        return variance(problem, method, ws, jnp.asarray(samples))

    single = of((i,) for i in every)
    true, false = [equal(of(product(every, repeat=2)), single / 2)], []
    for b in (2, 3, n):
        subsets = of(combinations(every, b))
        true.append(equal(subsets, (n - b) / (b * (n - 1)) * single))
        false.append(equal(subsets, single / b))
    return Result(smallest(*true), max(smallest(f) for f in false))


claim = Claim(
    name="minibatch_variance",
    text="subsets of b divide the variance by b (n - 1)/(n - b), repeats by b",
    lecture="Introduction to Machine Learning: mini-batches",
    check=check,
)
