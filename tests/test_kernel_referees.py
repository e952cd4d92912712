# pyright: reportOptionalSubscript=false, reportIndexIssue=false, reportArgumentType=false
"""Kernel solvers against SVC, LinearSVC and cvxopt: objectives within 1e-6.

SVC keeps kernel rows in float32, so at large C its own objective is only good to about 1e-6; the
active set is the tighter referee, and here it is held against all three.
"""

import os
import warnings

import cvxopt
import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

import jaxopt_svm as js
from jaxopt_svm.data import load

TOLERANCE = 1e-6
CUBIC = js.Polynomial(0.5, 1.0, degree=3)
PEERS = {
    "linear": (js.Linear(), {"kernel": "linear"}),
    "rbf": (js.RBF(0.3), {"kernel": "rbf", "gamma": 0.3}),
    "polynomial": (CUBIC, {"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 3}),
}


def real(name, rows=150):
    """The first rows of a real set, two classes, features of unit size."""
    if not os.environ.get("JAXOPT_SVM_DATA"):
        pytest.skip("set JAXOPT_SVM_DATA to the folder of real data")
    data = load(name)
    X = np.asarray(data.X.todense() if hasattr(data.X, "todense") else data.X, np.float64)
    y = np.asarray(data.y)
    y = np.where(y == (4 if name == "satimage" else y.max()), 1.0, -1.0)
    some = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[some], y[some]


def objective_of_svc(problem, X, y, C, options):
    model = SVC(C=C, tol=1e-9, **options).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    scores = np.asarray(problem.rows.times(beta))
    return float(problem.primal(np.append(beta, problem.best_intercept(scores))))


def dual_of_cvxopt(problem):
    """D* of the box QP, by an interior-point solver of other people."""
    lo, hi = (np.asarray(end) for end in problem.box())
    K, y, n = np.asarray(problem.rows.K), np.asarray(problem.y), problem.n
    cvxopt.solvers.options.update(show_progress=False, abstol=1e-12, reltol=1e-12, feastol=1e-12)
    matrix = cvxopt.matrix
    G, h = np.vstack([np.eye(n), -np.eye(n)]), np.concatenate([hi, -lo])
    equality = (matrix(np.ones((1, n))), matrix(0.0)) if problem.free else ()
    found = cvxopt.solvers.qp(matrix(K), matrix(-y), matrix(G), matrix(h), *equality)
    return -float(found["primal objective"]) * float(problem.lam)


CASES = [
    ("heart_scale", "rbf", 1.0),
    ("heart_scale", "polynomial", 0.01),
    ("diabetes_scale", "linear", 10.0),
    ("ionosphere", "rbf", 1000.0),
    ("sonar", "linear", 0.1),
    ("satimage", "rbf", 100.0),
]


@pytest.mark.parametrize(("name", "kernel", "C"), CASES)
def test_free_intercept_against_svc_and_cvxopt(name, kernel, C):
    X, y = real(name)
    ours, theirs = PEERS[kernel]
    problem = js.make_kernel_svm(X, y, kernel=ours, C=C, intercept="free")
    one = js.solve(problem, js.ActiveSet(capacity=128), rtol=1e-9, max_passes=200)
    assert one.relative_gap < 1e-8
    primal = float(one.certificate.primal)
    svc = objective_of_svc(problem, X, y, C, theirs)
    assert svc >= primal * (1 - 1e-8)
    if C < 1000:  # beyond, float32 rows leave SVC 1e-4 above the optimum
        assert svc - primal <= TOLERANCE * (1 + primal)
    np.testing.assert_allclose(primal, dual_of_cvxopt(problem), rtol=TOLERANCE)
    exact = js.solve(problem, js.InteriorPoint(), rtol=1e-8, max_passes=60)
    np.testing.assert_allclose(exact.certificate.primal, primal, rtol=TOLERANCE)


@pytest.mark.parametrize("intercept", ["none", "penalised"])
@pytest.mark.parametrize(("name", "kernel", "C"), [CASES[0], CASES[5]])
def test_other_intercepts_against_cvxopt(name, kernel, C, intercept):
    X, y = real(name)
    problem = js.make_kernel_svm(X, y, kernel=PEERS[kernel][0], C=C, intercept=intercept)
    best = dual_of_cvxopt(problem)
    for method in (js.ActiveSet(capacity=128), js.InteriorPoint(), js.InteriorPointLowRank()):
        one = js.solve(problem, method, rtol=1e-7, max_passes=200)
        np.testing.assert_allclose(one.certificate.primal, best, rtol=TOLERANCE)


@pytest.mark.parametrize("intercept", ["none", "penalised"])
def test_linear_kernels_against_linear_svc(intercept):
    X, y = real("heart_scale")
    C, more = 0.5, intercept == "penalised"
    problem = js.make_kernel_svm(X, y, kernel="linear", C=C, intercept=intercept)
    linear = js.make_erm(X, y, C=C, intercept=intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = LinearSVC(C=C, loss="hinge", tol=1e-10, max_iter=200_000, fit_intercept=more)
        peer.fit(X, y)
    w = np.append(peer.coef_[0], peer.intercept_) if more else peer.coef_[0]
    theirs = float(linear.primal(w))
    for p, method in (
        (problem, js.ActiveSet(capacity=128)),
        (problem, js.BoxSDCA()),
        (linear, js.InteriorPointLowRank()),
        (linear, js.SVMPerf()),
    ):
        one = js.solve(p, method, rtol=2e-7, max_passes=4000)
        np.testing.assert_allclose(one.certificate.primal, theirs, rtol=TOLERANCE)


def test_predictions_are_those_of_svc():
    X, y = real("ionosphere")
    labels = np.where(y > 0, "good", "bad")
    problem = js.make_kernel_svm(X[:100], labels[:100], kernel=js.RBF(0.1), C=3.0, intercept="free")
    one = js.solve(problem, js.SMO(), rtol=1e-9)
    peer = SVC(C=3.0, gamma=0.1, tol=1e-8).fit(X[:100], labels[:100])
    new = X[100:]
    sign = 1.0 if problem.labels[1] == peer.classes_[1] else -1.0
    mine = js.decision(problem, one, new)
    np.testing.assert_allclose(mine, sign * peer.decision_function(new), atol=1e-4)
    np.testing.assert_array_equal(js.predict(problem, one, new), peer.predict(new))
    K = np.asarray(js.RBF(0.1).matrix(X[:100], X[:100]))
    given = js.make_kernel_svm(K, labels[:100], kernel="precomputed", C=3.0, intercept="free")
    rows = js.RBF(0.1).matrix(new, X[:100])
    np.testing.assert_allclose(js.decision(given, one, rows), mine, rtol=1e-6, atol=1e-9)
