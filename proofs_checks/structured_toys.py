"""Structured problems small enough to write out every label, and their numbers by plain numpy.

``Listed`` is the referee: features, losses, P, D, w(alpha), scores and gaps of all labels of all
examples straight from the definitions, with alpha_i(y) = c_i a_i(y) and rows a_i that sum to one.
"""

import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxopt_svm import Point, make_chain, make_multiclass, make_structured
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.methods.structured.label_visits import Turn
from jaxopt_svm.problems.structured.mixture import Mixture
from jaxopt_svm.problems.structured.model import Model
from jaxopt_svm.problems.structured.multiclass import Multiclass
from jaxopt_svm.problems.structured.problem import Structured

__all__ = [
    "Listed",
    "Written",
    "chain",
    "every_visit",
    "listed",
    "mixture",
    "multiclass",
    "opposite",
    "optimum",
    "table",
    "written",
]

Y, D = 5, 3  # labels and parameters of written tables: one shape, so one program for all of them


class Written(NamedTuple):
    """One example: features (Y, d) with psi(x, 0) = 0, losses (Y,); label 0 is the truth."""

    Psi: Any
    losses: Any


@pytree
class Table(Model):
    """Labels 0..Y-1 with any features and any losses."""

    K: int = static()
    d: int = static()

    @property
    def size(self) -> int:
        return self.d

    def potentials(self, w, x: Written):
        return x.Psi @ w

    def loss(self, x: Written, y):
        return x.losses

    def decode(self, theta, x):
        return jnp.max(theta), lax.argmax(theta, 0, jnp.int32)

    def statistics(self, x: Written, label):
        here = jnp.clip(label.astype(jnp.int32), 0, self.K - 1)
        return (jnp.arange(self.K, dtype=jnp.int32) == here).astype(x.losses.dtype)

    # what would follow from these, written so that it compiles faster

    def score(self, theta, x, label):
        return theta[label]

    def mix(self, x: Written, labels, masses):
        return jnp.zeros_like(x.losses).at[labels].add(masses)

    def features(self, x: Written, mu):
        return mu @ x.Psi

    def limits(self, x: Written):
        return jnp.max(jnp.linalg.norm(x.Psi, axis=1)), jnp.max(x.losses)

    def every_label(self, x) -> Array:
        return jnp.arange(self.K, dtype=jnp.int32)


def written(Psi: np.ndarray, losses: np.ndarray, weights: Any = None, lam: float = 0.1):
    """The problem with features (n, Y, d) and losses (n, Y)."""
    n, count, d = Psi.shape
    x = Written(jnp.asarray(Psi), jnp.asarray(losses))
    truth = np.zeros(n, np.int32)
    return make_structured(Table(count, d), x, truth, lam=lam, weights=weights)


def awkward(rng: np.random.Generator, n: int) -> np.ndarray:
    """Weights of n examples: example 0 is heavy, example 2 has weight 0."""
    weights = rng.uniform(0.6, 1.4, n)
    weights[0], weights[2] = 1.8, 0.0
    return weights


def table(*, lam: float = 0.1, seed: int = 0, n: int = 6) -> Structured:
    """Features of example 0 are long, of example 1 all zero; two labels of example 3 differ in
    their losses only; example 2 has weight 0."""
    rng = np.random.default_rng(seed)
    Psi, losses = rng.normal(size=(n, Y, D)), rng.uniform(0.3, 1.5, (n, Y))
    Psi[0] *= 2.0
    Psi[1], Psi[3, 2] = 0.0, Psi[3, 1]
    Psi[:, 0], losses[:, 0] = 0.0, 0.0
    return written(Psi, losses, awkward(rng, n), lam)


def opposite(share: float, *, n: int = 6) -> tuple[Structured, np.ndarray]:
    """A problem with labels of features +v and -v, ||v|| = Dm = 1, and a dual point at -v.

    Moving to +v is the longest move there is, 2 Dm. ``share``: the largest curvature
    c_0^2 4 Dm^2/lam as a share of the slope c_0 G_0. Example 0 has nearly all the weight.
    """
    Psi, losses = np.zeros((n, Y, D)), np.zeros((n, Y))
    Psi[:, 1, 0], Psi[:, 2, 0] = 1.0, -1.0
    losses[:, 1], losses[:, 2] = 1.0, 0.9
    masses = np.zeros((n, Y))
    masses[1:, 0], masses[0, 2] = 1.0, 1.0
    weights = np.full(n, 1e-3)
    weights[0] = 1.0
    # G_0 = 0.1 + 2 <w, v> with w = (c_0/lam) v: q/g = 4 c_0/(0.1 lam + 2 c_0)
    c = weights[0] / weights.sum()
    lam = (4 * c / share - 2 * c) / 0.1
    return written(Psi, losses, weights, lam), masses


def multiclass(*, lam: float = 0.1, n: int = 6) -> Structured:
    """Three labels, a cost matrix without symmetry, the awkward rows of ``claims.toy``."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    X[0], X[1] = (2.5, 0.0, 0.0), 0.0
    cost = rng.uniform(0.5, 1.5, (3, 3)) * (1 - np.eye(3))
    return make_multiclass(X, np.arange(n) % 3, lam=lam, cost=cost, weights=awkward(rng, n))


def chain(*, lam: float = 0.5) -> Structured:
    """Lengths 3, 1, 2, 2, 3 and three labels; example 1 has no features and no edge at all."""
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(T, 2)) for T in (3, 1, 2, 2, 3)]
    X[1] = 0.0 * X[1]
    y = [rng.integers(0, 3, len(x)) for x in X]
    cost = rng.uniform(0.5, 1.5, (3, 3)) * (1 - np.eye(3))
    return make_chain(X, y, lam=lam, cost=cost, weights=awkward(rng, 5), classes=3)


class Listed(NamedTuple):
    """Psi: (n, Y, d) features minus those of the truth. losses: (n, Y). truth: (n,) its index.
    new: (n, Y) False where a label of padding has come before. labels: (n, Y, ...)."""

    Psi: np.ndarray
    losses: np.ndarray
    c: np.ndarray
    lam: float
    truth: np.ndarray
    new: np.ndarray
    labels: np.ndarray

    def scores(self, w):
        """H_i(y; w), (..., n, Y)."""
        return self.losses + np.einsum("iyd,...d->...iy", self.Psi, w)

    def primal(self, w):
        return self.lam / 2 * np.sum(w**2, -1) + self.scores(w).max(-1) @ self.c

    def image(self, a):
        """A alpha, for any alpha = c a."""
        return np.einsum("...iy,iyd->...d", self.c[:, None] * a, self.Psi) / np.sqrt(self.lam)

    def w_of(self, a):
        return -self.image(a) / np.sqrt(self.lam)

    def lost(self, a):
        """<b, alpha>."""
        return np.sum(self.c[:, None] * a * self.losses, (-2, -1))

    def dual(self, a):
        return self.lost(a) - np.sum(self.image(a) ** 2, -1) / 2

    def gaps(self, a):
        """G_i at w(alpha)."""
        s = self.scores(self.w_of(a))
        return s.max(-1) - np.sum(a * s, -1)

    def start(self):
        """All mass on the truth."""
        return np.eye(self.new.shape[1])[self.truth]

    def masses(self, rng: np.random.Generator, count: int):
        """(count, n, Y): points inside, on faces, and corners of the feasible set."""
        n, labels = self.new.shape
        size = 10.0 ** rng.uniform(-2, 1, (count, 1, 1))
        a = rng.gamma(np.broadcast_to(size, (count, n, labels))) + 1e-12
        a = a * self.new * (rng.random((count, n, labels)) < rng.uniform(0.3, 1, (count, 1, 1)))
        a = np.where(a.sum(-1, keepdims=True) > 0, a, self.start())
        return a / a.sum(-1, keepdims=True)

    @property
    def Dm(self) -> float:
        return float(np.linalg.norm(self.Psi, axis=-1).max())


def listed(problem: Structured) -> Listed:
    """Every label of every example, by the definition of its features."""
    model, x, y = problem.model, problem.x, np.asarray(problem.y)
    numbers = np.asarray(problem.c), float(problem.lam)
    n = problem.n
    if isinstance(model, Table):
        labels = np.broadcast_to(np.arange(model.K), (n, model.K))
        Psi, losses = np.asarray(x.Psi), np.asarray(x.losses)
        return Listed(Psi, losses, *numbers, y, np.ones(labels.shape, bool), labels)
    cost, K, F = np.asarray(model.cost), model.K, model.F
    if isinstance(model, Multiclass):
        labels = np.broadcast_to(np.arange(K), (n, K))
        psi = np.einsum("if,yk->iyfk", np.asarray(x.X), np.eye(K)).reshape(n, K, F * K)
        new, losses = np.ones(labels.shape, bool), cost[y]
    else:
        X, mask = np.asarray(x.tokens.X), np.asarray(x.mask)
        T = mask.shape[1]
        labels = np.array(list(itertools.product(range(K), repeat=T))) * mask[:, None]
        one = lambda x, real, ys: [_chain_features(x, real, y, F, K) for y in ys]
        psi = np.array([one(*example) for example in zip(X, mask, labels)])
        losses = np.sum(cost[y[:, None], labels] * mask[:, None], -1)
        seen = [np.unique(ys, axis=0, return_index=True)[1] for ys in labels]
        new = np.array([np.isin(np.arange(len(labels[0])), first) for first in seen])
    same = (labels == y[:, None]).reshape(n, labels.shape[1], -1).all(-1)
    truth = same.argmax(1)
    return Listed(psi - psi[np.arange(n), truth][:, None], losses, *numbers, truth, new, labels)


def _chain_features(X, mask, y, F, K):
    """Rows of one matrix with K columns: F of features, K of transitions."""
    W = np.zeros((F + K, K))
    for t in range(mask.sum()):
        W[:F, y[t]] += X[t]
        if t:
            W[F + y[t - 1], y[t]] += 1
    return W.ravel()


def mixture(problem: Structured, facts: Listed, a) -> Mixture:
    """The dual point with mass a on every label, as the package has it."""
    labels = jnp.asarray(facts.labels.astype(problem.y.dtype))
    return Mixture(labels, jnp.asarray(a))


def optimum(facts: Listed, tolerance: float = 1e-12) -> np.ndarray:
    """Masses a* with P - D <= tolerance: mass moved between the pair of labels that gains most."""
    a, w = facts.start(), np.zeros(facts.Psi.shape[2])
    product = np.einsum("iyd,izd->iyz", facts.Psi, facts.Psi)
    size = np.einsum("iyy->iy", product)
    N = size[:, :, None] + size[:, None, :] - 2 * product
    for _ in range(20_000):
        for i in np.flatnonzero(facts.c):
            s, ratio = facts.losses[i] + facts.Psi[i] @ w, facts.c[i] / facts.lam
            rise = np.maximum(s[:, None] - s[None, :], 0.0)
            limit = np.where(N[i] > 0, rise / np.where(N[i] > 0, ratio * N[i], 1.0), np.inf)
            t = np.minimum(a[i][None, :], np.where(rise > 0, limit, 0.0))
            u, v = divmod(np.argmax(t * rise - ratio * t**2 * N[i] / 2), len(s))
            w = w - ratio * t[u, v] * (facts.Psi[i, u] - facts.Psi[i, v])
            a[i, u], a[i, v] = a[i, u] + t[u, v], a[i, v] - t[u, v]
        w = facts.w_of(a)
        if facts.primal(w) - facts.dual(a) <= tolerance:
            return a
    raise ArithmeticError("the optimum of a toy was not reached")


@jax.jit
def every_visit(problem: Structured, method: Any, labels, masses):
    """(count, n, n, Y): the masses after a visit of example i, from each of the given points."""

    def one(a, i):
        state = method.init(problem, Point(None, Mixture(labels, a)))
        turn = Turn(Sample(i[None]), jnp.asarray(True), jnp.asarray(False))
        return method.step(problem, state, turn).masses

    visits = jax.vmap(one, (None, 0))
    return jax.vmap(visits, (0, None))(masses, jnp.arange(problem.n, dtype=jnp.int32))
