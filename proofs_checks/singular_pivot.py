r"""Claim. When t joins the free set s without curvature, the direction

    d_t = 1,   d_s = -M_ss^-1 (M_st + delta 1),   delta = (1 - sum M_ss^-1 M_st) / sum M_ss^-1 1

has sum d = 0 and K d constant on s and t: the objective changes linearly along it, at the rate v_t
- b of the violation. Following it to the first bound, the active-set method still ends at the
optimum.

Lecture "Optimization Methods for SVMs" (Scheinberg), step 1 with a singular bordered matrix, which
the slides leave out; Scheinberg, JMLR 7 (2006).

Check. A linear kernel in two dimensions, s of three points, every t: three free variables use up
all curvature. And whole runs with duplicates of both kinds: singular joins happen, the optimum is
the interior point's. False variant: delta with the sign of the sum turned round.
"""

import jax
import jax.numpy as jnp

from jaxopt_svm import ActiveSet, InteriorPoint, Linear, Point
from jaxopt_svm.methods.kernel.free_set import empty_set, pivot_of, with_member
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.kernel_toys import toy_kernel

ITERATIONS = 40
MEMBERS = (0, 1, 3)


def direction(problem, t, sign):
    """The direction for s = MEMBERS, and whether joining t is singular."""
    free = empty_set(8, problem.c.dtype)
    for i in MEMBERS:
        free = with_member(problem, free, jnp.asarray(i, jnp.int32))
    join = pivot_of(problem, free, jnp.asarray(t, jnp.int32))
    Z, ones = free.solve(join.column), free.solve(free.live.astype(problem.c.dtype))
    delta = (1.0 - sign * jnp.sum(Z)) / jnp.sum(ones)
    d = jnp.where(free.live, -Z - delta * ones, 0.0)
    full = jnp.zeros(problem.n).at[free.index].add(d).at[t].add(1.0)
    return full, join.regular


@jax.jit
def flat(problem, t):
    """Slacks of: singular, sum d = 0, K d constant on s and t; and of the false variant."""

    def one(sign):
        d, regular = direction(problem, t, sign)
        Kd = problem.rows.times(d)
        constant = jnp.abs(Kd[jnp.asarray(MEMBERS)] - Kd[t])
        worst = jnp.maximum(jnp.max(constant), jnp.abs(jnp.sum(d)))
        return jnp.where(regular, -1.0, 0.0) - worst / (1.0 + jnp.max(jnp.abs(d)))

    return one(1.0), one(-1.0)


@jax.jit
def runs(problem):
    active, interior = ActiveSet(capacity=16), InteriorPoint()
    pivots = lambda _, s: active.step(problem, s, 0)
    found = jax.lax.fori_loop(0, 10 * ITERATIONS, pivots, active.init(problem))
    steps = lambda _, s: interior.step(problem, s, 0)
    other = jax.lax.fori_loop(0, ITERATIONS, steps, interior.init(problem))
    a, b = active.point(problem, found), interior.point(problem, other)
    gap = problem.certificate(Point(a.w, b.dual)).gap
    return found.singular, -jnp.abs(gap), equal(problem.primal(a.w), problem.primal(b.w))


def check() -> Result:
    problem = toy_kernel(Linear(), C=10.0)
    pairs = [flat(problem, t) for t in range(5, problem.n)]
    true, false = zip(*pairs)
    singular, gap, same = runs(problem)
    happened = 0.0 if int(singular) > 3 else -1.0
    return Result(smallest(*true, gap, same, happened), max(float(f) for f in false))


claim = Claim(
    name="singular_pivot",
    text="a join without curvature slides along a null direction to a bound; the end is optimal",
    lecture="Optimization Methods for SVMs: active set method",
    check=check,
    tolerance=1e-7,
)
