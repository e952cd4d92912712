r"""Claim. With w = w(alpha) the gap is a sum over examples of terms that are not negative:

    P(w) - D(alpha) = sum_i c_i G_i,   G_i = max_y H_i(y; w) - sum_y a_i(y) H_i(y; w) >= 0
                    = max over feasible beta of <beta - alpha, grad D(alpha)>    (Frank-Wolfe's gap)
                    = P(w) - L + lam/2 ||w||^2,   L = sum_i c_i l(y_i, a_i)

so G_i <= eps for all i at one w gives P(w) <= P* + eps.
Lecture "Online solvers for convex risk minimization" (Franc), stopping condition.

Check. The package's certificate and its gaps against sums over all labels, multiclass and chains.
False variant: the slide's last line, where the sum covers the first term only and i is free in
the second; it fails for every choice of that i.
"""

import jax
import numpy as np

from jaxopt_svm import Point
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import chain, listed, mixture, multiclass, optimum

COUNT = 100


@jax.jit
def package(problem, labels, masses):
    def one(a):
        dual = labels._replace(masses=a)
        w = problem.w_of(dual)
        return problem.certificate(Point(w, dual)).gap, problem.gaps(w, dual), problem.lost(dual)

    return jax.vmap(one)(masses)


def case(problem, rng):
    facts = listed(problem)
    a, best = facts.masses(rng, COUNT), optimum(facts)
    a = np.concatenate([a, best + rng.random((COUNT, 1, 1)) ** 4 * (a - best)])
    gap, each, lost = package(problem, mixture(problem, facts, best), a)
    w = facts.w_of(a)
    s, P = facts.scores(w), facts.primal(w)
    inside = np.sum(a * s, -1)  # <a_i, H_i>, (count, n)
    alpha = facts.c[:, None] * a
    corner = facts.c * s.max(-1)
    excess = P - facts.dual(best)
    true = [
        equal(gap, P - facts.dual(a)),
        equal(gap, each @ facts.c),
        equal(each, facts.gaps(a)),
        np.asarray(each),
        equal(gap, corner.sum(-1) - np.sum(alpha * s, (-2, -1))),
        equal(gap, P - lost + facts.lam / 2 * np.sum(w**2, -1)),
        np.max(np.where(facts.c > 0, each, 0), -1) - excess,
    ]
    printed = corner.sum(-1, keepdims=True) - facts.c * inside  # a value for each i
    return smallest(*true), smallest(np.max(equal(printed, np.asarray(gap)[:, None]), -1))


def check() -> Result:
    rng = np.random.default_rng(33)
    found = [case(problem, rng) for problem in (multiclass(), chain())]
    return Result(smallest(*(t for t, _ in found)), max(f for _, f in found))


claim = Claim(
    name="structured_gap",
    text="P - D = sum_i c_i G_i = the Frank-Wolfe gap, all G_i >= 0",
    lecture="Online solvers: stopping condition",
    check=check,
)
