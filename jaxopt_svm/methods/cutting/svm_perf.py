r"""SVM-perf: the one-slack cutting-plane method.

    min  lam/2 ||w||^2 + xi   such that for every chi in {0,1}^n
         sum_i c_i chi_i (1 - y_i <x_i, w>) <= xi                    (xi = the mean hinge)

    1. solve over the cuts found so far:  w = (1/lam) sum_k theta_k a_k,  theta in the simplex,
           max  h' theta - 1/(2 lam) theta' H theta,      H = A A'
    2. the most violated chi is chi_i = [y_i <x_i, w> < 1]: it gives the hinge itself
    3. add the cut  a = sum_i c_i chi_i y_i x_i,   h = sum_i c_i chi_i

Cut 0 is a = 0, h = 0: xi >= 0. theta is a dual point: alpha_i = y_i sum_k theta_k chi_ki, from
which the problem rebuilds everything, so the lower bound holds however roughly step 1 is solved.

A free intercept b is a coordinate of w that costs nothing, so a cut has a slope in b too, s = sum_i
c_i chi_i y_i, and step 1 a second equality, sum_k theta_k s_k = 0, which pairs cannot keep. It is
met by its multiplier, which is b (the method of multipliers, or a proximal step in b):

    theta = argmax h'theta - 1/(2 lam) theta'H theta - b s'theta - rho/(2 lam) (s'theta)^2
    b    += rho/lam s'theta                          rho = sum_i c_i ||x_i||^2

a few times a cut, each from the last theta. The problem balances what is left of s'theta.

Lecture "Optimization Methods for SVMs" (Scheinberg), cutting plane methods.
Joachims, KDD 2006; Teo et al., JMLR 11 (2010). Cuts to a gap eps < 4 G^2/lam without a free
intercept, G = sum_i c_i ||x_i|| >= ||a||, inner problem exact; each O(nnz) and a small QP:
    T <= max(0, log2(lam/G^2)) + 8 G^2/(lam eps) - 1
Checked: proofs_checks/one_slack.py, cut_bounds.py.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.refusals import needs_erm, needs_hinge, needs_l2
from jaxopt_svm.oracles.pairs import Quadratic, solve_pairs
from jaxopt_svm.problems.erm import ERM

__all__ = ["SVMPerf", "SVMPerfState"]

TURNS = 8  # of theta and b, for each cut


class SVMPerfState(NamedTuple):
    """chi: (capacity, n) the cuts by their examples. A: (capacity, d) and h: (capacity,) by image.

    H: A A', a free intercept left out. theta: weights of the cuts. b: the free intercept.
    count: cuts, the empty one included. rounds: passes that changed something. full: no room.
    """

    chi: Array
    A: Array
    h: Array
    H: Array
    theta: Array
    b: Array
    count: Array
    rounds: Array
    full: Array


@register(
    Info(
        name="svm_perf",
        family="cutting",
        problems="ERM, hinge, l2, any intercept",
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
            b=jnp.zeros((), dtype),
            count=jnp.ones((), jnp.int32),
            rounds=jnp.zeros((), jnp.int32),
            full=jnp.zeros((), bool),
        )

    def draw(self, problem: ERM, key: Array) -> Array:
        del problem, key
        return jnp.zeros(1, jnp.int32)

    def w(self, problem: ERM, state: SVMPerfState) -> Array:
        w = state.theta @ state.A / problem.lam
        return w.at[-1].set(state.b) if problem.regularizer.free else w

    def step(self, problem: ERM, state: SVMPerfState, sample) -> SVMPerfState:
        del sample
        # 2. the most violated cut at w
        w = self.w(problem, state)
        chi = problem.y * problem.rows.matvec(w) < 1.0
        share = jnp.where(chi, problem.c, 0.0)
        a, h = problem.rows.rmatvec(share * problem.y), jnp.sum(share)
        known = self.among(state.count)
        hinge = h - a @ w
        above = hinge - jnp.max(jnp.where(known, state.h - state.A @ w, -jnp.inf))
        # 3. it is added unless it says nothing new
        new = above > 4 * jnp.finfo(h.dtype).eps * (1.0 + h)
        room = state.count < self.capacity
        slot = jnp.where(new & room, state.count, self.capacity)
        put = lambda table, value: table.at[slot].set(value, mode="drop")
        A, count = put(state.A, a), state.count + (new & room).astype(jnp.int32)
        row = A @ (a.at[-1].set(0.0) if problem.regularizer.free else a)
        state = state._replace(
            chi=put(state.chi, chi),
            A=A,
            h=put(state.h, h),
            H=put(state.H, row).at[:, slot].set(row, mode="drop"),
            count=count,
            full=new & (count == self.capacity),  # room is made before the next cut needs it
        )
        # 1. the QP over the cuts, which now include it
        theta, b = self.solve(problem, state, self.accuracy * jnp.maximum(above, 0.0))
        still = jnp.abs(b - state.b) <= jnp.finfo(b.dtype).eps ** 0.75 * (1.0 + jnp.abs(b))
        return state._replace(
            theta=theta, b=b, rounds=state.rounds + (new | ~still).astype(jnp.int32)
        )

    def among(self, count) -> Array:
        """(capacity,) which slots hold a cut."""
        return jnp.arange(self.capacity, dtype=jnp.int32) < count

    def solve(self, problem: ERM, state: SVMPerfState, stop) -> tuple[Array, Array]:
        """(theta, b): theta by pairs, which keep its sum, and b by turns with it."""
        known, lam = self.among(state.count), problem.lam
        live = known.astype(state.h.dtype)

        def best(H, h, theta):
            quadratic = Quadratic(jnp.diagonal(H), jnp.zeros_like(live), live)
            v = jnp.where(known, h - H @ theta, 0.0)
            return solve_pairs(H, quadratic, theta, v, count=self.pairs, stop=stop)[0]

        if not problem.regularizer.free:
            return best(state.H / lam, state.h, state.theta), state.b
        s, rho = state.A[:, -1], jnp.sum(problem.c * problem.rows.sqnorms)
        H = (state.H + rho * jnp.outer(s, s)) / lam

        def turn(_, carry):
            theta, b = carry
            theta = best(H, state.h - s * b, theta)
            return theta, b + rho / lam * (s @ theta)

        return lax.fori_loop(0, TURNS, turn, (state.theta, state.b))

    def point(self, problem: ERM, state: SVMPerfState) -> Point:
        alpha = problem.y * (state.theta @ state.chi.astype(state.theta.dtype))
        return Point(self.w(problem, state), alpha)

    def counted(self, state: SVMPerfState) -> Spent:
        rounds = state.rounds.astype(state.h.dtype)
        return Spent(work=2 * rounds, oracle_calls=rounds, updates=rounds)

    def spent(self, problem: ERM) -> Spent:
        del problem
        return Spent(work=2.0, oracle_calls=1.0, updates=1.0)

    def bound(self, problem: ERM, t):
        """The gap after t cuts: 8 G^2/(lam (t + 1 - log2(lam/G^2))); at most P(0) - D(0) = 1."""
        if problem.regularizer.free:
            return None
        G2, lam = jnp.sum(problem.c * jnp.sqrt(problem.rows.sqnorms)) ** 2, problem.lam
        left = jnp.asarray(t, lam.dtype) + 1 - jnp.maximum(jnp.log2(lam / G2), 0)
        return jnp.where(left > 2, jnp.minimum(8 * G2 / (lam * jnp.maximum(left, 1)), 1.0), 1.0)
