r"""Claim. Slack rescaling and PosLearn are structured hinges with features of their own:

    slack     max_y l (1 + <w, Psi(y)>)                                    by number of errors
    PosLearn  sum_t max over y with y_t wrong of L_t(y_t) [1 + <w, Psi(y)>]_+
Both, and the margin rescaled hinge, are convex, at least the task loss l(y_i, h(x_i; w)), and the
package's ``grad`` is a subgradient. Without an exact oracle, for xi > 0,
    max_y [score - xi/l] <= min_mu { max_y [score + mu l] - 2 sqrt(xi mu) }.
Lecture "Online solvers for convex risk minimization" (Franc), other surrogates; Tsochantaridis et
al. 2005; Sarawagi & Gupta 2008. "The loss of the truth is zero" makes all of them >= 0.

Check. Brute force over all labellings of chains, lengths 1 to 3; P, D and decoded labels of the
package; subgradient inequalities and convexity at random pairs; w = 0 included.
False variant: slack rescaling of the label that margin rescaling decodes.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import make_chain, poslearn, slack_rescaling
from jaxopt_svm.oracles.slack import variational
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import awkward, listed

COUNT = 60


def toy():
    """Lengths 3, 1, 2, 2, 3, three labels, Hamming's loss."""
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(T, 2)) for T in (3, 1, 2, 2, 3)]
    y = [rng.integers(0, 3, len(x)) for x in X]
    return make_chain(X, y, lam=0.3, weights=awkward(rng, 5), classes=3)


@jax.jit
def package(problem, ws):
    free = dataclasses.replace(problem, lam=jnp.zeros_like(problem.lam))
    each = jax.vmap(lambda w: (free.primal(w), free.grad(w), problem.risk(w)))
    return each(ws)


def by_hand(problem, facts, ws):
    """(count,) margin, slack and PosLearn risks, and the false one, from all labellings."""
    rise = np.einsum("iyd,cd->ciy", facts.Psi, ws)
    l, c = facts.losses[None], facts.c
    margin, slack = (l + rise), l * (1 + rise)
    mask, y = np.asarray(problem.x.mask), np.asarray(problem.y)
    wrong = (facts.labels != y[:, None]) & mask[:, None]  # (n, Y, T)
    nodes = np.where(wrong[None], 1 + rise[..., None], 0).max(2)  # (count, n, T), >= 0
    chosen = np.take_along_axis(slack, margin.argmax(2)[..., None], 2)[..., 0]
    return margin.max(2) @ c, slack.max(2) @ c, nodes.sum(2) @ c, chosen @ c


def bound_by_variation(facts, rng):
    """Over all labels of each example, and a grid of mu that holds the best one of each loss."""
    slacks = []
    for i in range(len(facts.c)):
        wrong = facts.losses[i] > 0
        score, l, xi = rng.normal(size=wrong.sum()), facts.losses[i][wrong], rng.uniform(0.1, 3)
        with_mu = lambda mu, score=score, l=l: jnp.max(score + mu * l)
        bound = variational(with_mu, xi, jnp.asarray(xi / np.unique(l) ** 2))
        slacks.append(bound - np.max(score - xi / l))
        alone = lambda mu, a=score[0], b=l[0]: a + mu * b
        one = variational(alone, xi, jnp.asarray([xi / l[0] ** 2]))
        slacks.append(equal(one, score[0] - xi / l[0]))
    return smallest(*slacks)


def check() -> Result:
    rng, problem = np.random.default_rng(52), toy()
    facts = listed(problem)
    sizes = 10.0 ** rng.uniform(-1, 1, (COUNT, 1))
    ws = sizes * rng.normal(size=(COUNT, problem.d))
    ws[0] = 0.0
    *right, wrong = by_hand(problem, facts, ws)
    slacks, false = [bound_by_variation(facts, rng)], []
    for made, R in zip((problem, slack_rescaling(problem), poslearn(problem)), right, strict=True):
        found, g, risk = map(np.asarray, package(made, jnp.asarray(ws)))
        slacks += [equal(found, R), found - risk, found]
        # every other point lies above the plane at this one
        plane = R[:, None] + np.einsum("abd,ad->ab", ws[None] - ws[:, None], g)
        slacks.append((R[None] - plane) / (1 + np.abs(R[None])))
        half = package(made, jnp.asarray((ws + ws[::-1]) / 2))[0]
        slacks.append((R + R[::-1]) / 2 - np.asarray(half))
    false.append(smallest(equal(wrong, right[1])))
    return Result(smallest(*slacks), max(false))


claim = Claim(
    name="surrogates",
    text="slack rescaling and PosLearn: oracles, upper bounds of the loss, convex, subgradients",
    lecture="Online solvers: other surrogates",
    check=check,
)
