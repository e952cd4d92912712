"""What the classifiers share: reading the input, weights, lam, and saying how a fit ended."""

import warnings
from typing import Any

import jax
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    check_random_state,
    validate_data,
)

from jaxopt_svm.core.protocols import Certificate
from jaxopt_svm.core.solution import Solution, Status
from jaxopt_svm.problems.losses import Hinge, Logistic, SmoothHinge, SquaredHinge
from jaxopt_svm.problems.make import check_lam
from jaxopt_svm.problems.predict import certain

__all__ = [
    "LOSSES",
    "Classifier",
    "as_key",
    "in_precision",
    "report",
    "warn_unless_converged",
]

LOSSES = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smooth_hinge": SmoothHinge,
    "logistic": Logistic,
}
GOOD = (Status.CONVERGED, Status.PRECISION_FLOOR, Status.SETTLED)


def in_precision(dtype) -> Any:
    """Compute in the precision of the data, whatever jax is set to: float64 in, float64 used."""
    return jax.enable_x64(np.dtype(dtype) == np.float64)


def as_key(random_state: Any) -> Any:
    """A jax key; None gives the same key every time."""
    if random_state is None:
        return jax.random.key(0)
    seed = random_state
    if not isinstance(seed, int | np.integer):
        seed = check_random_state(random_state).randint(2**31 - 1)
    return jax.random.key(int(seed))


def resolve_loss(loss: Any) -> Any:
    if not isinstance(loss, str):
        if isinstance(loss, type) or not hasattr(loss, "dual_step"):
            raise ValueError(f"loss: expected a name or a loss such as js.Hinge(); got {loss!r}")
        if loss.vector or loss.regression:
            raise ValueError(f"loss: expected one for signs; got {loss!r}")
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss: expected one of {', '.join(LOSSES)}; got {loss!r}")
    return LOSSES[loss]()


def resolve_lam(lam: Any, C: Any, total: float) -> float:
    """lam, or 1/(C sum of weights); C = 1 if neither is given."""
    if lam is not None and C is not None:
        raise ValueError("give lam or C, not both")
    name, value = ("lam", lam) if lam is not None else ("C", 1.0 if C is None else C)
    number = check_lam(name, value)
    if number.ndim:
        raise ValueError(f"{name}: expected one number; got shape {number.shape}")
    return float(number) if lam is not None else 1.0 / (float(number) * total)


def class_factors(class_weight: Any, classes: np.ndarray, codes, weights) -> np.ndarray:
    """(K,) what the weight of each class is multiplied by."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weights, len(classes))
        return totals.sum() / (np.count_nonzero(totals) * np.where(totals > 0, totals, 1.0))
    if not isinstance(class_weight, dict):
        raise ValueError(f'class_weight: expected a dict, "balanced" or None; got {class_weight!r}')
    known = classes.tolist()
    for name, value in class_weight.items():
        if name not in known:
            raise ValueError(f"class_weight: no class {name!r} in y; its classes are {known}")
        if not (np.isreal(value) and np.isfinite(value) and value >= 0):
            raise ValueError(f"class_weight: expected numbers >= 0; got {value!r} for {name!r}")
    return np.array([class_weight.get(name, 1.0) for name in known], np.float64)


def report(model: Any, solution: Solution) -> None:
    """n_iter_, status_ and certificate_, and a warning in scikit-learn's way."""
    statuses = np.atleast_1d(np.asarray(solution.status, str))
    model.n_iter_ = max(1, int(np.max(solution.passes)))
    model.status_ = str(statuses[0]) if np.ndim(solution.status) == 0 else statuses
    model.certificate_ = Certificate(*(np.asarray(f) for f in solution.certificate))
    warn_unless_converged(model, statuses, solution.relative_gap, "it")


def warn_unless_converged(model: Any, statuses: np.ndarray, relative_gap: Any, what: str) -> None:
    """One ConvergenceWarning for all models of a fit, with the certified gap of the worst."""
    bad = [str(s) for s in np.ravel(statuses) if s not in GOOD]
    if bad:
        warnings.warn(
            f"{type(model).__name__}: {what} ended as {bad[0]!r} ({len(bad)} of "
            f"{np.size(statuses)}) with a certified relative gap of {np.max(relative_gap):.2g} "
            f"(tol={model.tol:g}, max_iter={model.max_iter}); scale the data, increase max_iter, "
            "or choose another method",
            ConvergenceWarning,
            stacklevel=4,
        )


class Classifier(ClassifierMixin, BaseEstimator):
    """Reading, scoring and certifying; a subclass has ``fit`` and ``_scores``."""

    # set by fit
    classes_: np.ndarray
    intercept_: np.ndarray
    n_iter_: int
    status_: Any
    certificate_: Certificate
    lam_: float
    radius_: np.ndarray
    intercept_range_: np.ndarray

    def _accepted(self) -> dict[str, Any]:
        sparse = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        return {"accept_sparse": sparse, "dtype": [np.float64, np.float32]}

    def _examples(self, X, y, sample_weight, class_weight) -> tuple[Any, np.ndarray, np.ndarray]:
        """X, (n,) classes as numbers and (n,) weights; sets ``classes_``."""
        found: Any = validate_data(self, X, y, **self._accepted())
        X, y = found
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weights = weights * class_factors(class_weight, self.classes_, codes, weights)[codes]
        left = np.unique(codes[weights > 0])
        if left.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs examples of at least two classes with weight > 0; "
                f"found {left.size} class: {self.classes_[left].tolist()}"
            )
        if left.size < self.classes_.size:  # a class without weight is as good as absent
            kept = np.isin(codes, left)
            X, weights, codes = X[kept], weights[kept], np.searchsorted(left, codes[kept])
            self.classes_ = self.classes_[left]
        return X, codes, weights

    def _new(self, X) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._accepted())

    def _scores(self, X) -> tuple[np.ndarray, np.ndarray | None]:
        """Scores (n, K) or (n, 1), and ||x|| (n,) if it is known, of checked rows."""
        raise TypeError(f"{type(self).__name__} must define _scores")

    def decision_function(self, X):
        """(n,) scores of the second class, or (n, K), one a class."""
        scores = self._scores(self._new(X))[0]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _labels(self, scores) -> np.ndarray:
        several = scores.shape[1] > 1
        best = scores.argmax(axis=1) if several else (scores[:, 0] >= 0).astype(int)
        return self.classes_[best]

    def predict(self, X, certified: bool = False):
        """Labels; certified: (labels, certain), True where the exact optimum says the same."""
        scores, lengths = self._scores(self._new(X))
        if not certified:
            return self._labels(scores)
        if lengths is None:
            raise ValueError("certified: needs k(x, x), which a precomputed kernel does not say")
        rounding = 8 * np.finfo(scores.dtype).eps * (np.abs(scores) + 1.0)
        half = self.radius_ * lengths[:, None] + rounding
        low, high = self.intercept_range_
        several = scores.shape[1] > 1
        lower, upper = scores - half + low, scores + half + high
        bounds = (lower, upper) if several else (lower[:, 0], upper[:, 0])
        return self._labels(scores), certain(*bounds, several)

    def score(self, X, y, sample_weight=None):
        """The share of right labels; a label that was not in training is refused."""
        check_is_fitted(self)
        unseen = np.setdiff1d(np.asarray(y), self.classes_)
        if unseen.size:
            raise ValueError(
                f"y: label {unseen.tolist()[0]!r} was not in training; known are "
                f"{self.classes_.tolist()}"
            )
        return accuracy_score(y, self.predict(X), sample_weight=sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
