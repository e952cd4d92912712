r"""Claim. Every update of steepest ascent, made when G_i > eps, raises D by at least

    min(eps^2 lam/(8 Dm^2), c_i eps/2)        (c_i = 1/m in the lecture's problem)

because the slope is g = c_i G_i, the curvature q = (c_i^2/lam) ||psi(u) - psi(a_i)||^2 is at most
4 c_i^2 Dm^2/lam, and the best point of the segment gains g^2/(2q) or, at its end, g/2 or more.
Lecture "Online solvers for convex risk minimization" (Franc), convergence guarantees (whose bound
leaves the second term out).

Check. The package's own visit of every example from random dual points, eps just below G_i, lam
from 1e-2 to 100; D by sums over all labels. Dm of ``limits`` is the largest length there is.
Two false variants, both have to fail: either term doubled, on labels with features v and -v.
"""

import numpy as np

from jaxopt_svm import BCFW
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import Y, every_visit, listed, mixture, opposite, table

COUNT = 60


def gains(problem, a):
    """(count, n): G_i before, what a visit of i adds to D, and the facts."""
    facts = listed(problem)
    labels = mixture(problem, facts, a).labels
    after = np.asarray(every_visit(problem, BCFW(block=1, capacity=Y), labels, a))
    return facts.gaps(a), facts.dual(after) - facts.dual(a)[:, None], facts


def lemma(facts, eps, first=8.0, second=2.0):
    return np.minimum(eps**2 * facts.lam / (first * facts.Dm**2), facts.c * eps / second)


def relative(left, right):
    return (left - right) / np.maximum(np.abs(right), 1e-9)


def random_case(lam, rng):
    problem = table(lam=lam)
    a = np.concatenate([listed(problem).masses(rng, COUNT - 1), listed(problem).start()[None]])
    G, gain, facts = gains(problem, a)
    u = np.eye(Y)[facts.scores(facts.w_of(a)).argmax(-1)]
    length = np.linalg.norm(np.einsum("kiy,iyd->kid", u - a, facts.Psi), axis=-1)
    limits = problem.limits()
    assert limits is not None
    return [
        gain - lemma(facts, G),
        2 * facts.Dm - length,
        equal(np.float64(limits.feature), facts.Dm),
        equal(np.float64(limits.loss), facts.losses.max()),
    ]


def check() -> Result:
    rng = np.random.default_rng(36)
    true = [s for lam in (0.01, 0.1, 1.0, 10.0, 100.0) for s in random_case(lam, rng)]
    false = []
    # inside the segment the first term is attained; at its end, with q = g/2, 3g/4 is gained
    for share, doubled in ((1.5, (4.0, 2.0)), (0.5, (8.0, 1.0))):
        problem, a = opposite(share)
        a = np.broadcast_to(a, (COUNT, *a.shape))
        G, gain, facts = gains(problem, a)
        true.append(relative(gain, lemma(facts, G))[:, 0])
        false.append(smallest(relative(gain, lemma(facts, G, *doubled))[:, 0]))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="bcfw_gain",
    text="steepest ascent: G_i > eps gains min(eps^2 lam/(8 Dm^2), c_i eps/2) or more",
    lecture="Online solvers: convergence guarantees",
    check=check,
)
