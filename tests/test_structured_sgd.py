"""Stochastic subgradients on structures: what they promise beyond the contract."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxopt_svm as js
from jaxopt_svm.core.protocols import Sample
from tests.test_cutting import after
from tests.toy_structured import make

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.fixture(scope="module")
def problem():
    return make("multiclass", False)


def test_w_is_that_of_the_labels_after_whole_passes(problem):
    method = js.StructuredSGD()
    point = method.point(problem, after(problem, method, 4))
    np.testing.assert_allclose(point.w, problem.w_of(point.dual), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(point.dual.masses.sum(1), 1.0, rtol=1e-12)


def test_a_batch_of_all_is_subgradient_descent(problem):
    """One step of n examples moves along problem.grad."""
    method = js.StructuredSGD(js.Constant(0.1), batch=problem.n)
    w = np.random.default_rng(0).normal(size=problem.d)
    state = method.init(problem, js.Point(w))
    turn = jax.tree.map(lambda x: x[0], method.draw(problem, jax.random.key(0)))
    moved = method.point(problem, method.step(problem, state, turn)).w
    np.testing.assert_allclose(moved, w - 0.1 * problem.grad(w), rtol=1e-10)
    plain = js.Subgradient(js.Constant(0.1))
    state = plain.step(problem, plain.init(problem, js.Point(w)), None)
    np.testing.assert_allclose(state.w, moved, rtol=1e-10)


def test_labels_beyond_the_capacity_grow_it(problem):
    found = js.solve(problem, js.StructuredSGD(capacity=2), rtol=1e-1, max_passes=60)
    assert found.status == "converged"
    assert found.dual.masses.shape[1] > 2


def test_projection_keeps_w_in_the_ball(problem):
    method = js.StructuredSGD(js.InverseSqrt(2.0), radius=0.5, project=True)
    w = method.point(problem, after(problem, method, 2)).w
    assert np.linalg.norm(w) <= 0.5 + 1e-12


@pytest.mark.parametrize("rule", [js.UniformMean(), js.PolynomialMean(3.0), js.SuffixMean()])
def test_averages(problem, rule):
    found = js.solve(problem, js.Averaged(js.StructuredSGD(), rule), rtol=0.1, max_passes=100)
    assert found.status == "converged"


@pytest.mark.parametrize(
    "method",
    [js.StructuredSGD(), js.StructuredSGD(js.InverseSqrt(0.5), batch=5, project=True)],
    ids=["telescoping", "projected"],
)
def test_the_lazy_mean_is_the_mean(problem, method):
    """Through folds of the scale, batches and projections; the start is not one of the iterates."""
    lazy = after(problem, dataclasses.replace(method, average=True), 5)
    mean = dataclasses.replace(method, average=True).point(problem, lazy).w
    plain = js.Averaged(method, js.UniformMean())
    np.testing.assert_allclose(mean, plain.point(problem, after(problem, plain, 5)).w, rtol=1e-9)
    np.testing.assert_array_equal(method.point(problem, lazy).w, lazy.scale * lazy.v)


def test_scales_of_C():
    """C of the sum is what make_* takes; C of the slide's step is 1/lam."""
    problem = make("multiclass", False, lam=None, C=0.5, weights=None)
    assert float(js.SumScale().C(problem)) == pytest.approx(0.5)
    assert float(js.SlideScale().C(problem)) == pytest.approx(0.5 * problem.n)
    assert js.SumScale().lam(0.5, problem.n) == pytest.approx(float(problem.lam))


def test_perceptron_counts_its_mistakes():
    rng = np.random.default_rng(0)
    X, y = np.repeat(np.eye(3), 8, axis=0) + 0.1 * rng.normal(size=(24, 3)), np.arange(24) // 8
    problem = js.make_multiclass(X, y, lam=0.1)
    method = js.StructuredPerceptron()
    few, many = (after(problem, method, k) for k in (5, 10))
    assert 2 <= int(few.mistakes) == int(many.mistakes)  # separable: they end
    assert float(problem.risk(many.w)) == 0.0


def test_an_example_without_weight_is_not_there():
    """For the perceptron too, whose slides know no weights."""
    X, y = np.random.default_rng(1).normal(size=(12, 3)), np.arange(12) % 3
    y_wrong = np.where(np.arange(12) == 5, (y + 1) % 3, y)
    keep = np.arange(12) != 5
    order = jnp.asarray(np.tile(np.arange(12), 2), jnp.int32)
    walks = []
    for labels, index in ((y_wrong, order), (y, order[order != 5])):
        problem = js.make_multiclass(X, labels, lam=0.1, weights=keep)
        method = js.averaged_perceptron()
        one = lambda s, i, p=problem, m=method: (m.step(p, s, Sample(i[None])), None)
        state = jax.lax.scan(one, method.init(problem), index)[0]
        walks.append((method.point(problem, state).w, state.mistakes))
    np.testing.assert_allclose(walks[0][0], walks[1][0], rtol=1e-12)
    assert walks[0][1] == walks[1][1]


def test_early_stopping_ends_a_lane_and_keeps_its_best(problem):
    rng = np.random.default_rng(3)
    held_out = js.make_multiclass(rng.normal(size=(30, 4)), rng.integers(0, 3, 30), classes=3)
    method = js.EarlyStopping(js.StructuredSGD(), held_out, patience=2)
    grid = js.sweep(problem, (0.05, 0.3), method, rtol=0.0, max_passes=60)
    assert set(grid.status) == {"settled"}
    for k in range(2):
        last = js.solve(problem.with_lam(grid.lam[k]), method, rtol=0.0, max_passes=60)
        assert float(held_out.risk(last.w)) <= float(held_out.risk(last.w * 0))


def test_a_step_size_by_trial(problem):
    steps: Any = np.geomspace(1e-4, 1.0, 5)
    tuned = js.tune_step(problem, js.StructuredSGD(), js.Constant(steps), examples=16)
    assert tuned.objective.shape == (5,)
    assert tuned.index == np.argmin(tuned.objective)
    assert float(tuned.method.rule.eta) == pytest.approx(steps[tuned.index])
    with pytest.raises(ValueError, match="arrays of one length"):
        js.tune_step(problem, js.StructuredSGD(), js.Constant(0.1))


def test_optax_runs_on_structures(problem):
    found = js.solve(problem, js.FromOptax(optax.adam(0.01), batch=8), rtol=0.5, max_passes=100)
    assert found.status == "converged"
    assert found.trace.oracle_calls[-1] == found.passes * problem.n


def test_a_separate_shrink_is_warned_about(problem):
    with pytest.warns(UserWarning, match="does not have the optimum"):
        js.Adaptive(shrink=js.Decoupled()).check(problem)


@pytest.mark.parametrize(
    "method, words",
    [
        (js.StructuredSGD(batch=25), "batch must lie between 1 and n = 24"),
        (js.structured_adam(batch=0), "batch must lie between 1 and n = 24"),
        (js.Adaptive(shrink="coupled"), r"shrink: expected Preconditioned\(\), Coupled\(\)"),
        (js.Adaptive(scaling="adam"), r"scaling: expected AdaGrad\(\)"),
        (js.StructuredSGD(js.CForm(js.Constant(3.0))), "shrink 1 - gamma must lie between 0 and 1"),
        (js.StructuredSGD(capacity=1), "capacity: expected 0, or at least 2"),
        (js.StructuredPerceptron(gamma=0.0), "gamma and tie: expected positive"),
        (js.EarlyStopping(js.StructuredSGD(), None), "held_out: expected a structured problem"),
    ],
)
def test_bad_settings_are_named(problem, method, words):
    with pytest.raises(ValueError, match=words):
        js.solve(problem, method)


def test_C_and_lam_together_are_refused():
    with pytest.raises(ValueError, match="say the same thing twice"):
        make("multiclass", False, C=1.0)
