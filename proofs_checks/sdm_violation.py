r"""Claim. The violation of SDM bounds an example's gap:

    psi_i = max_y H_i(y; w) - min over a_i(v) > 0 of H_i(v; w)  >=  G_i

since G_i subtracts the mean of the same scores. So psi_i <= eps for all i at one w certifies a gap
of eps, whichever pair of labels is moved.
Lecture "Online solvers for convex risk minimization" (Franc) names SDM; Balamurugan, Shevade,
Sundararajan & Keerthi, SIAM SDM 2011.

Check. ``needs`` of the package from random dual points, against sums over all labels; whole runs
with both pairs until they are settled: psi_i <= eps for every example with weight, gap <= eps.
False variant: psi_i/2 >= G_i; a point with all mass on one label has psi_i = G_i.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SDM, Cyclic, MostViolating, Status, Steepest, solve
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.methods.structured.label_visits import Slots
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import Listed, Y, listed, table

COUNT, EPS = 100, 1e-3


@pytree
class Either:
    """One of the two pairs, chosen by a number: one program for both."""

    steepest: jax.Array

    def pick(self, scores, masses, most):
        pairs = (rule.pick(scores, masses, most) for rule in (Steepest(), MostViolating()))
        return jnp.where(self.steepest, *pairs)


def violation(facts: Listed, a):
    s = facts.scores(facts.w_of(a))
    return s.max(-1) - np.min(np.where(a > 0, s, np.inf), -1)


@jax.jit
def needs(scores, masses):
    """psi_i as SDM computes it in a visit."""

    def one(s, a):
        slots = Slots(s, a, jnp.arange(Y), a > 0, jnp.argmax(s), jnp.max(s) - a @ s, jnp.zeros(()))
        return SDM().needs(None, slots)

    return jax.vmap(jax.vmap(one))(scores, masses)


def settled(problem, steepest: bool):
    """Slacks of a run until no psi_i exceeds eps."""
    facts = listed(problem)
    method = SDM(Cyclic(), Either(jnp.asarray(steepest)), eps=EPS, block=1, capacity=Y)
    found = solve(problem, method, rtol=0.0, max_passes=500)
    a = np.zeros(facts.new.shape)
    np.add.at(a, (np.arange(problem.n)[:, None], np.asarray(found.dual.labels)), found.dual.masses)
    psi = np.where(facts.c > 0, violation(facts, a), 0)
    return [
        0.0 if found.status == Status.SETTLED else -1.0,
        EPS - psi,
        EPS - float(found.certificate.gap),
    ]


def check() -> Result:
    rng = np.random.default_rng(40)
    true, false = [], []
    for lam in (0.01, 0.1, 1.0, 10.0):
        facts = listed(table(lam=lam))
        a = np.concatenate([facts.masses(rng, COUNT), facts.start()[None]])
        psi, G = violation(facts, a), facts.gaps(a)
        true += [psi - G, equal(needs(facts.scores(facts.w_of(a)), a), psi)]
        false.append(smallest(psi / 2 - G))
    for steepest in (False, True):
        true += settled(table(), steepest)
    return Result(smallest(*true), max(false))


claim = Claim(
    name="sdm_violation",
    text="psi_i >= G_i: no violation above eps certifies a gap of eps",
    lecture="Online solvers: two variables at a time",
    check=check,
)
