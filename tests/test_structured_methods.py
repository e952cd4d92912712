"""What the methods of sequential dual ascent promise beyond the contract."""

import functools
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC

import jaxopt_svm as js
from jaxopt_svm.core import lanes
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.structured import label_cache
from jaxopt_svm.methods.structured.label_visits import Given, Turn
from tests.test_programs import loop_bodies
from tests.test_structured_problems import Multilabel
from tests.toy_structured import make

pytestmark = pytest.mark.usefixtures("quick_compilation")


def after(problem, method, passes=3):
    """The state after some passes."""

    @jax.jit
    def several(problem, method):
        body = lambda r, s: lanes.one_pass(problem, method, s, jax.random.key(1), r)
        return jax.lax.fori_loop(0, passes, body, method.init(problem))

    return several(problem, method)


METHODS = {
    "sda": js.SDA(),
    "bcfw": js.BCFW(),
    "bcfw-uniform": js.BCFW(sampling=js.Uniform(), block=8),
    "bcfw-decreasing": js.BCFW(steps=js.Decreasing()),
    "frank-wolfe": js.FrankWolfe(),
    "fasole": js.FASOLE(block=8),
    "sdm": js.SDM(),
}


@pytest.mark.parametrize("name", METHODS)
def test_w_is_that_of_the_labels(name):
    """No drift, no move of mass that w has not seen, repeats in a block included."""
    problem = make("multiclass", False)
    method = METHODS[name]
    point = method.point(problem, after(problem, method))
    np.testing.assert_allclose(point.w, problem.w_of(point.dual), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(point.dual.masses.sum(1), 1.0, rtol=1e-12)
    assert np.all(point.dual.masses >= 0)


def test_an_example_that_comes_twice_in_a_block_sees_its_first_move():
    """A block (i, i) moves as two blocks (i), (i) with the same labels decoded."""
    problem = make("multiclass", False)
    method = js.FASOLE(sampling=js.Uniform(), block=2)
    state = after(problem, method, 1)
    turn = lambda *index: Turn(
        Sample(jnp.array(index, jnp.int32)), jnp.array(True), jnp.array(False)
    )
    twice = method.step(problem, state, turn(5, 5))
    first = method.step(problem, state, turn(5))
    # the second decodes at the w before the block: give it the label the first was given
    label = problem.oracle(state.w, problem.take(5)).label
    example = problem.take(5)
    taken = jnp.zeros(first.masses.shape[1], bool)
    yes = jnp.array(True)
    own = first.labels[5], first.masses[5]
    given = Given(label, taken, yes, yes, first.visits)
    w, (_, masses), _ = method.visit(problem, example, first.w, own, given)
    np.testing.assert_allclose(twice.w, w, rtol=1e-12)
    np.testing.assert_allclose(twice.masses[5], masses, rtol=1e-12, atol=1e-15)


def test_the_average_is_the_weighted_mean_of_all_iterates():
    problem = make("multiclass", False)
    method = js.BCFW(sampling=js.Uniform(), block=2, average=True)
    state = method.init(problem)
    total, weight = jnp.zeros_like(state.w), 0.0
    step = jax.jit(method.step)
    rng = np.random.default_rng(0)
    for t in range(1, 31):
        i = rng.integers(0, problem.n, 1)
        turn = Turn(Sample(jnp.asarray(i, jnp.int32)), jnp.array(True), jnp.array(t == 1))
        state = step(problem, state, turn)
        total, weight = total + t * state.w, weight + t
    mean = method.point(problem, state)
    np.testing.assert_allclose(mean.w, total / weight, rtol=1e-10)
    np.testing.assert_allclose(mean.w, problem.w_of(mean.dual), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", [js.FASOLE(capacity=2), js.FrankWolfe(capacity=2)])
def test_a_full_cache_grows_and_nothing_is_lost(method):
    problem = make("chain", False)
    found = js.solve(problem, method, rtol=3e-2, max_passes=200)
    assert found.status == "converged"
    assert found.dual.masses.shape[1] > 2
    assert np.all(np.diff(found.trace.dual) >= 0)


def wrapped(method):
    held_out = make("multiclass", False)
    return {
        "averaged": js.Averaged(method),
        "early": js.EarlyStopping(method, held_out, patience=50),
        "restarted": js.Restarted(method, every=3),
        "certified": js.Certified(method, js.FASOLE(capacity=2)),
        "twice": js.Averaged(js.EarlyStopping(method, held_out, patience=50)),
    }


@pytest.mark.parametrize("name", ["averaged", "early", "restarted", "certified", "twice"])
def test_a_cache_grows_inside_wrappers_too(name):
    """What is asked of the method is asked of the one inside: room, and samples to be aimed."""
    problem = make("multiclass", False)
    inside = js.BCFW(sampling=js.GapProportional(), capacity=2)
    one = js.solve(problem, wrapped(inside)[name], rtol=0.0, max_passes=30)
    assert one.dual.masses.shape[1] > 2, "a label that found no slot would have been left out"
    assert np.all(one.trace.gap >= -one.trace.floor)
    assert one.certificate.gap < 0.1 * one.trace.gap[0]
    calls = one.trace.oracle_calls[-1]
    assert calls >= 30 * problem.n and np.isfinite(calls)


def test_a_wrapper_has_room_for_a_start():
    problem = make("multiclass", False)
    start = js.solve(problem, js.FASOLE(), rtol=0.0, max_passes=5).point
    one = js.solve(problem, js.Averaged(js.FASOLE(capacity=2)), max_passes=1, start=start)
    assert one.dual.masses.shape[1] >= start.dual.masses.shape[1]


def test_lanes_may_grow_and_stop_at_different_times():
    problem = make("multiclass", False)
    grid = js.sweep(problem, (10.0, 0.3, 0.01), js.FASOLE(capacity=2), rtol=1e-3)
    assert set(grid.status) == {"converged"}
    for k, lam in enumerate((10.0, 0.3, 0.01)):
        lane = jax.tree.map(lambda x, k=k: x[k], grid.point)
        again = problem.with_lam(lam).certificate(lane)
        np.testing.assert_allclose(again.gap, grid.certificate.gap[k], rtol=1e-9, atol=1e-14)


def test_at_the_limit_of_memory_a_lane_says_so(monkeypatch):
    monkeypatch.setattr(label_cache, "MOST", 2)
    found = js.solve(make("chain", False), js.FASOLE(capacity=2), rtol=1e-6, max_passes=50)
    assert found.status == "capacity"
    assert found.certificate.gap >= 0


def test_a_checkpoint_remembers_how_far_a_cache_has_grown(tmp_path):
    problem, method = make("multiclass", False), js.FASOLE(capacity=2)
    whole = js.solve(problem, method, rtol=0.0, max_passes=30)
    file = tmp_path / "solve.npz"
    js.solve(problem, method, rtol=0.0, max_passes=12, checkpoint=file)
    resumed = js.solve(problem, method, rtol=0.0, max_passes=30, checkpoint=file)
    np.testing.assert_array_equal(resumed.w, whole.w)
    np.testing.assert_array_equal(resumed.trace.gap, whole.trace.gap)


@pytest.mark.parametrize("method", [js.BCFW(eps=0.3), js.FASOLE(eps=0.05), js.SDM(eps=0.05)])
def test_a_pass_without_an_update_ends_the_solve(method):
    """The lecture's rule: every G_i <= eps at one w, so the gap is at most eps."""
    problem = make("multiclass", False)
    found = js.solve(problem, method, rtol=0.0, max_passes=2000)
    assert found.status == "settled"
    assert found.certificate.gap <= method.eps
    counts = np.asarray(problem.c) > 0
    assert np.all(problem.gaps(found.w, found.dual)[counts] <= method.eps + 1e-12)


@pytest.mark.parametrize("method", [js.BCFW(), js.FrankWolfe()], ids=["bcfw", "frank-wolfe"])
@pytest.mark.parametrize("kind", ["multiclass", "chain"])
def test_steepest_ascent_reaches_a_relative_gap_of_1e_6(method, kind):
    """Where few labels share the mass; in general its gap falls as 1/k."""
    problem = make(kind, False, lam=20.0)
    found = js.solve(problem, method, rtol=1e-6, max_passes=20_000)
    assert found.status == "converged"


def test_multiclass_is_crammer_and_singers():
    """The objective of liblinear's solver, to 1e-5."""
    X, y = load_iris(return_X_y=True)
    C, n = 0.1, len(y)
    theirs = LinearSVC(
        multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(X, y)
    # liblinear's is 1/2 ||W||^2 + C sum max_y [1 - delta + ...], ours divided by C n
    problem = js.make_multiclass(X, y, C=C)
    ours = js.solve(problem, js.SDM(), rtol=1e-8, max_passes=2000)
    P = problem.primal(jnp.asarray(theirs.coef_.T.reshape(-1)))
    np.testing.assert_allclose(ours.certificate.primal, P, rtol=1e-5)
    assert ours.certificate.dual <= P
    assert n * problem.lam * C == pytest.approx(1.0)


def brute_force_optimum(problem, labels) -> float:
    """D* by a QP solver, over all labels written out; 1/n weights."""
    from cvxopt import matrix, solvers

    columns, losses = [], []
    for i in range(problem.n):
        x, y, _ = problem.take(i)
        psi = lambda label, x=x: problem.model.features(x, problem.model.statistics(x, label))
        for label in labels:
            columns.append(np.asarray(psi(label) - psi(y)))
            loss = jax.tree.map(
                lambda a, b: jnp.sum(a * b),
                problem.model.loss(x, y),
                problem.model.statistics(x, label),
            )
            losses.append(float(sum(jax.tree.leaves(loss))))
    A, b = np.array(columns).T, np.array(losses)
    size, lam = len(losses), float(problem.lam)
    simplex = np.kron(np.eye(problem.n), np.ones(len(labels)))
    found = solvers.qp(
        matrix(A.T @ A / lam), matrix(-b), matrix(-np.eye(size)), matrix(np.zeros(size)),
        matrix(simplex), matrix(np.full(problem.n, 1 / problem.n)),
        options={"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12},
    )  # fmt: skip
    return -found["primal objective"]


@functools.cache
def ones_own(lam: float):
    """Multilabel on a tree, five functions written by its user, and P* by a QP over all labels."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 2)), rng.integers(0, 2, (5, 3))
    problem = js.make_structured(Multilabel(jnp.array([-1, 0, 0]), F=2), jnp.asarray(X), y, lam=lam)
    labels = jnp.array(list(itertools.product(range(2), repeat=3)))
    return problem, brute_force_optimum(problem, labels)


@pytest.mark.parametrize(
    "method", [js.FASOLE(), js.SDM(), js.BCFW(), js.FrankWolfe(), js.BMRM(), js.OCA()]
)
def test_a_model_of_ones_own_is_solved_by_all_of_them(method):
    steepest = isinstance(method, js.BCFW | js.FrankWolfe)
    problem, best = ones_own(20.0 if steepest else 0.1)
    found = js.solve(problem, method, rtol=1e-7, max_passes=3000)
    np.testing.assert_allclose(found.certificate.primal, best, rtol=1e-6)
    np.testing.assert_allclose(found.certificate.dual, best, rtol=1e-6)


@pytest.mark.parametrize(
    "method", [js.StructuredSGD(), js.averaged_perceptron(), js.structured_adagrad(batch=5)]
)
def test_primal_methods_take_a_model_of_ones_own(method):
    """Rough, so judged by what the certificate says about the true optimum."""
    problem, best = ones_own(0.1)
    found = js.solve(problem, method, rtol=0.0, max_passes=60)
    assert found.certificate.dual <= best * (1 + 1e-9) and best <= found.certificate.primal
    knows_lam = not isinstance(method, js.StructuredPerceptron)
    assert found.certificate.primal - best <= (0.1 if knows_lam else 3.0) * best
    assert problem.risk(found.w) < problem.risk(jnp.zeros(problem.d))


def test_warm_starts_along_a_path():
    """Each solve starts from the labels of the one before, in a cache with room for them."""
    problem, lams = make("multiclass", False), (0.3, 0.1)
    path = js.path(problem, lams, js.FASOLE(capacity=2), rtol=1e-3)
    assert set(path.status) == {"converged"}
    cold = js.solve(problem.with_lam(0.1), js.FASOLE(capacity=2), rtol=1e-3)
    assert path.trace.gap[1, 0] < 0.5 * cold.trace.gap[0]


@pytest.mark.parametrize("name", ["bcfw", "bcfw-uniform", "fasole", "sdm"])
def test_no_loop_copies_the_tables(name):
    """Labels and masses are written in place: a step's cost does not grow with n."""
    jax.config.update("jax_disable_most_optimizations", False)
    n, slots = 997, 16
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 3)).astype(np.float32), rng.integers(0, 4, n)
    problem, method = js.make_multiclass(X, y), METHODS[name]

    def steps(problem, method, state, turns):
        return jax.lax.scan(lambda s, x: (method.step(problem, s, x), None), state, turns)[0]

    turns = method.draw(problem, jax.random.key(0))
    program = jax.jit(steps).lower(problem, method, method.init(problem), turns).compile()
    lines = [line for lines in loop_bodies(str(program.as_text())).values() for line in lines]
    copied = [line for line in lines if re.search(rf"= \w+\[{n},{slots}\]\S* copy\(", line)]
    assert not copied, copied


@pytest.mark.parametrize(
    "method, words",
    [
        (js.BCFW(capacity=0), "capacity: expected at least 2"),
        (js.BCFW(block=0), "block: expected at least 1"),
        (js.SDM(sweeps=-1), "sweeps >= 0"),
        (js.BCFW(sampling=js.GapProportional(0.0)), "share must be positive"),
    ],
)
def test_bad_settings_are_named(method, words):
    with pytest.raises(ValueError, match=words):
        js.solve(make("multiclass", False), method)


def test_sda_refuses_labels_it_cannot_list():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(9, 2)) for _ in range(3)]
    problem = js.make_chain(X, [rng.integers(0, 4, 9) for _ in X], classes=4)
    with pytest.raises(ValueError, match="262144; use BCFW or FASOLE"):
        js.solve(problem, js.SDA())


def test_methods_of_one_kind_refuse_problems_of_another():
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="solves structured problems"):
        js.solve(js.make_erm(X, y), js.BCFW())
    with pytest.raises(ValueError, match="solves ERM problems"):
        js.solve(js.make_multiclass(X, y), js.SDCA())


def test_a_solution_survives_a_file_and_a_wider_precision(tmp_path):
    problem = make("multiclass", True)
    found = js.sweep(problem, (0.3, 0.1), js.FASOLE(), rtol=1e-3)
    again = js.load(js.save(tmp_path / "found.npz", found))
    for name in ("labels", "masses"):
        np.testing.assert_array_equal(getattr(again.dual, name), getattr(found.dual, name))
    wide = js.recertify(problem, again)
    assert wide.gap.dtype == np.float64
    np.testing.assert_allclose(
        wide.gap, found.certificate.gap, atol=10 * found.certificate.floor.max()
    )
    X = np.eye(4, dtype=np.float32)
    np.testing.assert_array_equal(js.predict(problem, found, X), js.decode(problem, found, X))


def test_without_a_method_a_structured_problem_is_solved_too():
    assert js.solve(make("multiclass", False), rtol=1e-2).status == "converged"
