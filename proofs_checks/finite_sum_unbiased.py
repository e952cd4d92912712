r"""Claim. The steps of SAGA, SVRG, S2GD, mS2GD and S2CD have mean grad P, whatever they remember:

    E[(w - w+)/step] = grad P(w),     and for dfSDCA, where w = abar(alpha), (theta/lam) grad P(w).

Lecture "Empirical Risk Minimization" (Richtarik), finite sums.

Check. The package's own steps on every example, every subset of b examples, every pair (example,
coordinate), from remembered slopes that belong to other points; weighted problems, one and three
outputs. False variant: SAG, whose direction is biased.
"""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import MS2GD, S2CD, SAG, SAGA, SVRG, DfSDCA, Logistic, Optimal, Softmax, Uniform
from jaxopt_svm.core.blocks import At
from jaxopt_svm.core.protocols import Point, Sample
from jaxopt_svm.methods.finite_sum.s2cd import S2CDState
from jaxopt_svm.methods.finite_sum.terms import data_gradient, slopes
from proofs_checks.claims import Claim, Result, equal, smallest, toy

COUNT = 20
STEP = 0.01


def over_examples(method, problem, at: At, weights):
    """The mean of w - w+ over single examples."""
    every = jnp.arange(problem.n, dtype=jnp.int32)[:, None]
    after = lambda i: method.block_step(method.visit, problem, at, Sample(i), scales=True).vectors
    return jnp.tensordot(weights, at.vectors[0][None] - jax.vmap(after)(every)[0], 1)


def table_direction(method, problem, w, s):
    """SAG and SAGA, with slopes s remembered from elsewhere."""
    even = jnp.full(problem.n, 1.0 / problem.n)
    at = At((w, data_gradient(problem, s)), (s,), (STEP,))
    return over_examples(method, problem, at, even) / STEP


def epoch_direction(problem, w, s):
    """SVRG and S2GD, inside an epoch whose snapshot had slopes s."""
    even = jnp.full(problem.n, 1.0 / problem.n)
    at = At((w, data_gradient(problem, s)), (), (STEP, 1), s)
    return over_examples(SVRG(sampling=Uniform(), block=1), problem, at, even) / STEP


def batch_direction(problem, w, s):
    """mS2GD: its v has the mean of the data part; the penalty is in the proximal step."""
    method = MS2GD(b=3)
    subsets = np.array(list(combinations(range(problem.n), 3)), np.int32)
    G = data_gradient(problem, s)
    v = jax.vmap(lambda i: method.direction(problem, w, s, G, i))(jnp.asarray(subsets))
    return jnp.mean(v, axis=0) + problem.lam * w


def pair_direction(problem, w, x):
    """S2CD: all pairs of an example and a coordinate, and the penalty's, from its weights."""
    method, n, d = S2CD(STEP), problem.n, problem.d
    state: S2CDState = method.init(problem, Point(x))
    s, grad, X = slopes(problem, x), problem.grad(x), problem.rows.toarray()
    omega = problem.rows.row_counts().astype(w.dtype)
    weight = omega[:, None] * n * problem.c[:, None] * X**2 / problem.loss.gamma
    total = jnp.sum(weight) + d * n * problem.lam

    def change(i, j, of_penalty):
        pair = (i, j, X[i, j], omega[i], of_penalty)
        moved = method.change(problem, state, w, s[i], grad, pair)
        return jnp.zeros_like(w).at[j].set(-moved / STEP)

    rows, columns = jnp.arange(n), jnp.arange(d)
    data = jax.vmap(lambda i: jax.vmap(lambda j: change(i, j, False))(columns))(rows)
    penalty = jax.vmap(lambda j: change(0, j, True))(columns)
    weighted = jnp.tensordot(weight.reshape(-1), data.reshape(-1, *w.shape), 1)
    return (weighted + n * problem.lam * jnp.sum(penalty, axis=0)) / total


def damped_direction(problem, alpha):
    """dfSDCA with a sampling that is not uniform; times lam/theta."""
    method = DfSDCA(Optimal(), block=1)
    p, v = method.sampling.constants(problem)
    at = method.init(problem, Point(problem.abar(alpha), alpha))
    theta = method.rule.theta(problem, p, v)
    return over_examples(method, problem, at, p) * problem.lam / theta


@jax.jit
def slack(problem, w, x, alpha):
    s = slopes(problem, x)
    truth, at_alpha = problem.grad(w), problem.grad(problem.abar(alpha))
    right = [
        equal(table_direction(SAGA(block=1), problem, w, s), truth),
        equal(epoch_direction(problem, w, s), truth),
        equal(batch_direction(problem, w, s), truth),
        equal(pair_direction(problem, w, x), truth),
        equal(damped_direction(problem, alpha), at_alpha),
    ]
    biased = equal(table_direction(SAG(block=1), problem, w, s), truth)
    return jnp.min(jnp.stack([jnp.min(r) for r in right])), jnp.min(biased)


def check() -> Result:
    rng, found = np.random.default_rng(3), []
    for loss in (Logistic(), Softmax()):
        problem = toy(loss)
        shape = (COUNT, *problem.origin().w.shape)
        w, x = jnp.asarray(rng.normal(size=shape)), jnp.asarray(2.0 * rng.normal(size=shape))
        alpha = jnp.asarray(rng.normal(size=(COUNT, *problem.y.shape)))
        found.append(jax.vmap(slack, (None, 0, 0, 0))(problem, w, x, alpha))
    return Result(smallest(*(r for r, _ in found)), max(smallest(b) for _, b in found))


claim = Claim(
    name="finite_sum_unbiased",
    text="the mean direction of SAGA, SVRG, S2GD, mS2GD, S2CD, dfSDCA is grad P; SAG's is not",
    lecture="Empirical Risk Minimization: finite sums",
    check=check,
)
