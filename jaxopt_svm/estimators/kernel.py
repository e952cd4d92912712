"""KernelSVM: a certified kernel classifier, two classes or one-vs-rest."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.run import solve
from jaxopt_svm.estimators.base import (
    Classifier,
    as_key,
    in_precision,
    report,
    resolve_lam,
    resolve_loss,
)
from jaxopt_svm.estimators.padding import LARGE, ROWS, bucket, padded
from jaxopt_svm.problems.batch import one_vs_rest
from jaxopt_svm.problems.kernels import RBF, Kernel, Linear, Polynomial, scale_gamma
from jaxopt_svm.problems.make import is_sparse
from jaxopt_svm.problems.make_kernel import make_kernel_svm
from jaxopt_svm.problems.nearby import intercept_range, lane_of, radius

__all__ = ["KernelSVM"]

NAMES = ("rbf", "linear", "poly", "precomputed")


@jax.jit
def _products(kernel, points, coefficients, X):
    """(m, K) scores without intercepts, and (m,) k(x, x)."""
    return kernel.matrix(X, points) @ coefficients.T, kernel.diagonal(X)


class KernelSVM(Classifier):
    """1/2 ||f||^2 + C sum_i s_i phi(f(x_i) + b, y_i), certified; several classes one-vs-rest.

    kernel: "rbf", "linear", "poly", "precomputed", or a kernel such as js.RBF(0.5) + js.Linear().
    gamma: "scale", "auto" or a number, and degree, coef0: of the named kernels, as SVC.
    intercept: "free" (as SVC; hinge only), "penalised" or "none". The rest as LinearSVM.

    support_ (indices), support_vectors_, dual_coef_ (K or 1, support), intercept_, classes_,
    n_iter_, status_, certificate_, lam_, radius_ (distance to the exact optimum in the kernel's
    space).
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C=None,
        lam=None,
        gamma: Any = "scale",
        degree=3,
        coef0=0.0,
        loss: Any = "hinge",
        tol=1e-4,
        max_iter=1000,
        intercept="free",
        class_weight=None,
        method=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.C = C
        self.lam = lam
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.intercept = intercept
        self.class_weight = class_weight
        self.method = method
        self.random_state = random_state

    @property
    def _given(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _gamma(self, X) -> float:
        if self.gamma == "scale":
            return scale_gamma(X)
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        if isinstance(self.gamma, str):
            raise ValueError(f'gamma: expected "scale", "auto" or a number; got {self.gamma!r}')
        return float(self.gamma)

    def _kernel(self, X) -> Any:
        if isinstance(self.kernel, Kernel):
            return self.kernel
        if self.kernel not in NAMES:
            raise ValueError(
                f"kernel: expected a kernel or one of {', '.join(NAMES)}; got {self.kernel!r}"
            )
        if self.kernel == "rbf":
            return RBF(self._gamma(X))
        if self.kernel == "poly":
            return Polynomial(self._gamma(X), float(self.coef0), int(self.degree))
        return Linear() if self.kernel == "linear" else None

    def fit(self, X, y, sample_weight=None):
        """Solve until the certified gap is small enough, or max_iter passes are spent."""
        X, codes, weights = self._examples(X, y, sample_weight, self.class_weight)
        X = X.toarray() if is_sparse(X) else X
        loss, lam = resolve_loss(self.loss), resolve_lam(self.lam, self.C, weights.sum())
        used, K = np.flatnonzero(weights > 0), len(self.classes_)
        given = self._given
        if given and X.shape[0] != X.shape[1]:
            raise ValueError(f"X: a precomputed kernel matrix is square; got shape {X.shape}")
        self._fitted_kernel = self._kernel(X)
        options = {"loss": loss, "lam": lam, "intercept": self.intercept}
        with in_precision(X.dtype):
            rows = X[:, used] if given else X
            # columns of zeros change no named kernel; one of the user's own might count them
            data = padded(rows, codes, weights, columns=isinstance(self.kernel, str) and not given)
            points = data.X
            if given:  # a padded Gram matrix: the rows added are orthogonal to all
                points = np.pad(points, ((0, 0), (0, len(points) - points.shape[1])))
            problem = make_kernel_svm(
                points,
                data.codes == 1 if K == 2 else data.codes == 0,
                kernel="precomputed" if given else self._fitted_kernel,
                weights=data.weights,
                **options,
            )
            problem = problem if K == 2 else one_vs_rest(problem, data.codes)
            key = as_key(self.random_state)
            options = {"rtol": self.tol, "max_passes": self.max_iter, "key": key}
            solution = solve(problem, self.method, **options)
            w = np.atleast_2d(np.asarray(solution.w))
            free = self.intercept == "free"
            beta = w[:, : used.size]
            self.intercept_ = w[:, -1].copy() if free else np.zeros(len(w), w.dtype)
            self.radius_ = np.atleast_1d(radius(solution.certificate, solution.lam))
            self.intercept_range_ = np.zeros((2, len(w)))
            for k in range(len(w) if free and isinstance(self._fitted_kernel, Kernel) else 0):
                lane = lane_of(problem, solution, k if np.ndim(solution.lam) else None)
                ends = np.subtract(intercept_range(*lane), self.intercept_[k])
                self.intercept_range_[:, k] = ends
        support = np.flatnonzero((beta != 0).any(axis=0))
        self.support_ = used[support]
        self.support_vectors_ = X[self.support_] if not given else np.empty((0, 0), X.dtype)
        self._width = points.shape[1]
        self.dual_coef_ = np.ascontiguousarray(beta[:, support])
        self.lam_ = lam
        report(self, solution)
        return self

    def _scores(self, X) -> tuple[np.ndarray, np.ndarray | None]:
        X = X.toarray() if is_sparse(X) else X
        constant = 1.0 if self.intercept == "penalised" else 0.0
        if self._given:
            scores = (X[:, self.support_] + constant) @ self.dual_coef_.T + self.intercept_
            return scores, None
        dtype = self.dual_coef_.dtype
        with in_precision(dtype):
            rows, m = len(X), self.dual_coef_.shape[1]
            wide = ((0, 0), (0, self._width - X.shape[1]))
            fill = lambda A, size: np.pad(A.astype(dtype), ((0, size - len(A)), (0, 0)))
            points = np.pad(fill(self.support_vectors_, bucket(m, ROWS, LARGE)), wide)
            coefficients = fill(self.dual_coef_.T, len(points)).T
            kernel = self._fitted_kernel + constant if constant else self._fitted_kernel
            found = _products(
                kernel,
                jnp.asarray(points),
                jnp.asarray(coefficients),
                jnp.asarray(np.pad(fill(X, bucket(rows, ROWS, LARGE)), wide)),
            )
            scores, squares = (np.asarray(part)[:rows] for part in found)
        return scores + self.intercept_, np.sqrt(squares)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given
        tags.input_tags.sparse = not self._given
        return tags
