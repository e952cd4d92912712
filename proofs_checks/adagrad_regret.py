r"""Claim. AdaGrad with gamma/sqrt(sum of squares) on f_t = the loss of the example seen at step t:

    sum_t f_t(w_t) - f_t(u) <= (Dinf^2/(2 gamma) + gamma) sum_j ||g_{1:T, j}||_2,

Dinf = max_t ||w_t - u||_inf, for every u. The direction is g = psi(x_i, u_i) - psi(x_i, y_i),
subtracted; the slide has its negative, with which the risk rises.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), AdaGrad; Duchi et al. 2011.

Check. The package's steps on a table without a shrink (lam = 1e-12), three gammas, u the minimiser
of P and random ones; and an example with two opposite labels where w jumps across u.
Two false variants, both of which have to fail: the bound without its second term, there; and the
slide's sign.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import AdaGrad, Adaptive, Constant
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.structured_toys import listed, optimum, table, written

STEPS = 400


@jax.jit
def play(problem, gamma, order):
    """w_t, f_t(w_t), g_t and the last w."""
    method = Adaptive(AdaGrad(), Constant(gamma), batch=1)

    def step(state, i):
        sample, example = Sample(i[None]), problem.take(i)
        f = problem.n * example.c * problem.oracle(state.w, example).value
        g = problem.loss_grad(state.w, sample)
        return method.step(problem, state, sample), (state.w, f, g)

    state, trace = lax.scan(step, method.init(problem), order)
    return *trace, state.w


def regret(problem, gamma, order, us):
    """(count,) the regret against each u, and the two terms of the bound."""
    ws, f, g, _ = map(np.asarray, play(problem, gamma, jnp.asarray(order)))
    facts = listed(problem)
    others = problem.n * facts.c * facts.scores(us).max(-1)  # (count, n)
    norms = np.linalg.norm(g, axis=0).sum()
    D = np.abs(ws[None] - us[:, None]).max((1, 2))
    return f.sum() - others[:, order].sum(1), D**2 / (2 * gamma) * norms, gamma * norms


def crossing():
    """H(1) = 0.02 + w, H(2) = 0.01 - w: w jumps from 0 to -gamma, where the other label is up."""
    Psi, losses = np.zeros((1, 5, 3)), np.zeros((1, 5))
    Psi[0, 1, 0], Psi[0, 2, 0] = 1.0, -1.0
    losses[0, 1:3] = 0.02, 0.01
    return written(Psi, losses, lam=1e-12)


def check() -> Result:
    rng, true = np.random.default_rng(58), []
    problem = table(lam=1e-12)
    facts = listed(table(lam=0.01))
    us = np.concatenate([[facts.w_of(optimum(facts, 1e-9))], rng.normal(size=(10, 3))])
    order = rng.integers(0, problem.n, STEPS)
    for gamma in (0.05, 0.3, 1.0):
        lost, first, second = regret(problem, gamma, order, us)
        true.append(1 - lost / (first + second))
    lost, first, second = regret(crossing(), 1.0, np.zeros(2, int), np.zeros((1, 3)))
    true.append(1 - lost / (first + second))
    risk = dataclasses.replace(problem, lam=jnp.zeros_like(problem.lam)).primal
    start = float(risk(jnp.zeros(3)))
    down, up = (float(risk(play(problem, s * 0.1, jnp.asarray(order))[-1])) for s in (1, -1))
    true.append(start - down)
    return Result(smallest(*true), max(smallest(1 - lost / first), start - up))


claim = Claim(
    name="adagrad_regret",
    text="AdaGrad: regret <= (Dinf^2/(2 gamma) + gamma) sum_j ||g_j||, and the sign of g",
    lecture="SGD for Structures: AdaGrad",
    check=check,
)
