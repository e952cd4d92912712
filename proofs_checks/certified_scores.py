r"""Claim. A certificate bounds the scores of the exact optimum: with r = sqrt(2 gap/lam),

    |<x, w> - <x, w*>| <= r ||x||      for every x,

and every optimal free intercept lies in the interval of ``problems/nearby.py``. P - lam/2 ||w||^2
is convex, so P(w) - P* >= lam/2 ||w - w*||^2; the bound is tight where the losses are linear.
Lecture "Empirical Risk Minimization", duality gap; proof in jaxopt_svm/problems/nearby.py.

Check. Hinge above lam_max, where w* and, for signs of equal weight, the whole interval of optimal b
are known in closed form; points at all distances, x along w - w* and at random.
False variant: r = sqrt(gap/lam).
"""

import numpy as np

import jaxopt_svm as js
from jaxopt_svm.problems.nearby import intercept_range
from proofs_checks.claims import Claim, Result, smallest


def problem_of(intercept: str):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.where(np.arange(12) % 3 > 0, 1.0, -1.0)
    weights = np.where(y > 0, np.sum(y < 0), np.sum(y > 0))  # signs of equal weight
    problem = js.make_erm(X, y, weights=weights, intercept=intercept)
    return problem.with_lam(1.5 * js.lam_max(problem)), rng


def check() -> Result:
    true, false = [], []
    problem, rng = problem_of("none")
    best = js.closed_form(problem)
    for size in (1e-6, 1e-3, 1e-1):
        move = size * rng.normal(size=3)
        got = problem.certificate(js.Point(best.w + move, best.dual))
        r = float(np.sqrt(2 * (max(got.gap, 0.0) + got.floor) / problem.lam))
        for x in (move / np.linalg.norm(move), *rng.normal(size=(5, 3))):
            reach, off = np.linalg.norm(x), abs(x @ move)
            true.append((r * reach - off) / size)
            false.append((r / np.sqrt(2.0) * reach - off) / size)
    problem, rng = problem_of("free")
    best = js.closed_form(problem)
    z, y = np.asarray(problem.rows.X[:, :-1] @ best.w[:-1]), np.asarray(problem.y)
    low, high = -1 - z[y < 0].min(), 1 - z[y > 0].max()  # no margin passes 1
    for move in (np.zeros(4), 1e-3 * rng.normal(size=4)):
        point = js.Point(best.w + move, best.dual)
        left, right = intercept_range(problem, point.w, problem.certificate(point))
        true += [low - left, right - high]
    return Result(smallest(*true), smallest(*false))


claim = Claim(
    name="certified_scores",
    text="|<x, w> - <x, w*>| <= sqrt(2 gap/lam) ||x||, and an interval holds every optimal b",
    lecture="Empirical Risk Minimization: the duality gap",
    check=check,
    tolerance=1e-6,
)
