"""LinearSVM: a certified linear classifier, two classes or one-vs-rest."""

from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from jaxopt_svm.core.run import solve
from jaxopt_svm.core.solution import Solution
from jaxopt_svm.estimators.base import (
    Classifier,
    as_key,
    in_precision,
    report,
    resolve_lam,
    resolve_loss,
)
from jaxopt_svm.estimators.padding import Padded, padded
from jaxopt_svm.problems.batch import make_one_vs_rest
from jaxopt_svm.problems.make import make_erm
from jaxopt_svm.problems.nearby import intercept_range, lane_of, radius

__all__ = ["LinearSVM", "linear_problem", "settle"]


def linear_problem(data: Padded, K: int, loss, lam: float, intercept: str) -> Any:
    """One problem for two classes, a lane a class for more."""
    options = {"loss": loss, "lam": lam, "weights": data.weights, "intercept": intercept}
    if K == 2:
        return make_erm(data.X, data.codes, **options)
    return make_one_vs_rest(data.X, data.codes, **options)


def settle(model: Any, problem: Any, solution: Solution, d: int) -> None:
    """The fitted attributes: coefficients, certificate, and how far the optimum can be."""
    w = np.atleast_2d(np.asarray(solution.w))
    has_intercept = problem.intercept != "none"
    model.coef_ = np.ascontiguousarray(w[:, :d])
    model.intercept_ = w[:, -1].copy() if has_intercept else np.zeros(len(w), w.dtype)
    model.lam_ = float(np.ravel(solution.lam)[0])
    model.radius_ = np.atleast_1d(radius(solution.certificate, solution.lam))
    model.intercept_range_ = np.zeros((2, len(w)))
    if problem.intercept == "free":
        for k in range(len(w)):
            lane = lane_of(problem, solution, k if np.ndim(solution.lam) else None)
            model.intercept_range_[:, k] = np.subtract(intercept_range(*lane), model.intercept_[k])
    report(model, solution)


class LinearSVM(Classifier):
    """1/2 ||w||^2 + C sum_i s_i phi(<x_i, w> + b, y_i), certified; several classes one-vs-rest.

    loss: "hinge", "squared_hinge", "smooth_hinge", "logistic", or one such as js.SmoothHinge(0.1).
    C: as LinearSVC (default 1). lam: instead of C, lam/2 ||w||^2 + weighted mean loss.
    tol: certified relative gap (P - D)/P to reach. max_iter: most passes over the data.
    intercept: "penalised" (as LinearSVC), "free" or "none".
    class_weight: dict, "balanced" or None; multiplies sample_weight in every one-vs-rest problem.
    method: as for js.solve; chosen for the problem unless given. random_state: None is 0.

    coef_ (K or 1, d), intercept_, classes_, n_iter_, status_, certificate_, lam_, radius_ (a bound
    on the distance of coef_ to the exact optimum).
    """

    coef_: np.ndarray

    def __init__(
        self,
        loss: Any = "hinge",
        *,
        C=None,
        lam=None,
        tol=1e-4,
        max_iter=1000,
        intercept="penalised",
        class_weight=None,
        method=None,
        random_state=None,
    ):
        self.loss = loss
        self.C = C
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter
        self.intercept = intercept
        self.class_weight = class_weight
        self.method = method
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Solve until the certified gap is small enough, or max_iter passes are spent."""
        X, codes, weights = self._examples(X, y, sample_weight, self.class_weight)
        loss, lam = resolve_loss(self.loss), resolve_lam(self.lam, self.C, weights.sum())
        d = X.shape[1]
        with in_precision(X.dtype):
            data = padded(X, codes, weights)
            problem = linear_problem(data, len(self.classes_), loss, lam, self.intercept)
            key = as_key(self.random_state)
            options = {"rtol": self.tol, "max_passes": self.max_iter, "key": key}
            settle(self, problem, solve(problem, self.method, **options), d)
        return self

    def _scores(self, X) -> tuple[np.ndarray, np.ndarray]:
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        squares = row_norms(X, squared=True)
        return scores, np.sqrt(squares + (1.0 if self.intercept == "penalised" else 0.0))
