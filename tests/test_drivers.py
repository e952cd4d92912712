"""The drivers: stopping, statuses, warm starts, checkpoints, interruption, precision."""

import signal
from typing import Any

import jax
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.core import ahead, loop
from jaxopt_svm.core.protocols import Certificate
from tests import toy

LAMS = np.geomspace(1e-3, 1.0, 10)


@pytest.fixture(scope="module", autouse=True)
def compilations_are_free():
    """So that lanes are re-packed as soon as some leave, in problems as small as these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jaxopt_svm.core.loop.COMPILATION", 0)
        yield


@pytest.fixture(scope="module")
def problem():
    return toy.dense64(js.SmoothHinge(0.5))


@pytest.fixture(scope="module")
def grid(problem):
    return js.sweep(problem, LAMS, rtol=1e-6)


def test_lanes_leave_the_batch_and_come_back_in_order(problem, grid):
    """Ten lanes are re-packed as some leave; every lane is certified for its own lam."""
    assert np.all(grid.status == "converged")
    assert len(set(grid.passes)) > 3, "the grid should finish at different times"
    for k, lam in enumerate(LAMS):
        again = problem.with_lam(lam).certificate(js.Point(grid.w[k], grid.dual[k]))
        assert float(again.gap) <= 1e-6 * float(again.primal)
        np.testing.assert_allclose(grid.certificate.primal[k], again.primal, rtol=1e-12)
    np.testing.assert_allclose(grid.lam, LAMS)


def test_trace_of_a_stopped_lane_is_nan(grid):
    for k in range(len(LAMS)):
        running = grid.trace.passes[k] <= grid.passes[k]
        assert np.all(np.isfinite(grid.trace.gap[k][running]))
        assert np.all(np.isnan(grid.trace.gap[k][~running]))
    assert np.all(np.diff(grid.trace.seconds[np.argmax(grid.passes)]) >= 0)


def test_path_equals_sweep_and_needs_fewer_passes(problem, grid):
    path = js.path(problem, LAMS, rtol=1e-6)
    np.testing.assert_allclose(path.certificate.primal, grid.certificate.primal, rtol=1e-5)
    assert list(path.lam) == list(LAMS)
    roughly = {"method": js.SDCA(), "rtol": 1e-2}  # near the optimum only the rate counts
    warm, cold = (f(problem, LAMS, **roughly) for f in (js.path, js.sweep))
    assert warm.passes.sum() < 0.6 * cold.passes.sum()


def test_a_warm_start_is_used(problem):
    first = js.solve(problem, rtol=1e-8)
    second = js.solve(problem, rtol=1e-6, start=first.point)
    assert second.passes == 0


def test_a_start_counts_as_it_is_given(problem):
    """Its w stays the best one, though SDCA goes on from its dual point, which is a poor one."""
    good = js.solve(problem, rtol=1e-8)
    start = js.Point(good.w, 0.3 * good.dual)
    found = js.solve(problem, js.SDCA(), rtol=0.0, max_passes=1, start=start)
    np.testing.assert_array_equal(found.w, good.w)
    assert float(found.certificate.dual) > float(problem.dual(start.dual))


@pytest.mark.parametrize("loss", [js.Hinge(), js.Logistic(), js.Squared()])
def test_a_point_of_another_lam_is_carried_as_its_best_multiple(loss):
    problem = toy.dense64(loss).with_lam(1e-3)
    found = js.solve(problem, js.SDCA(), rtol=1e-3)
    smaller = problem.with_lam(2e-4)
    carried = smaller.carried(found.point)
    np.testing.assert_array_equal(carried.w, found.w)
    t = float(np.vdot(carried.dual, found.dual) / np.vdot(found.dual, found.dual))
    np.testing.assert_allclose(carried.dual, t * found.dual, rtol=1e-12)
    assert 0 < t <= 1 and (t < 1 or isinstance(loss, js.Squared))
    # a line search: not the very best, but no multiple is much better
    values = [float(smaller.dual(s * found.dual)) for s in np.linspace(0.05, 1.0, 39)]
    gained = float(smaller.dual(carried.dual)) - values[-1]
    assert gained >= 0.95 * (max(values) - values[-1])


def test_rounding_ends_a_lane_only_where_it_says_something():
    """A poor alpha has a large floor: while the gap falls it is not the end of the precision."""
    below, none = np.array([1e-9, 1e-9, 1e-9, 1e-9, 0.1, 0.1]), np.zeros(6, bool)
    level = np.array([1e-8, 1e-8, 2e-10, 2e-10, 0.2, 0.2])
    now = Certificate(np.ones(6), 1 - below, below, np.full(6, 0.2))
    stalled = np.array([0, 1, 4, 5, 0, 1])
    status = loop._judge(now, level, stalled, none, none, 3, 0.0, 0.0, 10)
    ended = [name == js.Status.PRECISION_FLOOR for name in status]
    assert ended == [True, True, False, True, False, True]


def passes_compiled(solve) -> int:
    """How many programs of passes a call compiles."""
    names: list[Any] = []

    def hear(event: str, duration_secs: float, **facts: Any) -> None:
        names.append(facts.get("fun_name")) if "backend_compile" in event else None

    jax.monitoring.register_event_duration_secs_listener(hear)
    solve()
    jax.monitoring.unregister_event_duration_listener(hear)
    return sum("passes" in str(name) for name in names)


def test_programs_that_are_compiled_ahead_change_nothing(problem, monkeypatch):
    """The same bits as without, and nothing is compiled twice."""
    relay = js.Relay((js.SDCA(block=3), js.ALMNewton(mu=0.9)), (2,))
    found: list[js.Solution] = []
    sweep = lambda: found.append(js.sweep(problem, LAMS[:3], relay, rtol=1e-9))
    monkeypatch.setattr(loop, "COMPILATION", 10**9)  # one width
    jax.clear_caches()
    ahead._known.clear()
    assert passes_compiled(sweep) == 2
    assert passes_compiled(sweep) == 0
    assert ahead._known, "nothing was ordered"
    jax.clear_caches()
    monkeypatch.setattr(ahead.Ahead, "begin", lambda *order: None)
    assert passes_compiled(sweep) == 2
    for one in found[1:]:
        np.testing.assert_array_equal(one.w, found[0].w)
        np.testing.assert_array_equal(one.dual, found[0].dual)


def test_run_records_inside_and_between_passes(problem):
    key = jax.random.key(5)
    every = js.run(problem, js.SDCA(block=4), passes=6, every=2, key=key)[1]
    within = js.run(problem, js.SDCA(block=4), passes=6, within=5, key=key)[1]
    assert every.gap.shape == (4,) and within.gap.shape == (31,)
    np.testing.assert_allclose(within.primal[::10], every.primal, rtol=1e-12)
    np.testing.assert_allclose(within.passes[:6], np.arange(6) / 5)
    np.testing.assert_allclose(within.updates[5], toy.N)
    with pytest.raises(ValueError, match="every must divide passes"):
        js.run(problem, js.SDCA(), passes=5, every=2)


def test_run_composes_with_vmap(problem):
    gaps = jax.vmap(lambda lam: js.run(problem.with_lam(lam), js.SDCA(), passes=3)[1].gap)(LAMS)
    one = js.run(problem.with_lam(LAMS[4]), js.SDCA(), passes=3)[1].gap
    np.testing.assert_allclose(gaps[4], one, rtol=1e-9, atol=1e-13)


def test_save_and_load(problem, grid, tmp_path):
    for solution in (grid, js.solve(problem, rtol=1e-3)):
        back = js.load(js.save(tmp_path / "s.npz", solution))
        assert repr(back) == repr(solution)
        np.testing.assert_array_equal(back.w, solution.w)
        np.testing.assert_array_equal(back.dual, solution.dual)
        np.testing.assert_array_equal(back.trace.gap, solution.trace.gap)
        np.testing.assert_array_equal(back.status, solution.status)


def test_load_refuses_other_files(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match="not a solution file"):
        js.load(tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match="not a readable npz"):
        js.load(tmp_path / "text.npz")


def test_a_resumed_solve_is_bit_identical(problem, grid, tmp_path):
    """Stopped by its budget half way, with lanes already gone, then taken up again."""
    file = tmp_path / "sweep.npz"
    js.sweep(problem, LAMS, rtol=1e-6, max_passes=9, checkpoint=file)
    resumed = js.sweep(problem, LAMS, rtol=1e-6, checkpoint=file)
    np.testing.assert_array_equal(resumed.w, grid.w)
    np.testing.assert_array_equal(resumed.dual, grid.dual)
    np.testing.assert_array_equal(resumed.trace.gap[:, -1], grid.trace.gap[:, -1])
    np.testing.assert_array_equal(resumed.passes, grid.passes)


def test_a_checkpoint_of_something_else_is_refused(problem, tmp_path):
    file = tmp_path / "one.npz"
    js.solve(problem, checkpoint=file, max_passes=2)
    for other, method, key in (
        (problem.with_lam(0.2), js.SDCA(), None),
        (problem, js.SDCA(js.Uniform()), None),
        (problem, js.SDCA(), jax.random.key(1)),
        (toy.dense64(js.SmoothHinge(0.6)), js.SDCA(), None),
    ):
        with pytest.raises(ValueError, match="belongs to another problem"):
            js.solve(other, method, key=key, checkpoint=file)
    with pytest.raises(ValueError, match="cannot be written"):
        js.solve(problem, checkpoint=tmp_path / "missing" / "c.npz")


def test_ctrl_c_returns_the_best_point_so_far(problem, monkeypatch):
    advance, calls = loop.Loop.advance, []

    def interrupt(self, count):
        calls.append(count)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        advance(self, count)

    monkeypatch.setattr(loop.Loop, "advance", interrupt)
    one = js.solve(problem, rtol=0.0)
    assert one.status == "interrupted"
    assert one.passes >= 3
    assert float(problem.certificate(one.point).gap) == pytest.approx(float(one.certificate.gap))
    calls.clear()
    many = js.sweep(problem, LAMS, rtol=1e-3)
    assert set(many.status) == {"converged", "interrupted"}


def test_progress_writes_to_stderr_only(problem, capsys):
    js.solve(problem, rtol=1e-6, progress=True)
    out, err = capsys.readouterr()
    assert out == "" and "largest relative gap" in err


def test_divergence_is_said_and_the_last_good_point_kept():
    p = toy.dense64(js.Squared())
    one = js.solve(p, js.SGD(js.Constant(1e6)), max_passes=30)
    assert one.status == "diverged"
    assert np.isfinite(float(one.certificate.gap)) and np.all(np.isfinite(one.w))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_the_floor_is_a_rounding_bound(scale, lam):
    """float32 solves stop at the floor, and float64 finds their true gap within it."""
    X, y = toy.matrix()
    p = js.make_erm(
        X.astype(np.float32), (scale * (y + 0.1)).astype(np.float32), loss=js.Squared(), lam=lam
    )
    one = js.solve(p, rtol=0.0, max_passes=3000)
    assert one.status == "precision_floor" or float(one.certificate.gap) <= 0
    true = js.recertify(p, one)
    assert abs(float(one.certificate.gap) - float(true.gap)) <= float(one.certificate.floor)
    assert float(one.certificate.floor) <= 1e-5 * float(one.certificate.primal) + 1e-30


def test_recertify_agrees_with_the_problem_in_float64(problem, grid):
    for field, mine in zip(js.recertify(problem, grid), grid.certificate):
        np.testing.assert_allclose(field, mine, rtol=1e-9, atol=1e-15)
    sparse = toy.padded32(js.Hinge())
    one = js.solve(sparse, rtol=1e-4)
    wide = js.recertify(sparse, one)
    assert wide.gap.dtype == np.float64
    assert abs(float(wide.gap) - float(one.certificate.gap)) <= float(one.certificate.floor)


def test_recertify_walks_blocks(monkeypatch, problem):
    from jaxopt_svm.problems import recertify

    one = js.solve(problem, rtol=1e-4)
    whole = js.recertify(problem, one)
    monkeypatch.setattr(recertify, "BLOCK", 7)
    np.testing.assert_allclose(js.recertify(problem, one).gap, whole.gap, rtol=1e-9)
    sparse = toy.padded32(js.Hinge())
    one = js.solve(sparse, rtol=1e-3)
    assert float(js.recertify(sparse, one).gap) > 0


def test_lam_grid():
    lams = js.lam_grid(1e-4, 1e-1, 4)
    np.testing.assert_allclose(lams, [1e-1, 1e-2, 1e-3, 1e-4])
    with pytest.raises(ValueError, match="0 < smallest"):
        js.lam_grid(1.0, 0.1, 3)
