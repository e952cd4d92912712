"""Blocks are exact: whatever the block, the rows and the repeats, the iterates are the same."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import jaxopt_svm as js
from jaxopt_svm.core.blocks import At, serial_step
from jaxopt_svm.core.lanes import take_lanes
from jaxopt_svm.core.programs import advance, begin
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.visits import Visits
from jaxopt_svm.problems import rows as rows_module
from jaxopt_svm.problems.tiles import make_tiled
from tests import toy

pytestmark = pytest.mark.usefixtures("quick_compilation")

KEY = jax.random.key(3)
METHODS = {
    "sdca": lambda block: js.SDCA(block=block),
    "sdca-uniform": lambda block: js.SDCA(js.Uniform(), block=block),
    "sgd": lambda block: js.SGD(block=block),
    "sgd-t0": lambda block: js.SGD(js.InverseLam(t0=5.0), block=block),
    "pegasos": lambda block: js.pegasos(block=block),
    "pegasos-projected": lambda block: js.pegasos(project=True, block=block),
    "averaged": lambda block: js.Averaged(js.SGD(block=block), js.PolynomialMean(3.0)),
    "averaged-uniform": lambda block: js.Averaged(js.pegasos(block=block), js.UniformMean()),
}


def problem(sparse: bool, loss=None):
    X, y = toy.matrix()
    X = sp.csr_matrix(X) if sparse else X
    return js.make_erm(X, y, loss=loss or js.SmoothHinge(0.5), lam=0.05, weights=toy.weights())


@functools.cache
def single_visits(name):
    return js.run(problem(False), METHODS[name](1), passes=3, key=KEY)[1]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_a_block_equals_single_visits(name, sparse):
    """40 visits in blocks of 16 (with a partial one) and of 64 against the lecture's steps."""
    one = single_visits(name)
    for block in (16, 64):
        many = js.run(problem(sparse), METHODS[name](block), passes=3, key=KEY)[1]
        np.testing.assert_allclose(many.primal, one.primal, rtol=1e-11)
        np.testing.assert_allclose(many.dual, one.dual, rtol=1e-11, atol=1e-14)


LANES_BEHIND = {
    "sdca": js.SDCA(block=4),
    "sdca-uniform": js.SDCA(js.Uniform(), block=4),
    "quartz": js.Quartz(block=4),
    "dfsdca": js.DfSDCA(block=4),
}


@pytest.mark.parametrize("own", [(), ("y", "c")])
@pytest.mark.parametrize("name", LANES_BEHIND)
def test_lanes_behind_the_features_equal_lanes_one_by_one(name, own):
    """A pass over sparse rows for a batch; lanes share targets and weights, or have their own."""
    p, method = problem(sparse=True), LANES_BEHIND[name]
    fields = {f: jnp.stack([getattr(p, f), getattr(p, f)[::-1]]) for f in own}
    lanes = ("lam", *own)
    grid = dataclasses.replace(p.with_lam([0.02, 0.3]), lanes=lanes, **fields)
    state, best, _ = begin(grid, method, None)
    state, _, found = advance(grid, method, state, best, KEY, 0, 3)
    for lane in range(2):
        one = dataclasses.replace(take_lanes(grid, lane), lanes=("lam",))
        alone, best, _ = begin(one, method, None)
        alone, _, certificate = advance(one, method, alone, best, KEY, 0, 3)
        mine = jax.tree.map(lambda x, lane=lane: x[lane], (state, found))
        for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves((alone, certificate))):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


def test_products_with_sparse_rows_by_blocks(monkeypatch):
    """With several outputs or lanes they go by stretches of chunks, the last one shorter."""
    monkeypatch.setattr(rows_module, "CELLS", 24)
    X, _ = toy.matrix()
    rows = js.make_erm(sp.csr_matrix(X), np.ones(len(X)), loss=js.Squared()).rows
    W, A = np.random.default_rng(0).normal(size=(2, max(X.shape), 3))
    W, A = W[: X.shape[1]], A[: X.shape[0]]
    np.testing.assert_allclose(rows.matvec(jnp.asarray(W)), X @ W, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(rows.rmatvec(jnp.asarray(A)), X.T @ A, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("sparse", [False, True])
def test_repeats_inside_a_block_see_earlier_moves(sparse):
    """A block of 64 draws from five examples only, against the same draws one by one."""
    p = problem(sparse)
    index = jax.random.randint(KEY, (64,), 0, 5, dtype=jnp.int32)
    method = js.SDCA(js.Uniform(), block=64)
    block = method.step(p, method.init(p), Sample(index))
    single = js.SDCA(js.Uniform(), block=1)
    one = lambda state, i: (single.step(p, state, Sample(i[None])), None)
    state = jax.lax.scan(one, method.init(p), index)[0]
    for a, b in zip(jax.tree.leaves(block), jax.tree.leaves(state)):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


def test_pretending_that_repeats_are_unique_is_noticed():
    """The test above has teeth: without the cache the result is another one."""
    p = problem(False)
    index = jnp.zeros(8, jnp.int32) + 1
    method = js.SDCA(js.Uniform(), block=8)
    right = method.step(p, method.init(p), Sample(index))
    facts = {"unique": True, "linear": True, "scales": False}
    wrong = serial_step(method.visit, p, method.init(p), Sample(index), **facts)
    assert abs(float(right.tables[0][1] - wrong.tables[0][1])) > 1e-3


@pytree
class TwoVectors(Visits):
    """A visit that scales, mixes and moves two vectors with two outputs each."""

    sampling: js.Shuffled = js.Shuffled()
    block: int = static(default=8)

    def init(self, problem):
        w = jnp.ones((problem.d, 2)) * jnp.arange(1.0, 3.0)[None, :]
        return At((w, -0.5 * w), (jnp.zeros((problem.n, 2)),), (jnp.ones(()),))

    def visit(self, problem, example, at):
        (w, m), (a,), (s,) = at.vectors, at.tables, at.scalars
        z = example.row.dot(w) - 0.1 * example.row.dot(m)
        w = example.row.add(0.97 * w - 0.02 * m, 0.1 * jnp.tanh(z) * example.c)
        m = example.row.add(0.9 * m + 0.05 * w, -0.3 * (z - a))
        return At((w, m), (a + 0.1 * z,), (s * 0.99,))


@pytest.mark.parametrize("sparse", [False, True])
def test_mixed_vectors_with_several_outputs(sparse):
    """SAGA-like visits on (d, 2) vectors: blocks, lazily mixed sparse rows, true rows."""

    def states(method, sparse):
        p = problem(sparse)
        state = method.init(p)
        samples = method.draw(p, KEY)
        return jax.lax.scan(lambda s, x: (method.step(p, s, x), None), state, samples)[0]

    for a, b in zip(
        jax.tree.leaves(states(TwoVectors(block=8), sparse)),
        jax.tree.leaves(states(TwoVectors(block=1), False)),
    ):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_a_parallel_step_adds_the_moves_of_its_set():
    """tau coordinates from the same w, against the formula written out."""
    p, method = problem(False), js.SDCA(js.Nice(4))
    state = method.init(p, js.Point(None, p.y * 0.3))
    index = jnp.array([3, 7, 20, 39], jnp.int32)
    new = method.step(p, state, Sample(index))
    alpha, w = state.tables[0], state.vectors[0]
    q = p.c * js.Nice(4).constants(p)[1] / p.lam
    best = p.loss.dual_step(p.rows.matvec(w), alpha, p.y, q)
    expected = alpha.at[index].set(best[index])
    np.testing.assert_allclose(new.tables[0], expected, atol=1e-14)
    np.testing.assert_allclose(new.vectors[0], p.abar(expected), atol=1e-14)


@pytest.mark.parametrize("sparse", [False, True])
def test_sparse_mini_batches_equal_dense_ones(sparse):
    method = js.SGD(batch=7, project=True)
    a = js.run(problem(sparse), method, passes=3, key=KEY)[1]
    b = js.run(problem(False), method, passes=3, key=KEY)[1]
    np.testing.assert_allclose(a.primal, b.primal, rtol=1e-11)


def test_pegasos_on_the_hinge_is_the_textbook():
    """Twenty steps against the update written in numpy."""
    X, y = toy.matrix()
    p = js.make_erm(X, y, lam=0.05)
    method = js.pegasos(block=20)
    index = method.sampling.draw(p, KEY, 20).index[0]
    state = method.step(p, method.init(p), Sample(index))
    w = np.zeros(X.shape[1])
    for t, i in enumerate(np.asarray(index), start=1):
        active = y[i] * (X[i] @ w) < 1
        w = (1 - 1 / t) * w + active * y[i] * X[i] / (0.05 * t)
    np.testing.assert_allclose(state.vectors[0], w, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("batched", [False, True])
def test_tiles_take_the_visits_of_their_order_one_by_one(batched):
    """A pass by tiles, whose Gram matrices are formed once, against single visits of the rows."""
    X, y = toy.matrix()
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    X[3] = 0.0  # a row without values
    method = js.SDCA(js.Tiles())
    p = js.make_erm(sp.csr_matrix(X), np.sign(y) + (y == 0), loss=js.Hinge())
    tiled = js.prepare(p.with_lam([0.02, 0.3] if batched else 0.02), method)
    assert sorted(np.unique(tiled.rows.index)) >= list(range(p.n))
    state, best, _ = begin(tiled, method, None)
    state, *_ = advance(tiled, method, state, best, KEY, 0, 2)
    drawn = [method.draw(tiled, jax.random.fold_in(KEY, r)) for r in range(2)]
    for lane in range(2 if batched else 1):
        one = p.with_lam(float(tiled.lam[lane] if batched else tiled.lam))
        alone = js.SDCA().init(one)
        for sample in drawn:
            order = np.asarray(sample.index).reshape(-1)
            singles = Sample(jnp.asarray(order[order < p.n])[:, None], None)
            step = lambda at, x, one=one: (js.SDCA(block=1).step(one, at, x), None)
            alone = jax.lax.scan(step, alone, singles)[0]
        mine = jax.tree.map(lambda x, lane=lane: x[lane] if batched else x, state)
        for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(alone)):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


def test_tiles_hold_every_row_once_and_about_as_many_values():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.normal(size=(203, 400)) * (rng.random((203, 400)) < 0.05))
    rows = make_tiled(js.make_erm(X, np.ones(203), loss=js.Squared()).rows)
    index, n = np.asarray(rows.index), 203
    np.testing.assert_array_equal(np.sort(index[index < n]), np.arange(n))
    assert index.shape[1] <= 32 and rows.tiles.cols.size < 1.4 * X.nnz
    for k, tile in enumerate(index):
        some = X[tile[tile < n]]
        mine = jax.tree.map(lambda x, k=k: x[k], rows.tiles)
        size = some.shape[0]
        np.testing.assert_allclose(mine.products[:size, :size], (some @ some.T).toarray())
        w = rng.normal(size=400)
        np.testing.assert_allclose(mine.matvec(jnp.asarray(w))[:size], some @ w)
    for a in (rng.normal(size=n), rng.normal(size=(n, 3))):
        np.testing.assert_allclose(rows.rmatvec(jnp.asarray(a)), X.T @ a, rtol=1e-12, atol=1e-13)


def test_tiles_say_what_they_need():
    X, y = toy.matrix()
    with pytest.raises(ValueError, match="sparse rows"):
        js.solve(js.make_erm(X, y, loss=js.Squared()), js.SDCA(js.Tiles()))
    with pytest.raises(ValueError, match=r"js\.prepare"):
        js.run(js.make_erm(sp.csr_matrix(X), y, loss=js.Squared()), js.SDCA(js.Tiles()), passes=1)
