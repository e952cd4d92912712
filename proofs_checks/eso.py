r"""Claim. The constants (p, v) of a sampling S satisfy, with P_ij = Prob(i in S and j in S),

    E||sum_{i in S} h_i x_i||^2 <= sum_i p_i v_i h_i^2  for all h,   that is
    lambda_max(D^{-1/2} (P o X X') D^{-1/2}) <= 1,     D = Diag(p v),

and ``draw`` has the marginals p and, for tau distinct examples, the pairs P it promises.
Lecture "Empirical Risk Minimization" (Richtarik), expected separable overapproximation;
Qu & Richtarik, arXiv:1412.8063.

Check. P over all outcomes; one eigenvalue then covers all h. Frequencies of many draws against
p and P, six standard deviations allowed. Two false variants, both of which have to fail:
v = L with 4 dense examples at once, and the eigenvalue constants with (tau - 1)/n for
(tau - 1)/(n - 1).
"""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Importance, Nice, Optimal, SmoothHinge, Uniform
from proofs_checks.claims import Claim, Result, smallest, toy

KEYS = 4000
PROBLEMS = 4


def pairs(sampling, problem):
    """P, from the definition."""
    n = problem.n
    if sampling.serial:
        return jnp.diag(sampling.constants(problem)[0])
    subsets = np.array(list(combinations(range(n), sampling.tau)))
    member = (subsets[:, :, None] == np.arange(n)).any(1).astype(float)
    return jnp.asarray(member.T @ member / len(subsets))


@jax.jit
def eigenvalue(p, v, P, X):
    """lambda_max of the scaled form; an all-zero row has v_i = 0 and adds nothing."""
    scale = jnp.where(p * v > 0, 1.0 / jnp.sqrt(jnp.maximum(p * v, 1e-30)), 0.0)
    return jnp.linalg.eigvalsh(scale[:, None] * (P * (X @ X.T)) * scale[None, :])[-1]


def draw_slack(sampling, problem):
    """Six standard deviations, minus the largest difference of frequency and promise."""
    n = problem.n
    P = np.asarray(pairs(sampling, problem))
    keys = jax.random.split(jax.random.key(9), KEYS)
    index, mask = jax.jit(jax.vmap(lambda key: sampling.draw(problem, key, 1)))(keys)
    index = np.asarray(index).reshape(-1, index.shape[-1])  # one row a step; size 1 needs no mask
    assert mask is None
    member = (index[:, :, None] == np.arange(n)).any(1).astype(float)
    error = np.abs(member.T @ member / len(member) - P)
    return np.min(6 * np.sqrt(P * (1 - P) / len(member)) + 1e-12 - error)


def check() -> Result:
    p = jnp.asarray(np.random.default_rng(10).dirichlet(5 * np.ones(8)))
    nice = [Nice(tau, eigen) for tau in (1, 2, 4, 8) for eigen in (False, True)]
    samplings = [Uniform(), Optimal(), Importance(p), *nice]
    slacks, naive, shifted = [], [], []
    for seed in range(PROBLEMS):
        problem = toy(SmoothHinge(0.5), n=8, seed=seed)
        X, L = problem.rows.X, problem.rows.sqnorms
        for sampling in samplings:
            p, v = sampling.constants(problem)
            slacks.append(1.0 - eigenvalue(p, v, pairs(sampling, problem), X))
        four = Nice(4, eigen=True)
        (p, v), P = four.constants(problem), pairs(four, problem)
        naive.append(1.0 - eigenvalue(p, L, P, X))
        # 1 + (s - 1)(tau - 1)/n instead of /(n - 1)
        off = L + (v - L) * ((problem.n - 1) / problem.n)
        shifted.append(1.0 - eigenvalue(p, off, P, X))
    problem = toy(SmoothHinge(0.5), n=8)
    drawn = [draw_slack(s, problem) for s in (Uniform(), Optimal(), Nice(3))]
    return Result(smallest(*slacks, *drawn), max(smallest(*naive), smallest(*shifted)))


claim = Claim(
    name="eso",
    text="E||sum_S h_i x_i||^2 <= sum p_i v_i h_i^2; draws have the promised p and P",
    lecture="Empirical Risk Minimization: samplings and ESO",
    check=check,
)
