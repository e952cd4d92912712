"""From what users have (numpy, jax, scipy.sparse, pandas) to an ERM problem, or a clear error."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxopt_svm.mesh.host import fetch
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.losses import Hinge
from jaxopt_svm.problems.regularizers import L2, ElasticNet
from jaxopt_svm.problems.rows import Dense, Padded, make_dense, make_padded
from jaxopt_svm.problems.spread import layout_of, spread

__all__ = [
    "INTERCEPTS",
    "check_lam",
    "checked_model",
    "checked_targets",
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
    near = jnp if isinstance(values, jax.Array) else np  # asked where the numbers are
    if not bool(near.isfinite(values).all()):
        bad = np.argwhere(~np.isfinite(fetch(values)))[0]
        where = ", ".join(map(str, bad))
        raise ValueError(f"{name}: expected finite numbers; found nan or inf, first at [{where}]")


def with_constant(X: Any) -> Any:
    """A CSR matrix with a column of ones behind it."""
    (n, d), ends = X.shape, X.indptr[1:]
    values = np.insert(X.data, ends, np.ones(n, X.dtype))
    parts = (values, np.insert(X.indices, ends, d), X.indptr + np.arange(n + 1))
    return type(X)(parts, shape=(n, d + 1))


def checked_matrix(X: Any, *, constant: bool = False, dtype=None) -> Any:
    """X as finite numbers of the working precision: a CSR matrix, or an array where it was.

    constant: a column of ones is appended for the intercept.
    """
    X = _matrix(X)
    dtype = working_dtype(X.dtype) if dtype is None else dtype
    if is_sparse(X):
        X = X.tocsr().astype(dtype)
        _refuse_non_finite("X (stored values)", X.data)
        if constant:
            return with_constant(X)
        X = X.copy()
        X.sum_duplicates()
        return X
    # narrow before testing, so that a value float32 cannot hold is caught too
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
    _refuse_non_finite("X", X)
    if not constant:
        return X
    near = jnp if isinstance(X, jax.Array) else np
    return near.concatenate([X, near.ones((X.shape[0], 1), dtype)], axis=1)


def make_rows(X: Any, *, constant: bool = False, dtype=None) -> Dense | Padded:
    """Rows from a matrix; ``constant`` appends a column of ones for the intercept."""
    X = checked_matrix(X, constant=constant, dtype=dtype)
    return make_padded(X, X.dtype) if is_sparse(X) else make_dense(X)


def _one_process(local: Callable[[], Any]) -> list[Any]:
    return [local()]


def checked_targets(
    y: Any, n: int, loss: Any, dtype, agree: Callable = _one_process
) -> tuple[np.ndarray, tuple | None]:
    """Real targets for a regression loss; for the others signs, or one-hot rows, and the names
    they had. ``agree`` asks other processes for the labels of theirs."""
    y, name = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y), type(loss).__name__
    outputs = agree(lambda: _target_shape(y, n, loss))
    if len(set(outputs)) > 1:
        raise ValueError(f"y: processes disagree about the number of targets a row: {outputs}")
    if loss.regression:
        return y.astype(dtype), None
    found = agree(lambda: _label_values(y, loss))
    labels = tuple(sorted({label for some in found for label in some}))
    if len(labels) < 2 or (len(labels) > 2 and not loss.vector):
        shown = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
        each = "; ".join(f"process {k} has {some[:5]}" for k, some in enumerate(found))
        wanted = "at least two" if loss.vector else "exactly two"
        raise ValueError(
            f"y: {name} needs {wanted} labels; found {len(labels)}: {shown}"
            + (f" ({each})" if len(found) > 1 else "")
        )
    index = np.searchsorted(np.asarray(labels), y)
    if loss.vector:
        return np.eye(len(labels), dtype=dtype)[index], labels
    return np.where(index == 1, 1.0, -1.0).astype(dtype), labels


def _target_shape(y: np.ndarray, n: int, loss: Any) -> int:
    """Targets a row, or a refusal of what is not one finite value, or m of them, for each row."""
    name = type(loss).__name__
    if loss.vector and loss.regression:
        if y.ndim != 2 or y.shape[0] != n or y.shape[1] == 0:
            raise ValueError(
                f"y: {name} needs shape ({n}, m), m >= 1 targets a row of X; got {y.shape}"
            )
    elif y.shape != (n,):
        raise ValueError(f"y: expected shape ({n},), one value a row of X; got {y.shape}")
    if y.dtype.kind in "fiub":
        _refuse_non_finite("y", y)
    elif loss.regression:
        raise ValueError(f"y: {name} needs real targets; got values of dtype {y.dtype}")
    return 1 if y.ndim == 1 else y.shape[1]


def _label_values(y: np.ndarray, loss: Any) -> list:
    """The labels that occur, in order."""
    try:
        values = np.unique(y)
    except TypeError:
        many = "" if loss.vector else "two "
        raise ValueError(f"y: expected {many}labels of one type; got a mixture of types") from None
    return [v.item() if hasattr(v, "item") else v for v in values]


def _weights(weights: Any, n: int, agree: Callable = _one_process) -> tuple[np.ndarray, float]:
    """Weights scaled to sum to one, and what they summed to before."""
    total = float(np.sum(agree(lambda: _weight_total(weights, n))))
    if total == 0:
        raise ValueError("weights: all are zero, so no example counts")
    given = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    return given / total, total


def _weight_total(weights: Any, n: int) -> float:
    """The sum of the weights, or a refusal of what is not one number >= 0 for each row."""
    if weights is None:
        return float(n)
    weights = np.asarray(weights)
    if weights.shape != (n,) or weights.dtype.kind not in "fiub":
        raise ValueError(f"weights: expected {n} numbers, one a row of X; got {weights.shape}")
    weights = weights.astype(np.float64)
    _refuse_non_finite("weights", weights)
    if (weights < 0).any():
        first = int(np.argmax(weights < 0))
        raise ValueError(f"weights: expected numbers >= 0; weights[{first}] = {weights[first]:g}")
    return float(weights.sum())


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


def weights_and_lam(
    weights, lam, C, n: int, dtype, agree: Callable = _one_process
) -> tuple[Any, Any]:
    """c (n,) and lam (), from what the user gave: lam, or liblinear's C = 1/(lam sum(weights))."""
    if lam is not None and C is not None:
        raise ValueError("lam and C say the same thing twice; give one of them")
    c, total = _weights(weights, n, agree)
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
    mesh: Mesh | None = None,
    nodes: int | None = None,
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
      mesh: devices that share the work: ``jax.make_mesh((2, 2), ("rows", "lanes"))`` divides the
        examples along "rows" and lam, folds and classes along "lanes". Rows of zero weight fill
        the devices up, so ``problem.n`` and a dual point may be longer than y. In a job of several
        processes (``js.start_processes``) X, y and weights are the process's own examples. An X
        that is divided over an axis "rows" already stays where it is.
      nodes: parts the rows are divided into, for DisDCA: a multiple of the devices along "rows",
        one for each of them unless given.
    """
    loss, regularizer = checked_model(loss, intercept, regularizer)
    layout = layout_of(X, mesh, nodes)
    agree = _one_process if layout is None else layout.agree
    X = _agreed_matrix(X, intercept != "none", agree)
    n, dtype = X.shape[0], X.dtype
    y, weights = (fetch(x) if isinstance(x, jax.Array) else x for x in (y, weights))
    signs, labels = checked_targets(y, n, loss, dtype, agree)
    c, value = weights_and_lam(weights, lam, C, n, dtype, agree)
    if layout is None:
        rows = make_padded(X, dtype) if is_sparse(X) else make_dense(X)
        signs = jnp.asarray(signs)
    else:
        rows, signs, c = spread(X, dtype, signs, np.asarray(c), layout)
    return ERM(
        rows=rows,
        y=signs,
        c=c,
        lam=value,
        loss=loss,
        regularizer=regularizer,
        labels=labels,
        intercept=intercept,
        mesh=None if layout is None else layout.mesh,
    )


def _agreed_matrix(X: Any, constant: bool, agree: Callable) -> Any:
    """``checked_matrix``, of the same width, kind and precision on every process."""
    matrix: list[Any] = []

    def local() -> list:
        matrix.append(checked_matrix(X, constant=constant))
        return [int(matrix[0].shape[1]), str(matrix[0].dtype), is_sparse(matrix[0])]

    facts = agree(local)
    for k, (columns, dtype, sparse) in enumerate(facts):
        if [columns, dtype, sparse] != list(facts[0]):
            kind = lambda f: f"{f[0] - constant} columns of {'sparse' if f[2] else 'dense'} {f[1]}"
            raise ValueError(
                f"X: processes disagree; process 0 has {kind(facts[0])}, "
                f"process {k} {kind(facts[k])}"
            )
    return matrix[0]
