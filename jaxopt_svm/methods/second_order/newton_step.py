r"""One Newton step with an exact line search, for any loss that answers with a dual variable.

    F(w) = lam g(w) + sum_i c_i f_i(<x_i, w>),       f_i convex and smooth,  alpha_i(z) = -f_i'(z)
    H D = -grad F,     t = argmin_{0 <= t <= 1} F(w + t D),     w <- w + t D

alpha is dual feasible by itself; where it is the response of a loss smoothed by a proximal term,
that is what makes the step semismooth Newton on an augmented Lagrangian. h_i = -c_i alpha_i'(z) is
taken by differentiating the response. The line search needs no product with X: z + t X D is known.
Used by alm_newton.py and newton.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Spent
from jaxopt_svm.methods.second_order.curvature import direction
from jaxopt_svm.methods.second_order.iterations import Iterations
from jaxopt_svm.oracles.line_search import crossing
from jaxopt_svm.problems.erm import ERM

__all__ = ["FULL_STEP", "NewtonIterations", "Stepped", "newton_step"]

FULL_STEP = 0.99  # a step this long counts as a full one

FLAT = 1e-6  # curvature an intercept is given at least, relative to the largest possible


class NewtonIterations(Iterations):
    """What the methods made of such steps share; their states count work and iterations."""

    work = 5.0
    certified_every = 1  # an iteration is dear, so each is certified
    kernels = "plain"  # see core/programs.py

    def counted(self, state: Any) -> Spent:
        return Spent(state.work, jnp.zeros_like(state.work), state.iterations)

    def retire(self, state: Any, gone) -> Any:
        """Directions are found lane after lane; without z a slot has no row to gather for one."""
        return state._replace(z=jnp.where(gone[:, None], jnp.nan, state.z))

    def check_numbers(self, positive: tuple[str, ...], fractions: tuple[str, ...]) -> None:
        """Refuse what is not a positive number, or not one between 0 and 1."""
        for name in (*positive, *fractions):
            value = getattr(self, name)
            if not 0 < value < (1.0 if name in fractions else jnp.inf):
                wanted = "a number in (0, 1)" if name in fractions else "a positive number"
                raise ValueError(f"{type(self).__name__}.{name}: expected {wanted}; got {value}")


class Stepped(NamedTuple):
    """w, z = X w, alpha(z) after the step, the step length t, and sums the caller judges by.

    primal, dual: the objectives of (w, alpha). inner: what F may still be above its minimum.
    work: rows touched / n.
    """

    w: Array
    z: Array
    alpha: Array
    t: Array
    primal: Array
    dual: Array
    inner: Array
    work: Array


def newton_step(problem: ERM, respond: Callable, peak, w, z) -> Stepped:
    """respond(z) = alpha, whose slopes are at most ``peak``. Four products with X, and H."""
    lam, c, y = problem.lam, problem.c, problem.y
    penalised = problem.regularizer.grad(jnp.ones_like(w))
    ridge = lam * penalised + FLAT * peak * (1.0 - penalised)
    alpha, slope = jax.jvp(respond, (z,), (jnp.ones_like(z),))
    h = jnp.maximum(-c * slope, 0.0)
    g = lam * penalised * w - problem.rows.rmatvec(c * alpha)
    D, touched = direction(problem.rows, h, ridge, g)
    D = jnp.where(g @ D < 0, D, -g / (ridge + peak * jnp.max(problem.rows.sqnorms)))
    zD = problem.rows.matvec(D)
    wD, DD = (penalised * w) @ D, (penalised * D) @ D
    weight = c * zD
    rise = lambda t: lam * (wD + t * DD) - weight @ respond(z + t * zD)
    t = crossing(rise, g @ D)
    w, z = w + t * D, z + t * zD
    alpha = respond(z)
    u = problem.rows.rmatvec(c * alpha)
    g = lam * penalised * w - u
    return Stepped(
        w=w,
        z=z,
        alpha=alpha,
        t=t,
        primal=lam * problem.regularizer.value(w) + c @ problem.loss.value(z, y),
        dual=c @ problem.loss.neg_conj(alpha, y) - problem.regularizer.conj(u) / lam,
        inner=jnp.sum(jnp.where(penalised > 0, g * g / lam, g * g / (ridge + jnp.sum(h)))) / 2,
        work=3.0 + touched,
    )
