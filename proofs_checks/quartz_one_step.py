r"""Claim. One step of Quartz contracts the gap, from ANY w and any feasible alpha:

    E[P(w+) - D(alpha+)] <= (1 - theta) (P(w) - D(alpha)),
    theta = min_i p_i lam gamma / (c_i v_i + lam gamma),

for options I and II and every sampling with marginals p and ESO constants v.
Lecture "Empirical Risk Minimization" (Richtarik), Quartz; Qu, Richtarik & Zhang, NIPS 2015,
arXiv:1411.5873.

Check. The package's own step on every sample there is: the expectation is exact. Random w and
alpha, near and far from the optimum, smooth losses, l2 and elastic net, weighted examples, one and
three outputs. False variant: the contraction with 2 theta.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import (
    Bucket,
    Distributed,
    ElasticNet,
    Importance,
    Independent,
    Nice,
    Optimal,
    Partition,
    Point,
    Quartz,
    SmoothHinge,
    Softmax,
    Uniform,
)
from proofs_checks.claims import SMOOTH, Claim, Result, feasible, optimum, smallest, toy
from proofs_checks.eso import GROUPS, N
from proofs_checks.outcomes import every_sample, one_program

COUNT = 60


@jax.jit
def slacks(problem, method, theta, constants, samples, probabilities, ws, alphas):
    own = {"scalars": (theta,), "constants": constants}  # what the sampling makes of the state

    def gap_of(w, alpha):
        return problem.primal(w) - problem.dual(alpha)

    def one(w, alpha):
        state = method.init(problem, Point(w, alpha))._replace(**own)

        def after(sample):
            new = method.step(problem, state, sample)
            return gap_of(new.vectors[0], new.tables[0])

        now, mean = gap_of(w, alpha), probabilities @ jax.vmap(after)(samples)
        return (1 - theta) * now - mean, (1 - 2 * theta) * now - mean

    return [jnp.min(s) for s in jax.vmap(one)(ws, alphas)]


def points(problem, rng):
    """Random pairs, and pairs about the optimum where the bound is tightest."""
    best = optimum(problem)
    shape = (COUNT, *best.w.shape)
    far = 2.0 * rng.normal(size=shape)
    near = best.w[None] + 0.1 * rng.normal(size=shape)
    ws = np.concatenate([far, near, far])
    alphas = [feasible(problem, rng, COUNT), feasible(problem, rng, COUNT, best.dual)]
    return ws, np.concatenate([*alphas, np.broadcast_to(best.dual, alphas[0].shape)])


def check() -> Result:
    rng = np.random.default_rng(11)
    p = jnp.asarray(rng.dirichlet(5 * np.ones(N)))
    sets = (Independent.of(0.3), Bucket.of(GROUPS), Partition.of(GROUPS), Distributed(2, 2))
    samplings = (Uniform(), Optimal(), Importance(p), Nice(3), *sets)
    found = []
    for loss, regularizer, some in (
        (SmoothHinge(0.5), None, [(s, option) for s in samplings for option in (1, 2)]),
        (SMOOTH[2], ElasticNet(0.3), [(Uniform(), 2), (Nice(2), 1)]),
        (Softmax(), None, [(Uniform(), 1), (Nice(2), 2)]),
    ):
        problem = toy(loss, regularizer, n=N)
        ws, alphas = points(problem, rng)
        for sampling, option in some:
            method = Quartz(sampling, option=option, block=1)
            own = (method.theta(problem), sampling.constants(problem))
            given = (*own, *every_sample(sampling, problem), ws, alphas)
            found.append(slacks(problem, one_program(method), *given))
    return Result(smallest(*(t for t, _ in found)), smallest(*(f for _, f in found)))


claim = Claim(
    name="quartz_one_step",
    text="E[gap+] <= (1 - theta) gap from any state, both options, eight samplings",
    lecture="Empirical Risk Minimization: Quartz",
    check=check,
)
