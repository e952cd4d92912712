"""Small kernel problems the claims of this family share, with every awkward case on board."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import RBF, ActiveSet, KernelSVM, Linear, Point, Polynomial, make_kernel_svm
from jaxopt_svm.oracles.pairs import Quadratic

__all__ = ["KERNELS", "exact", "feasible_beta", "points", "quadratic", "toy_kernel"]

KERNELS = (RBF(0.5), Linear(), Polynomial(0.5, 1.0, degree=2))
PIVOTS = 300


def points(n: int = 24, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two noisy classes; points 1 and 2 are equal, and so are 3 and 4, whose labels differ."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.normal(size=n) > 0.8, 1.0, -1.0)
    X[2], X[4] = X[1], X[3]
    y[2], y[4] = y[1], -y[3]
    return X, y


def toy_kernel(kernel, C: float = 1.0, intercept: str = "free", **options) -> KernelSVM:
    return make_kernel_svm(*points(**options), kernel=kernel, C=C, intercept=intercept)


def quadratic(problem: KernelSVM) -> Quadratic:
    return Quadratic(problem.rows.diagonal, *problem.box())


@jax.jit
def _pivots(problem: KernelSVM):
    method = ActiveSet(capacity=64)
    step = lambda _, state: method.step(problem, state, 0)
    return jax.lax.fori_loop(0, PIVOTS, step, method.init(problem))


def exact(problem: KernelSVM):
    """(beta*, b*): the active-set method, to its end."""
    # its type would tell kernels apart, and compile the same program for each
    state = _pivots(dataclasses.replace(problem, kernel=None, X=None, labels=None))
    return state.beta, state.b


def feasible_beta(problem: KernelSVM, rng: np.random.Generator, count: int):
    """(count, n) points of the box with sum beta = 0 where b is free, many of them on bounds."""
    lo, hi = (np.asarray(end) for end in problem.box())
    share = np.clip(rng.uniform(-0.6, 1.6, (count, problem.n)), 0.0, 1.0)
    alphas = jax.vmap(problem.alpha_of)(jnp.asarray(lo + share * (hi - lo)))
    complete = lambda alpha: problem.complete(Point(problem.origin().w, alpha)).dual
    return jax.vmap(lambda a: problem.beta_of(complete(a)))(alphas)
