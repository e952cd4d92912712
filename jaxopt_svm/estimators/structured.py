"""StructuredSVM: certified margins for label sequences (chains)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from jaxopt_svm.core.run import solve
from jaxopt_svm.estimators.base import as_key, in_precision, report
from jaxopt_svm.problems.make import is_sparse
from jaxopt_svm.problems.structured.decode import decode
from jaxopt_svm.problems.structured.make import make_chain
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["StructuredSVM"]


class StructuredSVM(BaseEstimator):
    """lam/2 ||w||^2 + sum_i s_i max_y {loss(y, y_i) - <w, psi(x_i, y_i) - psi(x_i, y)>} on chains.

    X is a list of (T_i, F) matrices, y a list of T_i labels each; Hamming loss.
    lam: strength of the regulariser. C: instead, 1/2 ||w||^2 + C sum_i ... (default 1).
    tol, max_iter, method, random_state: as LinearSVM. bias: append a constant feature.

    coef_ (d,), classes_, n_features_in_, n_iter_, status_, certificate_.
    """

    status_: str  # set by fit, as the rest

    def __init__(
        self,
        *,
        C=None,
        lam=None,
        tol=1e-2,
        max_iter=1000,
        bias=True,
        method=None,
        random_state=None,
    ):
        self.C = C
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter
        self.bias = bias
        self.method = method
        self.random_state = random_state

    @staticmethod
    def _sequences(X) -> list[Any]:
        if (hasattr(X, "ndim") and X.ndim == 2) or not len(X):
            raise ValueError("X: expected a list of matrices, one a sequence, and at least one")
        return [x if is_sparse(x) else np.asarray(x) for x in X]

    def fit(self, X, y, sample_weight=None):
        """Solve until the certified gap is small enough, or max_iter passes are spent."""
        X = self._sequences(X)
        lam, C = self.lam, 1.0 if self.lam is None and self.C is None else self.C
        double = X[0].dtype != np.float32
        X = X if not double else [x.astype(np.float64) for x in X]
        with in_precision(np.float64 if double else np.float32):
            problem = make_chain(X, y, lam=lam, C=C, weights=sample_weight, bias=self.bias)
            key = as_key(self.random_state)
            options = {"rtol": self.tol, "max_passes": self.max_iter, "key": key}
            solution = solve(problem, self.method, **options)
            self.coef_ = np.asarray(solution.w)
            self.lam_ = float(problem.lam)
        self.n_features_in_ = X[0].shape[1]
        names = problem.labels
        self.classes_ = np.arange(problem.model.K) if names is None else np.asarray(names)
        # what decoding needs, without the training data
        self._model, self._labels = jax.tree.map(np.asarray, problem.model), names
        report(self, solution)
        return self

    def predict(self, X) -> list[np.ndarray]:
        """The best label sequence for each matrix."""
        check_is_fitted(self)
        X = self._sequences(X)
        for x in X:
            if x.ndim != 2 or x.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X: expected matrices with {self.n_features_in_} columns, as in training; "
                    f"got shape {x.shape}"
                )
        dtype = self.coef_.dtype
        X = [x.astype(dtype) for x in X]
        with in_precision(dtype):
            zero = jnp.zeros(0, dtype)
            problem = Structured(
                model=self._model, x=None, y=zero, c=zero, lam=zero, labels=self._labels,
                bias=self.bias,
            )  # fmt: skip
            return decode(problem, self.coef_, X)

    def score(self, X, y, sample_weight=None) -> float:
        """The share of right labels over all positions; unseen labels are refused."""
        found = self.predict(X)
        if [len(a) for a in found] != [len(b) for b in y]:
            raise ValueError("y: expected a label for each row of each matrix")
        unseen = np.setdiff1d(np.concatenate([np.asarray(b) for b in y]), self.classes_)
        if unseen.size:
            raise ValueError(f"y: label {unseen.tolist()[0]!r} was not in training")
        weights = np.ones(len(found)) if sample_weight is None else np.asarray(sample_weight)
        right = np.array([np.sum(a == np.asarray(b)) for a, b in zip(found, y)])
        return float(weights @ right / (weights @ np.array([len(a) for a in found])))
