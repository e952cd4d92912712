r"""Claim. One step of RCDM, p_j proportional to Lc_j^a, Lc_j = lam + sum_i c_i x_ij^2/gamma, gains

    E P(w+) <= P(w) - (1/(2 S_a)) sum_j (grad_j P(w))^2 / Lc_j^{1-a},     S_a = sum_j Lc_j^a,

and a step of coordinate descent with any sampling (p, v), l2 or elastic net, contracts

    E[F(x+) - F*] <= (1 - theta)(F(x) - F*),    theta = min_j p_j lam gamma/(v_j + lam gamma).

Lecture "Empirical Risk Minimization" (Richtarik), RCDM, PCDM; Nesterov, SIOPT 22(2) (2012);
Richtarik & Takac, arXiv:1212.0873.

Check. The package's own step on every coordinate, or every set, there is: the expectation is
exact. a = 0, 1/2, 1; the squared loss, for which the first is an equality, and the logistic; an
all-zero feature, example weights, one of them zero. False variant: 1/S_a for 1/(2 S_a).
"""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import CoordinateDescent, ElasticNet, Nice, Point, Powers, prepare
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import SMOOTH, Claim, Result, equal, optimum, smallest, toy

COUNT = 60


def after(problem, method, samples, w):
    """P after each sample of one step from w."""
    state = method.init(problem, Point(w))
    step = lambda index: method.point(problem, method.step(problem, state, Sample(index))).w
    return jax.vmap(lambda index: problem.primal(step(index)))(samples)


@jax.jit
def gains(problem, method, ws):
    view = method.on.of(problem)
    Lc = problem.lam + view.rows.sqnorms / problem.loss.gamma
    weight = Lc**method.sampling.a
    p = method.sampling.constants(view)[0]
    samples = jnp.arange(problem.d, dtype=jnp.int32)[:, None]

    def one(w):
        mean = p @ after(problem, method, samples, w)
        drop = jnp.sum(problem.grad(w) ** 2 * weight / Lc) / jnp.sum(weight)
        now = problem.primal(w)
        return now - drop / 2 - mean, now - drop - mean

    right, wrong = jax.vmap(one)(ws)
    return jnp.min(right), jnp.min(wrong), jnp.min(equal(p, weight / jnp.sum(weight)))


@jax.jit
def contractions(problem, method, samples, ws, best):
    theta, least = method.theta(problem), problem.primal(best)

    def one(w):
        mean = jnp.mean(after(problem, method, samples, w)) - least
        return (1 - theta) * (problem.primal(w) - least) - mean

    return jnp.min(jax.vmap(one)(ws))


def check() -> Result:
    rng = np.random.default_rng(20)
    right, wrong = [], []
    ws = jnp.asarray(2.0 * rng.normal(size=(COUNT, 5)))
    squared = next(loss for loss in SMOOTH if loss.regression)
    for loss in (squared, SMOOTH[2]):
        method = CoordinateDescent(Powers(0.0), block=1)
        problem = prepare(toy(loss), method)
        for a in (0.0, 0.5, 1.0):
            gain, fails, same = gains(problem, CoordinateDescent(Powers(a), block=1), ws)
            right += [gain, same]
            wrong.append(float(fails))
    method = CoordinateDescent(Nice(2))
    problem = prepare(toy(SMOOTH[0], ElasticNet(0.3)), method)
    best = optimum(problem).w
    ws = jnp.concatenate([ws, best[None] + 0.05 * ws])
    sets = jnp.asarray(np.array(list(combinations(range(5), 2)), np.int32))
    right.append(contractions(problem, method, sets, ws, best))
    return Result(smallest(*right), max(wrong))


claim = Claim(
    name="rcdm_one_step",
    text="E P(w+) <= P - sum grad_j^2/Lc_j^(1-a) / (2 S_a), exactly; PCDM contracts by theta",
    lecture="Empirical Risk Minimization: RCDM",
    check=check,
)
