r"""lam_max: above it the solution is known in closed form, so a grid need not start higher.

As lam grows w shrinks like 1/lam, every score tends to the best constant b0 (0 unless a free
intercept can move), and every slope of the loss to the one it has there:

    alpha_i = -phi'(b0, y_i),    v = sum_i c_i alpha_i x_i,    p_i = <x_i, v>,    w = v/lam

b0 minimises sum_i c_i phi(b, y_i), so that sum_i c_i alpha_i = 0 if the intercept is free. With C+
and C- the weights of the two signs, C< the lighter and C> the heavier,

    logistic log(C+/C-)       squared hinge C+ - C-       squared sum_i c_i y_i       hinge +-1
    smooth hinge  +-(1 - mu C</C>) if C> >= mu/2, else C+ - C-

How good is it? The gap of (w, b0, alpha) is sum_i c_i {phi_i(z) + phi_i*(-alpha_i) + alpha_i z} at
the scores z = b0 + p_i/lam:

    hinge          0 as long as no margin passes 1:  lam >= max_i y_i p_i                     exact
    smooth hinge   0 as long as none passes 1 - mu:  lam >= max_i y_i p_i / (1 - mu), mu < 1  exact
    any smooth     at most S/lam^2, S = sum_i c_i p_i^2 / (2 gamma), by smoothness: the relative gap
                   is ``rtol`` at the root of  rtol (Phi0 - ||v||^2/(2 lam)) = S/lam^2
    free intercept, hinge: signs of equal weight leave room for b as long as
                   lam >= (max_+ p - min_- p)/2                                               exact
                   else alpha is C</C> y for the heavier sign, and the gap of (0, +-1) is
                   ||v||^2/(2 lam)
    elastic net    w = 0 as soon as lam kappa >= max_j |v_j|                                  exact

The logistic loss, whose slope changes everywhere, has no lam with an exact closed form; nor has the
hinge with a free intercept and signs of different weight, where v would be the solution of a QP.
Hastie, Rosset, Tibshirani & Zhu, JMLR 5 (2004), section 3 (the start of the hinge's path).
"""

from typing import Any

import jax
import jax.numpy as jnp

from jaxopt_svm.core.lanes import over_lanes
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.problems.erm import ERM, balanced
from jaxopt_svm.problems.kernel import KernelSVM
from jaxopt_svm.problems.losses import Hinge, Logistic, SmoothHinge, Squared, SquaredHinge
from jaxopt_svm.problems.make import check_lam
from jaxopt_svm.problems.regularizers import ElasticNet

__all__ = ["closed_form", "lam_max"]

LOSSES = (Hinge, SmoothHinge, SquaredHinge, Logistic, Squared)


def _sign_weights(problem):
    """(C+, C-)."""
    total = lambda sign: jnp.sum(jnp.where(problem.y * sign > 0, problem.c, 0.0))
    return total(1.0), total(-1.0)


def _equal(up, down):
    return jnp.abs(up - down) <= 16 * jnp.finfo(up.dtype).eps


def best_constant(problem):
    """b0, the score that fits best without features; 0 unless the intercept is free."""
    loss, zero = problem.loss, jnp.zeros((), problem.c.dtype)
    if not problem.regularizer.free:
        return zero
    if isinstance(loss, Squared):
        return jnp.sum(problem.c * problem.y)
    up, down = _sign_weights(problem)
    if isinstance(loss, Logistic):
        return jnp.log(up) - jnp.log(down)
    if isinstance(loss, SquaredHinge):
        return up - down
    side = jnp.where(_equal(up, down), 0.0, jnp.sign(up - down))
    light, heavy = jnp.minimum(up, down), jnp.maximum(up, down)
    if isinstance(loss, Hinge):
        return side
    return jnp.where(heavy >= loss.mu / 2, side * (1.0 - loss.mu * light / heavy), up - down)


def _alpha(problem):
    """The slopes at b0; of the hinge, which has a kink there, the share that balances."""
    b0 = best_constant(problem) if problem.loss.smooth else jnp.zeros((), problem.c.dtype)
    alpha = -problem.loss.slope(jnp.broadcast_to(b0, problem.y.shape), problem.y)
    return balanced(problem.c, alpha) if problem.regularizer.free else alpha


def _smallest(problem, rtol):
    """lam_max of one lane."""
    loss, rows, c, y = problem.loss, problem.rows, problem.c, problem.y
    alpha = _alpha(problem)
    v = rows.rmatvec(c * alpha)
    if isinstance(problem.regularizer, ElasticNet):
        inner = v[:-1] if problem.regularizer.free else v
        return jnp.max(jnp.abs(inner)) / problem.regularizer.kappa
    p = rows.matvec(v)
    square = jnp.sum(c * alpha * p)  # ||v||^2
    used = c > 0
    largest = lambda values, where: jnp.max(jnp.where(where, values, -jnp.inf))
    if isinstance(loss, Hinge):
        if not problem.regularizer.free:
            return largest(y * p, used)
        up, down = _sign_weights(problem)
        room = (largest(p, used & (y > 0)) + largest(-p, used & (y < 0))) / 2
        return jnp.where(_equal(up, down), room, square / (4 * rtol * jnp.minimum(up, down)))
    b0 = jnp.broadcast_to(best_constant(problem), y.shape)
    at_zero = rtol * jnp.sum(c * loss.value(b0, y))
    spread, slack = jnp.sum(c * p * p) / (2 * loss.gamma), rtol * square / 2
    lam = (slack + jnp.sqrt(slack**2 + 4 * at_zero * spread)) / (2 * at_zero)
    if isinstance(loss, SmoothHinge) and not problem.regularizer.free:
        flat = 1.0 - loss.mu
        exact = jnp.where(flat > 0, largest(y * p, used) / jnp.where(flat > 0, flat, 1.0), jnp.inf)
        lam = jnp.minimum(lam, exact)
    return lam


@jax.jit
def _every(problem, rtol):
    return over_lanes(_smallest, problem, None)(problem, rtol)


def check(problem: Any) -> None:
    """Refuse what has no closed form here."""
    if not isinstance(problem, ERM | KernelSVM) or not isinstance(problem.loss, LOSSES):
        name = type(getattr(problem, "loss", problem)).__name__
        raise ValueError(f"lam_max: no closed form is known for {name}; pass lams=")


def lam_max(problem: Any, rtol: float = 1e-2) -> float:
    """The lam above which ``closed_form`` is optimal, or within the relative gap ``rtol`` of it.

    Of a batch, the largest over its lanes. Cost: two products with the data.
    """
    check(problem)
    rtol = float(check_lam("rtol", rtol))
    value = jnp.max(_every(problem, jnp.asarray(rtol, problem.c.dtype)))
    if not bool(jnp.isfinite(value)):
        raise ValueError("lam_max: not finite; is a class without weight, or the target constant?")
    if not bool(value > 0):
        raise ValueError(
            "lam_max: the features do not tell the labels apart at all (v = 0), so w = 0 is the "
            "solution for every lam; pass lams="
        )
    return float(value)


def closed_form(problem: Any) -> Point:
    """(w, alpha) that is optimal from lam_max on, for one problem; a start for the others."""
    check(problem)
    if jnp.ndim(problem.lam):
        raise ValueError("closed_form: expected one problem, not a batch")
    alpha, b = _alpha(problem), best_constant(problem)
    free = problem.regularizer.free
    if isinstance(problem, ERM):
        w = problem.w_of(alpha)
    else:
        w = problem.beta_of(alpha)
        w = jnp.append(w, 0.0) if free else w
    if not free:
        return Point(w, alpha)
    if isinstance(problem.loss, Hinge):
        up, down = _sign_weights(problem)
        p = problem.rows.matvec(problem.rows.rmatvec(problem.c * alpha)) / problem.lam
        used = problem.c > 0
        top = jnp.max(jnp.where(used & (problem.y > 0), p, -jnp.inf))
        bottom = jnp.min(jnp.where(used & (problem.y < 0), p, jnp.inf))
        w = jnp.where(_equal(up, down), w, 0.0)
        b = jnp.where(_equal(up, down), -(top + bottom) / 2, b)
    return Point(w.at[-1].set(b), alpha)
