"""Every outcome of a sampling, so that an expectation is a plain sum.

Compilation is most of the time of a check, so outcomes come in one shape for all samplings of sets
and one for all serial ones, and ``one_program`` gives them a step in common: what differs between
samplings, p and v, is in the state.
"""

import dataclasses
from itertools import chain, combinations, product

import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Bucket, Distributed, Independent, Nice, Uniform
from jaxopt_svm.core.protocols import Sample

__all__ = ["every_sample", "one_program", "subsets"]


def subsets(sampling, n: int) -> list[tuple[tuple, float]]:
    """Every set there is and its probability, from the definition of the sampling."""
    if isinstance(sampling, Nice):
        sets = list(combinations(range(n), sampling.tau))
        return [(s, 1 / len(sets)) for s in sets]
    if isinstance(sampling, Independent):
        p = np.broadcast_to(np.asarray(sampling.p), n)
        sets = chain.from_iterable(combinations(range(n), k) for k in range(n + 1))
        inside = lambda s: np.isin(np.arange(n), s)
        return [(s, float(np.prod(np.where(inside(s), p, 1 - p)))) for s in sets]
    if isinstance(sampling, Distributed):
        size = n // sampling.nodes
        nodes = [range(k * size, (k + 1) * size) for k in range(sampling.nodes)]
        each = [list(combinations(node, sampling.tau)) for node in nodes]
        joined = [tuple(chain(*parts)) for parts in product(*each)]
        return [(s, 1 / len(joined)) for s in joined]
    groups = [[int(i) for i in line if i >= 0] for line in np.asarray(sampling.groups)]
    if isinstance(sampling, Bucket):
        picks = list(product(*groups))
        return [(s, 1 / len(picks)) for s in picks]
    q = np.full(len(groups), 1 / len(groups)) if sampling.q is None else np.asarray(sampling.q)
    return [(tuple(group), float(chance)) for group, chance in zip(groups, q)]


def every_sample(sampling, problem):
    """All samples of one step and the probability of each; sets are padded to 2^n of size n."""
    n = problem.n
    if sampling.serial:
        index = np.arange(n, dtype=np.int32)[:, None]
        return Sample(jnp.asarray(index)), sampling.constants(problem)[0]
    found = subsets(sampling, n)
    index, chances = np.full((2**n, n), n, np.int32), np.zeros(2**n)
    for k, (members, chance) in enumerate(found):
        index[k, : len(members)], chances[k] = members, chance
    return Sample(jnp.asarray(index), jnp.asarray(index < n)), jnp.asarray(chances)


def one_program(method):
    """The same method with the plainest sampling of its kind."""
    plain = Uniform() if method.sampling.serial else Nice(1)
    return dataclasses.replace(method, sampling=plain)
