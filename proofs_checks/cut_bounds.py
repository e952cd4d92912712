r"""Claim. For any theta in the simplex, h'theta - 1/(2 lam) theta' H theta <= P*: the lower bound
of SVM-perf holds however roughly its QP is solved, it never falls from cut to cut, and P at
w(theta) is an upper bound. With the QP solved exactly, after t cuts

    gap <= 8 G^2/(lam (t + 1 - max(0, log2(lam/G^2)))),   G = sum_i c_i ||x_i||.

Lecture "Optimization Methods for SVMs" (Scheinberg), cutting plane methods; Joachims 2006; Teo et
al. 2010.
Check. Every iterate of a run, random theta on its cuts, and two lam for the number of cuts. False
variant: lam/2 ||w||^2 + xi at w(theta), the value of the cut problem's primal, which is a lower
bound only when theta solves the QP.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Hinge, SVMPerf
from proofs_checks.claims import Claim, Result, optimum, smallest, toy

CUTS, COUNT = 20, 200


@jax.jit
def run(problem, method):

    def cut(state, _):
        state = method.step(problem, state, 0)
        point = method.point(problem, state)
        return state, (problem.primal(point.w), problem.dual(point.dual))

    return jax.lax.scan(cut, method.init(problem), length=CUTS)


@jax.jit
def any_theta(problem, state, thetas):
    live = jnp.arange(state.h.shape[0], dtype=jnp.int32) < state.count

    def one(theta):
        theta = jnp.where(live, theta, 0.0)
        theta = theta / jnp.sum(theta)
        w = theta @ state.A / problem.lam
        lower = state.h @ theta - problem.lam / 2 * w @ w
        xi = jnp.max(jnp.where(live, state.h - state.A @ w, -jnp.inf))
        return lower, problem.lam / 2 * w @ w + xi

    return jax.vmap(one)(thetas)


def rate(problem):
    """Slack of the bound on the gap, cut by cut; the best P so far counts."""
    method = SVMPerf(capacity=32, accuracy=0.0)
    _, (upper, lower) = run(problem, method)
    gap = np.minimum.accumulate(np.asarray(upper)) - np.asarray(lower)
    return smallest(method.bound(problem, np.arange(1.0, CUTS + 1)) - gap)


def check() -> Result:
    rng = np.random.default_rng(0)
    problem = toy(Hinge(), n=12)
    best = problem.primal(optimum(problem).w)
    state, (upper, lower) = run(problem, SVMPerf(capacity=32))
    thetas = jnp.asarray(rng.exponential(size=(COUNT, state.h.shape[0])) ** 3)
    rough, cuts = any_theta(problem, state, thetas)
    true = smallest(upper - best, best - lower, jnp.diff(lower), best - rough)
    rates = rate(problem), rate(problem.with_lam(20.0))
    return Result(smallest(true, *rates), float(jnp.min(best - cuts)))


claim = Claim(
    name="cut_bounds",
    text="any theta on the cuts is a lower bound, P an upper one; the gap after t cuts",
    lecture="Optimization Methods for SVMs: cutting plane methods",
    check=check,
)
