r"""Claim. The constants (p, v) of a sampling S satisfy, with P_ij = Prob(i in S and j in S),

    E||sum_{i in S} h_i x_i||^2 <= sum_i p_i v_i h_i^2  for all h,   that is
    lambda_max(D^{-1/2} (P o X X') D^{-1/2}) <= 1,     D = Diag(p v).

Lecture "Empirical Risk Minimization" (Richtarik), expected separable overapproximation;
Qu & Richtarik, arXiv:1412.8063.

Check. Every sampling of the package, P over all its outcomes (and equal to the sampling's own
``pair_probabilities``); one eigenvalue then covers all h. Data with every awkward case, dense
data, and one feature shared by all, where only P counts and the constants are tight.
False variants, each of which has to fail: v = L with 4 dense examples at once; the eigenvalue
constants with (tau - 1)/n for (tau - 1)/(n - 1); independent sets with the smallest p_i for the
mean; distributed sets without what happens across nodes; blocks of a partition with
(size - 1) for size.
"""

import jax.numpy as jnp
import numpy as np

from jaxopt_svm import (
    Bucket,
    Distributed,
    EigenESO,
    Importance,
    Independent,
    Nice,
    Optimal,
    Partition,
    SmoothHinge,
    SparseESO,
    SpectralESO,
    Uniform,
    eso_ratio,
    make_erm,
)
from proofs_checks.claims import Claim, Result, equal, smallest, toy
from proofs_checks.outcomes import subsets

N = 8
GROUPS = ([5, 0, 3], [1], [7, 2, 6, 4])
RULES = (SparseESO(), EigenESO(), SpectralESO())


def sets() -> list:
    """Samplings of several examples out of N."""
    rng = np.random.default_rng(11)
    return [
        *(Nice(tau, rule) for tau in (3, N) for rule in RULES),
        Nice(1),
        Independent.of(0.3),
        Independent.of(rng.uniform(0.05, 1.0, N)),
        Independent.of(np.r_[1.0, np.full(N - 1, 0.1)]),
        Bucket.of(GROUPS),
        Bucket.of(np.arange(N).reshape(4, 2).tolist()),
        Partition.of(GROUPS),
        Partition.of(GROUPS, [0.2, 0.7, 0.1]),
        Distributed(2, 1),
        Distributed(2, 3),
        Distributed(4, 2),
    ]


def pairs(sampling, problem):
    """P, from the definition."""
    if sampling.serial:
        return jnp.diag(sampling.constants(problem)[0])
    members, chances = zip(*subsets(sampling, N))
    member = np.array([np.isin(np.arange(N), s) for s in members], float)
    return jnp.asarray(member.T @ (np.array(chances)[:, None] * member))


def problems() -> list:
    rng = np.random.default_rng(12)
    y = np.where(np.arange(N) % 2 == 0, 1.0, -1.0)
    # four features nobody has keep the shape, and with it the compiled operations
    shared = np.where(rng.random((N, 1)) < 0.5, -2.0, 2.0) * np.eye(1, 5)
    given = [rng.normal(size=(N, 5)), shared]
    loss = SmoothHinge(0.5)
    return [toy(loss, n=N), *(make_erm(X, y, loss=loss) for X in given)]


def wrong_constants(problem) -> list[tuple]:
    """(sampling, v) of the false variants."""
    rows = problem.rows
    L, omega = rows.sqnorms, rows.column_counts().astype(rows.sqnorms.dtype)
    eigen, uneven = Nice(4, EigenESO()), Independent.of(np.linspace(0.1, 0.6, N))
    nodes, blocks = Distributed(4, 1), Partition.of(GROUPS)
    return [
        (Nice(4), L),
        (eigen, L + (eigen.constants(problem)[1] - L) * ((N - 1) / N)),
        (uneven, rows.weighted_sqnorms(1.0 + (omega - 1.0) * 0.1)),
        (nodes, L),  # tau = 1: only the term across nodes is more than one
        (blocks, jnp.maximum(blocks.constants(problem)[1] - L, L)),
    ]


def check() -> Result:
    p = jnp.asarray(np.random.default_rng(10).dirichlet(5 * np.ones(N)))
    found = []
    for problem in problems():
        for sampling in (Uniform(), Optimal(), Importance(p), *sets()):
            sampling.check(problem)
            (p_of, v), P = sampling.constants(problem), pairs(sampling, problem)
            found.append(1.0 - eso_ratio(problem.rows, P, v))
            found.append(jnp.min(equal(sampling.pair_probabilities(problem), P)))
            found.append(jnp.min(equal(p_of, jnp.diagonal(P))))
    shared = problems()[-1]
    wrong = [
        float(1.0 - eso_ratio(shared.rows, pairs(sampling, shared), v))
        for sampling, v in wrong_constants(shared)
    ]
    return Result(smallest(*found), max(wrong))


claim = Claim(
    name="eso",
    text="E||sum_S h_i x_i||^2 <= sum p_i v_i h_i^2, P enumerated, for every sampling",
    lecture="Empirical Risk Minimization: samplings and ESO",
    check=check,
)
