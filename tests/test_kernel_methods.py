"""Kernel solvers: their own promises, beyond the laws of the contract."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.core import lanes
from proofs_checks.kernel_toys import points as plane
from tests.test_programs import loop_bodies
from tests.toy_kernel import kernel64, points

FREE = {"intercept": "free"}


@pytest.fixture(autouse=True)
def quick_compilation():
    """Compilation is most of the time here."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def steps(problem, method, count):
    run = lambda p, s: jax.lax.fori_loop(0, count, lambda _, s: method.step(p, s, 0), s)
    return jax.jit(run)(problem, method.init(problem))


def test_box_sdca_on_a_linear_kernel_takes_the_steps_of_sdca():
    X, y = points()
    kernel = js.make_kernel_svm(X, y, kernel="linear", lam=0.1, intercept="penalised")
    linear = js.make_erm(X, y, lam=0.1, intercept="penalised")
    a = js.solve(kernel, js.BoxSDCA(), rtol=0.0, max_passes=5)
    b = js.solve(linear, js.SDCA(), rtol=0.0, max_passes=5)
    np.testing.assert_allclose(a.trace.gap, b.trace.gap, rtol=1e-9)
    np.testing.assert_allclose(a.dual, b.dual, rtol=1e-9, atol=1e-12)
    rows = np.asarray(js.decision(kernel, a, X)), np.asarray(js.decision(linear, b, X))
    np.testing.assert_allclose(*rows, rtol=1e-9, atol=1e-12)


def test_blocks_of_box_sdca_do_not_change_its_steps():
    problem = kernel64(js.RBF(0.3), loss=js.Logistic())
    a, b = (js.solve(problem, js.BoxSDCA(block=k), rtol=0.0, max_passes=2) for k in (1, 8))
    np.testing.assert_allclose(a.dual, b.dual, rtol=1e-10)


@pytest.mark.parametrize("size", [2, 40])
def test_a_cache_of_any_size_gives_the_same_iterates(size):
    X, y = points()
    options = {"kernel": js.RBF(0.3), "lam": 0.02, "intercept": "free"}
    stored = js.make_kernel_svm(X, y, **options)
    made = js.make_kernel_svm(X, y, gram="rows", **options)
    a, b = steps(stored, js.SMO(), 30), steps(made, js.SMO(cache=size), 30)
    np.testing.assert_allclose(a.beta, b.beta, rtol=1e-9, atol=1e-12)
    assert int(a.made) == 60
    if size == 40:  # every row is computed once
        touched = int(jnp.sum(jnp.any(b.cache.rows != 0, axis=1)))
        assert int(b.made) == touched < 60
    else:
        assert touched_again(b)


def touched_again(state) -> bool:
    """Two slots cannot hold what thirty pairs ask for, yet save some rows."""
    return 30 < int(state.made) <= 60


def test_capacity_grows_by_itself_and_changes_nothing():
    problem = kernel64(js.RBF(0.3), **FREE)
    small = js.solve(problem, js.ActiveSet(capacity=2, pivots=8), rtol=1e-12, max_passes=60)
    large = js.solve(problem, js.ActiveSet(capacity=64, pivots=8), rtol=1e-12, max_passes=60)
    assert large.relative_gap < 1e-10 and small.relative_gap < 1e-10
    np.testing.assert_allclose(small.certificate.primal, large.certificate.primal, rtol=1e-12)


def test_an_active_set_can_start_from_a_solution():
    problem = kernel64(js.RBF(0.3), **FREE)
    method = js.ActiveSet(capacity=2)
    one = js.solve(problem, method, rtol=1e-12, max_passes=40)
    again = js.solve(problem, method, rtol=1e-12, max_passes=40, start=one.point)
    near = js.solve(problem.with_lam(0.09), method, rtol=1e-12, max_passes=40, start=one.point)
    cold = js.solve(problem.with_lam(0.09), method, rtol=1e-12, max_passes=40)
    assert again.passes <= 1
    np.testing.assert_allclose(near.certificate.primal, cold.certificate.primal, rtol=1e-11)
    assert near.trace.updates[-1] < cold.trace.updates[-1]


def test_candidates_find_the_same_optimum_with_fewer_kernel_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=800) > 0.8, 1, -1)
    problem = js.make_kernel_svm(X, y, kernel=js.RBF(0.5), C=100.0, intercept="free")
    everyone, few = (
        js.solve(problem, js.ActiveSet(capacity=256, candidates=k), rtol=1e-10, max_passes=100)
        for k in (None, 100)
    )
    np.testing.assert_allclose(few.certificate.primal, everyone.certificate.primal, rtol=1e-9)
    assert few.relative_gap < 1e-9 and everyone.relative_gap < 1e-9
    assert few.trace.work[-1] < 0.7 * everyone.trace.work[-1]


@pytest.mark.parametrize("method", [js.ShrinkingSMO(size=12, every=40), js.Decomposition(q=12)])
def test_contradicting_duplicates_converge(method):
    """kernel64 has two equal points with different labels, and a large C wants both."""
    problem = kernel64(js.RBF(0.3), **FREE).with_lam(1e-3)
    one = js.solve(problem, method, rtol=1e-6, max_passes=400)
    assert one.status == "converged"
    exact = js.solve(problem, js.ActiveSet(capacity=64), rtol=1e-12, max_passes=40)
    np.testing.assert_allclose(one.certificate.primal, exact.certificate.primal, rtol=2e-6)


def test_pairs_grow_with_C_on_a_linear_kernel_and_pivots_do_not():
    """beta must travel to +-C by steps that do not know C; duplicates are not the reason."""
    X, y = plane(24)
    pairs, pivots = {}, {}
    for apart in (0.0, 0.1):  # duplicates with different labels, and the same points moved apart
        Z = X + apart * np.random.default_rng(1).normal(size=X.shape)
        for C in (10.0, 1000.0):
            problem = js.make_kernel_svm(Z, y, kernel="linear", C=C, intercept="free")
            one = js.solve(problem, js.SMO(steps=50), rtol=1e-9, max_passes=400)
            exact = js.solve(problem, js.ActiveSet(capacity=32), rtol=1e-9, max_passes=20)
            assert one.status == exact.status == "converged"
            pairs[apart, C], pivots[apart, C] = one.trace.updates[-1], exact.trace.updates[-1]
        assert pairs[apart, 1000.0] > 15 * pairs[apart, 10.0]
        assert pivots[apart, 1000.0] < 2 * pivots[apart, 10.0]
    assert 0.3 < pairs[0.0, 1000.0] / pairs[0.1, 1000.0] < 3.0


def test_low_rank_is_exact_for_linear_kernels_and_says_what_it_costs_for_others():
    X, y = points()
    linear = js.make_kernel_svm(X, y, kernel="linear", C=1.0, intercept="free")
    method = js.InteriorPointLowRank()
    assert js.prepare(linear, method).factor.shape[1] == 8  # rank 6, in eights
    assert js.solve(linear, method, rtol=1e-9).status == "converged"
    rbf = js.make_kernel_svm(X, y, kernel=js.RBF(1.0), C=10.0, intercept="free")
    rough = js.solve(rbf, js.InteriorPointLowRank(rank=8), rtol=1e-9, max_passes=60)
    assert rough.status == "settled" and rough.relative_gap > 1e-4
    assert rough.certificate.gap > 0


def test_classes_and_lams_are_lanes_of_one_gram_matrix():
    X, _ = points()
    y = np.arange(len(X)) % 3
    lams = np.array([0.3, 0.03])
    problem = js.make_kernel_svm(X, y == 0, kernel=js.RBF(0.3), intercept="free")
    batch = js.one_vs_rest(problem, y, lams)
    method = js.Decomposition(q=8)
    many = js.solve(batch, method, rtol=1e-8)
    assert many.w.shape == (6, len(X) + 1) and set(many.status) == {"converged"}
    for k in range(3):
        for j, lam in enumerate(lams):
            alone = js.make_kernel_svm(X, y == k, kernel=js.RBF(0.3), lam=lam, intercept="free")
            one = js.solve(alone, js.ActiveSet(capacity=64), rtol=1e-10)
            primal = many.certificate.primal[2 * k + j]
            np.testing.assert_allclose(primal, one.certificate.primal, rtol=1e-7)
    scores = js.decision(batch, many, X[:4])
    assert scores.shape == (6, 4)


def test_kernel_widths_are_lanes_too():
    X, y = points()
    widths = (0.1, 1.0)
    one_by_one = [js.make_kernel_svm(X, y, kernel=js.RBF(g), lam=0.1) for g in widths]
    batch = js.stacked(one_by_one)
    assert "rows" in batch.lanes and "y" not in batch.lanes
    many = js.solve(batch, js.BoxSDCA(), rtol=1e-8, max_passes=2000)
    for k, problem in enumerate(one_by_one):
        alone = js.solve(problem, js.BoxSDCA(), rtol=1e-8, max_passes=2000)
        np.testing.assert_allclose(many.certificate.primal[k], alone.certificate.primal, rtol=1e-7)
        mine = js.decision(batch, many, X[:3])[k]
        np.testing.assert_allclose(mine, js.decision(problem, alone, X[:3]), atol=1e-3)


def test_a_gram_matrix_in_float32_serves_float64():
    X, y = points()
    options = {"kernel": js.RBF(0.3), "lam": 0.1, "intercept": "free"}
    narrow = js.make_kernel_svm(X, y, store=np.float32, **options)
    wide = js.make_kernel_svm(X, y, **options)
    assert narrow.rows.K.dtype == np.float32 and narrow.c.dtype == np.float64
    a, b = (js.solve(p, js.SMO(), rtol=1e-10) for p in (narrow, wide))
    assert a.status == "converged"
    np.testing.assert_allclose(a.certificate.primal, b.certificate.primal, rtol=1e-6)


def test_recertify_reads_a_float32_solution_in_float64():
    X, y = points(np.float32)
    problem = js.make_kernel_svm(X, y, kernel=js.RBF(0.3), lam=0.1, intercept="free")
    one = js.solve(problem, js.SMO(), rtol=1e-4)
    exactly = js.recertify(problem, one)
    assert exactly.floor < 1e-6 * float(one.certificate.floor)
    np.testing.assert_allclose(exactly.primal, one.certificate.primal, rtol=1e-5)
    grid = js.sweep(problem, [0.1, 0.2], js.SMO(), rtol=1e-3)
    assert js.recertify(problem, grid).gap.shape == (2,)


@pytest.mark.parametrize("batched", [False, True])
def test_a_step_of_smo_copies_no_gram_matrix(batched):
    """Nothing of size n^2 is written in the loop, whether copied, converted or shifted."""
    n, method = 61, js.SMO()
    X = np.random.default_rng(0).normal(size=(n, 2))
    problem = js.make_kernel_svm(X, X[:, 0] > 0, kernel="linear", intercept="free")
    grid = problem.with_lam(np.array([0.1, 0.2, 0.3])) if batched else problem
    state = jax.jit(lanes.over_lanes(method.init, grid))(grid)

    def one_pass(problem, state):
        step = lambda s, x: (method.step(problem, s, x), None)
        return jax.lax.scan(step, state, jnp.zeros(7, jnp.int32))[0]

    jax.config.update("jax_disable_most_optimizations", False)
    compiled = jax.jit(lanes.over_lanes(one_pass, grid, 0)).lower(grid, state).compile()
    bodies = loop_bodies(str(compiled.as_text()))
    assert bodies
    for lines in bodies.values():
        for line in lines:
            written = line.split(" = ")[-1].split("(")[0]
            made = "parameter" not in line and "get-tuple-element" not in line
            assert not (f"[{n},{n}]" in written and made and "tuple" not in written), line
