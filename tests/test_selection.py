"""Model selection: lam_max, folds, cross-validation in one batch, certified predictions."""

import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.selection.folds import fold_weights, stratified
from tests import toy

pytestmark = pytest.mark.usefixtures("quick_compilation")

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


@pytest.mark.parametrize("kind", ["kernel", "softmax", "squared"])
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
