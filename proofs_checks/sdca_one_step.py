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

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SDCA, EigenESO, ElasticNet, Importance, Nice, Optimal, Point, Uniform
from proofs_checks.claims import (
    SMOOTH,
    Claim,
    Result,
    clipped,
    feasible,
    optimum,
    smallest,
    spread,
    toy,
)
from proofs_checks.outcomes import every_sample, one_program

COUNT = 150


@jax.jit
def slacks(problem, method, v, thetas, samples, probabilities, alphas):
    right, wrong = thetas

    def one(alpha):
        state = method.init(problem, Point(problem.w_of(alpha), alpha))._replace(constants=v)
        after = lambda sample: method.step(problem, state, sample).tables[0]
        gain = probabilities @ jax.vmap(lambda s: problem.dual(after(s)))(samples)
        gain = gain - problem.dual(alpha)
        gap = problem.primal(problem.w_of(alpha)) - problem.dual(alpha)
        return gain - right * gap, gain - wrong * gap

    return [jnp.min(s) for s in jax.vmap(one)(alphas)]


def both(problem, sampling, alphas):
    """The slacks of the claim and of its false variant, for one sampling."""
    method = SDCA(sampling, block=1)
    even = dataclasses.replace(problem, c=jnp.full_like(problem.c, 1.0 / problem.n))
    v = () if sampling.serial else sampling.constants(problem)[1]
    thetas = (method.theta(problem), method.theta(even))
    samples = every_sample(sampling, problem)
    return slacks(problem, one_program(method), v, thetas, *samples, alphas)


def points(problem, rng):
    best = optimum(problem).dual
    single = spread(rng, -2.0, 0.5, COUNT, 1) * np.eye(problem.n)[:1] * rng.normal(size=(COUNT, 1))
    single = clipped(problem, best[None, :] + single)
    return np.concatenate(
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
            found.append(both(problem, sampling, alphas))
    problem = toy(SMOOTH[0], ElasticNet(0.3))
    elastic = both(problem, Nice(2), feasible(problem, rng, 3 * COUNT))
    wrong = max(float(f) for _, f in found[: len(samplings)])
    return Result(smallest(elastic[0], *(t for t, _ in found)), wrong)


claim = Claim(
    name="sdca_one_step",
    text="E[D+ - D] >= theta (P - D), exactly, for five samplings",
    lecture="Empirical Risk Minimization: SDCA",
    check=check,
)
