"""Estimators: scikit-learn's own checks, its referees, certificates, and what they refuse."""

import pathlib
import pickle
import re
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import base
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import estimator_checks

import jaxopt_svm as js
from jaxopt_svm.estimators import KernelSVM, LinearSVM, LinearSVMCV, StructuredSVM
from jaxopt_svm.estimators.padding import bucket
from tests.test_default_config import python

pytestmark = [
    pytest.mark.usefixtures("quick_compilation"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]

# LinearSVC and SVC are excused from these two as well: decision values of two solves, equal to 1e-7
EXCUSED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "equal to the tolerance of the solve"
    for kind in ("dense", "sparse")
}
LIGHT = (
    "check_estimator_cloneable",
    "check_parameters_default_constructible",
    "check_valid_tag_types",
    "check_estimators_unfitted",
    "check_estimators_nan_inf",
    "check_estimators_empty_data_messages",
    "check_classifiers_one_label_sample_weights",
    "check_supervised_y_no_nan",
    "check_dict_unchanged",
    "check_n_features_in_after_fitting",
    "check_estimators_pickle",
    "check_fit2d_1sample",
)


def clone(model) -> Any:
    return base.clone(model)


def three(n: int = 60, d: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(3, d))[y] + 0.7 * rng.normal(size=(n, d)), np.array(["a", "b", "c"])[y]


def two(n: int = 60, d: int = 3, seed: int = 0):
    X, y = three(n, d, seed)
    return X, y == "a"


# --- scikit-learn's checks -------------------------------------------------------------------

MODELS = {"linear": LinearSVM(), "cv": LinearSVMCV(lams=3, cv=2), "kernel": KernelSVM()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_light_checks(name):
    done = []
    checks: Any = estimator_checks.estimator_checks_generator(MODELS[name])
    for model, check in checks:
        if check.func.__name__ in LIGHT:
            check(model)
            done.append(check.func.__name__)
    assert set(done) == set(LIGHT)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_every_check(name):
    found = estimator_checks.check_estimator(
        MODELS[name], expected_failed_checks=EXCUSED, on_skip=None
    )
    assert len(found) > 55 and {r["status"] for r in found} <= {"passed", "skipped", "xfail"}


@pytest.mark.full
def test_the_excused_check_holds_to_the_tolerance_of_a_tight_solve():
    """Zero weight is a deleted row, weight two a repeated one; scikit-learn asks for 1e-7."""
    X, y = three()
    model = LinearSVM("squared_hinge", tol=1e-14, max_iter=5000, lam=0.1)
    weights = np.arange(60) % 3
    repeated = np.repeat(np.arange(60), weights)
    a = clone(model).fit(X, y, sample_weight=weights)
    b = clone(model).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)


# --- referees --------------------------------------------------------------------------------


def test_linear_agrees_with_linear_svc():
    X, y = two()
    weights = 1.0 + np.arange(60) % 2
    options = {"C": 0.7, "class_weight": {True: 2.0}}
    mine = LinearSVM(tol=1e-9, **options).fit(X, y, weights)
    peer = LinearSVC(loss="hinge", tol=1e-9, max_iter=200_000, **options).fit(X, y, weights)
    np.testing.assert_allclose(mine.decision_function(X), peer.decision_function(X), atol=1e-3)
    assert mine.status_ == "converged" and mine.certificate_.gap <= 1e-9 * mine.certificate_.primal
    assert mine.coef_.shape == (1, 3) and mine.intercept_.shape == (1,) and mine.n_iter_ >= 1
    balanced = LinearSVM(class_weight="balanced", tol=1e-6).fit(X, y)
    by_hand = LinearSVM(class_weight={True: 60 / 40, False: 60 / 80}, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-12)


def test_kernel_agrees_with_svc():
    X, y = two()
    mine = KernelSVM(C=2.0, tol=1e-9).fit(X, y)
    peer = SVC(C=2.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(mine.decision_function(X), peer.decision_function(X), atol=1e-4)
    given = KernelSVM("precomputed", C=2.0, tol=1e-9)
    K = np.asarray(js.RBF(js.scale_gamma(X)).matrix(X, X))
    np.testing.assert_allclose(
        given.fit(K, y).decision_function(K[:7]), mine.decision_function(X[:7]), atol=1e-4
    )


def test_classes_sparse_input_pickles_and_precision():
    X, y = three()
    model = LinearSVM(lam=0.05, tol=1e-8)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-12)
    assert dense.decision_function(X).shape == (60, 3) and dense.status_.shape == (3,)
    again = pickle.loads(pickle.dumps(dense))
    assert np.array_equal(again.predict(X), dense.predict(X)) and dense.score(X, y) > 0.7
    single = clone(model).set_params(tol=1e-3).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32 and dense.coef_.dtype == np.float64
    labels, sure = dense.predict(X, certified=True)
    exact = clone(model).set_params(tol=1e-12, max_iter=10_000).fit(X, y)
    assert np.array_equal(labels[sure], exact.predict(X)[sure]) and sure.mean() > 0.9


def test_large_sparse_data_stays_sparse(monkeypatch):
    monkeypatch.setattr("jaxopt_svm.estimators.padding.DENSE", 10)
    X, y = two()
    sparse = LinearSVM(tol=1e-8).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, LinearSVM(tol=1e-8).fit(X, y).coef_, atol=1e-3)


def test_padding_repeats_shapes():
    sizes = [bucket(n, 64, 4096) for n in (1, 64, 65, 97, 129, 4096, 5000)]
    assert sizes == [64, 64, 96, 128, 192, 4096, 5000]


# --- cross-validation ------------------------------------------------------------------------


def test_cv_chooses_what_cross_validate_chooses():
    X, y = three()
    problem = js.make_one_vs_rest(X, y, intercept="penalised")
    lams = [0.5, 0.05, 0.005]
    splits = StratifiedKFold(3).split(X, y)
    matrix = np.ones((3, 60))
    for row, (_, test) in zip(matrix, splits):
        row[test] = 0.0
    tight = {"tol": 1e-6, "max_iter": 20_000}
    wanted = js.cross_validate(problem, lams, matrix, rtol=1e-6, max_passes=20_000)
    model = LinearSVMCV(lams=lams, cv=StratifiedKFold(3), **tight).fit(X, y)
    np.testing.assert_allclose(model.cv_errors_, wanted.errors, atol=1e-12)
    assert model.lam_ == wanted.best_lam and model.cv_status_.shape == (3, 3, 3)
    assert model.C_ == pytest.approx(1 / (model.lam_ * 60))
    simple = LinearSVMCV(lams=lams, cv=matrix, **tight, rule="one_se").fit(X, y)
    assert simple.lam_ == wanted.one_se_lam
    np.testing.assert_allclose(
        model.coef_, LinearSVM(lam=model.lam_, **tight).fit(X, y).coef_, atol=1e-3
    )


# --- chains ----------------------------------------------------------------------------------


def test_chains_learn_score_and_pickle():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(T, 4)) for T in rng.integers(3, 7, 30)]
    y = [np.where(x[:, 0] + 0.3 * x[:, 1] > 0.2, "B", "I") for x in X]
    model = StructuredSVM(lam=0.02, tol=0.05).fit(X, y)
    assert model.status_ == "converged" and model.score(X, y) > 0.85
    again = pickle.loads(pickle.dumps(model))
    assert all(np.array_equal(a, b) for a, b in zip(again.predict(X[:3]), model.predict(X[:3])))
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(ValueError, match="matrices with 4 columns"):
        model.predict([np.zeros((3, 5))])
    with pytest.raises(ValueError, match="label 'O' was not in training"):
        model.score(X[:1], [np.full(len(y[0]), "O")])
    with pytest.raises(NotFittedError):
        StructuredSVM().predict(X)


# --- what is refused, and warnings -----------------------------------------------------------


def test_bad_input_is_refused_in_words():
    X, y = three(30)
    fitted = LinearSVM(lam=0.1).fit(X, y)
    for call, words in (
        (lambda: fitted.predict(X[:, :2]), "2 features, but LinearSVM is expecting 3"),
        (lambda: fitted.score(X, np.where(y == "a", "z", y)), "label 'z' was not in training"),
        (lambda: LinearSVM(class_weight={"z": 1.0}).fit(X, y), "class_weight: no class 'z' in y"),
        (lambda: LinearSVM(class_weight="even").fit(X, y), "class_weight: expected a dict"),
        (lambda: LinearSVM(C=1.0, lam=1.0).fit(X, y), "give lam or C, not both"),
        (lambda: LinearSVM(C=-1.0).fit(X, y), "C: expected positive"),
        (lambda: LinearSVM("log").fit(X, y), "loss: expected one of"),
        (lambda: LinearSVM(js.Squared()).fit(X, y), "loss: expected one for signs"),
        (lambda: LinearSVM().fit(X, np.zeros(30)), "at least two classes"),
        (lambda: LinearSVM().fit(X, y, -np.ones(30)), "[Nn]egative values"),
        (lambda: LinearSVMCV(cv=11).fit(X, y), "folds: 11 need at least 11 examples of class"),
        (lambda: LinearSVMCV(cv=1.0 * (y != "b")[None]).fit(X, y), "trains without class 1"),
        (lambda: LinearSVMCV(rule="worst").fit(X, y), "rule: expected one of"),
        (lambda: KernelSVM("rfb").fit(X, y), "kernel: expected a kernel or one of"),
        (lambda: KernelSVM(gamma="wide").fit(X, y), "gamma: expected"),
        (lambda: StructuredSVM().fit(X, y), "X: expected a list of matrices"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_a_fit_that_did_not_converge_warns_and_says_how_far_it_came():
    X, y = three(30)
    model = LinearSVM(C=1e4, max_iter=1, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match=r"'max_passes' \(3 of 3\) .* relative gap"):
        model.fit(X, y)
    assert "max_passes" in model.status_


def test_the_estimators_work_with_x64_off_and_inside_scikit_learn():
    done = python(
        textwrap.dedent(
            """
            import warnings
            warnings.simplefilter("error")
            import jax, numpy as np
            jax.config.update("jax_disable_most_optimizations", True)
            from sklearn.model_selection import cross_val_score
            from jaxopt_svm.estimators import LinearSVM
            rng = np.random.default_rng(0)
            X = rng.normal(size=(50, 3))
            y = X @ [1.0, 2.0, 3.0] > 0
            model = LinearSVM(tol=1e-9).fit(X, y)
            assert model.coef_.dtype == np.float64 and model.certificate_.gap < 1e-8
            assert jax.numpy.zeros(1).dtype == np.float32, "the user's precision is left alone"
            assert cross_val_score(LinearSVM(), X, y, cv=3).mean() > 0.8
            """
        )
    )
    assert done.returncode == 0, done.stderr


PAGES = ("README.md", pytest.param("docs/from_scikit_learn.md", marks=pytest.mark.full))


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_the_documentation_run(page):
    text = (pathlib.Path(__file__).parent.parent / page).read_text()
    blocks = re.findall(r"```python( cli)?\n(.*?)```", text, re.S)
    names: dict[str, Any] = {}
    if page == "README.md":  # CI runs the blocks without an extra, and has their data
        X, y = two(600)
        names = {"X": X, "y": y}
        blocks = [block for block in blocks if block[0]]
    assert blocks
    for _, code in blocks:
        exec(code, names)
    assert names["certain"].dtype == bool


def test_without_scikit_learn_the_extra_is_named():
    code = (
        "import sys; sys.modules['sklearn'] = None\nimport jaxopt_svm\nimport jaxopt_svm.estimators"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0 and 'pip install "jaxopt_svm[cli]"' in done.stderr, done.stderr
