r"""Claim. Four numbers say what a point found at one lam is worth at any other (l2):

    P_lam(w)        = lam g(w) + losses
    D_lam(t alpha) >= t conjugates - t^2 ||u||^2 / (2 lam),  0 <= t <= 1,   = for the hinge

And where the path lam -> (w, alpha) is smooth, the best points of the segment between two of its
points, a factor r^2 apart in lam, have at the middle a gap that falls with (log r)^4: a segment
misses a smooth path by its bend, (log r)^2, and P and D are flat where they are best.

Used by core/rounds.py, which solves a grid of lam from far apart to near.

Check. The first two for every loss at random points, lam 1e-3 to 10, against P and D themselves.
The power for ridge regression, whose path is known in closed form: the gap for r and for sqrt(r),
r = 1.5 and 2, beside a factor of 16, within 15 %. False variants: a factor of 8, the bend alone
entering once; equality without the square of t.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Certificate, Hinge, Point, Squared, make_erm
from proofs_checks.claims import LOSSES, Claim, Result, equal, feasible, smallest, toy

LAMS, TIMES = (1e-3, 0.05, 10.0), np.array([0.0, 0.2, 0.7, 1.0])


@jax.jit
def worth(problem, w, alpha, lam, t):
    """(P - lam g - losses, D(t alpha) - its bound, the same without the square of t)."""
    found = Certificate(problem.primal(w), problem.dual(alpha), jnp.zeros(()), jnp.zeros(()))
    terms, other = problem.terms(Point(w, alpha), found), problem.with_lam(lam)
    exact = equal(other.primal(w), lam * terms.penalty + terms.losses)
    dual, pull = other.dual(t * alpha), terms.half / lam
    scale = 1.0 + jnp.abs(dual) + pull
    bound = (dual - t * terms.conjugates + t * t * pull) / scale
    linear = (dual - t * terms.conjugates + t * pull) / scale
    return exact, bound, linear


def worths(loss, rng):
    problem = toy(loss, lam=0.1)
    alphas = feasible(problem, rng, 20)
    ws = rng.normal(size=(20, problem.d))
    over = jax.vmap(jax.vmap(worth, (None, 0, 0, None, None)), (None, None, None, None, 0))
    return [over(problem, ws, alphas, lam, TIMES) for lam in LAMS]


def ridge():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 4)) * np.array([1.0, 0.6, 0.3, 0.1])
    return make_erm(X, X @ rng.normal(size=4) + 0.5 * rng.normal(size=30), loss=Squared(), lam=0.1)


def solved(problem, lam) -> Point:
    """w = (X' C X + lam I)^-1 X' C y, alpha = y - X w."""
    X, y, c = (np.asarray(x) for x in (problem.rows.X, problem.y, problem.c))
    w = np.linalg.solve(X.T @ (c[:, None] * X) + lam * np.eye(X.shape[1]), X.T @ (c * y))
    return Point(w, y - X @ w)


def power(problem, r: float) -> float:
    """log2 of the gap at the middle for r over that for sqrt(r)."""

    def gap(r):
        ends = (solved(problem, float(problem.lam) * f) for f in (1 / r, r))
        return float(problem.certificate(problem.between(*ends)).gap)

    return float(np.log2(gap(r) / gap(np.sqrt(r))))


def check() -> Result:
    rng = np.random.default_rng(7)
    found = {type(loss): worths(loss, rng) for loss in LOSSES}
    true = [part for facts in found.values() for row in facts for part in row[:2]]
    true += [-np.abs(bound) for _, bound, _ in found[Hinge]]
    linear = smallest(*(-np.abs(row) for *_, row in found[Hinge]))
    problem = ridge()
    powers = np.array([power(problem, r) for r in (1.5, 2.0)])
    within = lambda wanted: smallest(np.log2(1.15) - np.abs(powers - wanted))
    return Result(smallest(*true, within(4.0)), max(linear, within(3.0)))


claim = Claim(
    name="between_lanes",
    text="P and D of a point at any lam; the gap half-way between two lam falls with (log r)^4",
    lecture="Optimization Methods for SVMs: regularisation paths (an addition)",
    check=check,
)
