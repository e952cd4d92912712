r"""Claim. The derivative of a validation loss along the path of solutions solves a linear system:

    linear, smooth    (lam + X'DX) dw/dlog lam = -lam w,                    D = diag(c_i phi''_i)
    kernel, hinge     dbeta = -beta + q, q = 0 off the margin M, K_MM q + db = (K beta)_M, sum q = 0

and the same with -(dK/dgamma beta)_M on the right for the width gamma of the kernel.
Not in the lectures; Chapelle et al., Machine Learning 46 (2002); Bengio 2000.

Check. Ridge regression in closed form, and the kernel SVM solved exactly, against central
differences of the validation loss. False variant: the examples on the margin do not answer (q = 0).
"""

from types import SimpleNamespace

import numpy as np

import jaxopt_svm as js
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.kernel_toys import exact, points

STEP = 1e-5
LOGISTIC = js.Logistic()


def ridge(lam: float):
    """(problem, solution, new rows, new targets)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 3)), rng.normal(size=9)
    problem = js.make_erm(X, y, loss=js.Squared(), lam=lam)
    w = np.linalg.solve(X.T @ X / 9 + lam * np.eye(3), X.T @ y / 9)
    return problem, solution(w, y - X @ w, problem.lam), X[:4] + 0.3, y[:4]


def svm(lam: float, gamma: float):
    X, y = points(n=20)
    kernel = js.RBF(gamma)
    problem = js.make_kernel_svm(X[4:], y[4:], kernel=kernel, lam=lam, intercept="free")
    beta, b = exact(problem)
    w = np.append(beta, b)
    return problem, solution(w, np.asarray(problem.alpha_of(beta)), problem.lam), X[:4] + 0.1, y[:4]


def solution(w, alpha, lam):
    return SimpleNamespace(w=w, dual=alpha, lam=lam, point=js.Point(w, alpha))


def difference(value) -> float:
    return (value(STEP) - value(-STEP)) / (2 * STEP)


def check() -> Result:
    rough = js.validation_slope(*ridge(0.1))
    slopes = [
        rough.log_lam - difference(lambda h: js.validation_slope(*ridge(0.1 * np.exp(h))).value)
    ]
    at = lambda h=0.0, g=0.0: js.validation_slope(*svm(0.1 * np.exp(h), 0.5 + g), loss=LOGISTIC)
    found = at()
    by_lam, by_gamma = difference(lambda h: at(h).value), difference(lambda g: at(g=g).value)
    slopes += [found.log_lam - by_lam, found.kernel.gamma - by_gamma]
    # false: beta shrinks as a whole, and so do the scores
    problem, solved, new, y = svm(0.1, 0.5)
    f = np.asarray(problem.kernel.matrix(new, problem.X)) @ solved.w[:-1]
    false = np.mean(np.asarray(LOGISTIC.slope(f + solved.w[-1], y)) * -f) - by_lam
    return Result(smallest(-np.abs(slopes)), -abs(false))


claim = Claim(
    name="implicit_slope",
    text="the slope of a validation loss in log lam and in a kernel's width, by a linear system",
    lecture="Optimization Methods for SVMs: the kernel problem and its active set",
    check=check,
    tolerance=1e-6,
)
