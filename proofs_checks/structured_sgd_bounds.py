r"""Claim. SGD on the structured hinge, i uniform, w^1 = 0, eta = 1/(lam t), R = Dm max_i n c_i:

    ||w^t|| <= R/lam and ||g_t|| <= G = 2 R                                  always
    last iterate, t > 1       17 G^2 (1 + ln t)/(lam t)
    uniform average           G^2 (1 + ln T)/(2 lam T)
    nu average                58 (1 + nu/T)(nu (nu + 1) + (nu + 1/2)^3 (1 + ln T)/T) G^2/(lam T)
    last share a of all       (2 + 2.5 ln(1/(1 - a)))/a  G^2/(lam T)
    eta = 2/(lam (t + 1)), weights t: 2 G^2/(lam (T + 1))
all on E[P] - P*. The nu average gives w^i the weight Gamma(i + nu)/Gamma(i) up to a factor.
Lecture "Online solvers for convex risk minimization" (Franc), projected SGD; Shamir & Zhang 2013;
Rakhlin et al. 2012; Lacoste-Julien, Schmidt & Bach 2012. The other regimes:
structured_sgd_regimes.

Check. The package's steps, exactly over all n^5 sequences and by the mean over seeds for T = 300.
Two false variants, both of which have to fail: ||g_t|| <= R on two opposite examples, and weights
i^nu for Gamma(i + nu)/Gamma(i), the same for nu = 1 only.
"""

from itertools import product
from math import lgamma

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import InverseLam, PolynomialMean, StructuredSGD, Uniform
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.methods.structured.structured_sgd import Turn
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import listed, multiclass, optimum, written

SEEDS, LONG, NU = 30, 300, 3.0


@pytree
class Double(InverseLam):
    """2/(lam (t + 1))."""

    def size(self, problem, t):
        return 2.0 / (problem.lam * (t.astype(problem.lam.dtype) + 1.0))


def iterates(problem, rule, samples):
    """(T + 1, d) w^1, w^2, ... of single examples."""
    method = StructuredSGD(rule, Uniform(), capacity=0)

    def step(state, i):
        turn = Turn(Sample(i[None]), jnp.asarray(True))
        return method.step(problem, state, turn), method.point(problem, state).w

    return lax.scan(step, method.init(problem), samples)[1]


def averages(ws):
    """At every T: the last, uniform, nu, half-suffix and t-weighted means of w^1..w^T."""
    T, count = jnp.arange(1.0, len(ws) + 1), np.arange(1, len(ws) + 1)
    uniform = jnp.cumsum(ws, axis=0) / T[:, None]
    weighted = jnp.cumsum(T[:, None] * ws, axis=0) / jnp.cumsum(T)[:, None]
    # the suffix of length ceil(T/2)
    sums = jnp.concatenate([jnp.zeros_like(ws[:1]), jnp.cumsum(ws, axis=0)])
    kept = (count + 1) // 2
    suffix = (sums[count] - sums[count - kept]) / kept[:, None].astype(float)

    def recursion(mean, at):
        t, w = at
        rho = (NU + 1) / (t + NU)
        mean = (1 - rho) * mean + rho * w
        return mean, mean

    nu = lax.scan(recursion, jnp.zeros_like(ws[0]), (T, ws))[1]
    return jnp.stack([ws, uniform, nu, suffix]), weighted


@jax.jit
def excess(problem, least, samples):
    """(4, T) and (T,): means over the sequences of P - P*."""

    def one(sequence):
        P = jax.vmap(problem.primal)
        four, _ = averages(iterates(problem, InverseLam(), sequence))
        _, doubled = averages(iterates(problem, Double(), sequence))
        ws = iterates(problem, InverseLam(), sequence)
        return jax.vmap(P)(four), P(doubled), jnp.max(jnp.linalg.norm(ws, axis=1))

    four, doubled, size = jax.vmap(one)(samples)
    return jnp.mean(four, axis=0) - least, jnp.mean(doubled, axis=0) - least, jnp.max(size)


def opposite_steps():
    """One label +v, another -v: the largest ||g_t|| over R."""
    Psi, losses = np.zeros((2, 5, 3)), np.zeros((2, 5))
    Psi[0, 1, 0], Psi[1, 1, 0] = 1.0, -1.0
    losses[:, 1] = 10.0
    problem = written(Psi, losses, lam=0.1)
    ws = iterates(problem, InverseLam(), jnp.array([0, 1, 0, 1], jnp.int32))
    t = jnp.arange(1.0, len(ws))
    return jnp.max(problem.lam * t * jnp.linalg.norm(ws[:-1] - ws[1:], axis=1))


def weights(nu):
    """(T,) what PolynomialMean gives each iterate, and the two formulas."""
    rule, T = PolynomialMean(nu), 12
    mean = rule.start(jnp.zeros(T))
    for w in jnp.eye(T):
        mean = rule.add(mean, w)
    i = np.arange(1, T + 1)
    gamma = np.exp([lgamma(k + nu) - lgamma(k) for k in i])
    return rule.value(mean, jnp.zeros(T)), gamma / gamma.sum(), i**nu / np.sum(i**nu)


def check() -> Result:
    problem = multiclass(n=4)
    facts = listed(problem)
    least = facts.dual(optimum(facts))
    R = facts.Dm * float(np.max(problem.n * facts.c))
    G2, lam, slacks = (2 * R) ** 2, facts.lam, []
    every = np.array(list(product(range(4), repeat=5)), np.int32)
    seeds = np.random.default_rng(54).integers(0, 4, (SEEDS, LONG), dtype=np.int32)
    for samples in (every, seeds):
        four, doubled, size = excess(problem, least, jnp.asarray(samples))
        T = np.arange(1.0, samples.shape[1] + 1)
        log = 1 + np.log(T)
        bounds = [
            17 * G2 * log / (lam * T),
            G2 * log / (2 * lam * T),
            58 * (1 + NU / T) * (NU * (NU + 1) + (NU + 0.5) ** 3 * log / T) * G2 / (lam * T),
            (2 + 2.5 * np.log(2)) / 0.5 * G2 / (lam * T),
        ]
        slacks += [1 - e[1:] / b[1:] for e, b in zip(np.asarray(four), bounds)]
        slacks += [1 - np.asarray(doubled) * lam * (T + 1) / (2 * G2), R / lam - size]
    steepest = float(opposite_steps())
    slacks.append(2.0 - steepest)
    false = [1.0 - steepest]
    for nu in (0.0, 1.0, 2.5, NU):
        ours, right, wrong = weights(nu)
        slacks.append(equal(ours, right))
        if nu > 1:
            false.append(smallest(equal(ours, wrong)))
    return Result(smallest(*slacks), max(false))


claim = Claim(
    name="structured_sgd_bounds",
    text="structured SGD: G = 2 Dm; last iterate, uniform, nu, suffix and weighted averages",
    lecture="Online solvers: projected SGD",
    check=check,
)
