"""Cutting planes, and the surrogates that the structured solvers run on as they are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.core import lanes
from jaxopt_svm.methods.cutting import planes
from tests.toy_structured import make

pytestmark = pytest.mark.usefixtures("quick_compilation")


def after(problem, method, passes):
    """The state after some passes."""

    @jax.jit
    def several(problem, method):
        body = lambda r, s: lanes.one_pass(problem, method, s, jax.random.key(1), r)
        return jax.lax.fori_loop(0, passes, body, method.init(problem))

    return several(problem, method)


@pytest.fixture(scope="module")
def problem():
    return make("multiclass", False)


@pytest.fixture(scope="module")
def solved(problem):
    return js.solve(problem, js.FASOLE(), rtol=1e-8, max_passes=2000)


def test_planes_without_mass_give_up_their_place(problem, solved):
    """Few places suffice when planes leave after a round; bounds stay valid and the gap closes."""
    found = js.solve(problem, js.BMRM(patience=1, capacity=16), rtol=1e-3, max_passes=100)
    assert found.status == "converged"
    assert found.certificate.dual <= solved.certificate.primal + 1e-12


def test_full_planes_are_grown_by_the_host(problem):
    found = js.solve(problem, js.BMRM(capacity=2), rtol=3e-2, max_passes=60)
    assert found.status == "converged"
    assert found.dual.masses.shape[1] > 2
    assert np.all(np.diff(found.trace.dual) >= 0)


def test_at_the_limit_of_memory_a_lane_says_so(problem, monkeypatch):
    monkeypatch.setattr(planes, "MOST", 2)
    found = js.solve(problem, js.BMRM(capacity=2), rtol=1e-6, max_passes=20)
    assert found.status == "capacity"
    assert found.certificate.gap >= 0


def test_bounds_are_valid_with_a_rough_inner_solver(problem, solved):
    """One pair moved a round, and a gap of nine tenths accepted."""
    rough = js.BMRM(share=0.9, inner=1)
    state = after(problem, rough, 12)
    best = float(solved.certificate.primal)
    assert float(state.lower) <= best + 1e-12 <= float(state.best) + 2e-12
    D = problem.dual(rough.point(problem, state).dual)
    np.testing.assert_allclose(state.lower, D, rtol=1e-10)


def test_any_dual_point_is_a_start(problem, solved):
    """Slots of FASOLE are planes too; a start of BMRM's own loses nothing."""
    first = js.solve(problem, js.BMRM(), rtol=1e-2)
    again = js.solve(problem, js.BMRM(), rtol=0.0, max_passes=1, start=first.point)
    assert again.trace.gap[0] <= first.certificate.gap + 1e-12
    other = js.solve(problem, js.BMRM(), rtol=1e-3, max_passes=30, start=solved.point)
    assert other.status == "converged"


def test_oca_needs_fewer_rounds(problem):
    rounds = [js.solve(problem, m, rtol=1e-3).passes for m in (js.BMRM(), js.OCA())]
    assert rounds[1] < rounds[0]


@pytest.mark.parametrize(
    "method, words",
    [
        (js.BMRM(capacity=1), "capacity: expected at least 2 planes"),
        (js.BMRM(patience=0), "patience and inner: expected at least 1"),
        (js.BMRM(share=1.0), "share: expected a number from 0"),
        (js.OCA(searches=0), "searches >= 1"),
    ],
)
def test_bad_settings_are_named(problem, method, words):
    with pytest.raises(ValueError, match=words):
        js.solve(problem, method)


# surrogates


@pytest.mark.parametrize("method", [js.BCFW(), js.SDM(), js.FrankWolfe(), js.StructuredSGD()])
def test_solvers_run_on_slack_rescaling_unchanged(problem, method):
    """On multiclass with unit costs the two rescalings are one: the same minimum."""
    slack = js.slack_rescaling(problem)
    found = js.solve(slack, method, rtol=3e-2, max_passes=500)
    assert found.status == "converged"
    best = js.solve(problem, js.FASOLE(), rtol=1e-8, max_passes=2000).certificate
    assert found.certificate.dual <= best.primal + 1e-9
    assert found.certificate.primal >= best.dual - 1e-9
    X = np.random.default_rng(0).normal(size=(5, 4))
    assert np.array_equal(js.decode(slack, found, X), js.decode(problem, found, X))


@pytest.mark.parametrize("turn", [js.slack_rescaling, js.poslearn])
def test_chains_with_other_surrogates(turn):
    made = turn(make("chain", False))
    found = js.solve(made, js.BCFW(capacity=32), rtol=0.5, max_passes=60)
    assert found.status == "converged"
    assert made.risk(found.w) <= made.primal(found.w)
    assert len(js.decode(made, found, [np.zeros((3, 4))])[0]) == 3


def test_the_crf_of_a_tree_is_certified():
    """No chain of labels in sight: the dual point is a parameter vector."""
    problem = js.crf(make("tree", False))
    found = js.solve(problem, js.structured_adam(0.3, batch=24), rtol=1e-3, max_passes=200)
    assert found.status == "converged"
    assert found.dual.shape == found.w.shape
    g = jax.grad(problem.primal)(found.w)
    np.testing.assert_allclose(problem.grad(found.w), g, atol=1e-12)


def test_log_losses_are_for_methods_with_gradients(problem):
    with pytest.raises(ValueError, match="needs a maximum over labels"):
        js.solve(js.crf(problem), js.BCFW())
    assert js.solve(js.crf(problem), rtol=0.5, max_passes=50).status == "converged"


def test_from_softmax_to_maximum(problem):
    """P of the smooth problem falls to that of the hinge with the temperature."""
    w = jnp.asarray(np.random.default_rng(1).normal(size=problem.d))
    hinge = float(problem.primal(w))
    values = [float(js.softmax_margin(problem, tau).primal(w)) for tau in (1.0, 0.1, 0.01)]
    assert hinge <= values[2] <= values[1] <= values[0]
    assert values[2] - hinge <= 0.01 * np.log(3)


def test_surrogates_refuse_what_they_cannot_do(problem):
    cost = np.array([[0, 2, 1], [1, 0, 1], [1, 1, 0]])
    with pytest.raises(ValueError, match="errors are counted; leave cost out"):
        js.slack_rescaling(make("chain", False, cost=cost))
    with pytest.raises(ValueError, match="slack_rescaling: expected a multiclass or chain"):
        js.slack_rescaling(make("tree", False))
    with pytest.raises(ValueError, match="poslearn: expected a nodes problem"):
        js.poslearn(problem)
    with pytest.raises(ValueError, match="tau: expected a positive number"):
        js.softmax_margin(problem, 0.0)
