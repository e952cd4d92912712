r"""Claim. For any sampling with pair probabilities P, with J_j the examples that have feature j,

    v_i = sum_j lambda'(P_{J_j}) x_ij^2

is safe (ESO). For tau-nice it equals sum_j (1 + (omega_j - 1)(tau - 1)/(n - 1)) x_ij^2; for
independent sets with equal p_i, and for buckets of equal size when a feature is in all or none of
an example's group, the closed forms are equal to it too; a feature inside one bucket counts 1.
For uneven sets the closed forms are never below it; a partition's are never above it.
Lecture "Empirical Risk Minimization" (Richtarik), general ESO bounds; Qu & Richtarik,
arXiv:1412.8063.

Check. ``eso_constants`` on enumerated P, and on random distributions over all sets of examples.
False variant: lambda' by three steps of the power method, which comes out too small.
"""

import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Bucket, Distributed, Independent, Nice, Partition, eso_constants, eso_ratio
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.eso import N, pairs, problems, sets

RANDOM = 8


def random_pairs(rng):
    """P of a random distribution over random sets, every example in some of them."""
    member = np.r_[rng.random((12, N)) < 0.4, np.eye(N, dtype=bool)].astype(float)
    chances = rng.dirichlet(0.5 * np.ones(len(member)))
    return jnp.asarray(member.T @ (chances[:, None] * member))


def power_method(P, rng, steps: int = 3):
    """A Rayleigh quotient of P scaled to unit diagonal: below lambda'."""
    s = 1.0 / np.sqrt(np.diagonal(P))
    M, u = s[:, None] * np.asarray(P) * s[None, :], rng.normal(size=N)
    for _ in range(steps):
        u = M @ u
        u = u / np.linalg.norm(u)
    return float(u @ M @ u)


def closed_forms(problem):
    """Slacks of what is said about the samplings with formulas of their own."""
    for sampling in sets():
        if isinstance(sampling, Nice) and type(sampling.eso).__name__ != "SparseESO":
            continue
        v = sampling.constants(problem)[1]
        general = eso_constants(problem.rows, pairs(sampling, problem))
        same = isinstance(sampling, Nice) or (
            isinstance(sampling, Independent) and sampling.p.ndim == 0
        )
        if same:
            yield equal(v, general)
        elif isinstance(sampling, Partition):
            yield general - v + 1e-12 * general
        else:
            assert isinstance(sampling, Independent | Bucket | Distributed)
            yield v - general + 1e-12 * general


def check() -> Result:
    rng = np.random.default_rng(13)
    found, wrong = [], []
    for problem in problems():
        found += [jnp.min(slack) for slack in closed_forms(problem)]
        for _ in range(RANDOM):
            P = random_pairs(rng)
            found.append(1.0 - eso_ratio(problem.rows, P, eso_constants(problem.rows, P)))
    *_, shared = problems()
    # one feature in all examples of equal buckets; and features that stay inside one bucket
    halves = Bucket.of(np.arange(N).reshape(2, N // 2).tolist())
    v = halves.constants(shared)[1]
    found.append(jnp.min(equal(v, eso_constants(shared.rows, pairs(halves, shared)))))
    whole = Bucket.of([list(range(N))])
    found.append(jnp.min(equal(whole.constants(shared)[1], shared.rows.sqnorms)))
    for _ in range(RANDOM):
        P = random_pairs(rng)
        low = power_method(P, rng) * shared.rows.sqnorms
        wrong.append(float(1.0 - eso_ratio(shared.rows, P, low)))
    return Result(smallest(*found), max(wrong))


claim = Claim(
    name="eso_general",
    text="v_i = sum_j lambda'(P_Jj) x_ij^2 is safe for any P, and equals the omega form if nice",
    lecture="Empirical Risk Minimization: samplings and ESO",
    check=check,
)
