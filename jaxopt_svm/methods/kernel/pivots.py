r"""The pivots of the active-set method: see active_set.py for what they do and why.

A pivot first decides (``Plan``: how far the free variables go, who leaves, who joins) and then
carries it out (``_carry_out``), so that the factor is changed in one place. ``rules`` is the
method: capacity, candidates and tolerance.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import sequential_vmap

from jaxopt_svm.methods.kernel.free_set import (
    FreeSet,
    pivot_of,
    refactored,
    with_member,
    without,
)
from jaxopt_svm.methods.kernel.signed import quadratic_of
from jaxopt_svm.oracles.pairs import first_of, pair_move, violation
from jaxopt_svm.oracles.selection import largest
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["ActiveSetState", "pivot", "start_from"]

REFRESH = 200  # pivots after which factor and v are made anew
NOBODY = -1


class ActiveSetState(NamedTuple):
    """beta, v: (n,). free: the set s. b: the multiplier of sum beta = 0.

    candidates: whose v is kept up to date, beside the free ones. since: pivots since the last
    full pricing. full: no room in s. singular: joins without curvature. touched: rows of K.
    """

    beta: Array
    v: Array
    free: FreeSet
    b: Array
    candidates: Array
    since: Array
    done: Array
    full: Array
    pivots: Array
    singular: Array
    touched: Array


class Plan(NamedTuple):
    """What a pivot has decided: who leaves (a slot), who joins, and whether nobody violates."""

    beta: Array
    v: Array
    b: Array
    leaves: Array
    joins: tuple
    optimal: Array
    singular: Array


def longest(beta, d, lo, hi):
    """How far each beta may go along d before its bound; inf where d is 0."""
    room = jnp.where(d > 0, hi - beta, lo - beta)
    return jnp.where(d != 0, jnp.maximum(room / jnp.where(d != 0, d, 1.0), 0.0), jnp.inf)


@sequential_vmap
def pivot(rules, problem: KernelSVM, state: ActiveSetState) -> ActiveSetState:
    """One pivot; in a batch lane after lane, so that branches stay branches."""
    return lax.cond(state.done | state.full, lambda s: s, _work(rules, problem), state)


def _work(rules, problem: KernelSVM):
    def work(state: ActiveSetState) -> ActiveSetState:
        if not problem.free:
            plan = _interior(rules, problem, state)
        else:
            vertex = lambda s: _vertex(rules, problem, s)
            interior = lambda s: _interior(rules, problem, s)
            plan = lax.cond(state.free.count == 0, vertex, interior, state)
        return _carry_out(rules, problem, state, plan)

    return work


def _vertex(rules, problem: KernelSVM, state: ActiveSetState) -> Plan:
    """Nobody is free: the most violating pair moves, and whoever ends inside the box is free."""
    quadratic = quadratic_of(problem)
    m, M = violation(quadratic, state.beta, state.v)
    optimal = m - M <= rules.tolerance(m.dtype)
    if rules.candidates is not None:  # a pair is chosen among all rows: price them first
        optimal = optimal | (state.since > 0)
    first, row_of = first_of(quadratic, state.beta, state.v), problem.rows.row_of
    move = pair_move(row_of, quadratic, state.beta, state.v, first, second_order=False)
    keep = lambda new, old: jnp.where(optimal, old, new)
    beta = keep(move.put(state.beta), state.beta)
    inside = lambda i: (beta[i] > quadratic.lo[i]) & (beta[i] < quadratic.hi[i]) & ~optimal
    return Plan(
        beta=beta,
        v=keep(move.lower(state.v), state.v),
        b=jnp.where(jnp.isfinite(m + M), (m + M) / 2, state.b),
        leaves=jnp.asarray(NOBODY, jnp.int32),
        joins=tuple(jnp.where(inside(i), i, NOBODY) for i in (move.i, move.j)),
        optimal=optimal,
        singular=jnp.zeros((), bool),
    )


def _interior(rules, problem: KernelSVM, state: ActiveSetState) -> Plan:
    """Steps 1 and 2 of the lecture."""
    (lo, hi), free = problem.box(), state.free
    s, live = free.index, free.live
    # Step 1: b and p from M_ss p + b 1 = v_s, sum p = 0
    ones = live.astype(state.beta.dtype)
    A = free.solve(jnp.stack([free.pick(state.v), ones], axis=1))
    none = jnp.sum(A[:, 1]) <= 0
    b = jnp.sum(A[:, 0]) / jnp.where(none, 1.0, jnp.sum(A[:, 1])) if problem.free else state.b
    p = jnp.where(live, A[:, 0] - b * A[:, 1], 0.0)
    far = jnp.where(live, longest(state.beta[s], p, lo[s], hi[s]), jnp.inf)
    r = jnp.argmin(far).astype(jnp.int32)
    theta = jnp.minimum(1.0, far[r])
    beta = state.beta.at[s].add(theta * p)
    v = _lowered(rules, problem, state, state.v, theta * p)
    blocked = far[r] < 1.0
    # Step 2: slacks of those at bounds
    slack = jnp.where(beta - lo < hi - beta, b - v, v - b)
    slack = jnp.where(free.members(problem.n) | (lo == hi), jnp.inf, slack)
    if rules.candidates is not None:
        # right after a full pricing everybody's v is good; later only that of the candidates
        among = jnp.zeros(problem.n, bool).at[state.candidates].set(True)
        slack = jnp.where(among | (state.since == 0), slack, jnp.inf)
    t = jnp.argmin(slack).astype(jnp.int32)
    optimal = ~blocked & (slack[t] >= -rules.tolerance(beta.dtype))
    plan = Plan(
        beta=beta,
        v=v,
        b=b,
        leaves=jnp.where(blocked, r, NOBODY).astype(jnp.int32),
        joins=(jnp.where(blocked | optimal, NOBODY, t), jnp.asarray(NOBODY, jnp.int32)),
        optimal=optimal,
        singular=jnp.zeros((), bool),
    )
    join = pivot_of(problem, free, t)
    flat = ~blocked & ~optimal & ~join.regular
    slide = lambda plan: _slide(rules, problem, state, plan, t, join.column, A[:, 1])
    return lax.cond(flat, slide, lambda plan: plan, plan)


def _slide(rules, problem: KernelSVM, state, plan: Plan, t, column, A_ones) -> Plan:
    """t joins without curvature: follow the null direction to the first bound.

    d_t = +-1, M_ss d_s = -(+-M_st + delta 1), sum d = 0; the objective falls all the way.
    """
    (lo, hi), free = problem.box(), state.free
    s, live, beta = free.index, free.live, plan.beta
    Z = free.solve(column)
    total = jnp.sum(A_ones)
    delta = (1.0 - jnp.sum(Z)) / jnp.where(total > 0, total, 1.0) if problem.free else 0.0
    d = jnp.where(live, -Z - delta * A_ones, 0.0)
    # downhill: up from lo, down from hi, and by the slope for one that starts inside
    slope = plan.v[t] + d @ free.pick(plan.v)
    sign = jnp.where(beta[t] <= lo[t], 1.0, jnp.where(beta[t] >= hi[t], -1.0, jnp.sign(slope)))
    sign = jnp.where(sign == 0.0, 1.0, sign).astype(beta.dtype)
    far = jnp.where(live, longest(beta[s], sign * d, lo[s], hi[s]), jnp.inf)
    r = jnp.argmin(far).astype(jnp.int32)
    room = jnp.where(sign > 0, hi[t] - beta[t], beta[t] - lo[t])
    crosses = room <= far[r]
    theta = sign * jnp.minimum(room, far[r])
    v = _lowered(rules, problem, state, plan.v, theta * d)
    v = v - theta * problem.rows.row_of(t)
    beta = beta.at[s].add(theta * d)
    other = jnp.where(sign > 0, hi[t], lo[t])
    return Plan(
        beta=beta.at[t].set(jnp.where(crosses, other, beta[t] + theta)),
        v=v,
        b=plan.b,
        leaves=jnp.where(crosses, NOBODY, r).astype(jnp.int32),
        joins=(jnp.where(crosses, NOBODY, t), plan.joins[1]),
        optimal=plan.optimal,
        singular=jnp.ones((), bool),
    )


def _lowered(rules, problem: KernelSVM, state: ActiveSetState, v, moved):
    """v after beta_s += moved: for everybody, or for the free ones and the candidates only."""
    s = state.free.index
    everyone = lambda v: v - moved @ problem.rows.take_rows(s)
    if rules.candidates is None:
        return everyone(v)
    kept = jnp.concatenate([s, state.candidates])
    some = lambda v: v.at[kept].set(v[kept] - problem.rows.entries(kept, s) @ moved)
    return lax.cond(state.since == 0, everyone, some, v)


def _carry_out(rules, problem: KernelSVM, state: ActiveSetState, plan: Plan) -> ActiveSetState:
    """Whoever met a bound leaves, whoever was chosen joins; an apparent optimum is checked."""
    (lo, hi), free, beta, n = problem.box(), state.free, plan.beta, problem.n
    i = free.index[jnp.maximum(plan.leaves, 0)]
    nearest = jnp.where(beta[i] - lo[i] < hi[i] - beta[i], lo[i], hi[i])
    left = plan.leaves >= 0
    beta = beta.at[i].set(jnp.where(left, nearest, beta[i]))
    members = free.count
    free = lax.cond(left, lambda f: without(f, plan.leaves), lambda f: f, free)

    def join(k, carry):
        free, full = carry
        wanted, room = joins[k] >= 0, free.count < rules.capacity
        add = lambda f: with_member(problem, f, joins[k])
        return lax.cond(wanted & room, add, lambda f: f, free), full | (wanted & ~room)

    joins = jnp.stack(plan.joins)
    free, full = lax.fori_loop(0, 2, join, (free, jnp.zeros((), bool)))
    pivoted = (~plan.optimal & ~full).astype(jnp.int32)
    # the pair of a vertex lowers everybody's v
    since = state.since + jnp.where(members == 0, 0, pivoted)
    done = plan.optimal & (since == 0)
    priced = n if rules.candidates is None else members + len(state.candidates)
    rows = (members * priced).astype(beta.dtype) / n
    after = ActiveSetState(
        beta=beta,
        v=plan.v,
        free=free,
        b=plan.b,
        candidates=state.candidates,
        since=since,
        done=done,
        full=full,
        pivots=state.pivots + pivoted,
        singular=state.singular + plan.singular.astype(jnp.int32),
        touched=state.touched + rows,
    )
    again = (plan.optimal & ~done) | (since > REFRESH)
    after = lax.cond(again, lambda s: _refresh(rules, problem, s), lambda s: s, after)
    # a pricing away from a minimiser over the free set is no test of optimality
    return after._replace(since=after.since + (again & ~plan.optimal).astype(jnp.int32))


def _refresh(rules, problem: KernelSVM, state: ActiveSetState) -> ActiveSetState:
    """Factor and v made anew, all rows priced: after this an optimum is one."""
    v = problem.y - problem.rows.times(state.beta)
    lo, hi = problem.box()
    candidates = state.candidates
    if rules.candidates is not None:
        slack = jnp.where(state.beta - lo < hi - state.beta, state.b - v, v - state.b)
        slack = jnp.where(state.free.members(problem.n) | (lo == hi), jnp.inf, slack)
        candidates = largest(-slack, rules.candidates)[1]
    return state._replace(
        v=v,
        free=refactored(problem, state.free),
        candidates=candidates,
        since=jnp.zeros((), jnp.int32),
        touched=state.touched + problem.n,
    )


def start_from(rules, problem: KernelSVM, state: ActiveSetState) -> ActiveSetState:
    """The variables of a start that are inside the box join one by one."""
    lo, hi = problem.box()
    inside = (state.beta > lo) & (state.beta < hi)
    (order,) = jnp.nonzero(inside, size=rules.capacity, fill_value=NOBODY)

    def admit(k, state):
        t = order[k].astype(jnp.int32)
        free = state.free
        nobody = jnp.asarray(NOBODY, jnp.int32)
        never = jnp.zeros((), bool)
        plan = Plan(state.beta, state.v, state.b, nobody, (t, nobody), never, never)
        join = pivot_of(problem, free, t)
        A_ones = free.solve(free.live.astype(state.beta.dtype))
        slide = lambda plan: _slide(rules, problem, state, plan, t, join.column, A_ones)
        plan = lax.cond((t >= 0) & ~join.regular, slide, lambda plan: plan, plan)
        return _carry_out(rules, problem, state, plan)

    return _refresh(rules, problem, lax.fori_loop(0, rules.capacity, admit, state))
