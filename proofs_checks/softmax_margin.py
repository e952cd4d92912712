r"""Claim. tau log sum_y exp([rho l + <w, Psi>]/tau), the bridge from the CRF to the SVM:

    max_y [l + <w, Psi>] <= tau logsumexp <= max + tau log |Y|                  (rho = 1)
    gradient in w: lam w + sum_i c_i E_p[Psi_i]
    D(v) = -lam/2 ||w(v)||^2 + sum_i c_i [tau log Z_i(v) - <theta_i(v), mu_i>] <= P*  for all v,
and D(w*) = P*.

Lecture "Stochastic Gradient Descent for Structures" (Srikumar), CRF; Lafferty et al. 2001; Gimpel
& Smith 2010.

Check. Values against all labels written out, multiclass and chains, rho = 0, 1, tau = 1, 0.3, 0.01;
the gradient against the written mean, jax.grad of P and central differences of P; D at many v below
P at every w, and at w* (gradient descent) equal to it.
False variant: the sandwich with half of tau log |Y|.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import Point, softmax_margin
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import chain, listed, multiclass

COUNT, STEP = 30, 1e-5


@jax.jit
def package(problem, ws):
    """P, its gradient, D(v = w), central differences of P, and jax.grad of it."""

    def one(w):
        ahead, behind = (
            jax.vmap(lambda e, s=s: problem.primal(w + s * e))(jnp.eye(problem.d))
            for s in (STEP, -STEP)
        )
        certificate = problem.certificate(Point(w, w))
        slope = (ahead - behind) / (2 * STEP)
        automatic = jax.grad(problem.primal)(w)
        return problem.primal(w), problem.grad(w), certificate.dual, slope, automatic

    return jax.vmap(one)(ws)


@jax.jit
def descend(problem):
    step = 1 / (problem.lam + problem.limits().feature ** 2 / problem.tau)
    go = lambda _, w: w - step * problem.grad(w)
    return lax.fori_loop(0, 3000, go, problem.origin().w)


def case(problem, rng, rho: float, tau: float, solve: bool):
    facts, soft = listed(problem), softmax_margin(problem, tau, rho)
    ws = 10.0 ** rng.uniform(-1, 0.5, (COUNT, 1)) * rng.normal(size=(COUNT, problem.d))
    ws[0] = 0.0

    scores = np.where(
        facts.new, rho * facts.losses + np.einsum("iyd,cd->ciy", facts.Psi, ws), -np.inf
    )
    top = scores.max(-1, keepdims=True)
    p = np.exp((scores - top) / tau)
    total = p.sum(-1, keepdims=True)
    right = facts.lam / 2 * np.sum(ws**2, 1) + (top + tau * np.log(total))[..., 0] @ facts.c
    mean = np.einsum("i,ciy,iyd->cd", facts.c, p / total, facts.Psi) + facts.lam * ws
    P, g, D, slope, automatic = map(np.asarray, package(soft, jnp.asarray(ws)))
    slacks = [equal(P, right), equal(g, mean), equal(g, automatic)]
    slacks.append(1e-5 / tau + equal(slope, g))
    slacks.append(np.min(P) - D)
    false = -np.inf
    if rho == 1.0:
        hinge = facts.primal(ws)
        room = tau * facts.c @ np.log(facts.new.sum(1))
        slacks += [P - hinge, hinge + room - P]
        false = smallest(hinge + room / 2 - P)
    if solve:
        w = descend(soft)
        best = soft.certificate(Point(w, w))
        slacks += [1e-9 - best.gap, (best.primal - D), (P - best.dual)]
    return smallest(*slacks), false


def check() -> Result:
    rng, found = np.random.default_rng(53), []
    for problem in (multiclass(lam=0.5), chain()):
        for rho, tau in ((0.0, 1.0), (1.0, 1.0), (1.0, 0.3), (1.0, 0.01)):
            found.append(case(problem, rng, rho, tau, tau == 1.0))
    tight = [f for _, f in found if np.isfinite(f)]
    return Result(smallest(*(t for t, _ in found)), min(tight))


claim = Claim(
    name="softmax_margin",
    text="CRF to SVM: sandwich by tau log |Y|, gradient, a dual bound from any parameter vector",
    lecture="SGD for Structures: CRF",
    check=check,
)
