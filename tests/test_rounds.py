"""Grids of lam from far apart to near: which lanes when, from where, and that nothing is lost."""

from typing import Any

import jax
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.core.apart import chains, far_apart, middles, neighbours
from jaxopt_svm.core.groups import lanes_within
from tests import toy
from tests.test_drivers import passes_compiled

pytestmark = pytest.mark.usefixtures("quick_compilation")

LAMS = js.lam_grid(1e-4, 1e-1, 20)
RELAY = js.Relay((js.SDCA(), js.ALMNewton()), (2,), apart=4.0)
ALONE = js.Relay((js.ALMNewton(), js.ALMNewton()), (1,), apart=4.0)
GROUPS = js.Relay((js.SDCA(),), (), lanes=4)
SMOOTH = js.Relay((js.SDCA(), js.Newton()), (2,), apart=4.0)


def problem(n: int = 300, **options: Any) -> js.ERM:
    """Classes that overlap."""
    X, y = toy.matrix(n=n)
    noise = np.where(np.random.default_rng(1).random(n) < 0.15, -1.0, 1.0)
    return js.make_erm(X, y * noise, **options)


@pytest.fixture(scope="module")
def grid():
    return js.sweep(problem(), LAMS, RELAY, rtol=1e-3)


def test_chains_are_lanes_that_differ_in_lam_alone():
    crossed = js.crossed(problem(), [0.1, 1e-3, 1.0], np.eye(3, 300) + 1.0)
    ways = [way.tolist() for way in chains(crossed)]
    assert sorted(map(sorted, ways)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    lam = np.asarray(crossed.lam)
    assert all(np.all(np.diff(lam[way]) < 0) for way in ways)


@pytest.mark.parametrize("above", [None, 3.0])
@pytest.mark.parametrize("apart", [1.01, 4.0, 1e9])
def test_anchors_are_spread_and_hold_the_ends(above, apart):
    lams = js.lam_grid(1e-3, 1.0, 11)
    places = far_apart(lams, above, apart)
    assert places[-1] == 10 and np.all(np.diff(places) > 0)
    assert places[0] == 0 or above is not None
    # the grid's own step is a factor of 2: a mark is at most half a step from a lane
    steps = -np.diff(np.log([above or lams[0], *lams[places]]))
    assert np.all(steps <= np.log(max(apart, 2.0)) + np.log(2.0) + 1e-9)
    assert len(places) == {1.01: 11, 4.0: 6, 1e9: 2}[apart] - (apart > 4 and above is not None)
    assert far_apart(lams[:1], None, apart).tolist() == [0]
    assert far_apart(np.full(3, 0.1), None, apart)[-1] == 2  # the same lam three times


def test_middles_and_neighbours():
    waiting = np.array([0, 1, 1, 1, 0, 1, 0, 0, 1, 1], bool)
    assert middles(waiting).tolist() == [2, 5, 9]
    assert middles(np.zeros(3, bool)).size == 0 and middles(np.ones(3, bool)).tolist() == [1]
    assert [neighbours(waiting, k) for k in (1, 2, 5, 9)] == [(0, 4), (0, 4), (4, 6), (7, 7)]
    while waiting.any():  # every place has its turn
        waiting[middles(waiting)] = False


@pytest.mark.parametrize("loss", ["hinge", "smooth_hinge", "logistic", "squared", "absolute"])
@pytest.mark.parametrize("intercept", ["none", "free"])
def test_the_best_points_of_a_segment(loss, intercept):
    """As good as the best of many, never worse than an end, and feasible."""
    options = {"loss": toy.LOSSES[loss], "intercept": intercept}
    at = toy.dense64(**options).with_lam(0.02)
    method = js.ALMNewton()
    ends = [js.solve(at.with_lam(lam), method, rtol=1e-6).point for lam in (0.1, 0.004)]
    found = at.between(*ends)
    a, b = ends
    t = np.linspace(0, 1, 501)
    mix = lambda x, y: np.asarray(x) + t[:, None] * (np.asarray(y) - np.asarray(x))
    primal = jax.vmap(at.primal)(mix(a.w, b.w)).min()
    dual = jax.vmap(at.dual)(mix(a.dual, b.dual)).max()
    value = at.certificate(found)
    assert value.primal <= primal + 1e-9 and value.dual >= dual - 1e-6 * abs(float(dual))
    np.testing.assert_allclose(at.complete(found).dual, found.dual, atol=1e-12)
    same = at.between(a, a)
    np.testing.assert_allclose(same.w, a.w, atol=1e-12)
    np.testing.assert_allclose(same.dual, a.dual, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_rounds_certify_every_lane(loss, order):
    own = problem(loss=toy.LOSSES[loss])
    relay = SMOOTH if own.loss.smooth else RELAY
    found = js.sweep(own, LAMS[order], relay, rtol=1e-4)
    plain = js.sweep(own, LAMS[order], js.SDCA(), rtol=1e-7, max_passes=20_000)
    assert set(found.status) == {"converged"}
    np.testing.assert_allclose(found.lam, LAMS[order])
    best = np.asarray(plain.certificate.primal)
    assert np.all(np.asarray(found.certificate.primal) <= best * (1 + 1e-4))
    for k in range(len(LAMS)):
        one = jax.tree.map(lambda x, k=k: x[k], found.point)
        again = own.with_lam(LAMS[order][k]).certificate(one)
        for name in ("primal", "dual", "gap"):
            wanted = getattr(found.certificate, name)[k]
            np.testing.assert_allclose(getattr(again, name), wanted, atol=1e-9)
    assert np.all(np.asarray(found.certificate.floor) > 0)


def test_lanes_between_others_need_little(grid):
    """They say so, and a grid twice as fine costs little more."""
    names = [str(name) for name in grid.method]
    known = {"sdca", "sdca > alm_newton", "sdca > between", "sdca > between > alm_newton"}
    assert set(names) <= known and "sdca > between" in names and "sdca > alm_newton" in names
    between = np.array([name == "sdca > between" for name in names])
    assert np.all(grid.passes[between] == 2)
    fine = js.sweep(problem(), js.lam_grid(1e-4, 1e-1, 39), RELAY, rtol=1e-3)
    assert set(fine.status) == {"converged"}
    iterations = lambda solution: np.sum(np.maximum(solution.passes - 2, 0))
    assert iterations(fine) <= 1.3 * iterations(grid)
    together = js.sweep(problem(), LAMS, js.Relay(RELAY.methods, (2,)), rtol=1e-3)
    assert iterations(grid) < 0.7 * iterations(together)


def test_the_trace_of_a_lane_goes_on(grid):
    for k in range(len(LAMS)):
        rows = {f: x[k][~np.isnan(grid.trace.gap[k])] for f, x in grid.trace._asdict().items()}
        assert np.all(np.diff(rows["dual"]) >= 0) and np.all(np.diff(rows["passes"]) >= 0)
        assert np.all(np.diff(rows["work"]) >= 0) and np.all(np.diff(rows["seconds"]) >= 0)
        np.testing.assert_allclose(rows["gap"], rows["primal"] - rows["dual"])
        assert rows["passes"][-1] == grid.passes[k]
        np.testing.assert_allclose(rows["primal"].min(), grid.certificate.primal[k], rtol=1e-9)
        np.testing.assert_allclose(rows["dual"][-1], grid.certificate.dual[k], rtol=1e-9)


@pytest.mark.parametrize("relay, programs", [(RELAY, 2), (ALONE, 1)])
def test_one_program_of_passes_for_each_method(relay, programs):
    own = problem(n=300 + programs)  # of a shape that no other test has
    assert passes_compiled(lambda: js.sweep(own, LAMS, relay, rtol=1e-5)) == programs


def test_one_method_alone(grid):
    """Its opening runs in the programs of its rounds; a start of the user's is where it begins."""
    found = js.sweep(problem(), LAMS, ALONE, rtol=1e-5)
    assert set(found.status) == {"converged"}
    np.testing.assert_allclose(found.certificate.primal, grid.certificate.primal, rtol=1e-3)
    point = js.Point(found.w[7], found.dual[7])
    again = js.sweep(problem(), LAMS, ALONE, rtol=1e-5, start=point)
    assert again.passes[7] == 0 and again.passes[8] > 0 and set(again.status) == {"converged"}
    assert np.all(js.sweep(problem(), LAMS, ALONE, rtol=1e-5, start=found).passes == 0)


def test_folds_and_classes_have_neighbours_of_their_own():
    weights = np.where(np.arange(300)[None] % 2 == np.arange(2)[:, None], 0.0, 1.0)
    crossed = js.crossed(problem(), LAMS, weights)
    found = js.solve(crossed, RELAY, rtol=1e-4)
    assert set(found.status) == {"converged"}
    for fold, own in enumerate(weights):
        alone = js.sweep(problem(weights=own), LAMS, RELAY, rtol=1e-4)
        mine = slice(fold * len(LAMS), (fold + 1) * len(LAMS))
        gap = np.abs(found.certificate.primal[mine] - alone.certificate.primal)
        assert np.all(gap <= 1e-4 * alone.certificate.primal)
        assert np.sum(found.passes[mine] == 2) > 2


def test_a_budget_of_memory_makes_narrower_rounds(grid):
    own = problem()
    few = lanes_within(own, RELAY, 2e5)
    assert few < len(LAMS)
    narrow = js.sweep(own, LAMS, RELAY, rtol=1e-3, memory=2e5)
    assert set(narrow.status) == {"converged"}
    best = np.asarray(grid.certificate.primal)
    np.testing.assert_allclose(narrow.certificate.primal, best, rtol=1e-3)
    # lanes that are far apart are not called between others, whichever part they were in
    assert not [name for name in narrow.method[[0, -1]] if "between" in name]


@pytest.mark.parametrize("lams", [[0.1], [1e-4], [0.1, 0.1], [1e-4, 1e-4, 1e-4], [1.0, 1e-5]])
def test_small_grids(lams):
    found = js.sweep(problem(), lams, RELAY, rtol=1e-5)
    assert set(found.status) == {"converged"} and found.w.shape[0] == len(lams)


def test_a_start_is_used_and_counts():
    own = problem()
    whole = js.sweep(own, LAMS, RELAY, rtol=1e-6)
    again = js.sweep(own, LAMS, RELAY, rtol=1e-5, start=whole)
    assert np.all(again.passes == 0)


@pytest.mark.parametrize("method", [RELAY, ALONE, GROUPS])
def test_a_start_for_each_lane_or_for_all_in_any_form(method):
    own = problem(intercept="free") if method is ALONE else problem()
    small = js.make_erm(*(np.asarray(x, np.float32) for x in (own.rows.X[:, :5], own.y)))
    whole = js.sweep(small, LAMS, method, rtol=1e-4)
    assert np.all(js.sweep(small, LAMS, method, rtol=2e-4, start=whole).passes == 0)
    if method is not GROUPS:  # SDCA makes nothing of w
        alone = js.Point(np.asarray(whole.w, np.float64), None)
        again = js.sweep(small, LAMS, method, rtol=2e-4, start=alone)
        assert again.passes.sum() <= 0.8 * whole.passes.sum()
        assert set(again.status) == {"converged"}
    one = js.Point(np.asarray(whole.w[7], np.float64), np.asarray(whole.dual[7], np.float64))
    again = js.sweep(small, LAMS, method, rtol=2e-4, start=one)
    assert again.passes[7] == 0 or method is GROUPS  # where a group starts from the one before
    assert set(again.status) == {"converged"}


def test_losses_that_are_lanes():
    parts = [problem(loss=js.SmoothHinge(mu), lam=0.01) for mu in (0.1, 1.0)]
    found = js.solve(js.stacked(parts), rtol=1e-5)
    for k, part in enumerate(parts):
        alone = js.solve(part, rtol=1e-7)
        gap = float(found.certificate.primal[k] - alone.certificate.primal)
        assert found.status[k] == "converged" and abs(gap) <= 1e-5


@pytest.mark.parametrize(
    "options",
    [
        {"intercept": "free"},
        {"intercept": "free", "loss": js.Logistic()},
        {"loss": js.Softmax()},
        {"regularizer": js.ElasticNet(0.1)},
    ],
)
def test_a_point_without_w_is_feasible_and_the_best_multiple(options):
    X, y = np.zeros((10, 1)), np.array([1.0] * 9 + [-1.0])
    own = js.make_erm(X, y, **options)
    alpha = np.asarray(own.origin().dual) + own.y
    found = own.certificate(js.Point(None, alpha))
    assert found.primal >= js.solve(own, rtol=1e-6).certificate.dual - 1e-9
    other = js.make_erm(*toy.matrix(), **options)
    start = js.Point(None, 0.1 * np.asarray(other.y, np.float64))
    whole = other.complete(start)
    values = [other.primal(t * whole.w) for t in (0.9, 1.0, 1.1)]
    assert values[1] <= min(values) + 1e-9
    assert js.solve(other, rtol=1e-2, start=start).status == "converged"
    assert set(js.sweep(other, [0.1, 1.0], rtol=1e-2, start=start).status) == {"converged"}


def test_rows_at_an_end_of_their_domain_do_not_spoil_a_segment():
    """The slope of the entropy is not finite there."""
    own = problem(loss=js.Logistic(), lam=0.01)
    y = np.asarray(own.y)
    a, b = (js.solve(own.with_lam(lam), rtol=1e-8).point for lam in (0.1, 0.001))
    free = np.arange(len(y)) > 3
    ends = [js.Point(x.w, np.where(free, x.dual, 0.0)) for x in (a, b)]
    found = own.between(*ends)
    values = [float(own.dual(end.dual)) for end in (*ends, found)]
    assert values[2] > max(values[:2]) + 1e-6
    carried = own.with_lam(0.05).carried(ends[0])
    assert float(np.max(carried.dual / np.where(ends[0].dual == 0, 1, ends[0].dual))) > 0.1


def test_programs_are_made_in_the_precision_of_the_caller():
    """Threads have one of their own: nothing is compiled for nobody."""
    X, y = (x.astype(np.float32) for x in toy.matrix(n=311))
    with jax.enable_x64(False):
        own = js.make_erm(X, y)
        assert passes_compiled(lambda: js.sweep(own, LAMS, RELAY, rtol=1e-3)) == 2


@pytest.mark.parametrize(
    "relay",
    [js.Relay(RELAY.methods, (2,), apart=1.0), js.Relay((js.SDCA(),), (), apart=4.0)],
)
def test_what_is_refused(relay):
    with pytest.raises(ValueError, match=r"Relay\.apart"):
        js.sweep(problem(), LAMS, relay)
