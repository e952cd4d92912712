"""The short list of SDCA by tiles: made on the host, walked like any tiles, resumed bit for bit."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import jaxopt_svm as js
from jaxopt_svm.core import programs
from jaxopt_svm.core.loop import Loop
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.problems.tiles import listed

KEY = jax.random.key(5)
LAMS = np.geomspace(1e-2, 1e-3, 4)
METHOD = js.Shortlist(near=0.02, rounds=3, first=4)
N, D = 600, 150


def _texts():
    """Sparse rows of like lengths, with words that tell the classes and some noise."""
    rng = np.random.default_rng(0)
    X = rng.random((N, D)) * (rng.random((N, D)) < 0.05)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    return sp.csr_matrix(X), np.sign(X @ rng.normal(size=D) + 0.05 * rng.normal(size=N))


X, Y = _texts()


@pytest.mark.parametrize("batched", [False, True])
def test_a_pass_visits_the_list_and_then_every_row(batched):
    """Its visits, one by one, in the order it drew; every row at least once, those on the list
    ``rounds`` times more."""
    problem = js.make_erm(X, Y)
    ready = js.prepare(problem, METHOD).with_lam([0.02, 0.3] if batched else 0.02)
    chosen = np.array([7, 3, 150, 8, 599, 90])
    ready = METHOD.arranged(ready, chosen)
    drawn = METHOD.draw(ready, jax.random.fold_in(KEY, 0))
    order = np.asarray(drawn.index)[np.asarray(drawn.mask)]
    visits = np.bincount(order, minlength=problem.n)
    np.testing.assert_array_equal(visits, 1 + 3 * np.isin(np.arange(problem.n), chosen))
    assert set(order[: 3 * len(chosen)]) == set(chosen)
    state, best, _ = programs.begin(ready, METHOD, None)
    state, *_ = programs.advance(ready, METHOD, state, best, KEY, 0, 1)
    for lane in range(2 if batched else 1):
        one = problem.with_lam(float(ready.lam[lane] if batched else ready.lam))
        step = lambda at, x, one=one: (js.SDCA(block=1).step(one, at, x), None)
        singles = Sample(jnp.asarray(order)[:, None], None)
        alone = jax.lax.scan(step, js.SDCA().init(one), singles)[0]
        mine = jax.tree.map(lambda x, lane=lane: x[lane] if batched else x, state)
        for a, b in zip(jax.tree.leaves(mine.inner), jax.tree.leaves(alone)):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)
        assert float(mine.updates) == len(order)
        np.testing.assert_allclose(mine.work, len(order) / problem.n)


def test_a_list_holds_what_fits_and_changes_no_shape():
    rows = js.prepare(js.make_erm(X, Y), METHOD).rows
    for wanted in (np.arange(0), np.arange(5), np.arange(N)):
        new = listed(rows, wanted)
        assert jax.tree.map(jnp.shape, jax.tree.leaves(new)) == jax.tree.map(
            jnp.shape, jax.tree.leaves(rows)
        )
        on_it = np.asarray(new.list_index)
        on_it = on_it[on_it < N]
        assert len(set(on_it)) == len(on_it) and set(on_it) <= set(wanted)
        assert len(on_it) == len(wanted) or len(on_it) > 0.35 * N
        filled = int(new.count)
        assert np.all(np.asarray(new.list_index)[filled:] == N)
        for index in (*new.index, *new.list_index[:filled]):
            tile, some = new.take(index), X[np.asarray(index)[np.asarray(index) < N]]
            w = np.linspace(-1, 1, D)
            np.testing.assert_allclose(tile.matvec(jnp.asarray(w))[: some.shape[0]], some @ w)
            gram = np.asarray(tile.gram())[: some.shape[0], : some.shape[0]]
            np.testing.assert_allclose(gram, (some @ some.T).toarray())
        a = np.sin(np.arange(1.0 * N))
        np.testing.assert_allclose(new.rmatvec(jnp.asarray(a)), X.T @ a, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("stretch", [0.3, 1.0, 1.9, -1.0])
def test_the_best_multiple_of_w(stretch):
    problem = js.make_erm(X, Y, lam=1e-3)
    w = stretch * js.solve(problem, js.SDCA(), rtol=0.3).w
    t = np.linspace(0, 2, 20001)
    z = Y[:, None] * (X @ np.asarray(w))[:, None] * t
    values = np.maximum(0, 1 - z).mean(0) + 0.5e-3 * t**2 * float(w @ w)
    found = float(problem.primal(problem.scaled(w)))
    np.testing.assert_allclose(found, values.min(), rtol=1e-6)


def _listings(monkeypatch):
    counts = []
    own = js.Shortlist.arranged
    monkeypatch.setattr(
        js.Shortlist, "arranged", lambda self, *a: counts.append(len(a[1])) or own(self, *a)
    )
    return counts


def test_every_lane_is_certified_with_one_program(monkeypatch):
    problem, listings = js.make_erm(X, Y), _listings(monkeypatch)
    passes: Any = programs.program(METHOD)
    before = passes._cache_size()
    grid = js.sweep(problem, LAMS, METHOD, rtol=1e-5)
    assert len(listings) == 3 and passes._cache_size() == before + 1
    assert set(grid.status) == {"converged"}
    plain = js.sweep(problem, LAMS, js.SDCA(js.Tiles()), rtol=1e-5)
    np.testing.assert_allclose(grid.certificate.primal, plain.certificate.primal, rtol=1e-5)
    assert np.all(grid.passes <= plain.passes) and grid.passes[-1] < 0.5 * plain.passes[-1]
    assert np.all(np.diff(grid.trace.work[-1][: grid.passes[-1]]) > 0)


def test_rows_that_would_not_fit_make_no_list(monkeypatch):
    listings = _listings(monkeypatch)
    js.solve(js.make_erm(X, Y, lam=0.1), js.Shortlist(near=100.0, first=2), rtol=1e-6)
    assert listings == []


def test_it_resumes_bit_for_bit(tmp_path, monkeypatch):
    """Stopped before there is a list, when one is due, after it was made, and at the second."""
    problem, file = js.make_erm(X, Y), tmp_path / "list"
    listings = _listings(monkeypatch)
    whole = js.sweep(problem, LAMS, METHOD, rtol=1e-4)
    assert len(listings) >= 2
    advance = Loop.advance
    for stop in (3, 4, 8, 9, 17, 10**6):

        def until(loop, count, stop=stop):
            if loop.r >= stop:
                raise KeyboardInterrupt
            advance(loop, count)

        monkeypatch.setattr(Loop, "advance", until)
        again = js.sweep(problem, LAMS, METHOD, rtol=1e-4, checkpoint=file)
    np.testing.assert_array_equal(again.w, whole.w)
    np.testing.assert_array_equal(again.trace.gap, whole.trace.gap)
    np.testing.assert_array_equal(again.trace.work, whole.trace.work)


@pytest.mark.parametrize(
    "method, problem, message",
    [
        (js.Shortlist(js.SDCA()), {}, "tiles"),
        (js.Shortlist(rounds=0), {}, r"Shortlist\.rounds"),
        (js.Shortlist(first=0), {}, r"Shortlist\.first"),
        (js.Shortlist(near=0.0), {}, r"Shortlist\.near"),
        (METHOD, {"loss": js.Logistic()}, "hinge"),
    ],
)
def test_what_it_refuses(method, problem, message):
    with pytest.raises(ValueError, match=message):
        js.solve(js.make_erm(X, Y, **problem), method)


def test_a_list_is_made_when_it_is_said():
    at = [r for r in range(1, 300) if METHOD.next_choice(r - 1) == r]
    assert at == [4, 8, 16, 32, 64, 128, 256]


def test_a_row_that_fills_a_tile_by_itself():
    X = sp.csr_matrix(np.vstack([np.ones((1, 900)), np.eye(384, 900)]))
    rows = js.prepare(js.make_erm(X, np.resize([1.0, -1.0], 385)), METHOD).rows
    assert int(listed(rows, np.array([0])).count) >= 1
    np.testing.assert_array_equal(listed(rows, np.array([0])).list_index[0, 0], 0)
