r"""Claim. For every w and feasible alpha of a structured problem, with P* = P(w*) = D(alpha*),

    P(w) >= D(alpha),   w* = w(alpha*)
    P(w) - P* >= (lam/2) ||w - w*||^2,   D* - D(alpha) >= (lam/2) ||w(alpha) - w*||^2

Lecture "Online solvers for convex risk minimization" (Franc), dual problem.

Check. Multiclass and chains, weighted; the package's P and D against sums over all labels, random
w and alpha far from the optimum and near it, alpha* from a tight solve by pairs of labels.
Two false variants, both have to fail. The slide's dual, argmin over R^d: no feasible alpha has a
lower value than alpha*; and over all of R^d D stays above its values on the feasible set.
"""

import jax
import numpy as np

from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import Listed, chain, listed, mixture, multiclass, optimum

COUNT = 200


@jax.jit
def values(problem, ws, duals):
    return jax.vmap(problem.primal)(ws), jax.vmap(problem.dual)(duals)


def case(problem, rng):
    facts: Listed = listed(problem)
    best = optimum(facts)
    w = facts.w_of(best)
    sizes = 10.0 ** rng.uniform(-2, 1, (COUNT, 1))
    ws = w + sizes * rng.normal(size=(COUNT, len(w)))
    a = facts.masses(rng, COUNT)
    near = rng.random((COUNT, 1, 1)) ** 4
    a = np.concatenate([a, best + near * (a - best)])
    labels = mixture(problem, facts, a[0]).labels
    many = np.broadcast_to(labels, (len(a), *labels.shape))
    primal, dual = values(problem, ws, mixture(problem, facts, a)._replace(labels=many))
    top, bottom = facts.primal(w), facts.dual(best)
    distance = lambda other: facts.lam / 2 * np.sum((other - w) ** 2, -1)
    true = [
        equal(primal, facts.primal(ws)),
        equal(dual, facts.dual(a)),
        np.min(primal) - np.max(dual),
        1e-10 - (top - bottom),
        primal - top - distance(ws),
        bottom - dual - distance(facts.w_of(a)),
    ]
    beyond = best.copy()
    beyond[0] += 1e4 * (np.arange(best.shape[1]) == 1)
    return smallest(*true), max(np.min(dual) - bottom, facts.dual(beyond) - np.min(dual))


def check() -> Result:
    rng = np.random.default_rng(31)
    found = [case(problem, rng) for problem in (multiclass(), chain())]
    return Result(smallest(*(t for t, _ in found)), max(float(f) for _, f in found))


claim = Claim(
    name="structured_duality",
    text="structured hinge: P >= D, equal at the optimum; distances bounded by P - P*, D* - D",
    lecture="Online solvers: dual problem",
    check=check,
)
