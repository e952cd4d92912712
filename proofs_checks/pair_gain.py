r"""Claim. Moving mass of example i from label v to u, Delta = H_i(u) - H_i(v) > 0,
N = ||psi(u) - psi(v)||^2, alpha_v = c_i a_v: the best share is tau = min(1, lam Delta/(alpha_v N))
and gains

    lam Delta^2/(2N)                             if tau < 1
    alpha_v Delta - alpha_v^2 N/(2 lam)          if tau = 1   (always so where N = 0)

and a visit of FASOLE gains the largest of these over the labels v with mass, u the best label.
Lecture "Online solvers for convex risk minimization" (Franc), near maximal gain.

Check. D by sums over all labels, for every pair of labels and for the package's own visits; lam
from 1e-2 to 10, examples with N = 0 and of weight 0. All other masses stay.
Two false variants, both have to fail: the slide's lam Delta/N for tau < 1, and the slide's choice
of v, which may be u itself: 0/0, and nothing moves.
"""

import numpy as np

from jaxopt_svm import FASOLE
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import Listed, Y, every_visit, listed, mixture, table

COUNT = 60


def pairs(facts: Listed, a):
    """Delta, alpha_v and N of every (count, i, u, v)."""
    s = facts.scores(facts.w_of(a))
    Delta = s[..., :, None] - s[..., None, :]
    alpha = np.broadcast_to((facts.c[:, None] * a)[..., None, :], Delta.shape)
    N = np.sum((facts.Psi[:, :, None] - facts.Psi[:, None]) ** 2, -1)
    return Delta, alpha, np.broadcast_to(N, Delta.shape)


def formula(facts: Listed, Delta, alpha, N):
    """(tau, gain), and whether tau < 1; meant for alpha > 0 and Delta > 0."""
    short = (facts.lam * Delta < alpha * N) & (alpha > 0) & (N > 0)
    divisor = np.where(short, N, 1.0)
    tau = np.where(short, facts.lam * Delta / np.where(short, alpha * N, 1.0), 1.0)
    full = alpha * Delta - alpha**2 * N / (2 * facts.lam)
    return tau, np.where(short, facts.lam * Delta**2 / (2 * divisor), full), short


def case(lam, rng):
    problem = table(lam=lam)
    facts = listed(problem)
    a = facts.masses(rng, COUNT)
    D, (Delta, alpha, N) = facts.dual(a), pairs(facts, a)
    tau, gain, short = formula(facts, Delta, alpha, N)
    valid = (alpha > 0) & (Delta > 0)
    # every pair, moved by hand
    k, i, u, v = np.nonzero(valid)
    moved, t = a[k], tau[valid] * a[k, i, v]
    rows = np.arange(len(k))
    moved[rows, i, u] += t
    moved[rows, i, v] -= t
    rise = facts.dual(moved) - D[k]
    # the package's visits, u the best label
    after = np.asarray(
        every_visit(problem, FASOLE(block=1, capacity=Y), mixture(problem, facts, a).labels, a)
    )
    top = facts.scores(facts.w_of(a)).argmax(-1)[..., None, None]
    from_top = lambda x: np.take_along_axis(x, top, 2)[:, :, 0]
    best = np.max(np.where(from_top(valid), from_top(gain), 0), -1)
    one = np.arange(len(facts.c))
    change = after[:, one, one] - a
    true = [
        equal(rise, gain[valid]),
        equal(facts.dual(after) - D[:, None], best),
        2.0 - np.sum(np.abs(change) > 1e-12, -1),  # at most two labels of i change
        -np.abs(np.sum(change, -1)),
        np.min(after),
    ]
    printed = facts.lam * Delta[valid] / np.where(N[valid] > 0, N[valid], 1.0)
    # v over all labels with mass, u among them: nan is the largest
    with np.errstate(all="ignore"):
        ratio = facts.lam * Delta / (alpha * N)
        full = alpha * Delta - alpha**2 * N / (2 * facts.lam)
        unguarded = np.where(ratio < 1, facts.lam * Delta**2 / (2 * N), full)
        unguarded = np.where(np.isnan(ratio), np.nan, unguarded)
    chosen = np.argmax(np.where(from_top(alpha) > 0, from_top(unguarded), -np.inf), -1)
    got = np.take_along_axis(np.where(from_top(valid), from_top(gain), 0), chosen[..., None], -1)
    false = [
        smallest(np.where(short[valid], equal(rise, printed), 0)),
        smallest(got[..., 0] - best),
    ]
    return smallest(*true), false


def check() -> Result:
    rng = np.random.default_rng(37)
    found = [case(lam, rng) for lam in (0.01, 0.1, 1.0, 10.0)]
    wrong = np.min([f for _, f in found], 0)
    return Result(smallest(*(t for t, _ in found)), float(np.max(wrong)))


claim = Claim(
    name="pair_gain",
    text="moving mass from v to u gains lam Delta^2/(2N), or alpha Delta - alpha^2 N/(2 lam)",
    lecture="Online solvers: near maximal gain",
    check=check,
)
