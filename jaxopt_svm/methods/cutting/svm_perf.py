r"""SVM-perf: the one-slack cutting-plane method.

    min  lam/2 ||w||^2 + xi   such that for every chi in {0,1}^n
         sum_i c_i chi_i (1 - y_i <x_i, w>) <= xi                    (xi = the mean hinge)

    1. solve over the cuts found so far:  w = (1/lam) sum_k theta_k a_k,  theta in the simplex,
           max  h' theta - 1/(2 lam) theta' H theta,      H = A A'
    2. the most violated chi is chi_i = [y_i <x_i, w> < 1]: it gives the hinge itself
    3. add the cut  a = sum_i c_i chi_i y_i x_i,   h = sum_i c_i chi_i

Cut 0 is a = 0, h = 0: xi >= 0. theta is a dual point: alpha_i = y_i sum_k theta_k chi_ki, from
which the problem rebuilds everything, so the lower bound holds however roughly step 1 is solved.

Lecture "Optimization Methods for SVMs" (Scheinberg), cutting plane methods.
Joachims, KDD 2006; Teo et al., JMLR 11 (2010): O(R^2/(lam eps)) cuts, each O(n s) and a small QP.
Checked: proofs_checks/one_slack.py, cut_bounds.py.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.refusals import needs_erm, needs_hinge, needs_l2, refuse_free_intercept
from jaxopt_svm.oracles.pairs import Quadratic, solve_pairs
from jaxopt_svm.problems.erm import ERM

__all__ = ["SVMPerf", "SVMPerfState"]


class SVMPerfState(NamedTuple):
    """chi: (capacity, n) the cuts by their examples. A: (capacity, d) and h: (capacity,) by image.

    H: A A'. theta: weights of the cuts. count: cuts, the empty one included. full: no room.
    """

    chi: Array
    A: Array
    h: Array
    H: Array
    theta: Array
    count: Array
    full: Array


@register(
    Info(
        name="svm_perf",
        family="cutting",
        problems="ERM, hinge, l2",
        certificate="its own dual point",
        lecture="Optimization Methods for SVMs: cutting plane methods",
        reference="Joachims 2006",
    ),
)
@pytree
class SVMPerf:
    """Large n, sparse rows, moderate accuracy. A pass is one cut.

    capacity: room for cuts; it doubles by itself. pairs: at most this many inner steps a cut.
    accuracy: the small QP stops at this fraction of the violation of the new cut.
    """

    capacity: int = static(default=64)
    pairs: int = static(default=4000)
    accuracy: float = 0.01

    bound_on = "gap"
    settles = True

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_hinge(self, problem)
        needs_l2(self, problem)
        refuse_free_intercept(self, problem)
        if self.capacity < 2 or self.pairs < 1:
            raise ValueError("SVMPerf: expected capacity >= 2 and pairs >= 1")

    def grown(self) -> "SVMPerf":
        return SVMPerf(2 * self.capacity, self.pairs, self.accuracy)

    def init(self, problem: ERM, start: Point | None = None) -> SVMPerfState:
        del start  # a dual point of the examples is no mixture of cuts
        m, dtype = self.capacity, problem.c.dtype
        return SVMPerfState(
            chi=jnp.zeros((m, problem.n), bool),
            A=jnp.zeros((m, problem.d), dtype),
            h=jnp.zeros(m, dtype),
            H=jnp.zeros((m, m), dtype),
            theta=jnp.zeros(m, dtype).at[0].set(1.0),
            count=jnp.ones((), jnp.int32),
            full=jnp.zeros((), bool),
        )

    def draw(self, problem: ERM, key: Array) -> Array:
        del problem, key
        return jnp.zeros(1, jnp.int32)

    def step(self, problem: ERM, state: SVMPerfState, sample) -> SVMPerfState:
        del sample
        # 2. the most violated cut at w
        w = state.theta @ state.A / problem.lam
        chi = problem.y * problem.rows.matvec(w) < 1.0
        share = jnp.where(chi, problem.c, 0.0)
        a, h = problem.rows.rmatvec(share * problem.y), jnp.sum(share)
        at = jnp.arange(self.capacity, dtype=jnp.int32)
        v = jnp.where(at < state.count, state.h - state.A @ w, -jnp.inf)
        hinge, xi = h - a @ w, jnp.max(v)
        # 3. it is added unless it says nothing new
        new = hinge - xi > 4 * jnp.finfo(h.dtype).eps * (1.0 + h)
        room = state.count < self.capacity
        slot = jnp.where(new & room, state.count, self.capacity)
        put = lambda table, value: table.at[slot].set(value, mode="drop")
        A = put(state.A, a)
        row = A @ a
        H = put(state.H, row).at[:, slot].set(row, mode="drop")
        count = state.count + (new & room).astype(jnp.int32)
        # 1. the QP over the cuts, which now include it
        live = (at < count).astype(h.dtype)
        quadratic = Quadratic(jnp.diagonal(H) / problem.lam, jnp.zeros_like(live), live)
        v = jnp.where(at < count, put(jnp.where(at < state.count, v, 0.0), hinge), 0.0)
        stop = self.accuracy * jnp.maximum(hinge - xi, 0.0)
        limits = {"count": self.pairs, "stop": stop}
        theta, _ = solve_pairs(H / problem.lam, quadratic, state.theta, v, **limits)
        return SVMPerfState(
            chi=put(state.chi, chi),
            A=A,
            h=put(state.h, h),
            H=H,
            theta=theta,
            count=count,
            full=new & (count == self.capacity),  # room is made before the next cut needs it
        )

    def point(self, problem: ERM, state: SVMPerfState) -> Point:
        alpha = problem.y * (state.theta @ state.chi.astype(state.theta.dtype))
        return Point(state.theta @ state.A / problem.lam, alpha)

    def counted(self, state: SVMPerfState) -> Spent:
        cuts = (state.count - 1).astype(state.h.dtype)
        return Spent(work=2 * cuts, oracle_calls=cuts, updates=cuts)

    def spent(self, problem: ERM) -> Spent:
        del problem
        return Spent(work=2.0, oracle_calls=1.0, updates=1.0)

    def bound(self, problem: ERM, t) -> None:
        del problem, t
