"""From points (or a Gram matrix) and labels to a kernel problem, or a clear error."""

import os
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxopt_svm.problems.gram import ComputedGram, StoredGram, make_computed, make_stored
from jaxopt_svm.problems.kernel import KernelSVM
from jaxopt_svm.problems.kernels import RBF, Kernel, Linear, scale_gamma
from jaxopt_svm.problems.losses import Hinge
from jaxopt_svm.problems.make import (
    INTERCEPTS,
    _matrix,
    _refuse_non_finite,
    check_lam,
    checked_targets,
    is_sparse,
    weights_and_lam,
    working_dtype,
)

__all__ = ["make_kernel_svm"]

GRAMS = ("stored", "rows")
SYMMETRY = 1e-4  # relative; kernels of float32 points are only so symmetric
SHARE = 0.6  # of the memory a Gram matrix may take


def memory_bytes() -> int:
    """The machine's memory, or no limit where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**62


def _refuse_too_large(n: int, dtype) -> None:
    need, have = n * n * np.dtype(dtype).itemsize, memory_bytes()
    if need > SHARE * have:
        raise ValueError(
            f"the Gram matrix of {n} points in {np.dtype(dtype).name} takes {need:,} bytes, and "
            f'this machine has {have:,}; use gram="rows" with SMO(cache=...), which makes kernel '
            "rows as they are needed, or make_erm with InteriorPointLowRank for a linear kernel"
        )


def _refuse_indefinite(K: np.ndarray) -> None:
    """K must be symmetric and positive semidefinite, up to the rounding of its own dtype."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"X: a precomputed Gram matrix is square; got shape {K.shape}")
    size = np.abs(K).max()
    asymmetry = np.abs(K - K.T).max()
    if asymmetry > SYMMETRY * size:
        i, j = np.unravel_index(np.argmax(np.abs(K - K.T)), K.shape)
        raise ValueError(
            f"X: a Gram matrix is symmetric; K[{i}, {j}] = {K[i, j]:g}, K[{j}, {i}] = {K[j, i]:g}"
        )
    K = K.astype(np.float64)
    eps = max(np.finfo(np.float32).eps, asymmetry / max(size, 1e-300))
    allowed = 10 * eps * np.sqrt(len(K)) * size
    try:
        np.linalg.cholesky((K + K.T) / 2 + allowed * np.eye(len(K)))
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh((K + K.T) / 2)
        negative = int(np.sum(values < -allowed))
        if negative == 0 and values[0] >= -2 * allowed:
            return
        raise ValueError(
            f"X: a Gram matrix is positive semidefinite; this one has {negative} negative "
            f"eigenvalues, the smallest {values[0]:.4g} against the largest {values[-1]:.4g}. "
            f"Adding {-values[0]:.4g} to its diagonal would repair it"
        ) from None


def _kernel_of(kernel: Any, X: Any) -> Kernel:
    """A Kernel from a Kernel or its short name."""
    if kernel is None or (isinstance(kernel, str) and kernel == "rbf"):
        return RBF(scale_gamma(X))
    if isinstance(kernel, str) and kernel == "linear":
        return Linear()
    if not isinstance(kernel, Kernel):
        raise ValueError(
            'kernel: expected a kernel such as js.RBF(0.5), or "linear", "rbf" or "precomputed"; '
            f"got {kernel!r}"
        )
    kernel.check()
    return kernel


def _make_gram(X: Any, kernel: Kernel, gram: str, store: Any, dtype) -> StoredGram | ComputedGram:
    X = jnp.asarray(X)
    if gram == "rows":
        return make_computed(X, kernel)
    _refuse_too_large(X.shape[0], store)
    return make_stored(kernel.matrix(X, X).astype(store), dtype)


def make_kernel_svm(
    X: Any,
    y: Any,
    *,
    kernel: Any = None,
    loss: Any = None,
    lam: float | None = None,
    C: float | None = None,
    weights: Any = None,
    intercept: str = "none",
    gram: str = "stored",
    store: Any = None,
) -> KernelSVM:
    """A kernel machine: lam/2 ||f||^2 + sum_i c_i phi(f(x_i) + b, y_i).

    Args:
      X: (n, d) points, numpy, jax, pandas or scipy.sparse; with kernel="precomputed" the (n, n)
        Gram matrix.
      y: (n,) two labels of any kind, or real targets for a regression loss.
      kernel: a value such as ``js.RBF(0.5) + js.Linear()``; "rbf" (the default) is RBF with
        scikit-learn's gamma="scale"; "linear"; "precomputed".
      loss: ``Hinge()`` unless given. Other losses are for ``BoxSDCA``.
      lam: strength of the regulariser (default 1e-3). C: SVC's constant, lam = 1/(C sum(weights)).
      weights: (n,) importance of the examples, any scale.
      intercept: "none", "penalised" (the kernel becomes k + 1) or "free" (as SVC; hinge only).
      gram: "stored", or "rows": made when needed, for n too large to store n^2 numbers.
      store: dtype of a stored Gram matrix, such as np.float32, if not that of X.
    """
    loss = Hinge() if loss is None else loss
    if isinstance(loss, type) or not hasattr(loss, "dual_step") or loss.vector:
        raise ValueError(f"loss: expected a loss of one output such as js.Hinge(); got {loss!r}")
    if hasattr(loss, "mu"):
        check_lam(f"{type(loss).__name__}.mu", loss.mu)
    if intercept not in INTERCEPTS:
        raise ValueError(f"intercept: expected one of {', '.join(INTERCEPTS)}; got {intercept!r}")
    if intercept == "free" and not isinstance(loss, Hinge):
        raise ValueError(
            'intercept: "free" is for the hinge, whose QP solvers can hold sum c alpha = 0; '
            f'with {type(loss).__name__} use "penalised"'
        )
    if gram not in GRAMS:
        raise ValueError(f"gram: expected one of {', '.join(GRAMS)}; got {gram!r}")
    X = _matrix(X)
    X = X.toarray() if is_sparse(X) else np.asarray(X)
    dtype = working_dtype(X.dtype)
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
    _refuse_non_finite("X", X)
    store = dtype if store is None else np.dtype(store)
    if store not in (np.dtype(np.float32), dtype):
        raise ValueError(f"store: expected float32 or {dtype}; got {store}")
    given = isinstance(kernel, str) and kernel == "precomputed"
    if given:
        _refuse_indefinite(X)
        constant = 1.0 if intercept == "penalised" else 0.0
        rows, own, points = make_stored((X + constant).astype(store), dtype), None, None
    else:
        own = _kernel_of(kernel, X)
        own = own + 1.0 if intercept == "penalised" else own
        rows, points = _make_gram(X, own, gram, store, dtype), jnp.asarray(X)
    n = rows.shape[0]
    signs, labels = checked_targets(y, n, loss, dtype)
    c, value = weights_and_lam(weights, lam, C, n, dtype)
    return KernelSVM(
        rows=rows,
        y=jnp.asarray(signs),
        c=c,
        lam=value,
        loss=loss,
        kernel=own,
        X=points,
        labels=labels,
        intercept=intercept,
    )
