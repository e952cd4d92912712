r"""Claim. On the segment from alpha to beta, with g = <beta - alpha, b - A'A alpha> and
q = ||A (beta - alpha)||^2,

    D((1 - t) alpha + t beta) = D(alpha) + t g - t^2 q/2,   slope g - t q
    t* = 1 if q <= g, else g/q        (0 if g <= 0; nothing is divided where q = 0)
    D(t*) - D(0) = g - q/2 >= g/2 at t* = 1,   g^2/(2q) inside

Lecture "Online solvers for convex risk minimization" (Franc), reduced problem, improvement of D.

Check. ``segment`` and ``gain`` of the package on random segments and on those that move one
example to its best label, lam from 1e-2 to 10; examples without features and of weight 0 give
g > 0 = q and g = q = 0. The best of 101 points never beats t*.
Three false variants, all have to fail: the slide's t = argmax D((1 - t) alpha + beta), beta without
t; its gain <alpha - beta, .> - q/2 at t = 1, a sign; and min(1, g/q) without a guard.
"""

import numpy as np

from jaxopt_svm.oracles.line_search import gain, segment
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import Listed, listed, table

COUNT, T = 100, np.linspace(0, 1, 101)[:, None]


def segments(facts: Listed, rng):
    """(alpha, beta) as masses: any two points, and one example's mass to its best label."""
    a, b = facts.masses(rng, COUNT), facts.masses(rng, COUNT)
    n = len(facts.c)
    best = np.eye(a.shape[2])[facts.scores(facts.w_of(a)).argmax(-1)]
    one = np.arange(COUNT)[:, None] % n == np.arange(n)
    return np.concatenate([a, a]), np.concatenate([b, np.where(one[..., None], best, a)])


def quadratic(facts: Listed, a, d):
    """Slope and curvature of D at a along d."""
    s = facts.scores(facts.w_of(a))
    return np.sum(facts.c[:, None] * d * s, (-2, -1)), np.sum(facts.image(d) ** 2, -1)


def case(lam, rng):
    facts = listed(table(lam=lam))
    a, b = segments(facts, rng)
    g, q = quadratic(facts, a, b - a)
    t, gained = np.asarray(segment(g, q)), np.asarray(gain(g, q))
    on = lambda t: facts.dual(a + t[..., None, None] * (b - a))
    h = 1e-3
    slope = (on(T + h) - on(T - h)) / (2 * h)  # exact to rounding: D is quadratic
    full = (q <= g) & (g > 0)
    true = [
        equal(on(T), facts.dual(a) + T * g - T**2 * q / 2),
        1e-7 + equal(slope, g - T * q),
        equal(on(t) - facts.dual(a), gained),
        on(t) - np.max(on(T), 0),
        np.where(full, gained - g / 2, 0),
        np.where(full, equal(gained, g - q / 2), 0),
        np.where((g > 0) & ~full, equal(gained, g**2 / (2 * np.where(q > 0, q, 1))), 0),
        np.where(g > 0, 0, -np.abs(t) - np.abs(gained)),
    ]
    # as printed: from alpha + beta along -alpha
    g_printed, q_printed = quadratic(facts, a + b, -a)
    without = np.clip(g_printed / q_printed, 0, 1)
    with np.errstate(all="ignore"):
        unguarded = np.where(q <= g, np.minimum(1, g / q), t)
    false = [
        smallest(np.where(g > 0, -np.abs(without - t), 0)),
        smallest(np.where(full, equal(-g - q / 2, gained), 0)),
        smallest(np.where(np.isfinite(unguarded), 0, -1)),
    ]
    return smallest(*true), false


def check() -> Result:
    rng = np.random.default_rng(34)
    found = [case(lam, rng) for lam in (0.01, 0.1, 1.0, 10.0)]
    wrong = np.min([f for _, f in found], 0)  # of each variant the worst over lam
    return Result(smallest(*(t for t, _ in found)), float(np.max(wrong)))


claim = Claim(
    name="segment",
    text="D on a segment: D + t g - t^2 q/2; t* = min(1, g/q) gains g - q/2 or g^2/(2q)",
    lecture="Online solvers: reduced problem",
    check=check,
)
