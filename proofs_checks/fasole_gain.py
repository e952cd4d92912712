r"""Claim. An update of FASOLE, made when G_i > eps, with k labels of mass other than u, raises D by

    min(lam eps^2/(32 Dm^2), c_i eps/(4k))

or more, so it makes at most max{32 l_max Dm^2/(lam eps^2), 4 k l_max/(min c_i eps)} updates.
Proof: the labels with Delta_v >= eps/2 carry sum a_v Delta_v >= eps/2; one of them eps/(2k) of it.
Lecture "Online solvers for convex risk minimization" (Franc), convergence guarantees.

Check. The package's own visits from random dual points, eps just below G_i, lam from 1e-2 to 100,
and from a point whose mass is spread evenly over k labels.
False variant: the lecture's, that the bound of steepest ascent, min(lam eps^2/(8 Dm^2), c_i eps/2)
an update, holds for this rule too; the even spread has c_i eps/k only.
"""

import numpy as np

from jaxopt_svm import FASOLE
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.structured_toys import Y, every_visit, listed, mixture, table, written

COUNT = 60


def gains(problem, a):
    """(count, n): G_i before, k, what a visit of i adds to D, and the facts."""
    facts = listed(problem)
    labels = mixture(problem, facts, a).labels
    after = np.asarray(every_visit(problem, FASOLE(block=1, capacity=Y), labels, a))
    top = np.eye(Y, dtype=bool)[facts.scores(facts.w_of(a)).argmax(-1)]
    k = np.sum((a > 0) & ~top, -1)
    return facts.gaps(a), np.maximum(k, 1), facts.dual(after) - facts.dual(a)[:, None], facts


def spread_evenly(n: int = 6):
    """Labels 0..Y-2 of example 0 have equal mass and nearly equal scores, label Y-1 a high one."""
    rng = np.random.default_rng(5)
    Psi = 1e-2 * rng.normal(size=(n, Y, 3))
    losses = np.full((n, Y), 1e-3)
    Psi[:, 0], losses[:, 0], losses[:, -1] = 0.0, 0.0, 1.0
    weights = rng.uniform(0.6, 1.4, n)
    masses = np.eye(Y)[np.zeros(n, int)]
    masses[0] = np.where(np.arange(Y) < Y - 1, 1 / (Y - 1), 0)
    return written(Psi, losses, weights, 10.0), np.broadcast_to(masses, (COUNT, n, Y))


def slacks(problem, a):
    """Of the claim, and of the lecture's lemma."""
    G, k, gain, facts = gains(problem, a)
    first, second = facts.lam * G**2 / facts.Dm**2, facts.c * G
    return gain - np.minimum(first / 32, second / (4 * k)), gain - np.minimum(first / 8, second / 2)


def check() -> Result:
    rng = np.random.default_rng(38)
    problems = [table(lam=lam) for lam in (0.01, 0.1, 1.0, 10.0, 100.0)]
    found = [slacks(p, listed(p).masses(rng, COUNT)) for p in problems]
    even, lecture = slacks(*spread_evenly())
    return Result(smallest(even, *(t for t, _ in found)), smallest(lecture[:, 0]))


claim = Claim(
    name="fasole_gain",
    text="near maximal gain: min(lam eps^2/(32 Dm^2), c_i eps/(4k)) an update; the slide's fails",
    lecture="Online solvers: convergence guarantees",
    check=check,
)
