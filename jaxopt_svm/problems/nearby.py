r"""How far the exact optimum can be: what a certificate says about w*, b* and about scores.

P - lam/2 ||w||^2 is convex, so P(w) - P* >= lam/2 ||w - w*||^2, and P* >= D gives

    ||w - w*|| <= r = sqrt(2 gap / lam),        |<x, w> - <x, w*>| <= r ||x||

(in a kernel's space ||x|| is sqrt(k(x, x)); a penalised intercept is part of w, and of x). The
computed gap is known up to its floor, which is added.

A free intercept is not strongly convex, and no ball is known for it. But b* minimises the losses
beside w*, and those are bounded from both sides: with z_i = <x_i, w>,

    below, whatever b is:   h(b) = sum_i c_i min over |t| <= r ||x_i|| of phi(z_i + t + b, y_i)
    above, at b*:           P(w, b) - lam/2 max(0, ||w|| - r)^2

h is convex, so {b : h(b) <= the bound above} is an interval that holds b* (every b*, where it is
not unique), found by bisection. It is finite if both signs occur; where the losses are flat around
b*, it stays wide however small the gap is, and then few points are certified. Checked:
proofs_checks/certified_scores.py.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.lanes import take_lanes
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["intercept_range", "lane_of", "radius"]

STEPS = 80  # of doubling, then of halving


def radius(certificate: Any, lam: Any) -> np.ndarray:
    """r with ||w - w*|| <= r, one for each lane."""
    gap = np.maximum(np.asarray(certificate.gap, np.float64), 0.0)
    return np.sqrt(2.0 * (gap + np.asarray(certificate.floor, np.float64)) / np.asarray(lam))


def lane_of(problem: Any, solution: Any, k: int | None) -> tuple[Any, Any, Any]:
    """(problem, w, certificate) of one lane of a solution, or of a solution without lanes."""
    if k is None:
        return problem, solution.w, solution.certificate
    one = take_lanes(problem, k) if np.ndim(problem.lam) else problem.with_lam(solution.lam[k])
    return one, solution.w[k], type(solution.certificate)(*(f[k] for f in solution.certificate))


def _parts(problem: Any, w) -> tuple[np.ndarray, float, np.ndarray, float]:
    """z (n,) without b, b, ||x_i|| (n,) and ||w||, for a free intercept."""
    b = float(w[-1])
    if isinstance(problem, KernelSVM):
        beta = jnp.asarray(w[:-1])
        z = np.asarray(problem.rows.times(beta), np.float64)
        size = np.sqrt(max(0.0, float(np.asarray(beta, np.float64) @ z)))
        return z, b, np.sqrt(np.asarray(problem.rows.diagonal, np.float64)), size
    z = np.asarray(problem.rows.matvec(jnp.asarray(w)), np.float64) - b
    lengths = np.sqrt(np.maximum(np.asarray(problem.rows.sqnorms, np.float64) - 1.0, 0.0))
    return z, b, lengths, float(np.linalg.norm(np.asarray(w[:-1], np.float64)))


def intercept_range(problem: Any, w: Any, certificate: Any) -> tuple[float, float]:
    """An interval that holds the optimal free intercept of one problem, with w = (w, b).

    For losses that fall with the margin y z.
    """
    if not isinstance(problem, ERM | KernelSVM) or problem.loss.vector or problem.loss.regression:
        raise ValueError("certified: a free intercept can be bounded for losses of signs only")
    r = float(radius(certificate, problem.lam))
    z, b, lengths, size = _parts(problem, w)
    y, c = np.asarray(problem.y, np.float64), np.asarray(problem.c, np.float64)
    best = z + y * r * lengths  # the scores that fit best within the ball
    lam = float(problem.lam)
    above = float(certificate.primal) + float(certificate.floor)
    above -= lam / 2 * max(0.0, size - r) ** 2
    with jax.enable_x64(True):
        below = lambda b: float(c @ np.asarray(problem.loss.value(best + b, y)))

        def end(direction: float) -> float:
            far = max(1.0, abs(b)) * 1e-8
            for _ in range(STEPS):
                if below(b + direction * far) > above:
                    break
                far *= 2.0
            else:
                return direction * np.inf
            near = 0.0
            for _ in range(STEPS):
                middle = (near + far) / 2
                outside = below(b + direction * middle) > above
                near, far = (near, middle) if outside else (middle, far)
            return b + direction * far

        return end(-1.0), end(1.0)
