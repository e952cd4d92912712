"""Model selection: lam_max, folds, cross-validation in one batch, certified predictions."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import jaxopt_svm as js
from jaxopt_svm.selection.folds import fold_weights, stratified
from tests import toy

pytestmark = pytest.mark.usefixtures("quick_compilation")

FULL = pytest.mark.full
REST = ("softmax", "kernel")
TIGHT = {"rtol": 1e-7, "max_passes": 4000}


def three_classes(n: int = 60, d: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(3, d))[y] + 0.7 * rng.normal(size=(n, d)), np.array(["a", "b", "c"])[y]


# --- lam_max ---------------------------------------------------------------------------------

LOSSES = {
    "hinge": js.Hinge(),
    "smooth": js.SmoothHinge(0.5),
    "wide": js.SmoothHinge(1.8),
    "squared_hinge": js.SquaredHinge(),
    "logistic": js.Logistic(),
    "squared": js.Squared(),
}
EXACT = {("hinge", "none"), ("hinge", "penalised"), ("smooth", "none"), ("smooth", "penalised")}


@pytest.mark.parametrize("intercept", ["none", "penalised", "free"])
@pytest.mark.parametrize("name", LOSSES)
def test_above_lam_max_the_closed_form_is_certified(name, intercept):
    loss = LOSSES[name]
    problem = toy.dense64(loss, intercept=intercept)
    for rtol in (1e-2, 1e-4):
        top = js.lam_max(problem, rtol)
        for lam in (top * (1 + 1e-9), 4 * top):
            here = problem.with_lam(lam)
            got = here.certificate(js.closed_form(here))
            most = 1e-14 if (name, intercept) in EXACT else rtol * abs(got.primal)
            assert got.gap <= most + got.floor, (rtol, lam, got)
        lower = problem.with_lam(top / 4)
        below = lower.certificate(js.closed_form(lower))
        assert below.gap > 2 * most, "lam_max is not four times too large"


def test_signs_of_equal_weight_have_an_exact_closed_form_with_a_free_intercept():
    X, y = toy.matrix()
    weights = np.where(y > 0, np.sum(y < 0), np.sum(y > 0))
    problem = js.make_erm(X, y, weights=weights, intercept="free")
    top = js.lam_max(problem)
    at = lambda lam: problem.with_lam(lam).certificate(js.closed_form(problem.with_lam(lam)))
    assert at(top * (1 + 1e-9)).gap <= 1e-14 and at(0.9 * top).gap > 1e-4


def test_elastic_nets_start_at_zero_and_kernels_have_a_lam_max_too():
    for intercept in ("none", "free"):
        net = toy.dense64(js.Hinge(), regularizer=js.ElasticNet(0.3), intercept=intercept)
        top = js.lam_max(net)
        here, below = net.with_lam(top * (1 + 1e-9)), net.with_lam(top * 0.9)
        w = np.asarray(js.closed_form(here).w)
        assert here.certificate(js.closed_form(here)).gap <= 1e-14 and not w[:6].any()
        # the step that would be optimal without the l1 term is no longer all cut off
        assert np.any(np.abs(below.abar(js.closed_form(below).dual)[:6]) > 0.3)
    X, y = toy.matrix()
    linear = js.make_erm(X, y)
    kernel = js.make_kernel_svm(X, y, kernel="linear")
    np.testing.assert_allclose(js.lam_max(kernel), js.lam_max(linear), rtol=1e-12)
    here = kernel.with_lam(js.lam_max(kernel) * (1 + 1e-9))
    assert here.certificate(js.closed_form(here)).gap <= 1e-14


def test_lam_max_refuses_what_it_cannot_say():
    X, y = toy.matrix()
    with pytest.raises(ValueError, match="Absolute; pass lams="):
        js.lam_max(js.make_erm(X, y, loss=js.Absolute()))
    with pytest.raises(ValueError, match="w = 0 is the solution"):
        js.lam_max(js.make_erm(np.zeros((4, 2)), [0, 1, 0, 1]))


# --- folds -----------------------------------------------------------------------------------


def test_folds_are_stratified_seeded_and_even():
    codes = np.repeat([0, 1, 2], [10, 7, 6])
    of = stratified(codes, 5, 0)
    for code in range(3):
        counts = np.bincount(of[codes == code], minlength=5)
        assert counts.max() - counts.min() <= 1
    sizes = np.bincount(of)
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(of, stratified(codes, 5, 0))
    assert not np.array_equal(of, stratified(codes, 5, 1))


def test_folds_that_cannot_be_are_refused():
    X, y = three_classes(12)
    problem = js.make_one_vs_rest(X, y)
    for folds, words in (
        (5, "folds: 5 need at least 5 examples of class 'a'; got 4"),
        (1, "folds: expected an integer >= 2"),
        (True, "folds: expected an integer >= 2"),
        (np.ones((2, 5)), r"folds: expected a number, or weights of shape \(folds, 12\)"),
        (-np.ones((2, 12)), "folds: expected finite weights >= 0"),
        (np.ones((2, 12)), "fold 0 holds out no example"),
        (np.zeros((1, 12)), "fold 0 trains on no example"),
        (1.0 * (y != "b")[None], "fold 0 trains without class 'b'"),
    ):
        with pytest.raises(ValueError, match=words):
            js.cross_validate(problem, [0.1], folds)


# --- cross-validation ------------------------------------------------------------------------


def test_the_batch_is_a_loop_of_single_fits_on_the_rows_kept():
    X, y = toy.matrix(44)
    weights = np.r_[0.0, 0.0, 1.0 + np.arange(42) % 3]
    problem = js.make_erm(X, y, weights=weights, intercept="penalised")
    lams = [0.3, 0.03]
    found = js.cross_validate(problem, lams, 3, **TIGHT)
    assert found.errors.shape == found.losses.shape == found.status.shape == (3, 2)
    assert np.all(fold_weights(problem, 3)[:, :2] == 0), "without weight, in no fold"
    assert np.all(found.status == "converged")
    for f, kept in enumerate(fold_weights(problem, 3) > 0):
        # rows deleted rather than weighted with zero, one lam at a time
        alone = js.make_erm(X[kept], y[kept], weights=weights[kept], intercept="penalised")
        for j, lam in enumerate(lams):
            one = js.solve(alone.with_lam(lam), **TIGHT)
            np.testing.assert_allclose(
                found.certificate.primal[f, j], one.certificate.primal, rtol=0, atol=1e-6
            )
            scores = js.decision(alone, one, X[~kept])  # the two without weight count nowhere
            wrong = np.average((scores >= 0) != (y[~kept] > 0), weights=weights[~kept])
            loss = np.average(np.maximum(0, 1 - y[~kept] * scores), weights=weights[~kept])
            assert found.errors[f, j] == pytest.approx(wrong, abs=1e-12)
            assert found.losses[f, j] == pytest.approx(loss, abs=1e-3)


def test_lam_x_folds_x_classes_is_one_batch():
    X, y = three_classes()
    problem = js.make_one_vs_rest(X, y, loss=js.SmoothHinge(), intercept="penalised")
    found = js.cross_validate(problem, [0.3, 0.03], 3, **TIGHT)
    assert found.certificate.gap.shape == (3, 3, 2) and np.all(found.status == "converged")
    kept = fold_weights(problem, 3)[1] > 0
    part = js.make_one_vs_rest(X[kept], y[kept], loss=js.SmoothHinge(), intercept="penalised")
    one = js.solve(js.crossed(part, 0.03), **TIGHT)
    np.testing.assert_allclose(found.certificate.primal[1, :, 1], one.certificate.primal, atol=1e-6)
    wrong = np.mean(js.predict(part, one, X[~kept]) != y[~kept])
    assert found.errors[1, 1] == pytest.approx(wrong, abs=1e-12)
    names = [js.make_erm(X[kept], y[kept] == k, loss=js.SmoothHinge()).labels for k in "abc"]
    assert names == [(False, True)] * 3 and part.labels == ("a", "b", "c")


def test_the_grid_comes_from_lam_max_and_the_choice_follows_the_rules():
    problem = js.make_erm(*toy.matrix(), loss=js.Logistic())
    found = js.cross_validate(problem, folds=2, rtol=0.5)
    assert len(found.lams) == 20 and found.lams[0] == pytest.approx(js.lam_max(problem))
    made = js.CrossValidation(
        lams=np.array([4.0, 3.0, 2.0, 1.0]),
        errors=np.array([[0.5, 0.23, 0.2, 0.2], [0.5, 0.27, 0.3, 0.3]]),
        losses=np.array([[4.0, 3.0, 2.0, 1.0]] * 2),
        certificate=found.certificate,
        status=found.status,
        passes=found.passes,
        solution=found.solution,
    )
    assert made.best_lam == 3.0 and made.one_se_lam == 3.0  # of equals the largest
    assert np.isclose(made.standard_error[2], 0.05)
    by_loss = js.CrossValidation(**{**made.__dict__, "by": "loss"})
    assert by_loss.best_lam == 1.0 and "best lam 1" in repr(by_loss)


@pytest.mark.parametrize("kind", ["squared", *(pytest.param(k, marks=FULL) for k in REST)])
def test_other_problems_are_judged_by_their_own_measure(kind):
    X, y = three_classes(30)
    if kind == "kernel":
        problem = js.one_vs_rest(js.make_kernel_svm(X, y == "a", kernel=js.RBF(0.3)), y)
    elif kind == "softmax":
        problem = js.make_erm(X, y, loss=js.Softmax(), intercept="penalised")
    else:
        problem = js.make_erm(X, X @ [1.0, 2.0, 0.0, -1.0], loss=js.Squared())
    found = js.cross_validate(problem, [1e-1, 1e-3], 3)
    assert np.all(found.status == "converged")
    chance = np.std(problem.y) if kind == "squared" else 2 / 3
    assert np.all(found.errors.mean(axis=0) < 0.6 * chance)


# --- certified predictions -------------------------------------------------------------------


def exactly(problem):
    """The optimum to rounding, by a second-order method where there is one."""
    return js.solve(problem, js.InteriorPointLowRank(), rtol=1e-12, max_passes=100)


@pytest.mark.parametrize("intercept", ["none", "penalised", "free"])
def test_certified_labels_are_those_of_the_exact_optimum(intercept):
    X, y = toy.matrix(80, 4)
    new = np.random.default_rng(1).normal(size=(400, 4))
    problem = js.make_erm(X, y, lam=0.05, intercept=intercept)
    exact = exactly(problem)
    truth, shares = js.predict(problem, exact, new), []
    for rtol in (0.3, 1e-2, 1e-5):
        rough = js.solve(problem, js.InteriorPointLowRank(), rtol=rtol)
        labels, sure = js.predict(problem, rough, new, certified=True)
        assert np.array_equal(labels[sure], truth[sure])
        lower, upper = js.decision_bounds(problem, rough, new)
        scores = js.decision(problem, exact, new)
        assert np.all((lower <= scores) & (scores <= upper))
        shares.append(sure.mean())
    assert shares[0] < shares[-1] and shares[-1] > 0.9, shares


CLASSES = {
    "classes": lambda X, y: js.make_one_vs_rest(X, y, lam=0.05, intercept="penalised"),
    "softmax": lambda X, y: js.make_erm(X, y, loss=js.Softmax(), lam=0.05),
    "kernel": lambda X, y: js.make_kernel_svm(X, y == "a", lam=0.05, intercept="penalised"),
}


@pytest.mark.parametrize("kind", ["classes", *(pytest.param(k, marks=FULL) for k in REST)])
def test_certified_classes_are_those_of_the_exact_optimum(kind):
    X, y = three_classes()
    new = np.random.default_rng(1).normal(size=(200, 4))
    problem = CLASSES[kind](X, y)
    exact = js.solve(problem, rtol=1e-10, max_passes=4000)
    truth = js.predict(problem, exact, new)
    rough = js.solve(problem, rtol=1e-2)
    labels, sure = js.predict(problem, rough, new, certified=True)
    assert labels.shape == sure.shape == (200,)
    assert np.array_equal(labels[sure], truth[sure]) and 0.05 < sure.mean() < 1.0
    with pytest.raises(ValueError, match=r"certified: the distance .* Ball"):
        js.predict(js.make_ball(X, y == "a", B=1.0), rough, new, certified=True)


# --- the slope of a validation loss ----------------------------------------------------------


def solved(problem):
    if not problem.loss.smooth:
        kernel = isinstance(problem, js.KernelSVM)
        method = js.ActiveSet(capacity=64) if kernel else js.InteriorPointLowRank()
        return js.solve(problem, method, rtol=1e-13, max_passes=200)
    if problem.intercept != "free":
        return js.solve(problem, rtol=1e-13, max_passes=3000)
    # no method is this tight with a free intercept: Newton's steps on the host
    X, y, c = (np.asarray(a) for a in (problem.rows.X, problem.y, problem.c))
    w, lam = np.zeros(X.shape[1]), float(problem.lam)
    penalty = lam * np.r_[np.ones(X.shape[1] - 1), 0.0]
    for _ in range(30):
        p = 1 / (1 + np.exp(y * (X @ w)))
        H = np.diag(penalty) + X.T @ ((c * p * (1 - p))[:, None] * X)
        w = w - np.linalg.solve(H, penalty * w - X.T @ (c * y * p))
    point = problem.complete(js.Point(jnp.asarray(w)))
    assert problem.certificate(point).gap < 1e-12
    return SimpleNamespace(w=w, dual=point.dual, lam=problem.lam, point=point)


SLOPES = {
    "logistic free": (js.Logistic(), "free", None),
    "smooth": (js.SmoothHinge(0.5), "penalised", None),
    "hinge": (js.Hinge(), "none", None),
    "hinge free": (js.Hinge(), "free", None),
    "kernel hinge": (js.Hinge(), "penalised", js.RBF(0.3)),
    "kernel squared hinge": (js.SquaredHinge(), "none", js.RBF(0.3)),
}


@pytest.mark.parametrize("case", SLOPES)
def test_the_slope_of_a_validation_loss_is_its_difference(case):
    loss, intercept, kernel = SLOPES[case]
    X, y = toy.matrix(40, 8)
    new, labels = toy.matrix(30, 8, seed=3)

    def at(shift=0.0, wider=0.0):
        options = {"loss": loss, "lam": 0.05 * np.exp(shift), "intercept": intercept}
        if kernel is None:
            problem = js.make_erm(X, y, **options)
        else:
            problem = js.make_kernel_svm(X, y, kernel=js.RBF(0.3 + wider), **options)
        return js.validation_slope(problem, solved(problem), new, labels, loss=js.Logistic())

    h, found = 1e-4, at()
    rtol = 1e-4 if loss.smooth else 1e-6
    difference = (at(h).value - at(-h).value) / (2 * h)
    assert found.log_lam == pytest.approx(difference, rel=rtol) and abs(difference) > 1e-4
    if kernel is not None:
        difference = (at(wider=h).value - at(wider=-h).value) / (2 * h)
        gamma = jax.tree.leaves(found.kernel)[0]
        assert gamma == pytest.approx(difference, rel=1e-4) and abs(difference) > 1e-4


def test_sparse_rows_have_the_slopes_of_dense_ones():
    X, y = toy.matrix(40, 4)
    found = []
    for rows in (X, sp.csr_matrix(X)):
        problem = js.make_erm(rows, y, lam=0.05)
        dense = js.make_erm(X, y, lam=0.05)
        found.append(js.validation_slope(problem, exactly(dense), rows[:10], y[:10]))
    assert found[0].margin == found[1].margin
    np.testing.assert_allclose(found[0][:2], found[1][:2], rtol=1e-10)


def test_slopes_are_refused_where_there_are_none():
    X, y = toy.matrix(40, 4)
    problem = js.make_erm(X, y, lam=0.05)
    one = exactly(problem)
    with pytest.raises(ValueError, match="not a batch"):
        js.validation_slope(problem, SimpleNamespace(lam=np.ones(2)), X, y)
    with pytest.raises(ValueError, match=r"label 3\.0 is not one of"):
        js.validation_slope(problem, one, X, y + 2)
    with pytest.raises(ValueError, match="Absolute has no formula"):
        js.validation_slope(js.make_erm(X, y, loss=js.Absolute()), one, X, y)


# --- hand-over -------------------------------------------------------------------------------


def test_a_solution_of_one_method_starts_any_other():
    X, y = toy.matrix(80, 4)
    problem = js.make_erm(X, y, lam=0.02)
    first = js.solve(problem, js.SGD(), rtol=0.2)
    second = js.solve(problem, js.SDCA(), rtol=1e-2, start=first)
    third = js.solve(problem, js.InteriorPointLowRank(), rtol=1e-9, start=second)
    assert {first.status, second.status, third.status} == {"converged"}
    # what was found is not lost: the next one begins with a dual at least as good
    assert second.trace.dual[0] >= first.certificate.dual - 1e-12
    alone = js.solve(problem, js.SDCA(), rtol=1e-2)
    assert second.trace.gap[0] < alone.trace.gap[0] and second.passes <= alone.passes
    cold = js.solve(problem, js.InteriorPointLowRank(), rtol=1e-9)
    assert third.trace.gap[0] < cold.trace.gap[0] and third.passes <= cold.passes
    np.testing.assert_allclose(third.certificate.primal, cold.certificate.primal, rtol=1e-8)
