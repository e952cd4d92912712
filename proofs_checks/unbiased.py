r"""Claim. The direction of SGD is right on average: for i uniform, and for k of them,

    E[ (1/k) sum_{i in A} n c_i phi'(<x_i, w>, y_i) x_i + lam w ] = grad P(w),

exactly, for draws with replacement and for subsets alike. Lectures "SGD" (Srebro), gradient
estimates, and "Optimization Methods for SVMs" (Scheinberg), Pegasos. What is needed is the mean
given the past, not independence.

Check. The direction is read off the package's own step, (w - w+)/eta, on every example, every
tuple of k and every subset of k, on weighted problems.
False variant: the factor n c_i forgotten, as if all weights were equal.
"""

import dataclasses
from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SGD, Constant, Point, Uniform
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import LOSSES, Claim, Result, equal, smallest, toy

ETA = 0.25
COUNT = 30


@jax.jit
def mean_direction(problem, method, w, samples):
    state = method.init(problem, Point(w))
    move = lambda index: w - method.step(problem, state, Sample(index)).vectors[0]
    return jnp.mean(jax.vmap(move)(samples), axis=0) / ETA


@jax.jit
def slacks(problem, method, ws, samples):
    even = dataclasses.replace(problem, c=jnp.full_like(problem.c, 1.0 / problem.n))
    mean = jax.vmap(lambda p, w: mean_direction(p, method, w, samples), (None, 0))
    truth = jax.vmap(problem.grad)(ws)
    return jnp.min(equal(mean(problem, ws), truth)), jnp.min(equal(mean(even, ws), truth))


def check() -> Result:
    rng, found = np.random.default_rng(11), []
    for loss in LOSSES:
        problem = toy(loss)
        every = range(problem.n)
        ws = jnp.asarray(2.0 * rng.normal(size=(COUNT, problem.d)))
        tables = [(1, [(i,) for i in every])]
        if loss is LOSSES[0]:
            tables += [(2, list(product(every, repeat=2))), (3, list(combinations(every, 3)))]
        for k, samples in tables:
            method = SGD(Constant(ETA), Uniform(), batch=k, block=1)
            found.append(slacks(problem, method, ws, jnp.asarray(np.array(samples, np.int32))))
    return Result(smallest(*(t for t, _ in found)), max(float(f) for _, f in found))


claim = Claim(
    name="unbiased",
    text="the mean direction of SGD, over examples or mini-batches, is grad P",
    lecture="Introduction to Machine Learning: SGD",
    check=check,
)
