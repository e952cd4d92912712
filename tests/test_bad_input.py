"""Bad input is refused in words that name the argument, before anything is compiled."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import jaxopt_svm as js
from tests import toy

X, Y = toy.matrix()


def bad(value, where=(3, 2)):
    out = X.copy()
    out[where] = value
    return out


MAKE = {
    "nan in X": (dict(X=bad(np.nan)), r"X: expected finite numbers; .* first at \[3, 2\]"),
    "inf in X": (dict(X=bad(np.inf)), "X: expected finite numbers"),
    "nan in sparse X": (dict(X=sp.csr_matrix(bad(np.nan))), "X .stored values.: expected finite"),
    "too big for float32": (dict(X=jnp.asarray(X, jnp.float32) + jnp.inf), "X: expected finite"),
    "text in X": (dict(X=np.full((40, 2), "a")), "X: expected real numbers"),
    "ragged X": (dict(X=[[1.0], [1.0, 2.0]]), "X: expected a matrix of numbers"),
    "complex X": (dict(X=X + 1j), "X: expected real numbers"),
    "vector X": (dict(X=X[:, 0]), r"X: expected a matrix of shape \(n, d\)"),
    "empty X": (dict(X=np.zeros((0, 3)), y=[]), "X: expected at least one row"),
    "no columns": (dict(X=np.zeros((40, 0))), "X: expected at least one row and one column"),
    "short y": (dict(y=Y[:-1]), r"y: expected shape \(40,\)"),
    "nan in y": (dict(y=np.r_[np.nan, Y[1:]]), "y: expected finite"),
    "one class": (dict(y=np.ones(40)), "needs exactly two labels; found 1: 1.0"),
    "three classes": (dict(y=np.arange(40) % 3), "found 3: 0, 1, 2"),
    "text targets": (dict(y=["a"] * 40, loss=js.Squared()), "needs real targets"),
    "mixed labels": (dict(y=np.array(["a", 1] * 20, object)), "two labels of one type"),
    "lam zero": (dict(lam=0.0), "lam: expected positive finite numbers; got 0"),
    "lam nan": (dict(lam=np.nan), "lam: expected positive finite numbers; got nan"),
    "lam text": (dict(lam="x"), "lam: expected a positive number"),
    "lam grid": (dict(lam=[0.1, 0.2]), "pass a grid to js.sweep"),
    "C negative": (dict(C=-1.0), "C: expected positive"),
    "lam and C": (dict(lam=1.0, C=1.0), "lam and C say the same thing twice"),
    "negative weight": (dict(weights=np.r_[-1.0, np.ones(39)]), r"weights\[0\] = -1"),
    "zero weights": (dict(weights=np.zeros(40)), "weights: all are zero"),
    "short weights": (dict(weights=np.ones(3)), "weights: expected 40 numbers"),
    "nan weight": (dict(weights=np.r_[np.nan, np.ones(39)]), "weights: expected finite"),
    "loss class": (dict(loss=js.Hinge), "loss: expected a loss such as"),
    "loss name": (dict(loss="hinge"), "loss: expected a loss such as"),
    "loss parameter": (dict(loss=js.SmoothHinge(-1.0)), "SmoothHinge.mu: expected positive"),
    "kappa": (dict(regularizer=js.ElasticNet(-0.1)), "ElasticNet.kappa: expected positive"),
    "regularizer": (dict(regularizer="l2"), "regularizer: expected"),
    "softmax one class": (
        dict(y=np.ones(40), loss=js.Softmax()),
        "y: Softmax needs at least two labels; found 1: 1.0",
    ),
    "softmax matrix": (dict(y=np.ones((40, 3)), loss=js.Softmax()), r"y: expected shape \(40,\)"),
    "softmax nan": (dict(y=np.r_[np.nan, Y[1:]], loss=js.Softmax()), "y: expected finite"),
    "softmax mixture": (
        dict(y=np.array(["a", 1] * 20, object), loss=js.Softmax()),
        "y: expected labels of one type",
    ),
    "softmax free": (dict(loss=js.Softmax(), intercept="free"), 'Softmax cannot have a "free" one'),
    "vector targets": (dict(loss=js.MultiSquared()), r"needs shape \(40, m\), .* got \(40,\)"),
    "short targets": (dict(y=np.ones((3, 2)), loss=js.MultiSquared()), r"got \(3, 2\)"),
    "no targets": (dict(y=np.ones((40, 0)), loss=js.MultiSquared()), r"m >= 1 .* got \(40, 0\)"),
    "nan targets": (
        dict(y=np.full((40, 2), np.nan), loss=js.MultiSquared()),
        r"y: expected finite numbers; .* first at \[0, 0\]",
    ),
    "text in targets": (dict(y=np.full((40, 2), "a"), loss=js.MultiSquared()), "needs real target"),
    "MultiSquared.mu": (dict(y=np.ones((40, 2)), loss=js.MultiSquared(0.0)), "MultiSquared.mu"),
    "intercept": (dict(intercept="yes"), "intercept: expected one of none, penalised, free"),
}


@pytest.mark.parametrize("name", MAKE)
def test_make_erm_refuses(name):
    arguments, message = MAKE[name]
    with pytest.raises(ValueError, match=message):
        js.make_erm(**({"X": X, "y": Y} | arguments))


@pytest.fixture(scope="module")
def problem():
    return js.make_erm(X, Y)


FREE = js.make_erm(X, Y, intercept="free")
NET = js.make_erm(X, Y, regularizer=js.ElasticNet(0.1))
SOLVE = {
    "unknown method": (None, dict(method="sdcaa"), "unknown name 'sdcaa'; did you mean sdca"),
    "method class": (None, dict(method=js.SDCA), "method: expected a method such as"),
    "rtol": (None, dict(rtol=-1.0), "rtol: expected a number >= 0"),
    "atol": (None, dict(atol=np.nan), "atol: expected a number >= 0"),
    "max_passes": (None, dict(max_passes=0), "max_passes: expected at least 1"),
    "free sdca": (FREE, dict(method=js.SDCA()), 'SDCA cannot fit intercept="free"'),
    "free sgd": (FREE, dict(method=js.pegasos()), "use Subgradient or FromOptax"),
    "free certified": (FREE, dict(method=js.Certified(js.Subgradient())), "SDCA cannot fit"),
    "net sgd": (NET, dict(method=js.SGD()), "SGD needs the l2 regulariser"),
    "net averaged": (NET, dict(method=js.Averaged(js.SDCA())), "only l2 problems can be averaged"),
    "batch": (None, dict(method=js.SGD(batch=41)), "batch must lie between 1 and n = 40"),
    "sets": (None, dict(method=js.SGD(sampling=js.Nice(3))), "use batch=k"),
    "start type": (None, dict(start=np.zeros(6)), "start: expected a Solution or a js.Point; got"),
    "start of nothing": (None, dict(start=js.Point(None)), "start: expected a point with w"),
    "start": (None, dict(start=js.Point(jnp.zeros(3))), r"start: expected w of shape \(6,\)"),
    "start dual": (
        None,
        dict(start=js.Point(jnp.zeros(6), jnp.zeros(2))),
        r"start: expected dual of shape \(40,\)",
    ),
}


@pytest.mark.parametrize("name", SOLVE)
def test_solve_refuses(name, problem, monkeypatch):
    from jaxopt_svm.core import programs

    monkeypatch.setattr(programs, "begin", lambda *a: pytest.fail("something was compiled"))
    other, arguments, message = SOLVE[name]
    with pytest.raises(ValueError, match=message):
        js.solve(problem if other is None else other, **arguments)


@pytest.mark.parametrize("lams", [[], [[0.1]], [0.1, -1.0], [0.1, np.nan], 0.1])
def test_sweep_refuses(problem, lams):
    for driver in (js.sweep, js.path):
        with pytest.raises(ValueError, match="lams: expected"):
            driver(problem, lams)
