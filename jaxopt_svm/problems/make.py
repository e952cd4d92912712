"""From what users have (numpy, jax, scipy.sparse, pandas) to an ERM problem, or a clear error."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.losses import Hinge
from jaxopt_svm.problems.regularizers import L2, ElasticNet
from jaxopt_svm.problems.rows import Dense, Padded, make_dense, make_padded

__all__ = [
    "INTERCEPTS",
    "check_lam",
    "checked_model",
    "make_erm",
    "make_rows",
    "weights_and_lam",
    "with_constant",
    "working_dtype",
]

INTERCEPTS = ("none", "penalised", "free")


def is_sparse(X: Any) -> bool:
    """scipy.sparse by its manners, so that scipy itself need not be installed."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def working_dtype(given: Any) -> np.dtype:
    """float32 and float64 stay (if x64 is on); everything else becomes jax's default float."""
    default = np.dtype(jnp.zeros(0).dtype)
    given = np.dtype(given)
    if given == np.float64 and default == np.float32:
        warnings.warn(
            "X is float64 but jax runs in 32-bit mode: computing in float32. For float64 call "
            'jax.config.update("jax_enable_x64", True) first; to silence this, pass float32.',
            stacklevel=4,
        )
        return default
    return given if given in (np.dtype(np.float32), np.dtype(np.float64)) else default


def _matrix(X: Any) -> Any:
    """X as a 2-d numpy, jax or scipy.sparse matrix of real numbers."""
    if is_sparse(X):
        kind = X.dtype.kind
    else:
        if not isinstance(X, jax.Array):
            try:
                X = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
            except ValueError as error:
                raise ValueError(f"X: expected a matrix of numbers; {error}") from None
        kind = np.dtype(X.dtype).kind
    if kind not in "fiub":
        raise ValueError(f"X: expected real numbers; got an array of dtype {X.dtype}")
    if X.ndim != 2:
        raise ValueError(f"X: expected a matrix of shape (n, d); got shape {X.shape}")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"X: expected at least one row and one column; got shape {X.shape}")
    return X


def _refuse_non_finite(name: str, values: np.ndarray | jax.Array) -> None:
    if not bool(np.isfinite(values).all()):
        bad = np.argwhere(~np.isfinite(np.asarray(values)))[0]
        where = ", ".join(map(str, bad))
        raise ValueError(f"{name}: expected finite numbers; found nan or inf, first at [{where}]")


def with_constant(X: Any) -> Any:
    """A CSR matrix with a column of ones behind it."""
    (n, d), ends = X.shape, X.indptr[1:]
    values = np.insert(X.data, ends, np.ones(n, X.dtype))
    parts = (values, np.insert(X.indices, ends, d), X.indptr + np.arange(n + 1))
    return type(X)(parts, shape=(n, d + 1))


def make_rows(X: Any, *, constant: bool = False, dtype=None) -> Dense | Padded:
    """Rows from a matrix; ``constant`` appends a column of ones for the intercept."""
    X = _matrix(X)
    dtype = working_dtype(X.dtype) if dtype is None else dtype
    if is_sparse(X):
        X = X.tocsr().astype(dtype)
        _refuse_non_finite("X (stored values)", X.data)
        if constant:
            return make_padded(with_constant(X), dtype)
        return make_padded(X.copy(), dtype)
    # narrow before testing, so that a value float32 cannot hold is caught too
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
    _refuse_non_finite("X", X)
    if constant:
        X = jnp.concatenate([jnp.asarray(X), jnp.ones((X.shape[0], 1), dtype)], axis=1)
    return make_dense(X)


def _targets(y: Any, n: int, loss: Any, dtype) -> tuple[np.ndarray, tuple | None]:
    """Real targets for a regression loss; for the others signs, or one-hot rows, and the names
    they had."""
    y, name = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y), type(loss).__name__
    if loss.vector and loss.regression:
        if y.ndim != 2 or y.shape[0] != n or y.shape[1] == 0:
            raise ValueError(
                f"y: {name} needs shape ({n}, m), m >= 1 targets a row of X; got {y.shape}"
            )
    elif y.shape != (n,):
        raise ValueError(f"y: expected shape ({n},), one value a row of X; got {y.shape}")
    if y.dtype.kind in "fiub":
        _refuse_non_finite("y", y)
    if loss.regression:
        if y.dtype.kind not in "fiub":
            raise ValueError(f"y: {name} needs real targets; got values of dtype {y.dtype}")
        return y.astype(dtype), None
    wanted = "at least two" if loss.vector else "exactly two"
    try:
        values, index = np.unique(y, return_inverse=True)
    except TypeError:
        many = "" if loss.vector else "two "
        raise ValueError(f"y: expected {many}labels of one type; got a mixture of types") from None
    labels = tuple(v.item() if hasattr(v, "item") else v for v in values)
    if len(labels) < 2 or (len(labels) > 2 and not loss.vector):
        shown = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
        raise ValueError(f"y: {name} needs {wanted} labels; found {len(labels)}: {shown}")
    if loss.vector:
        return np.eye(len(labels), dtype=dtype)[index], labels
    return np.where(y == values[1], 1.0, -1.0).astype(dtype), labels


def _weights(weights: Any, n: int) -> tuple[np.ndarray, float]:
    """Weights scaled to sum to one, and what they summed to before."""
    if weights is None:
        return np.full(n, 1.0 / n), float(n)
    weights = np.asarray(weights)
    if weights.shape != (n,) or weights.dtype.kind not in "fiub":
        raise ValueError(f"weights: expected {n} numbers, one a row of X; got {weights.shape}")
    weights = weights.astype(np.float64)
    _refuse_non_finite("weights", weights)
    if (weights < 0).any():
        first = int(np.argmax(weights < 0))
        raise ValueError(f"weights: expected numbers >= 0; weights[{first}] = {weights[first]:g}")
    if weights.sum() == 0:
        raise ValueError("weights: all are zero, so no example counts")
    return weights / weights.sum(), float(weights.sum())


def check_lam(name: str, value: Any) -> np.ndarray:
    """One positive finite number, or an array of them."""
    try:
        value = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a positive number; got {value!r}") from None
    if value.size == 0:
        raise ValueError(f"{name}: expected at least one positive number; got none")
    bad = ~(np.isfinite(value) & (value > 0))
    if bad.any():
        raise ValueError(f"{name}: expected positive finite numbers; got {value[bad].flat[0]:g}")
    return value


def weights_and_lam(weights, lam, C, n: int, dtype) -> tuple[Any, Any]:
    """c (n,) and lam (), from what the user gave: lam, or liblinear's C = 1/(lam sum(weights))."""
    if lam is not None and C is not None:
        raise ValueError("lam and C say the same thing twice; give one of them")
    c, total = _weights(weights, n)
    value = check_lam("lam", 1e-3 if lam is None else lam)
    if C is not None:
        value = 1.0 / (check_lam("C", C) * total)
    if value.ndim:
        raise ValueError("lam: expected one number; pass a grid to js.sweep(problem, lams)")
    return jnp.asarray(c.astype(dtype)), jnp.asarray(value, dtype)


def checked_model(loss: Any, intercept: str, regularizer: Any) -> tuple[Any, Any]:
    """Loss and regulariser with their defaults, after every refusal that needs no data."""
    loss = Hinge() if loss is None else loss
    if isinstance(loss, type) or not hasattr(loss, "dual_step"):
        raise ValueError(f"loss: expected a loss such as js.Hinge(); got {loss!r}")
    if intercept not in INTERCEPTS:
        raise ValueError(f"intercept: expected one of {', '.join(INTERCEPTS)}; got {intercept!r}")
    regularizer = L2() if regularizer is None else regularizer
    if not isinstance(regularizer, L2 | ElasticNet):
        raise ValueError(f"regularizer: expected js.L2() or js.ElasticNet(); got {regularizer!r}")
    for name in ("mu", "kappa"):
        for part in (loss, regularizer):
            if hasattr(part, name):
                check_lam(f"{type(part).__name__}.{name}", getattr(part, name))
    free = intercept == "free"
    if free and loss.vector and not loss.regression:
        raise ValueError(
            f'intercept: {type(loss).__name__} cannot have a "free" one, whose dual couples all '
            'outputs of all examples; use "penalised"'
        )
    regularizer = (
        L2(free=free) if isinstance(regularizer, L2) else ElasticNet(regularizer.kappa, free=free)
    )
    return loss, regularizer


def make_erm(
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    lam: float | None = None,
    C: float | None = None,
    weights: Any = None,
    intercept: str = "none",
    regularizer: Any = None,
) -> ERM:
    """A regularised linear model: lam g(w) + sum_i c_i phi(<x_i, w>, y_i).

    Args:
      X: (n, d) numpy, jax, pandas or scipy.sparse matrix.
      y: (n,) two labels of any kind, or real targets for a regression loss. ``Softmax()`` takes
        two labels or more, ``MultiSquared()`` an (n, m) matrix of targets; w is then (d, m).
      loss: ``Hinge()`` unless given; see ``jaxopt_svm.problems.losses`` and ``vector_losses``.
      lam: strength of the regulariser (default 1e-3). On a grid it is replaced by each value.
      C: liblinear's constant instead of lam: lam = 1/(C sum(weights)).
      weights: (n,) importance of the examples, any scale; 0 deletes a row, 2 repeats it.
      intercept: "none", "penalised" (an appended constant feature, as LinearSVC does) or "free"
        (not penalised; few methods can, and those that cannot say so).
      regularizer: ``L2()`` unless given, or ``ElasticNet(kappa)``.
    """
    loss, regularizer = checked_model(loss, intercept, regularizer)
    rows = make_rows(X, constant=intercept != "none")
    n, dtype = rows.shape[0], rows.sqnorms.dtype
    signs, labels = _targets(y, n, loss, dtype)
    c, value = weights_and_lam(weights, lam, C, n, dtype)
    return ERM(
        rows=rows,
        y=jnp.asarray(signs),
        c=c,
        lam=value,
        loss=loss,
        regularizer=regularizer,
        labels=labels,
        intercept=intercept,
    )
