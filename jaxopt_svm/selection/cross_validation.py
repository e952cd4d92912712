"""Cross-validation in one batch: lam x folds x classes are lanes of one solve.

Every lane trains on its fold's weights and is judged on the rows those leave out, by the share of
wrong labels (root mean squared error of targets) and by the loss it was trained with. The lanes
carry their certificates, so a curve says how far from exact its models are.

best     the lam with the smallest mean over the folds; of equals the largest
one_se   the largest lam whose mean is within one standard error of that: the simplest model that
         the folds cannot tell from the best (Hastie, Tibshirani & Friedman, 2009, section 7.10)
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.protocols import Certificate
from jaxopt_svm.core.run import MAX_PASSES, lam_grid, solve
from jaxopt_svm.core.solution import Solution
from jaxopt_svm.problems.batch import class_axis, crossed
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.kernel import KernelSVM
from jaxopt_svm.problems.make import check_lam
from jaxopt_svm.selection.folds import fold_weights
from jaxopt_svm.selection.lam_max import lam_max

__all__ = ["CrossValidation", "cross_validate", "default_lams"]

COUNT, RATIO = 20, 1e-5  # of the default grid, from lam_max down
CHOICES = ("error", "loss")


@dataclasses.dataclass(frozen=True)
class CrossValidation:
    """lams: (L,). errors, losses: (F, L) on the rows each fold holds out.

    certificate, status, passes: (F, L), or (F, K, L) with a lane for each of K classes.
    solution: all lanes, folds outermost, then classes, then lams. by: what ``best`` looks at.
    """

    lams: np.ndarray
    errors: np.ndarray
    losses: np.ndarray
    certificate: Certificate
    status: np.ndarray
    passes: np.ndarray
    solution: Solution
    by: str = "error"

    @property
    def curve(self) -> np.ndarray:
        """(L,) the mean over folds of what ``best`` looks at."""
        return (self.errors if self.by == "error" else self.losses).mean(axis=0)

    @property
    def standard_error(self) -> np.ndarray:
        """(L,) of that mean."""
        values = self.errors if self.by == "error" else self.losses
        return values.std(axis=0, ddof=1) / np.sqrt(len(values))

    @property
    def best(self) -> int:
        """Index into lams."""
        ties = np.flatnonzero(self.curve == self.curve.min())
        return int(ties[np.argmax(self.lams[ties])])

    @property
    def one_se(self) -> int:
        """Index into lams."""
        most = self.curve[self.best] + self.standard_error[self.best]
        within = np.flatnonzero(self.curve <= most)
        return int(within[np.argmax(self.lams[within])])

    @property
    def best_lam(self) -> float:
        return float(self.lams[self.best])

    @property
    def one_se_lam(self) -> float:
        return float(self.lams[self.one_se])

    def __repr__(self) -> str:
        folds, count = self.errors.shape
        return (
            f"CrossValidation({folds} folds x {count} lams, best lam {self.best_lam:.3g} with "
            f"{self.by} {self.curve[self.best]:.4g} +- {self.standard_error[self.best]:.2g}, "
            f"one-standard-error lam {self.one_se_lam:.3g})"
        )


def default_lams(problem: Any, count: int = COUNT, ratio: float = RATIO) -> np.ndarray:
    """``count`` values from lam_max down to ``ratio`` times it."""
    top = lam_max(problem)
    return lam_grid(ratio * top, top, count)


@jax.jit
def _scores(problem, w):
    """(m, n) scores of the training rows for m vectors w."""
    if isinstance(problem, KernelSVM):
        beta, b = (w[:, :-1], w[:, -1:]) if problem.free else (w, jnp.zeros_like(w[:, :1]))
        return problem.rows.times(beta.T).T + jnp.broadcast_to(b, (w.shape[0], problem.n))
    return jnp.moveaxis(problem.rows.matvec(jnp.moveaxis(w, 1, 0)), 0, 1)


@jax.jit
def _losses(loss, z, y, weights):
    """(K, L) weighted losses of scores (K, L, n, ...) against y (K, n, ...)."""
    one = lambda z, y: jnp.sum(weights * loss.value(z, y))
    return jax.vmap(jax.vmap(one, (0, None)))(z, y)


def _judge(problem: Any, w, held: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """((L,) errors, (L,) losses) of one fold: w is (K L, ...), held (n,) weights that sum to 1."""
    K = max(1, class_axis(problem))
    y = problem.y if class_axis(problem) else problem.y[None]
    z = _scores(dataclasses.replace(problem, y=y[0], lam=jnp.ravel(problem.lam)[0]), w)
    z = z.reshape(K, count, *z.shape[1:])
    losses = _losses(problem.loss, z, y, jnp.asarray(held, problem.c.dtype)).mean(axis=0)
    z, y = np.asarray(z), np.asarray(y)
    if problem.loss.regression:
        off = (z - y[:, None]) ** 2
        off = off[0] if off.ndim == 3 else off[0].mean(axis=-1)
        return np.sqrt(off @ held), np.asarray(losses)
    if class_axis(problem):
        wrong = z.argmax(axis=0) != y.argmax(axis=0)[None]
    elif problem.loss.vector:
        wrong = z[0].argmax(axis=-1) != y[0].argmax(axis=-1)[None]
    else:
        wrong = (z[0] >= 0) != (y[0] > 0)[None]
    return wrong @ held, np.asarray(losses)


def cross_validate(
    problem: Any,
    lams: Any = None,
    folds: Any = 5,
    *,
    method: Any = None,
    rtol: float = 1e-3,
    atol: float = 0.0,
    max_passes: int = MAX_PASSES,
    seed: int = 0,
    key: Array | None = None,
    by: str = "error",
    progress: bool = False,
) -> CrossValidation:
    """Errors and losses over folds for a grid of lam, every model certified, in one batch.

    Args:
      problem: from ``make_erm``, ``make_kernel_svm``, or ``make_one_vs_rest`` or ``one_vs_rest``
        with one lam: then lam x folds x classes are solved together, and errors are multiclass.
      lams: the grid; unless given, 20 values from ``js.lam_max(problem)`` down by 1e-5.
      folds: how many, stratified with ``seed``; or (F, n) weights, a row for each fold, zero for
        an example that the fold holds out. The problem's own weights multiply them.
      method, rtol, atol, max_passes, key, progress: as for ``js.solve``.
      by: "error" or "loss", what the best lam is chosen by.

    The model itself: ``js.solve(problem.with_lam(found.best_lam))``, or for one-vs-rest
    ``js.solve(js.crossed(problem, found.best_lam))``.
    """
    if by not in CHOICES:
        raise ValueError(f"by: expected one of {', '.join(CHOICES)}; got {by!r}")
    if not isinstance(problem, ERM | KernelSVM):
        raise ValueError(
            "problem: cross_validate takes linear and kernel problems; got "
            f"{type(problem).__name__}"
        )
    crossed(problem, 1.0)  # refuses a batch that is not one-vs-rest
    weights = fold_weights(problem, folds, seed)
    lams = default_lams(problem) if lams is None else np.atleast_1d(check_lam("lams", lams))
    if lams.ndim != 1:
        raise ValueError(f"lams: expected a list of positive numbers; got shape {lams.shape}")
    found = solve(
        crossed(problem, lams, weights),
        method,
        rtol=rtol,
        atol=atol,
        max_passes=max_passes,
        key=key,
        progress=progress,
    )
    F, K, L = len(weights), class_axis(problem), len(lams)
    held = np.where(weights == 0, np.asarray(problem.c, np.float64), 0.0)
    held /= held.sum(axis=1, keepdims=True)
    w = jnp.asarray(found.w).reshape(F, max(1, K) * L, *found.w.shape[1:])
    errors, losses = map(np.stack, zip(*(_judge(problem, w[f], held[f], L) for f in range(F))))
    shape = (F, K, L) if K else (F, L)
    fit = lambda x: np.asarray(x).reshape(shape)
    return CrossValidation(
        lams=lams,
        errors=errors,
        losses=losses,
        certificate=Certificate(*map(fit, found.certificate)),
        status=fit(found.status),
        passes=fit(found.passes),
        solution=found,
        by=by,
    )
