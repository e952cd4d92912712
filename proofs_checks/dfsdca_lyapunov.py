r"""Claim. For convex phi_i, any sampling with constants (p, v), and from ANY alpha, with

    E_t = (lam/2)||w - w*||^2 + (gamma/2) sum_i c_i ||alpha_i - alpha_i*||^2,   w = abar(alpha)

a step of dfSDCA gives E[E_{t+1}] <= (1 - theta) E_t with theta = min_i p_i lam gamma/(c_i v_i +
lam gamma), and P(w) - P* <= (L_P/lam) E, L_P = lam + lambda_max(sum_i c_i x_i x_i')/gamma. The
lecture leaves the constant C open; this makes it explicit. The slide's "same guarantee as Quartz"
is the same factor for P - P*, with another constant, not for the gap.
Lecture "Empirical Risk Minimization" (Richtarik), dfSDCA; Csiba & Richtarik, arXiv:1506.02227.

Check. The package's own step on every sample there is; alpha far from feasible too; weighted, one
and three outputs. False variant: twice the contraction.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import (
    Bucket,
    DfSDCA,
    Distributed,
    Importance,
    Independent,
    Logistic,
    Nice,
    Optimal,
    Partition,
    Point,
    SmoothHinge,
    Softmax,
    Uniform,
)
from proofs_checks.claims import Claim, Result, optimum, smallest, spread, toy
from proofs_checks.eso import GROUPS, N
from proofs_checks.outcomes import every_sample, one_program

COUNT = 150


@jax.jit
def slacks(problem, method, constants, theta, samples, chances, best, alphas):
    gamma = problem.loss.gamma
    trace = jnp.sum(problem.c * problem.rows.sqnorms) / gamma  # >= lambda_max
    optimal = problem.primal(best.w)

    def potential(w, alpha):
        apart = jnp.sum(problem.weighted((alpha - best.dual) ** 2))
        return 0.5 * problem.lam * jnp.sum((w - best.w) ** 2) + 0.5 * gamma * apart

    def one(alpha):
        w = problem.abar(alpha)
        state = method.init(problem, Point(w, alpha))._replace(constants=constants)

        def after(sample):
            new = method.step(problem, state, sample)
            return potential(new.vectors[0], new.tables[0])

        now, mean = potential(w, alpha), chances @ jax.vmap(after)(samples)
        front = 1.0 + trace / problem.lam
        above = front * now - (problem.primal(w) - optimal)
        return (1 - theta) * now - mean, (1 - 2 * theta) * now - mean, above

    return [jnp.min(s) for s in jax.vmap(one)(alphas)]


def check() -> Result:
    rng = np.random.default_rng(7)
    p = jnp.asarray(rng.dirichlet(5 * np.ones(N)))
    serial = (Uniform(), Optimal(), Importance(p))
    sets = (Nice(3), Independent.of(0.3), Bucket.of(GROUPS), Partition.of(GROUPS))
    found = []
    for loss, some in (
        (SmoothHinge(0.5), (*serial, *sets, Distributed(2, 2))),
        (Logistic(), (Optimal(), Nice(3))),
        (Softmax(), (Nice(3),)),
    ):
        problem = toy(loss, n=N)
        best = optimum(problem)
        sizes = spread(rng, -2.0, 0.7, COUNT, *(1,) * problem.y.ndim)
        alphas = best.dual[None] + sizes * rng.normal(size=(COUNT, *problem.y.shape))
        for sampling in some:
            method = DfSDCA(sampling, block=1)
            constants = method.rule.shares(problem, *sampling.constants(problem))
            theta = method.rule.theta(problem, *sampling.constants(problem))
            given = (constants, theta, *every_sample(sampling, problem), best, alphas)
            found.append(slacks(problem, one_program(method), *given))
    holds = [s for right, _, above in found for s in (right, above)]
    return Result(smallest(*holds), smallest(*(f for _, f, _ in found)))


claim = Claim(
    name="dfsdca_lyapunov",
    text="E[E+] <= (1 - theta) E from any alpha, eight samplings, with the constant C explicit",
    lecture="Empirical Risk Minimization: dfSDCA",
    check=check,
)
