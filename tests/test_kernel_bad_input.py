"""Kernel problems refuse bad input in words, before anything compiles."""

import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.problems import make_kernel
from tests.toy_kernel import points

X, Y = points()
GRAM = np.asarray(js.RBF(0.3).matrix(X, X))


def indefinite():
    K = GRAM.copy()
    K[0, 1] = K[1, 0] = 3.0
    return K


def asymmetric():
    K = GRAM.copy()
    K[3, 5] += 0.5
    return K


PRE = {"kernel": "precomputed"}
BAD = {
    "asymmetric": (dict(X=asymmetric(), **PRE), r"symmetric; K\[3, 5\]"),
    "indefinite": (dict(X=indefinite(), **PRE), "1 negative eigenvalues, the smallest -"),
    "not square": (dict(X=X, **PRE), "square"),
    "C zero": (dict(C=0.0), "C: expected positive"),
    "lam and C": (dict(lam=1.0, C=1.0), "same thing twice"),
    "one class": (dict(y=np.ones(40)), "exactly two labels; found 1"),
    "kernel name": (dict(kernel="gauss"), "kernel: expected a kernel such as"),
    "kernel class": (dict(kernel=js.RBF), "kernel: expected a kernel such as"),
    "kernel width": (dict(kernel=js.RBF(-1.0)), "RBF.gamma: expected positive"),
    "nan": (dict(X=np.where(np.eye(40, 6) > 0, np.nan, X)), "X: expected finite"),
    "vector loss": (dict(loss=js.Softmax()), "loss of one output"),
    "free logistic": (dict(loss=js.Logistic(), intercept="free"), '"free" is for the hinge'),
    "gram": (dict(gram="all"), "gram: expected one of stored, rows"),
    "store": (dict(store=np.float16), "store: expected float32"),
    "lam grid": (dict(lam=[0.1, 0.2]), "pass a grid to js.sweep"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_problems_are_refused(name):
    changes, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        js.make_kernel_svm(**{"X": X, "y": Y, "kernel": js.RBF(0.3), **changes})


def test_a_gram_matrix_larger_than_memory_names_the_bytes_and_the_way_out(monkeypatch):
    monkeypatch.setattr(make_kernel, "memory_bytes", lambda: 10_000)
    with pytest.raises(ValueError, match=r'12,800 bytes.*10,000.*gram="rows"'):
        js.make_kernel_svm(X, Y, kernel="rbf")
    assert js.make_kernel_svm(X, Y, kernel="rbf", gram="rows").n == 40


FREE = js.make_kernel_svm(X, Y, kernel="rbf", intercept="free")
NONE = js.make_kernel_svm(X, Y, kernel="rbf")
LOGISTIC = js.make_kernel_svm(X, Y, kernel="rbf", loss=js.Logistic())
LINEAR = js.make_erm(X, Y)
REFUSED = {
    "smo without intercept": (NONE, js.SMO(), 'which is intercept="free".*BoxSDCA'),
    "box with intercept": (FREE, js.BoxSDCA(), 'cannot hold intercept="free".*Decomposition'),
    "smo on erm": (LINEAR, js.SMO(), "works on a Gram matrix"),
    "sdca on a kernel": (NONE, js.SDCA(), "solves ERM problems"),
    "logistic qp": (LOGISTIC, js.ActiveSet(), "quadratic program of the hinge.*BoxSDCA"),
    "odd q": (FREE, js.Decomposition(q=3), "even number"),
    "candidates": (FREE, js.ActiveSet(candidates=0), "candidates: expected 1 to 40"),
    "cache of one": (FREE, js.SMO(cache=1), "SMO.cache"),
    "perf loss": (js.make_erm(X, Y, loss=js.Logistic()), js.SVMPerf(), "use SDCA"),
    "rank": (NONE, js.InteriorPointLowRank(rank=0), "rank: expected at least 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_methods_say_what_they_cannot_do(name):
    problem, method, message = REFUSED[name]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        js.solve(problem, method)


def test_the_method_chosen_for_users_who_name_none():
    assert js.solve(FREE, rtol=1e-3).method == "decomposition"
    assert js.solve(NONE, rtol=1e-2).method == "box_sdca"


def test_wrong_columns_in_prediction_are_named():
    one = js.solve(FREE, rtol=1e-2)
    with pytest.raises(ValueError, match="X: expected 6 columns"):
        js.predict(FREE, one, X[:, :3])


def test_one_vs_rest_and_stacked_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="y: expected shape"):
        js.one_vs_rest(FREE, Y[:-1])
    with pytest.raises(ValueError, match="at least two classes"):
        js.one_vs_rest(FREE, np.zeros(40))
    with pytest.raises(ValueError, match="same kind"):
        js.stacked([FREE, NONE])
