"""Structured problems: brute force, weak duality whatever is claimed, gaps, bad input."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.sparse

from jaxopt_svm.core.lanes import lane_axes
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.oracles import tree as tree_program
from jaxopt_svm.problems.structured import (
    Mixture,
    Model,
    Statistics,
    chain_hinge,
    decode,
    make_chain,
    make_multiclass,
    make_structured,
    make_tree,
)

pytestmark = pytest.mark.usefixtures("quick_compilation")

K, F, N = 3, 4, 5
LENGTHS = (3, 1, 2, 3, 2)
LAM = 0.1


def sentences(seed=0, lengths=LENGTHS):
    """X, y and parents of some short sequences with features that tell of the labels."""
    rng = np.random.default_rng(seed)
    y = [rng.integers(0, K, T) for T in lengths]
    X = [rng.normal(size=(T, F)) + 1.5 * np.eye(K, F)[labels] for T, labels in zip(lengths, y)]
    X = [np.where(rng.random(x.shape) < 0.3, 0.0, x) for x in X]
    parents = [np.array([-1] + [int(rng.integers(0, v)) for v in range(1, T)]) for T in lengths]
    return X, y, parents


def problems():
    X, y, parents = sentences()
    rng = np.random.default_rng(1)
    cost = rng.random((K, K)) * (1 - np.eye(K))
    same = [np.array([-1, 0, 0])] * N
    X3, y3, _ = sentences(2, (3,) * N)
    weights = rng.random(N)
    flat, labels = np.concatenate(X)[:N], np.concatenate(y)[:N]
    sparse = [scipy.sparse.csr_matrix(x) for x in X]
    options: dict[str, Any] = {"lam": LAM, "classes": K}
    return {
        "multiclass": make_multiclass(
            flat, labels, cost=cost, weights=weights, bias=True, **options
        ),
        "chain": make_chain(X, y, weights=weights, bias=True, ends=True, hamming="mean", **options),
        "chain sparse": make_chain(sparse, y, bias=True, **options),
        "tree": make_tree(X, y, parents, **options),
        "tree per edge": make_tree(X3, y3, same, tables="per_edge", cost=cost, **options),
    }


PROBLEMS = problems()
SPARSE = PROBLEMS.pop("chain sparse")  # has a test of its own
every = pytest.mark.parametrize("name", PROBLEMS)


def labellings(problem, i) -> Any:
    """All labels of example i, padded as the problem pads them."""
    if problem.y.ndim == 1:
        return np.arange(K)
    T = int(problem.x.mask[i].sum())
    real = np.array(list(itertools.product(range(K), repeat=T)))
    return np.pad(real, ((0, 0), (0, problem.y.shape[1] - T)))


def enumerated(problem, i):
    """psi(y) - psi(y_i) (labels, d) and l(y_i, y) (labels,), by the model's definition alone."""
    model, y = problem.model, np.asarray(problem.y[i])
    rows = model.size // K
    psi, losses = [], []
    at = jax.tree.map(lambda a: np.asarray(a[i]), problem.x)
    tokens = at if problem.y.ndim == 1 else at.tokens
    if hasattr(tokens, "X"):
        dense = tokens.X
    else:
        dense = np.zeros((*tokens.index.shape[:-1], model.F))
        for place in np.ndindex(tokens.index.shape):
            dense[(*place[:-1], tokens.index[place])] += tokens.values[place]

    def joint(label):
        w = np.zeros((rows, K))
        if problem.y.ndim == 1:
            w[: model.F, label] = dense
            return w.ravel()
        T = int(at.mask.sum())
        for v in range(T):
            w[: model.F, label[v]] += dense[v]
            if v:
                above = v - 1 if at.parent is None else at.parent[v]
                table = 0 if model.tables == 1 else v - 1
                w[model.F + K * table + label[above], label[v]] += 1
        if model.ends:
            w[-2, label[0]] += 1
            w[-1, label[T - 1]] += 1
        return w.ravel()

    cost = np.asarray(model.cost)
    for label in labellings(problem, i):
        psi.append(joint(label) - joint(y))
        if problem.y.ndim == 1:
            losses.append(cost[y, label])
        else:
            T = int(at.mask.sum())
            loss = cost[y[:T], label[:T]].sum()
            losses.append(loss / T if model.per_length else loss)
    return np.array(psi), np.array(losses)


def random_mixture(problem, seed, slots=4):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, (problem.n, slots, *problem.y.shape[1:]))
    masses = rng.dirichlet(np.ones(slots), problem.n)
    return Mixture(jnp.asarray(labels), jnp.asarray(masses))


def marginals_of(problem, seed):
    """Full marginals of some random distribution."""
    rng = np.random.default_rng(seed)
    if problem.y.ndim == 1:
        return jnp.asarray(rng.dirichlet(np.ones(K), problem.n))
    T = problem.y.shape[1]
    parent = problem.x.parent
    if parent is None:
        parent = jnp.tile(jnp.arange(-1, T - 1), (problem.n, 1))
    unary, tables = rng.normal(size=(problem.n, T, K)), rng.normal(size=(problem.n, T - 1, K, K))
    return jax.vmap(tree_program.marginals)(unary, tables, parent, problem.x.mask)[1]


@jax.jit
def facts(problem, w, dual):
    """Everything a dual point is asked for, in one program."""
    own = problem.w_of(dual)
    return {
        "given": problem.certificate(Point(w, dual)),
        "own": problem.certificate(Point(own, dual)),
        "w": own,
        "gaps": problem.gaps(w, dual),
        "own gaps": problem.gaps(own, dual),
    }


def referee(problem):
    """P* from below, to 1e-7 or so: all labels, block-coordinate ascent with pair steps."""
    tables = [enumerated(problem, i) for i in range(problem.n)]
    alphas = [np.eye(len(loss))[0] for _, loss in tables]
    c = np.asarray(problem.c)
    w = -sum(c[i] * alphas[i] @ tables[i][0] for i in range(problem.n)) / LAM
    for _ in range(20_000):
        largest = 0.0
        for i, (psi, loss) in enumerate(tables):
            H = loss + psi @ w
            u, v = H.argmax(), np.where(alphas[i] > 0, H, np.inf).argmin()
            if H[u] - H[v] < 1e-10 or c[i] == 0:
                continue
            largest = max(largest, H[u] - H[v])
            away = psi[u] - psi[v]
            t = min(alphas[i][v], LAM * (H[u] - H[v]) / (c[i] * away @ away))
            alphas[i][u] += t
            alphas[i][v] -= t
            w = w - c[i] * t * away / LAM
        if largest < 1e-8:
            break
    lost = sum(c[i] * alphas[i] @ tables[i][1] for i in range(problem.n))
    return lost - LAM / 2 * np.sum(w**2)


@every
def test_primal_dual_and_gaps_are_brute_force(name):
    problem = PROBLEMS[name]
    w = np.random.default_rng(3).normal(size=problem.d)
    mixture = random_mixture(problem, 4)
    c, hinge, lost, u, gaps = np.asarray(problem.c), 0.0, 0.0, np.zeros(problem.d), []
    for i in range(problem.n):
        psi, loss = enumerated(problem, i)
        H = loss + psi @ w
        hinge += c[i] * H.max()
        # the padded labels of the mixture, found among all labels
        wanted = np.asarray(mixture.labels[i])
        if problem.y.ndim > 1:
            wanted = np.where(np.asarray(problem.x.mask[i]), wanted, 0)
        rows = [np.argmax([(a == b).all() for a in labellings(problem, i)]) for b in wanted]
        alpha = np.bincount(rows, np.asarray(mixture.masses[i]), minlength=len(H))
        lost += c[i] * alpha @ loss
        u -= c[i] * alpha @ psi
        gaps.append(H.max() - alpha @ H)
    found = facts(problem, jnp.asarray(w), mixture)
    np.testing.assert_allclose(found["given"].primal, LAM / 2 * w @ w + hinge, rtol=1e-12)
    np.testing.assert_allclose(found["given"].dual, lost - u @ u / (2 * LAM), rtol=1e-10)
    np.testing.assert_allclose(found["w"], u / LAM, atol=1e-12)
    np.testing.assert_allclose(found["gaps"], gaps, rtol=1e-10)


@every
def test_weak_duality_and_the_gap_by_examples_whatever_is_claimed(name):
    """Negative masses, wrong sums, nan, labels that do not exist, tables that disagree."""
    problem, rng = PROBLEMS[name], np.random.default_rng(7)
    best = referee(problem)
    good = random_mixture(problem, 8)
    wild = Mixture(good.labels + 50, jnp.asarray(rng.normal(size=good.masses.shape) * 10))
    broken = Mixture(-good.labels, good.masses.at[0].set(jnp.nan))
    claims = [good, wild, broken, marginals_of(problem, 9)]
    claims.append(jax.tree.map(lambda a: 9 * jnp.asarray(rng.normal(size=a.shape)), claims[-1]))
    w = jnp.asarray(rng.normal(size=problem.d))
    for dual in claims:
        found = facts(problem, w, dual)
        given, own = found["given"], found["own"]
        assert given.dual <= best + 1e-9 <= given.primal + 2e-9
        assert (found["own gaps"] >= -1e-12).all()
        np.testing.assert_allclose(jnp.sum(problem.c * found["own gaps"]), own.gap, atol=1e-12)
        assert 0 < given.floor < 1e-12


@pytest.mark.parametrize("name", ("multiclass", "chain", "tree per edge"))
def test_origin_and_primal_only_points(name):
    problem = PROBLEMS[name]
    # the labels decoded at w are a subgradient, and a dual point: D = P - ||P'||^2 / (2 lam)
    w = jnp.asarray(np.random.default_rng(1).normal(size=problem.d))
    look = lambda p, w: (p.certificate(Point(w)), p.grad(w), p.certificate(p.origin()))
    found, slope, zero = jax.jit(look)(problem, w)
    assert zero.dual == 0.0
    np.testing.assert_allclose(found.gap, slope @ slope / (2 * LAM), rtol=1e-10)
    assert problem.origin().dual.labels.dtype == jnp.int8


def test_summed_edge_tables_would_not_do():
    """Why the dual is not (node marginals, summed edges): sums agree, and D exceeds P*."""
    X = [np.array([[1.0], [1.0], [1.0]])]
    problem = make_chain(X, [np.array([0, 1, 0])], lam=1.0, classes=2)
    node = np.eye(2)[[0, 1, 0]]
    impostor = np.eye(2)  # rows sum to the labels that edges leave, columns to those they enter
    np.testing.assert_array_equal(impostor.sum(1), node[:-1].sum(0))
    np.testing.assert_array_equal(impostor.sum(0), node[1:].sum(0))
    reachable = [
        problem.model.statistics(jax.tree.map(lambda a: a[0], problem.x), jnp.array(y))
        for y in itertools.product(range(2), repeat=3)
    ]
    alike = [mu for mu in reachable if np.array_equal(mu.node, node)]
    assert len(alike) == 1 and not np.array_equal(alike[0].edge, impostor)


def test_a_grid_of_lam_is_a_loop():
    problem = PROBLEMS["chain"]
    lams = jnp.array([0.01, 0.1, 1.0])
    dual = random_mixture(problem, 4)
    w = jnp.asarray(np.random.default_rng(0).normal(size=(3, problem.d)))
    grid = problem.with_lam(lams)
    axes = (lane_axes(grid), 0, None)
    many = jax.jit(jax.vmap(lambda p, w, dual: p.certificate(Point(w, dual)), axes))(grid, w, dual)
    for k in range(3):
        one = facts(problem.with_lam(lams[k]), w[k], dual)["given"]
        for a, b in zip(one, many, strict=True):
            np.testing.assert_allclose(a, b[k], rtol=1e-9)


mixed = jax.jit(lambda model, x, labels, masses: model.mix(x, labels, masses))
linear = jax.jit(lambda m, w, x, mu: (m.features(x, mu), m.add(w, x, mu), m.sqnorm(x, mu)))
primal = jax.jit(lambda problem, w: problem.primal(w))


def test_dense_and_sparse_tokens_agree():
    X, y, _ = sentences()
    dense = make_chain(X, y, lam=LAM, bias=True, classes=K)
    w = jnp.asarray(np.random.default_rng(0).normal(size=dense.d))
    mu = random_mixture(dense, 1)
    sparse = SPARSE
    for a, b in zip(
        *map(jax.tree.leaves, (facts(dense, w, mu), facts(sparse, w, mu))), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-12)
    # in-place additions and norms are what the transpose of the potentials says
    for problem in (dense, sparse, PROBLEMS["chain"], PROBLEMS["tree per edge"]):
        one = problem.take(jnp.int32(0))
        stats = mixed(problem.model, one.x, mu.labels[0], mu.masses[0])
        ones = jnp.ones(problem.d)
        psi, added, sqnorm = linear(problem.model, ones, one.x, stats)
        np.testing.assert_allclose(added, ones + psi, atol=1e-12)
        np.testing.assert_allclose(sqnorm, psi @ psi, rtol=1e-12)


def test_weights_delete_and_repeat():
    X, y, parents = sentences()
    w = jnp.asarray(np.random.default_rng(0).normal(size=F * K + K * K))
    make = lambda index, weights: make_tree(
        [X[i] for i in index],
        [y[i] for i in index],
        [parents[i] for i in index],
        C=2.0,
        weights=weights,
        classes=K,
    )
    weighted, repeated = make((0, 1, 2), (2, 0, 1)), make((0, 0, 2), None)
    np.testing.assert_allclose(weighted.lam, 1 / (2.0 * 3))
    np.testing.assert_allclose(primal(weighted, w), primal(repeated, w), rtol=1e-12)


@pytree
class Multilabel(Model):
    """A model of a user's own: L yes/no labels joined by a tree, Hamming loss. x: (F,)."""

    parent: jax.Array
    F: int = static()

    @property
    def L(self):
        return self.parent.shape[0]

    @property
    def size(self):
        return self.F * self.L + 4 * (self.L - 1)

    def potentials(self, w, x):
        scores = x @ w[: self.F * self.L].reshape(self.F, self.L)
        unary = jnp.stack([jnp.zeros_like(scores), scores], axis=1)
        return Statistics(unary, w[self.F * self.L :].reshape(-1, 2, 2))

    def loss(self, x, y):
        wrong = (jnp.arange(2)[None] != y[:, None]).astype(x.dtype)
        return Statistics(wrong, jnp.zeros((self.L - 1, 2, 2), x.dtype))

    def decode(self, theta, x):
        mask = jnp.ones(self.L, bool)
        return tree_program.decode(theta.node, theta.edge, self.parent, mask)

    def statistics(self, x, label):
        node = jnp.eye(2, dtype=x.dtype)[jnp.clip(label, 0, 1)]
        return Statistics(node, node[self.parent[1:]][:, :, None] * node[1:][:, None, :])


def test_a_model_of_ones_own():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4, 2)), rng.integers(0, 2, (4, 3))
    model = Multilabel(jnp.array([-1, 0, 0]), F=2)
    problem = make_structured(model, jnp.asarray(X), y, lam=LAM)
    w = rng.normal(size=problem.d)
    mixture = Mixture(jnp.asarray(rng.integers(0, 2, (4, 4, 3))), random_mixture(problem, 0).masses)
    found = facts(problem, jnp.asarray(w), mixture)
    hinge = 0.0
    for x, truth in zip(X, y, strict=True):
        score = {
            label: x @ w[:6].reshape(2, 3) @ label
            + sum(w[6:].reshape(2, 2, 2)[v - 1, label[0], label[v]] for v in (1, 2))
            for label in itertools.product(range(2), repeat=3)
        }
        loss = {label: (np.array(label) != truth).sum() for label in score}
        hinge += max(loss[k] + score[k] - score[tuple(truth)] for k in score) / 4
    np.testing.assert_allclose(found["given"].primal, LAM / 2 * w @ w + hinge, rtol=1e-12)
    own_gap = jnp.sum(problem.c * found["own gaps"])
    np.testing.assert_allclose(own_gap, found["own"].gap, atol=1e-12)
    assert decode(problem, w, jnp.asarray(X)).shape == (4, 3)


def test_a_network_trains_on_the_chain_hinge():
    x, labels = PROBLEMS["chain"].x, PROBLEMS["chain"].y
    rng = np.random.default_rng(0)
    network = {
        "first": jnp.asarray(rng.normal(size=(F + 1, 6)) * 0.5),
        "second": jnp.asarray(rng.normal(size=(6, K)) * 0.5),
        "pairs": jnp.zeros((K, K)),
    }

    def loss(network):
        unary = jnp.tanh(x.tokens.X @ network["first"]) @ network["second"]
        each = jax.vmap(chain_hinge, (0, None, 0, 0))(unary, network["pairs"], labels, x.mask)
        return jnp.mean(each)

    optimiser = optax.sgd(0.1, momentum=0.9)

    @jax.jit
    def step(network, state):
        value, slope = jax.value_and_grad(loss)(network)
        update, state = optimiser.update(slope, state)
        return optax.apply_updates(network, update), state, value

    state, values = optimiser.init(network), []
    for _ in range(60):
        network, state, value = step(network, state)
        values.append(float(value))
    assert values[-1] < 0.2 * values[0] and min(values) >= 0


def test_labels_come_back_by_name():
    X, y, parents = sentences()
    names = np.array(["noun", "verb", "other"])
    words = [names[labels] for labels in y]
    rng = np.random.default_rng(0)
    for problem, more in (
        (make_chain(X, words, classes=names), ()),
        (make_tree(X, words, parents, classes=names), (parents,)),
    ):
        # a strong loss-free solution: features tell the label
        w = np.zeros((problem.d // K, K))
        w[:K] = 10 * np.eye(K) + rng.normal(size=(K, K))
        found = decode(problem, w.ravel(), X, *more)
        assert [f.shape for f in found] == [labels.shape for labels in y]
        assert set(np.concatenate(found)) <= set(names)
        lanes = decode(problem, np.stack([w.ravel()] * 2), X, *more)
        np.testing.assert_array_equal(lanes[0][1], found[0])
    flat, labels = np.concatenate(X), np.concatenate(words)
    problem = make_multiclass(scipy.sparse.csr_matrix(flat), labels, bias=True)
    w = rng.normal(size=(F + 1, K))
    want = np.sort(names)[(flat @ w[:F] + w[F]).argmax(1)]
    np.testing.assert_array_equal(decode(problem, w.ravel(), flat), want)


def bad(**change):
    """A chain or tree call with one thing wrong."""
    X, y, parents = sentences()
    given = {"X": X, "y": y, "parents": parents, "classes": K} | change
    make = make_tree if "parents" in change or "tables" in change else make_chain
    if make is make_chain:
        del given["parents"]
    return make(given.pop("X"), given.pop("y"), **given)


def edit(rows, i, value):
    return [*rows[:i], value, *rows[i + 1 :]]


def test_bad_input_is_named():
    X, y, parents = sentences()
    nan = edit(X, 1, np.full((1, F), np.nan))
    holes = np.ones((2, 3), bool)
    holes[1, 1] = False
    cube, square = np.ones((2, 3, F)), np.array([[0, 1, 2], [0, 0, 1]])
    for message, change in {
        r"y: expected integers from 0 to 2; found .*3": {"y": edit(y, 1, np.array([3]))},
        r"y: expected integers from 0 to 2": {"y": edit(y, 1, np.array([-1]))},
        r"y\[1\]: expected 1 labels": {"y": edit(y, 1, np.array([0, 0]))},
        r"y: expected labels of 5 examples": {"y": y[:4]},
        r"y: the label .* is not one of classes": {"classes": ["a", "b"]},
        r"X\[1\]: the sequence is empty": {"X": edit(X, 1, np.zeros((0, F)))},
        r"X\[1\]: expected finite": {"X": nan},
        r"X\[2\]: expected 4 features": {"X": edit(X, 2, np.zeros((2, F + 1)))},
        r"X: expected a list": {"X": np.zeros((3, 4))},
        r"X: expected at least one": {"X": []},
        r"mask: row 1 has a hole": {"X": cube, "y": square, "mask": holes},
        r"mask: a list of sequences": {"mask": holes},
        r"parents\[0\]: node 0 is the root": {"parents": edit(parents, 0, np.array([0, 0, 1]))},
        r"parents\[0\]: node 1 has parent 2": {"parents": edit(parents, 0, np.array([-1, 2, 1]))},
        r"parents\[3\]: node 2 has parent 2": {"parents": edit(parents, 3, np.array([-1, 0, 2]))},
        r"parents: expected 5 trees": {"parents": parents[:2]},
        r"tables: .per_edge. needs the same tree": {"tables": "per_edge"},
        r"tables: expected one of": {"tables": "own"},
        r"hamming: expected one of count, mean": {"hamming": "max"},
        r"cost: the diagonal must be zero; cost\[0, 0\] = 1": {"cost": np.ones((K, K))},
        r"cost: expected numbers >= 0": {"cost": np.eye(K) - 1},
        r"cost: expected a \(3, 3\)": {"cost": np.eye(2)},
        r"lam: expected positive": {"lam": 0.0},
        r"lam and C": {"lam": 1.0, "C": 1.0},
        r"weights: expected 5 numbers": {"weights": np.ones(4)},
    }.items():
        with pytest.raises(ValueError, match=message):
            bad(**change)
    with pytest.raises(ValueError, match="model: expected an instance"):
        make_structured(Multilabel, None, np.zeros(3))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="X: expected 4 features"):
        decode(PROBLEMS["tree"], np.zeros(21), [np.ones((2, 3))], [np.array([-1, 0])])
    with pytest.raises(ValueError, match="parents: a tree model"):
        decode(PROBLEMS["tree"], np.zeros(21), X)
    with pytest.raises(ValueError, match="X: expected a matrix"):
        make_multiclass(np.zeros(3), [0, 1, 0])
