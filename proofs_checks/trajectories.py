r"""Claim. Three ways to write steepest feasible ascent take the same steps:

    dual form     alpha+ = (1 - t) alpha + t beta, every label written out             (``SDA``)
    primal form   w_i+ = (1 - t) w_i - (t c_i/lam) Psi_i(u),  w+ = w + w_i+ - w_i,
                  L_i+ = (1 - t) L_i + t c_i l_i(u)                                   (the lecture)
                  which Lacoste-Julien et al. write t = clip((lam <w_i - w_s, w> - L_i + l_s) /
                  (lam ||w_i - w_s||^2), 0, 1), w_s = -c_i Psi_i(u)/lam, l_s = c_i l_i(u)
    label caches  masses on the labels found so far                                    (``BCFW``)

Lecture "Online solvers for convex risk minimization" (Franc), primal form; Lacoste-Julien, Jaggi,
Schmidt & Pletscher, ICML 2013, arXiv:1207.4747.

Check. Cyclic visits on weighted chains: w after every step, and L = sum_i L_i at the end.
Two false variants, both have to fail: w_i+ by all of A where the slide needs A_i; and the slide's
"w_i^t = ..." read to the letter, which overwrites w_i before w is updated.
"""

import jax
import numpy as np
from jax import lax, random

from jaxopt_svm import BCFW, SDA, Cyclic
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.structured_toys import Listed, chain, listed

PASSES = 25


@jax.jit
def path(problem, method):
    """(steps, d) w after every step, and L at the end."""
    drawn = method.draw(problem, random.key(0))

    def step(state, sample):
        state = method.step(problem, state, sample)
        return state, state.w

    one_pass = lambda state, _: lax.scan(step, state, drawn)
    state, ws = lax.scan(one_pass, method.init(problem), length=PASSES)
    return ws.reshape(-1, ws.shape[-1]), problem.lost(method.point(problem, state).dual)


def by_hand(facts: Listed, reading: str = ""):
    """The primal form; ``reading`` is the slide's with A for A_i, or with w_i overwritten."""
    n, d = len(facts.c), facts.Psi.shape[2]
    w, w_i, L, lam, ws = np.zeros(d), np.zeros((n, d)), np.zeros(n), facts.lam, []
    for i in list(range(n)) * PASSES:
        s = facts.losses[i] + facts.Psi[i] @ w
        u = s.argmax()
        w_s, l_s = -facts.c[i] * facts.Psi[i, u] / lam, facts.c[i] * facts.losses[i, u]
        g, q = lam * (w_i[i] - w_s) @ w - L[i] + l_s, lam * np.sum((w_i[i] - w_s) ** 2)
        t = 0.0 if g <= 0 else 1.0 if q <= g else g / q
        new = (1 - t) * w_i[i] + t * w_s
        if reading == "A":
            new = w + new - w_i[i]
        old, w_i[i] = w_i[i].copy(), new
        if reading == "overwritten":
            old = new
        w, L[i] = w + new - old, (1 - t) * L[i] + t * l_s
        ws.append(w)
    return np.array(ws), L.sum()


def apart(one, other):
    """Relative, so that a path that blows up counts for no more than one."""
    return smallest(*(-np.abs(a - b) / (1 + np.abs(a) + np.abs(b)) for a, b in zip(one, other)))


def check() -> Result:
    problem = chain()
    facts = listed(problem)
    right = by_hand(facts)
    methods = (SDA(Cyclic()), BCFW(Cyclic(), block=1, capacity=facts.new.shape[1]))
    true = [apart([np.asarray(x) for x in path(problem, method)], right) for method in methods]
    with np.errstate(over="ignore", invalid="ignore"):
        false = [apart(by_hand(facts, reading)[:1], right) for reading in ("A", "overwritten")]
    return Result(min(true), max(false))


claim = Claim(
    name="trajectories",
    text="dual form, primal form, Lacoste-Julien's scaling and label caches: one trajectory",
    lecture="Online solvers: primal form",
    check=check,
)
