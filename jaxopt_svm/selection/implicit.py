r"""The slope of a validation loss in log lam, and in a kernel's parameters, at the solution.

V(lam) = mean over new examples of psi(f(x; w*(lam)), y). The optimality conditions define w*(lam)
implicitly; with rho = log lam and D = diag(c_i phi''_i) their derivative is a linear system.

Smooth losses, linear model (P without the penalty on a free intercept, conjugate gradients):

    (lam P + X'DX) dw/drho = -lam P w

The hinge, on its active set M = {i : 0 < y_i alpha_i < 1}, the examples on the margin: they stay
there, the others keep their alpha, and what follows is a projection:

    dw/drho = -(w - its projection on the span of the rows x_i, i in M)
              (free intercept: of the rows minus their mean;  db/drho = -<mean row, dw/drho>)

Kernels, f = K beta + b, where theta is a parameter of the kernel and beta_i = c_i alpha_i/lam:

    smooth   (lam 1 + D K) dbeta = -lam beta drho - D (dK/dtheta) beta dtheta
    hinge    dbeta = -beta drho + q, q = 0 off M,  (f)_M constant,  sum q = 0 if b is free:
             K_MM q + db = (K beta)_M drho - ((dK/dtheta) beta)_M dtheta

The hinge's path is piecewise smooth: between two lam at which M changes this is its derivative, at
them it jumps. The formulas hold at the exact optimum, so solve tightly: M is read off alpha, and a
gap leaves an error of the order of its square root. All in float64, on the host.

Chapelle, Vapnik, Bousquet & Mukherjee, Machine Learning 46 (2002) (the hinge on its active set);
Bengio, Neural Computation 12 (2000); Bertrand et al., JMLR 23 (2022). Checked:
proofs_checks/implicit_slope.py.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.sparse.linalg import cg

from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.kernel import KernelSVM
from jaxopt_svm.problems.losses import Hinge
from jaxopt_svm.problems.make import make_rows
from jaxopt_svm.problems.recertify import wide
from jaxopt_svm.problems.regularizers import L2
from jaxopt_svm.problems.rows import Dense

__all__ = ["ValidationSlope", "validation_slope"]

EDGE = 1e-4  # an alpha this near to its bounds is on them
RESIDUAL = 1e-6  # relative, that conjugate gradients must reach


class ValidationSlope(NamedTuple):
    """value: the validation loss. log_lam: its derivative in log lam. kernel: its derivatives in
    the kernel's parameters, in the shape of ``problem.kernel``; None for a linear model.
    margin: how many examples are on the margin (hinge), else None."""

    value: float
    log_lam: float
    kernel: Any = None
    margin: int | None = None


def _curvature(problem, z):
    """c_i phi''(z_i)."""
    return problem.c * jax.vmap(jax.grad(lambda z, y: problem.loss.slope(z, y)))(z, problem.y)


def _on_margin(problem, alpha) -> np.ndarray:
    share = np.asarray(problem.y * alpha)
    return np.flatnonzero((share > EDGE) & (share < 1 - EDGE) & (np.asarray(problem.c) > 0))


def _some_rows(rows: Any, index: np.ndarray) -> np.ndarray:
    """(m, d) rows of X."""
    if isinstance(rows, Dense):
        return np.asarray(rows.X)[index]
    found = np.zeros((len(index), rows.d))
    start, cols, vals = (np.asarray(a) for a in (rows.start, rows.cols, rows.vals))
    for k, i in enumerate(index):
        own = slice(start[i], start[i + 1])
        np.add.at(found[k], cols[own].ravel(), vals[own].ravel())
    return found


@jax.jit
def _smooth_direction(problem, w):
    """dw/drho by conjugate gradients, and the relative residual they left."""
    D = _curvature(problem, problem.rows.matvec(w))
    penalised = problem.regularizer.grad
    H = lambda p: problem.lam * penalised(p) + problem.rows.rmatvec(D * problem.rows.matvec(p))
    right = -problem.lam * penalised(w)
    diagonal = problem.lam * penalised(jnp.ones_like(w)) + problem.rows.column_squares(D)
    scale = jnp.where(diagonal > 0, diagonal, 1.0)
    found = cg(H, right, tol=1e-12, maxiter=20 * w.shape[0] + 100, M=lambda r: r / scale)[0]
    size = jnp.maximum(jnp.linalg.norm(right), jnp.finfo(right.dtype).tiny)
    return found, jnp.linalg.norm(H(found) - right) / size


def _hinge_direction(problem, w, margin: np.ndarray) -> np.ndarray:
    """dw/drho: minus what the rows on the margin leave of w."""
    free, w = problem.regularizer.free, np.asarray(w)
    A = _some_rows(problem.rows, margin)
    inner = w[:-1] if free else w
    A = A[:, :-1] if free else A
    mean = A.mean(axis=0) if free and len(A) else np.zeros_like(inner)
    span = A - mean
    q = np.linalg.lstsq(span.T, inner, rcond=1e-10)[0] if len(A) else np.zeros(0)
    moved = -(inner - span.T @ q)
    return np.append(moved, -mean @ moved) if free else moved


def _linear(problem: ERM, w, alpha, X, y, psi) -> ValidationSlope:
    margin = None
    if problem.loss.smooth:
        moved, residual = _smooth_direction(problem, w)
        if not float(residual) <= RESIDUAL:
            raise ValueError(
                f"validation_slope: conjugate gradients stopped at a residual of {residual:.1e}; "
                "scale the features, or take a larger lam"
            )
    else:
        index = _on_margin(problem, alpha)
        moved, margin = jnp.asarray(_hinge_direction(problem, w, index)), len(index)
    new = make_rows(X, constant=problem.intercept != "none", dtype=np.dtype(np.float64))
    z, dz = new.matvec(w), new.matvec(moved)
    slope = jnp.mean(psi.slope(z, y) * dz)
    return ValidationSlope(float(jnp.mean(psi.value(z, y))), float(slope), None, margin)


def _kernel(problem: KernelSVM, w, alpha, X, y, psi) -> ValidationSlope:
    beta, b = problem.split(w)
    points, new = problem.X, jnp.asarray(np.asarray(X, np.float64))
    kernel = jax.tree.map(jnp.asarray, problem.kernel)
    K, smooth = np.asarray(kernel.matrix(points, points)), problem.loss.smooth
    leaves, tree = jax.tree.flatten(kernel)
    scores = lambda at: lambda k: k.matrix(at, points) @ beta
    # 1. what moves in the equations: rho, then each parameter, as (dK beta) on the training points
    pushes = []
    for k in range(len(leaves)):
        tangent = tree.unflatten([jnp.full_like(x, float(j == k)) for j, x in enumerate(leaves)])
        pushes.append(tuple(jax.jvp(scores(at), (kernel,), (tangent,))[1] for at in (points, new)))
    f = K @ np.asarray(beta)
    margin = None if smooth else _on_margin(problem, alpha)
    # 2. how beta and b answer
    if smooth:
        D, lam = np.asarray(_curvature(problem, jnp.asarray(f) + b)), float(problem.lam)
        system = lam * np.eye(problem.n) + D[:, None] * K
        right = [-lam * np.asarray(beta)] + [-D * np.asarray(p) for p, _ in pushes]
        answers = [(column, 0.0) for column in np.linalg.solve(system, np.stack(right, 1)).T]
    else:
        right = [f[margin]] + [-np.asarray(p)[margin] for p, _ in pushes]
        answers = [_hinge_answer(problem, K, margin, r) for r in right]
        answers[0] = (answers[0][0] - np.asarray(beta), answers[0][1])
    # 3. what that does to the scores of the new points
    across = np.asarray(kernel.matrix(new, points))
    z = jnp.asarray(across) @ beta + b
    slope = np.asarray(psi.slope(z, y)) / len(z)
    direct = [np.zeros(len(z))] + [np.asarray(p) for _, p in pushes]
    slopes = [
        float(slope @ (across @ dbeta + push + db)) for (dbeta, db), push in zip(answers, direct)
    ]
    value = float(jnp.mean(psi.value(z, y)))
    count = None if margin is None else len(margin)
    return ValidationSlope(value, slopes[0], tree.unflatten(slopes[1:]), count)


def _hinge_answer(problem, K, margin, right) -> tuple[np.ndarray, float]:
    """(q, db) with K_MM q + db = right on the margin, sum q = 0 if b is free."""
    m, free = len(margin), problem.free
    q = np.zeros(problem.n)
    if m == 0:
        return q, 0.0
    system = np.zeros((m + free, m + free))
    system[:m, :m] = K[np.ix_(margin, margin)]
    if free:
        system[m, :m] = system[:m, m] = 1.0
    found = np.linalg.lstsq(system, np.append(right, [0.0] * free), rcond=1e-12)[0]
    q[margin] = found[:m]
    return q, float(found[m]) if free else 0.0


def _signs(problem: Any, y: Any) -> np.ndarray:
    y = np.asarray(y)
    if problem.loss.regression:
        return y.astype(np.float64)
    unseen = np.setdiff1d(y, np.asarray(problem.labels))
    if unseen.size:
        raise ValueError(f"y: label {unseen.tolist()[0]!r} is not one of {problem.labels}")
    return np.where(y == problem.labels[1], 1.0, -1.0)


def validation_slope(
    problem: Any, solution: Any, X: Any, y: Any, *, loss: Any = None
) -> ValidationSlope:
    """The mean loss on new examples and its derivatives at a tightly solved problem.

    Args:
      problem: one problem of ``make_erm`` (l2) or ``make_kernel_svm``, as it was solved.
      solution: its Solution, of a method with a dual point if the loss is the hinge.
      X, y: the validation examples, labels as in training.
      loss: to judge by; the problem's own unless given.

    Cost: for a linear model some products with X (smooth), or a least-squares problem with the rows
    on the margin (hinge); for kernels O(n^3) (smooth), or O(m^3) with m rows on the margin.
    """
    if not isinstance(problem, ERM | KernelSVM) or not isinstance(problem.regularizer, L2):
        raise ValueError("validation_slope: for linear and kernel problems with an l2 penalty")
    if np.ndim(solution.lam) or np.ndim(problem.lam):
        raise ValueError("validation_slope: expected one problem and its solution, not a batch")
    if problem.loss.vector or not (problem.loss.smooth or isinstance(problem.loss, Hinge)):
        raise ValueError(
            f"validation_slope: {type(problem.loss).__name__} has no formula here; the smooth "
            "losses of one output and the hinge have"
        )
    kernel = isinstance(problem, KernelSVM)
    if kernel and problem.kernel is None:
        raise ValueError("validation_slope: a precomputed Gram matrix has no scores for new points")
    psi = problem.loss if loss is None else loss
    signs = _signs(problem, y)
    if np.shape(X)[0] != signs.size:
        raise ValueError(f"y: expected {np.shape(X)[0]} labels, one a row of X; got {signs.size}")
    with jax.enable_x64(True):
        at = wide(problem.with_lam(solution.lam))
        w, alpha = wide(solution.w), at.complete(wide(solution.point)).dual
        found = (_kernel if kernel else _linear)(at, w, alpha, X, jnp.asarray(signs), wide(psi))
    if not all(np.isfinite(jax.tree.leaves(found))):
        raise ValueError("validation_slope: not finite; is the solution?")
    return found
