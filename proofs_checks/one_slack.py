r"""Claim. The one-slack problem is the n-slack problem: for every w

    sum_i c_i hinge_i(w) = max over chi in {0,1}^n of sum_i c_i chi_i (1 - y_i <x_i, w>),

reached by chi_i = [y_i <x_i, w> < 1]; so min lam/2 ||w||^2 + xi over all 2^n cuts is P*.
Lecture "Optimization Methods for SVMs" (Scheinberg), cutting plane methods; Joachims 2006.

Check. All 2^8 cuts for random w; and SVM-perf ends at the optimum of the hinge.
False variant: chi_i = [y_i <x_i, w> < 0], the mistakes only.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Hinge, SVMPerf
from proofs_checks.claims import Claim, Result, equal, optimum, smallest, toy

N, COUNT = 8, 100
CUTS = 60


@jax.jit
def slacks(problem, ws, cuts):
    def one(w):
        z = problem.y * problem.rows.matvec(w)
        value = lambda chi: jnp.sum(problem.c * chi * (1.0 - z))
        hinge, most = jnp.sum(problem.c * jnp.maximum(0.0, 1.0 - z)), jnp.max(jax.vmap(value)(cuts))
        oracle, mistakes = value((z < 1.0).astype(z.dtype)), value((z < 0.0).astype(z.dtype))
        return jnp.minimum(equal(hinge, most), equal(oracle, most)), equal(mistakes, most)

    true, false = jax.vmap(one)(ws)
    return jnp.min(true), jnp.min(false)


@jax.jit
def by_cuts(problem):
    method = SVMPerf(capacity=64, accuracy=1e-3)
    state = jax.lax.fori_loop(
        0, CUTS, lambda _, s: method.step(problem, s, 0), method.init(problem)
    )
    return problem.primal(method.point(problem, state).w)


def check() -> Result:
    rng = np.random.default_rng(0)
    problem = toy(Hinge(), n=N)
    cuts = jnp.asarray(list(itertools.product((0.0, 1.0), repeat=N)))
    true, false = slacks(problem, jnp.asarray(2.0 * rng.normal(size=(COUNT, problem.d))), cuts)
    end = equal(by_cuts(problem), problem.primal(optimum(problem).w))
    return Result(smallest(true, end), float(false))


claim = Claim(
    name="one_slack",
    text="the hinge is the largest of 2^n cuts, and SVM-perf finds its minimum",
    lecture="Optimization Methods for SVMs: cutting plane methods",
    check=check,
    tolerance=1e-8,
)
