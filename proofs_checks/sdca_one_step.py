r"""Claim. For phi (1/gamma)-smooth one step of SDCA closes, on average, a share of the gap:

    E[D(alpha+)] - D(alpha) >= theta (P(w(alpha)) - D(alpha)),
    theta = min_i p_i lam gamma / (c_i v_i + lam gamma),

from every feasible alpha, for any sampling with marginals p and ESO constants v. Since
P - D >= D* - D the linear rate (1 - theta)^t follows by induction.
Lecture "Empirical Risk Minimization" (Richtarik), SDCA and samplings; Shalev-Shwartz & Zhang,
JMLR 14 (2013), arXiv:1209.1873; Qu, Richtarik & Zhang, NIPS 2015, arXiv:1411.5873.

Check. The package's own step on every sample there is, so the expectation is exact: serial
samplings over n outcomes, tau-nice over all subsets; alpha random, near alpha* and alpha* with
only one coordinate moved, where the bound is tight for a row that shares no feature.
False variant: theta of the unweighted problem, 1/n in place of c_i, which some alpha refutes for
each of five samplings.
"""

import dataclasses
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SDCA, EigenESO, ElasticNet, Importance, Nice, Optimal, Point, Uniform
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import SMOOTH, Claim, Result, feasible, optimum, smallest, spread, toy

COUNT = 150


def outcomes(method, problem):
    """Every sample of one step, (outcomes, size), and the probability of each."""
    p, n = method.sampling.constants(problem)[0], problem.n
    if method.sampling.serial:
        return jnp.arange(n, dtype=jnp.int32)[:, None], p
    subsets = np.array(list(combinations(range(n), method.sampling.tau)), np.int32)
    return jnp.asarray(subsets), jnp.full(len(subsets), 1.0 / len(subsets))


@jax.jit
def slacks(problem, method, alphas):
    samples, probabilities = outcomes(method, problem)
    even = dataclasses.replace(problem, c=jnp.full_like(problem.c, 1.0 / problem.n))

    def one(alpha):
        state = method.init(problem, Point(problem.w_of(alpha), alpha))
        after = lambda index: method.point(problem, method.step(problem, state, Sample(index))).dual
        gain = probabilities @ jax.vmap(lambda i: problem.dual(after(i)))(samples)
        gain = gain - problem.dual(alpha)
        gap = problem.primal(problem.w_of(alpha)) - problem.dual(alpha)
        return gain - method.theta(problem) * gap, gain - method.theta(even) * gap

    return [jnp.min(s) for s in jax.vmap(one)(alphas)]


def points(problem, rng):
    best = optimum(problem).dual
    single = spread(rng, -2.0, 0.5, COUNT, 1) * jnp.eye(problem.n)[:1] * rng.normal(size=(COUNT, 1))
    single = jax.vmap(problem.loss.clip, (0, None))(best[None, :] + single, problem.y)
    return jnp.concatenate(
        [feasible(problem, rng, COUNT), feasible(problem, rng, COUNT, best), single]
    )


def check() -> Result:
    rng = np.random.default_rng(8)
    p = jnp.asarray(rng.dirichlet(5 * np.ones(6)))
    samplings = (Uniform(), Optimal(), Importance(p), Nice(3), Nice(4, EigenESO()))
    found = []
    for loss in SMOOTH:
        problem = toy(loss)
        alphas = points(problem, rng)
        for sampling in samplings if loss is SMOOTH[0] else (Uniform(),):
            found.append(slacks(problem, SDCA(sampling, block=1), alphas))
    problem = toy(SMOOTH[0], ElasticNet(0.3))
    elastic = slacks(problem, SDCA(Nice(2), block=1), feasible(problem, rng, 3 * COUNT))
    wrong = max(float(f) for _, f in found[: len(samplings)])
    return Result(smallest(elastic[0], *(t for t, _ in found)), wrong)


claim = Claim(
    name="sdca_one_step",
    text="E[D+ - D] >= theta (P - D), exactly, for five samplings",
    lecture="Empirical Risk Minimization: SDCA",
    check=check,
)
