r"""Claim. Steepest ascent that updates only where G_i > eps stops after T updates at most,

    T = max{8 l_max Dm^2/(eps^2 lam), 2 l_max/(eps min c_i)}    (2 m l_max/eps for c_i = 1/m)

and n (T + 1) decodings, in cyclic passes, with a gap of eps or less: D rises from 0 to D* <= l_max,
each time by what proofs_checks/bcfw_gain.py says. Examples of weight 0 take no part.
Lecture "Online solvers for convex risk minimization" (Franc), convergence guarantees.

Check. The package's BCFW(eps) until a pass without an update, on 50 alike examples (two labels,
Dm = l_max = 1) with even weights, uneven ones and one of 0, and on random ones, lam 0.1 to 100.
False variant: the slide's T = 8 l_max Dm^2/(eps^2 lam), which leaves the second term out: with
lam = 100, eps = 1/2 it allows 0.32 updates where every example needs one.
"""

import numpy as np

from jaxopt_svm import BCFW, Cyclic, run
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.structured_toys import Listed, listed, written

N, PASSES = 50, 10


def alike(weights, lam):
    """Two labels, |Psi| = 1 and loss 1 for the wrong one, all examples the same."""
    Psi, losses = np.zeros((N, 2, 1)), np.zeros((N, 2))
    Psi[:, 1], losses[:, 1] = 1.0, 1.0
    return written(Psi, losses, weights, lam)


def mixed(rng, weights, lam):
    Psi, losses = rng.normal(size=(N, 2, 1)), rng.uniform(0.3, 1.5, (N, 2))
    Psi[:, 0], losses[:, 0], Psi[1] = 0.0, 0.0, 0.0
    return written(Psi, losses, weights, lam)


def case(problem, eps):
    facts: Listed = listed(problem)
    method = BCFW(Cyclic(), eps=eps, block=1, capacity=2)
    trace = run(problem, method, passes=PASSES)[1]
    updates = np.asarray(trace.updates)
    idle = np.flatnonzero(np.diff(updates) == 0)  # passes without an update
    at = idle[0] + 1 if len(idle) else PASSES
    slide = 8 * facts.losses.max() * facts.Dm**2 / (eps**2 * facts.lam)
    T = max(slide, 2 * facts.losses.max() / (eps * facts.c[facts.c > 0].min()))
    true = [
        0.0 if len(idle) else -1.0,
        T - updates[-1],
        updates[at] - updates[-1],  # and it stays idle
        N * (T + 1) - np.asarray(trace.oracle_calls)[at],
        eps - np.asarray(trace.gap)[at],
    ]
    return smallest(*true), slide - updates[-1]


def check() -> Result:
    rng = np.random.default_rng(39)
    even, uneven = np.ones(N), rng.uniform(0.5, 1.5, N)
    one_out = uneven.copy()
    one_out[7] = 0.0
    hand = [case(alike(weights, 100.0), 0.5) for weights in (even, uneven, one_out)]
    small = [case(alike(uneven, 1.0), 0.1), case(alike(one_out, 0.1), 0.1)]
    others = [case(mixed(rng, one_out, lam), 0.1) for lam in (0.1, 1.0, 10.0, 100.0)]
    true = [t for t, _ in (*hand, *small, *others)]
    return Result(smallest(*true), max(f for _, f in hand))


claim = Claim(
    name="sda_iterations",
    text="at most max{8 l_max Dm^2/(eps^2 lam), 2 l_max/(eps min c_i)} updates, not the slide's",
    lecture="Online solvers: convergence guarantees",
    check=check,
)
