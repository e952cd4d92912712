r"""Claim. Steps 1/(lam t) from w_1 = 0, |phi'| <= 1, uniform average wbar of w_1..w_T:

    P(wbar) - P* <= (1/(2 lam T)) sum_t ||g_t||^2 / t <= G^2 (1 + ln T) / (2 lam T),

G = sqrt(lam) + R with projection on ||w|| <= 1/sqrt(lam), G = 2 R without; for the whole data set
always, with R = sum_i c_i ||x_i||, for k independent draws in expectation, with
R = max_i n c_i ||x_i||. Without projection the full step is Frank-Wolfe on the dual:
w_{T+1} = w(alpha), alpha the mean of -phi'(X w_t) over t <= T.
Lectures "SGD" (Srebro), "Optimization Methods for SVMs" (Scheinberg), Pegasos; Shalev-Shwartz,
Singer, Srebro & Cotter, Math. Prog. 127 (2011); Bach, SIAM J. Optim. 25 (2015).

Check. Every T up to 300 on the whole data set; expectations exact over all n^(kT) sequences for
short runs, over many seeds for long ones. Two false variants, both of which have to fail: half
the bound on a pair of examples (at T = 1 the bound is an equality), and ||g_t|| <= R without
projection on two opposite examples, where 2 R is attained.
"""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Hinge, InverseLam, Logistic, Subgradient, make_erm, pegasos
from proofs_checks.claims import Claim, Result, equal, iterates, optimum, smallest, toy

LONG = 300


def log_bound(problem, G, T):
    return G**2 * (1.0 + jnp.log(T)) / (2 * problem.lam * T)


def running_means(xs):
    """(T, ...) means of the first 1, 2, ..., T entries."""
    return jnp.cumsum(xs, axis=0) / jnp.arange(1.0, len(xs) + 1)[:, None]


@jax.jit
def full_slacks(problem, method, best):
    ws = iterates(problem, method, jnp.zeros(LONG + 1, jnp.int32))
    T, before = jnp.arange(1.0, LONG + 1), ws[:-1]
    excess = jax.vmap(problem.primal)(running_means(before)) - problem.primal(best.w)
    squares = jnp.sum(jax.vmap(problem.grad)(before) ** 2, axis=1)
    path = jnp.cumsum(squares / T) / (2 * problem.lam * T)
    R = jnp.sum(problem.c * jnp.sqrt(problem.rows.sqnorms))
    G = 2 * R if method.radius is None else jnp.sqrt(problem.lam) + R
    slopes = jax.vmap(lambda w: problem.loss.slope(problem.rows.matvec(w), problem.y))(before)
    frank_wolfe = equal(jax.vmap(problem.w_of)(running_means(-slopes)), ws[1:])
    true = [1.0 - excess / path, 1.0 - path / log_bound(problem, G, T)]
    true += [frank_wolfe] if method.radius is None else []
    return [jnp.min(s) for s in true], jnp.min(1.0 - 2 * excess / path)


@jax.jit
def random_slack(problem, method, best, samples):
    """The mean over sequences of P(wbar) - P* against the bound, at every T."""
    T = jnp.arange(1.0, samples.shape[1] + 1)
    means = jax.vmap(lambda s: running_means(iterates(problem, method, s)))(samples)
    excess = jnp.mean(jax.vmap(jax.vmap(problem.primal))(means), axis=0) - problem.primal(best.w)
    return jnp.min(1.0 - excess / log_bound(problem, method.gradient_bound(problem), T))


def largest_step(problem, method, samples):
    """max_t ||g_t|| / (2 R), read off the steps: g_t = lam t (w_t - w_{t+1})."""
    ws = iterates(problem, method, samples)
    t = jnp.arange(1.0, len(ws))
    norms = problem.lam * t * jnp.linalg.norm(ws[:-1] - ws[1:], axis=1)
    return jnp.max(norms) / method.gradient_bound(problem)


def check() -> Result:
    rng, slacks = np.random.default_rng(13), []
    for loss in (losses := (Hinge(), Logistic())):
        problem = toy(loss)
        best, ball = optimum(problem), 1.0 / jnp.sqrt(problem.lam)
        for radius in (None, ball) if loss is losses[0] else (None,):
            slacks += full_slacks(problem, Subgradient(InverseLam(), radius), best)[0]
    problem = toy(Hinge(), n=4)
    best = optimum(problem)
    every = lambda count: np.array(list(product(range(4), repeat=count)), np.int32)
    for project, samples in (
        (False, every(5)[:, :, None]),
        (True, every(6).reshape(-1, 3, 2)),
        (False, rng.integers(0, 4, (50, LONG, 1), dtype=np.int32)),
    ):
        method = pegasos(batch=samples.shape[2], project=project, block=1)
        slacks.append(random_slack(problem, method, best, jnp.asarray(samples)))
    pair = make_erm(np.array([[0.5], [-0.5]]), [1, -1], lam=1.0)
    *tight, half = full_slacks(pair, Subgradient(InverseLam()), optimum(pair))
    clash = make_erm(np.ones((2, 1)), [1, -1], lam=0.1)
    steepest = largest_step(clash, pegasos(block=1), jnp.array([[0], [1], [0], [1]], jnp.int32))
    slacks += [*tight[0], 1.0 - steepest]
    return Result(smallest(*slacks), max(float(half), float(1.0 - 2 * steepest)))


claim = Claim(
    name="pegasos_bound",
    text="uniform average: P - P* <= G^2 (1 + ln T)/(2 lam T); full batch is Frank-Wolfe",
    lecture="Optimization Methods for SVMs: Pegasos",
    check=check,
)
