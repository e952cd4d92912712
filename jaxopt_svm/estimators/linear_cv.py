"""LinearSVMCV: lam chosen by cross-validation, lam x folds x classes in one batch, then one fit."""

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from jaxopt_svm.core.run import solve
from jaxopt_svm.estimators.base import (
    Classifier,
    as_key,
    in_precision,
    resolve_loss,
    warn_unless_converged,
)
from jaxopt_svm.estimators.linear import LinearSVM, linear_problem, settle
from jaxopt_svm.estimators.padding import padded
from jaxopt_svm.problems.batch import crossed
from jaxopt_svm.selection.cross_validation import cross_validate, default_lams

__all__ = ["LinearSVMCV"]

RULES = ("best", "one_se")


class LinearSVMCV(Classifier):
    """LinearSVM with lam from cross-validation; every model on the way is certified.

    lams: the grid, or how many values from lam_max down. cv: folds, stratified and seeded; weights
    of shape (folds, n), zero = held out; or a splitter or a list of (train, test) of scikit-learn.
    rule: "best", or "one_se" for the largest lam within one standard error. by: "error" or "loss".
    The rest as LinearSVM.

    lam_, C_, lams_, cv_errors_ and cv_losses_ (folds, lams), cv_certificate_, cv_status_; and all
    of LinearSVM's, from the fit on all examples.
    """

    coef_: np.ndarray

    def __init__(
        self,
        loss: Any = "hinge",
        *,
        lams: Any = 20,
        cv: Any = 5,
        rule="best",
        by="error",
        tol=1e-3,
        max_iter=1000,
        intercept="penalised",
        class_weight=None,
        method=None,
        random_state=None,
    ):
        self.loss = loss
        self.lams = lams
        self.cv = cv
        self.rule = rule
        self.by = by
        self.tol = tol
        self.max_iter = max_iter
        self.intercept = intercept
        self.class_weight = class_weight
        self.method = method
        self.random_state = random_state

    def _folds(self, codes: np.ndarray, weights: np.ndarray, rows: int) -> Any:
        """A matrix of fold weights for the padded rows; a number as it is."""
        cv, n = self.cv, weights.size
        if isinstance(cv, int | np.integer):
            return cv
        if not isinstance(cv, np.ndarray):  # scikit-learn's splitters and lists of splits
            splitter: Any = check_cv(cv, codes, classifier=True)
            splits = list(splitter.split(np.zeros((n, 1)), codes))
            cv = np.zeros((len(splits), n))
            for row, (train, test) in zip(cv, splits):
                if (
                    np.unique(np.concatenate([train, test])).size < n
                    or np.intersect1d(train, test).size
                ):
                    raise ValueError("cv: a split must put every example into train or into test")
                row[train] = 1.0
        if cv.ndim != 2 or cv.shape[1] != n:
            raise ValueError(f"cv: expected weights of shape (folds, {n}); got {cv.shape}")
        kept = cv[:, weights > 0]
        return np.pad(kept, ((0, 0), (0, rows - kept.shape[1])))

    def fit(self, X, y, sample_weight=None):
        """Choose lam, then fit all examples with it."""
        if self.rule not in RULES:
            raise ValueError(f"rule: expected one of {', '.join(RULES)}; got {self.rule!r}")
        X, codes, weights = self._examples(X, y, sample_weight, self.class_weight)
        loss, d = resolve_loss(self.loss), X.shape[1]
        options = {"rtol": self.tol, "max_passes": self.max_iter}
        with in_precision(X.dtype):
            data = padded(X, codes, weights)
            problem = linear_problem(data, len(self.classes_), loss, 1.0, self.intercept)
            count = np.ndim(self.lams) == 0
            lams = default_lams(problem, count=int(self.lams)) if count else self.lams
            folds = self._folds(codes, weights, problem.n)
            options |= {"method": self.method, "key": as_key(self.random_state)}
            found = cross_validate(problem, lams, folds, by=self.by, **options)
            gaps = found.solution.relative_gap
            warn_unless_converged(self, found.status, gaps, "a model of the cross-validation")
            lam = found.best_lam if self.rule == "best" else found.one_se_lam
            several = np.ndim(problem.lam) > 0
            final = crossed(problem, lam) if several else problem.with_lam(lam)
            settle(self, final, solve(final, **options), d)
        self.lams_, self.C_ = found.lams, 1.0 / (self.lam_ * weights.sum())
        self.cv_errors_, self.cv_losses_ = found.errors, found.losses
        self.cv_certificate_, self.cv_status_ = found.certificate, found.status
        return self

    _scores = LinearSVM._scores
