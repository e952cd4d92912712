"""Grids that are stopped, resumed, or solved to a tighter tolerance: nothing is lost, and no lane
says more than its certificate does."""

import jax
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.core import programs
from jaxopt_svm.core.loop import Loop
from tests import toy
from tests.test_rounds import ALONE, GROUPS, LAMS, RELAY, problem

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.fixture(scope="module")
def grid():
    return js.sweep(problem(), LAMS, RELAY, rtol=1e-3)


def _stopping(monkeypatch, calls: int):
    """Ctrl-C instead of so many-th stretch of passes, counted over all rounds."""
    advance, count = Loop.advance, iter(range(10**6))

    def until(loop, passes):
        if next(count) >= calls:
            raise KeyboardInterrupt
        advance(loop, passes)

    monkeypatch.setattr(Loop, "advance", until)


@pytest.mark.parametrize(
    "relay, calls", [*((RELAY, k) for k in (1, 2, 5, 12)), *((ALONE, k) for k in (0, 1, 6))]
)
def test_stopped_anywhere_it_is_all_there_and_goes_on(relay, calls, grid, tmp_path, monkeypatch):
    grid = grid if relay is RELAY else js.sweep(problem(), LAMS, relay, rtol=1e-3)
    with monkeypatch.context() as patch:
        _stopping(patch, calls)
        stopped = js.sweep(problem(), LAMS, relay, rtol=1e-3, checkpoint=tmp_path / "sweep")
    assert set(stopped.status) <= {"converged", "interrupted"} and "interrupted" in stopped.status
    assert stopped.w.shape == grid.w.shape and np.all(np.isfinite(stopped.certificate.gap))
    resumed = js.sweep(problem(), LAMS, relay, rtol=1e-3, checkpoint=tmp_path / "sweep")
    for one, other in zip(jax.tree.leaves(resumed.point), jax.tree.leaves(grid.point)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(resumed.trace.gap, grid.trace.gap)
    np.testing.assert_array_equal(resumed.method, grid.method)


@pytest.mark.parametrize(
    "where, statuses", [("terms", {"interrupted"}), ("between", {"converged", "interrupted"})]
)
def test_stopped_between_two_rounds_nothing_is_lost(where, statuses, monkeypatch):
    """Before the first round no lane of this grid is done, before the second some are."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(programs, where, stop)
    stopped = js.sweep(problem(), LAMS, RELAY, rtol=1e-3)
    assert set(stopped.status) == statuses
    assert np.all(stopped.certificate.gap < 1.0) and stopped.w.shape[0] == len(LAMS)


@pytest.mark.parametrize("method", [RELAY, js.SDCA()])
@pytest.mark.parametrize("nth", range(1, 6))
def test_stopped_while_lanes_are_packed_none_is_taken_for_another(method, nth, monkeypatch):
    take, calls = programs.take, iter(range(1, 10**6))

    def stop(*arguments):
        if next(calls) == nth:
            raise KeyboardInterrupt
        return take(*arguments)

    own = problem()
    monkeypatch.setattr(programs, "take", stop)
    stopped = js.sweep(own, LAMS, method, rtol=1e-4)
    assert "interrupted" in stopped.status and len(stopped.status) == len(LAMS)
    for k, lam in enumerate(LAMS):
        again = own.with_lam(lam).certificate(jax.tree.map(lambda x, k=k: x[k], stopped.point))
        np.testing.assert_allclose(again.gap, stopped.certificate.gap[k], atol=1e-9)
    # those that had converged when it came say so
    assert set(stopped.status[stopped.relative_gap <= 0.99e-4]) <= {"converged"}


@pytest.mark.parametrize(
    "where, nth", [("advance", 2), ("advance", 60), ("begin", 2), ("begin", 5)]
)
@pytest.mark.parametrize("drive", ["sweep", "path"])
def test_groups_that_were_not_reached_are_there_too(where, drive, nth, monkeypatch, grid):
    """Stopped in a group, or before it has begun."""
    original, calls = getattr(programs, where), iter(range(1, 10**6))

    def stop(*arguments):
        if next(calls) == nth:
            raise KeyboardInterrupt
        return original(*arguments)

    own = problem()
    solve = (
        (lambda: js.sweep(own, LAMS, GROUPS, rtol=1e-3))
        if drive == "sweep"
        else (lambda: js.path(own, LAMS, js.SDCA(), rtol=1e-3))
    )
    with monkeypatch.context() as patch:
        patch.setattr(programs, where, stop)
        stopped = solve()
    np.testing.assert_allclose(stopped.lam, LAMS)
    assert set(stopped.status) == {"converged", "interrupted"} or (where, nth) == ("advance", 2)
    assert stopped.status[-1] == "interrupted" and np.all(stopped.certificate.gap < 1.0)
    best = np.asarray(grid.certificate.primal)
    done = stopped.status == "converged"
    assert np.all(np.abs(stopped.certificate.primal[done] - best[done]) <= 2e-3 * best[done])


@pytest.mark.parametrize("method", [RELAY, ALONE, GROUPS, js.SDCA()])
def test_a_checkpoint_serves_a_tighter_tolerance(method, tmp_path, monkeypatch):
    """Lanes that are done for the looser one go on, and nobody says converged who is not."""
    sweep = lambda rtol: js.sweep(problem(), LAMS, method, rtol=rtol, checkpoint=tmp_path / "sweep")
    done = lambda found, rtol: (
        set(found.status) == {"converged"} and max(found.relative_gap) <= rtol
    )
    assert done(sweep(1e-1), 1e-1) and done(sweep(1e-3), 1e-3)
    with monkeypatch.context() as patch:
        _stopping(patch, 0)  # what has been done is not done again
        assert done(sweep(1e-3), 1e-3)
    assert done(sweep(1e-1), 1e-1)


@pytest.mark.parametrize("method", [js.BMRM(), js.FASOLE(capacity=2)])
def test_capacities_that_grew_are_no_hindrance(method, tmp_path):
    X, y = toy.matrix()
    own, lams = js.make_multiclass(X, np.where(X[:, 0] > 0.5, 2.0, y)), [3.0, 0.3, 0.03]
    for rtol in (1e-1, 1e-2, 1e-2, 1e-1):
        found = js.sweep(own, lams, method, rtol=rtol, checkpoint=tmp_path / "sweep")
        assert set(found.status) == {"converged"} and np.all(found.relative_gap <= rtol)


def test_a_part_of_another_solve_is_refused(tmp_path):
    js.sweep(problem(), LAMS, RELAY, rtol=1e-3, checkpoint=tmp_path / "sweep")
    other = js.Relay((js.SDCA(), js.ALMNewton(mu=0.1)), (2,), apart=4.0)
    with pytest.raises(ValueError, match="belongs to another problem"):
        js.sweep(problem(), LAMS, other, rtol=1e-3, checkpoint=tmp_path / "sweep")


def test_pressed_twice(monkeypatch):
    """What was done is there; lanes that were not reached are not, and lam says which."""
    begin, calls = programs.begin, iter(range(1, 10**6))

    def stop(*arguments):
        if next(calls) >= 3:
            raise KeyboardInterrupt
        return begin(*arguments)

    monkeypatch.setattr(programs, "begin", stop)
    stopped = js.sweep(problem(), LAMS, GROUPS, rtol=1e-3)
    np.testing.assert_allclose(stopped.lam, LAMS[:8])
    assert set(stopped.status) == {"converged"} and stopped.w.shape[0] == 8


@pytest.mark.parametrize("most", [1, 2, 4, 9])
def test_a_budget_of_passes_is_kept_and_can_be_raised(most, grid, tmp_path):
    short = js.sweep(
        problem(), LAMS, RELAY, rtol=1e-3, max_passes=most, checkpoint=tmp_path / "sweep"
    )
    assert short.passes.max() <= most
    assert set(short.status) <= {"converged", "max_passes"}
    resumed = js.sweep(problem(), LAMS, RELAY, rtol=1e-3, checkpoint=tmp_path / "sweep")
    np.testing.assert_array_equal(resumed.w, grid.w)
