r"""One iteration of Mehrotra's predictor-corrector method for the dual of the hinge.

    min  1/2 beta' K beta - y' beta,   lo <= beta <= hi,   (sum beta = 0)
    p = beta - lo,  u = hi - beta,  multipliers s, x >= 0:
        K beta - y + b - s + x = 0,     sum beta = 0,     p s = 0,     u x = 0

A Newton step for p s = u x = mu eliminates all but beta and b:
    (K + D) dbeta + db 1 = -r_d - r_s/p + r_x/u,         D = s/p + x/u
    sum dbeta = -r_p

    predictor  r_s = p s,                    r_x = u x
    corrector  r_s = p s + dp ds - sigma mu, r_x = u x + du dx - sigma mu,   sigma = (mu_aff/mu)^3
    step       0.995 of the way to the nearest bound, the same for all

K enters through ``times`` and ``factorise``: that is where dense and low-rank methods differ.
Mehrotra 1992; Ferris & Munson 2002; Fine & Scheinberg, JMLR 2 (2001).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.oracles.line_search import segment
from jaxopt_svm.problems.hinge_dual import Box

__all__ = ["Interior", "beta_at", "iterate", "start_inside"]

TO_BOUND = 0.995


class Interior(NamedTuple):
    """p, u: distances to the bounds. s, x: their multipliers. b: that of sum beta = 0.

    An example without weight has no box; it is carried with p = u = s = x = 1 and counts nowhere.
    iterations: taken. done: complementarity is at rounding level.
    """

    p: Array
    u: Array
    s: Array
    x: Array
    b: Array
    iterations: Array
    done: Array


def beta_at(box: Box, at: Interior) -> Array:
    """beta from the smaller of its two distances, which is the accurate one."""
    inside = jnp.where(at.p < at.u, box.lo + at.p, box.hi - at.u)
    return jnp.where(box.hi > box.lo, inside, 0.0)


def start_inside(box: Box, y, times: Callable, beta) -> Interior:
    """On the central path of the gradient at a given beta, with mu from its duality gap.

    p = p(g) solves mu/p - mu/u = g, p + u = width, so all products p s and u x are mu from the
    start: from a point near the bounds, or far out in a wide box, the first steps would be short.
    """
    width, used = box.hi - box.lo, box.hi > box.lo
    # t beta for the t in [0, 1] with the largest dual value: a wide box is no reason to go far out
    beta = segment(jnp.vdot(y, beta), jnp.vdot(beta, times(beta))) * beta
    g = times(beta) - y
    gaps = jnp.maximum(g, 0.0) * (beta - box.lo) + jnp.maximum(-g, 0.0) * (box.hi - beta)
    count = jnp.maximum(jnp.sum(used.astype(g.dtype)), 1.0)
    mu = jnp.maximum(jnp.sum(jnp.where(used, gaps, 0.0)) / count, jnp.finfo(g.dtype).tiny)
    root = jnp.hypot(g * width, 2 * mu)
    near = lambda g: jnp.where(used, 2 * mu * width / (g * width + 2 * mu + root), 1.0)
    p, u = near(g), near(-g)
    one = jnp.ones_like(g)
    return Interior(
        p=p,
        u=u,
        s=jnp.where(used, mu / p, one),
        x=jnp.where(used, mu / u, one),
        b=jnp.zeros((), g.dtype),
        iterations=jnp.zeros((), jnp.int32),
        done=jnp.zeros((), bool),
    )


def iterate(
    box: Box, y, free: bool, times: Callable, factorise: Callable, tol, at: Interior
) -> Interior:
    """One iteration. times(a) = K a; factorise(1/D) gives solve(columns) with K + D."""
    used = box.hi > box.lo
    p, u, s, x = at.p, at.u, at.s, at.x
    count = jnp.maximum(jnp.sum(used.astype(p.dtype)), 1.0)
    mean = lambda p, s, u, x: jnp.sum(jnp.where(used, p * s + u * x, 0.0)) / (2.0 * count)
    beta, mu = beta_at(box, at), mean(p, s, u, x)
    scores = times(beta)
    r_d = jnp.where(used, scores - y + at.b - s + x, 0.0)
    # an example without weight stays: its diagonal is infinite, its right side zero
    weight = jnp.where(used, 1.0 / (s / p + x / u), 0.0)
    solve = factorise(weight)

    def newton(right, h):
        """(dbeta, db) for a right side; h = solve(1) eliminates the intercept."""
        z = solve(jnp.where(used, right, 0.0)[:, None])[:, 0]
        if not free:
            return z, jnp.zeros_like(at.b)
        db = (jnp.sum(z) + jnp.sum(beta)) / jnp.sum(h)
        return z - db * h, db

    def directions(dbeta, r_s, r_x):
        ds, dx = -(r_s + s * dbeta) / p, -(r_x - x * dbeta) / u
        return tuple(jnp.where(used, d, 0.0) for d in (dbeta, -dbeta, ds, dx))

    def furthest(steps):
        """The step to the nearest bound of p, u, s and x."""
        ends = [
            jnp.min(jnp.where(d < 0, -value / jnp.where(d < 0, d, 1.0), jnp.inf))
            for value, d in zip((p, u, s, x), steps)
        ]
        return jnp.min(jnp.stack(ends))

    right = lambda r_s, r_x: -r_d - r_s / p + r_x / u
    h = solve(used.astype(p.dtype)[:, None])[:, 0] if free else jnp.zeros_like(p)
    # predictor
    dbeta, _ = newton(right(p * s, u * x), h)
    dp, du, ds, dx = directions(dbeta, p * s, u * x)
    theta = jnp.minimum(1.0, furthest((dp, du, ds, dx)))
    mu_aff = mean(p + theta * dp, s + theta * ds, u + theta * du, x + theta * dx)
    sigma = (mu_aff / mu) ** 3
    # corrector, with the same factor
    r_s, r_x = p * s + dp * ds - sigma * mu, u * x + du * dx - sigma * mu
    dbeta, db = newton(right(r_s, r_x), h)
    steps = directions(dbeta, r_s, r_x)
    theta = jnp.minimum(1.0, TO_BOUND * furthest(steps))
    # done: complementarity, summed, is negligible beside the objective
    objective = jnp.abs(jnp.vdot(beta, scores) / 2.0 - jnp.vdot(y, beta))
    done = at.done | (2.0 * count * mu <= tol * (1.0 + objective))
    moved = [jnp.where(done, a, a + theta * d) for a, d in zip((p, u, s, x), steps)]
    finite = jnp.all(jnp.isfinite(jnp.stack(moved)))
    stop = done | ~finite
    keep = lambda new, old: jnp.where(stop, old, new)
    return Interior(
        *(keep(new, old) for new, old in zip(moved, (p, u, s, x))),
        b=keep(at.b + theta * db, at.b),
        iterations=at.iterations + jnp.where(stop, 0, 1).astype(jnp.int32),
        done=stop,
    )
