# pyright: reportOptionalSubscript=false, reportIndexIssue=false, reportArgumentType=false
"""Answers against solvers nobody here wrote.

Objectives are compared, not weights: with a certified gap of 1e-7 ours is within 1e-7 of the
optimum, so the peer can be no lower, and a good peer no more than 1e-6 higher.
"""

import os
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets as sk
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import jaxopt_svm as js
from jaxopt_svm.data import load
from tests import toy

LAMS = np.array([1e-1, 1e-2, 1e-3, 1e-4])


def bundled(name):
    X, y = getattr(sk, f"load_{name}")(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return X / np.sqrt((X**2).sum(1).mean()), np.where(y % 2 == 0, 1.0, -1.0)


def real(name):
    if not os.environ.get("JAXOPT_SVM_DATA"):
        pytest.skip("set JAXOPT_SVM_DATA to the folder of real data")
    data = load(name)
    X = sp.csr_matrix(data.X, dtype=np.float64)
    scale = np.sqrt(X.multiply(X).sum() / X.shape[0])
    y = np.asarray(data.y)
    return X / scale, np.where(y == y.max(), 1.0, -1.0)


def dense(X):
    return np.asarray(X.todense()) if sp.issparse(X) else X


def objective(problem, lam, w):
    return float(problem.with_lam(lam).primal(np.asarray(w, np.float64)))


def compare(X, y, loss, make_peer, lams=LAMS, passes=6000):
    """Ours at every lam in one sweep; the peer one by one. Returns the relative differences."""
    problem = js.make_erm(X, y, loss=loss)
    ours = js.sweep(problem, lams, rtol=1e-7, max_passes=passes)
    for k, lam in enumerate(lams):
        peer = make_peer(js.C_from_lam(lam, len(y)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the peer's own complaint is not ours to judge
            peer.fit(X, y)
        mine, theirs = float(ours.certificate.primal[k]), objective(problem, lam, peer.coef_[0])
        gap = float(ours.certificate.gap[k])
        assert gap <= 1e-7 * mine, f"lam {lam}: certified gap {gap}"
        assert mine <= theirs + gap + 1e-12, "the peer is below a certified optimum"
        assert theirs - mine <= 1e-6 * mine + 1e-12, f"lam {lam}: {theirs} against {mine}"


def hinge(C):
    return LinearSVC(
        loss="hinge", C=C, fit_intercept=False, tol=1e-8, max_iter=200_000, random_state=0
    )


def squared_hinge(C):
    return LinearSVC(C=C, fit_intercept=False, tol=1e-8, max_iter=100_000, random_state=0)


def logistic(C):
    return LogisticRegression(C=C, fit_intercept=False, tol=1e-8, solver="newton-cholesky")


PEERS = {
    "hinge": (js.Hinge(), hinge),
    "squared_hinge": (js.SquaredHinge(), squared_hinge),
    "logistic": (js.Logistic(), logistic),
}


@pytest.mark.parametrize("peer", PEERS)
def test_bundled_data(peer):
    loss, make = PEERS[peer]
    X, y = bundled("breast_cancer")
    compare(X, y, loss, make, LAMS[:3] if peer == "hinge" else LAMS)


@pytest.mark.parametrize("name", ["heart_scale", "diabetes_scale"])
@pytest.mark.parametrize("peer", PEERS)
def test_small_real_data(name, peer):
    loss, make = PEERS[peer]
    X, y = real(name)
    compare(dense(X), y, loss, make)


@pytest.mark.parametrize("peer", PEERS)
def test_mushrooms_sparse(peer):
    loss, make = PEERS[peer]
    X, y = real("mushrooms")
    make = (
        make
        if peer != "logistic"
        else lambda C: LogisticRegression(C=C, fit_intercept=False, tol=1e-9, max_iter=5000)
    )
    compare(X, y, loss, make, LAMS[:2] if peer == "hinge" else LAMS[:3])


@pytest.mark.parametrize("peer", ["hinge", "logistic"])
def test_a9a(peer):
    loss, make = PEERS[peer]
    X, y = real("a9a")
    compare(dense(X), y, loss, make, LAMS[:2], passes=500)


def test_ridge():
    X, y = bundled("diabetes")
    t = 3.0 * y + X[:, 0]
    problem = js.make_erm(X, t, loss=js.Squared())
    ours = js.sweep(problem, LAMS, rtol=1e-9, max_passes=6000)
    for k, lam in enumerate(LAMS):
        alpha = js.ridge_alpha_from_lam(lam, len(t))
        peer = Ridge(alpha=alpha, fit_intercept=False, tol=1e-10).fit(X, t)
        theirs = objective(problem, lam, peer.coef_)
        assert abs(theirs - float(ours.certificate.primal[k])) <= 1e-6 * theirs


def test_penalised_intercept_is_linear_svc():
    X, y = bundled("breast_cancer")
    problem = js.make_erm(X, y, lam=1e-2, intercept="penalised")
    ours = js.solve(problem, rtol=1e-8, max_passes=5000)
    peer = LinearSVC(
        loss="hinge", C=js.C_from_lam(1e-2, len(y)), tol=1e-9, max_iter=200_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(ours.w[-1], peer.intercept_[0], atol=1e-4)
    np.testing.assert_allclose(ours.w[:-1], peer.coef_[0], atol=1e-4)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.15])
def test_sgd_classifier_is_never_below_us(l1_ratio):
    """And its alpha is converted exactly: its own objective is ours."""
    X, y = bundled("breast_cancer")
    alpha = 1e-2
    lam, kappa = js.lam_from_sgd_alpha(alpha, l1_ratio)
    regularizer = js.ElasticNet(kappa) if l1_ratio else js.L2()
    problem = js.make_erm(X, y, lam=lam, regularizer=regularizer)
    peer = SGDClassifier(
        alpha=alpha,
        penalty="elasticnet",
        l1_ratio=l1_ratio,
        fit_intercept=False,
        max_iter=2000,
        tol=None,
        random_state=0,
    ).fit(X, y)
    w = peer.coef_[0]
    penalty = alpha * ((1 - l1_ratio) / 2 * w @ w + l1_ratio * abs(w).sum())
    own = penalty + np.maximum(0, 1 - y * (X @ w)).mean()
    np.testing.assert_allclose(float(problem.primal(w)), own, rtol=1e-12)
    ours = js.solve(problem, rtol=1e-6, max_passes=3000)
    assert float(ours.certificate.primal) <= own
    assert own <= 1.02 * float(ours.certificate.primal), "the peer solves the same problem"


def test_a_qp_solver_finds_the_same_dual():
    """cvxopt on min 1/2 b'Qb - e'b, 0 <= b <= C, the hinge's dual in liblinear's letters."""
    cvxopt = pytest.importorskip("cvxopt")
    X, y = toy.matrix()
    n, lam = len(y), 0.05
    C = js.C_from_lam(lam, n)
    Q = (y[:, None] * X) @ (y[:, None] * X).T
    box = np.r_[np.zeros(n), np.full(n, C)]
    cvxopt.solvers.options.update(show_progress=False, abstol=1e-12, reltol=1e-12, feastol=1e-12)
    qp = cvxopt.solvers.qp(
        cvxopt.matrix(Q),
        cvxopt.matrix(-np.ones(n)),
        cvxopt.matrix(np.r_[-np.eye(n), np.eye(n)]),
        cvxopt.matrix(box),
    )
    ours = js.solve(js.make_erm(X, y, lam=lam), rtol=1e-10, max_passes=5000)
    np.testing.assert_allclose(-qp["primal objective"] * lam, ours.certificate.dual, rtol=1e-7)
