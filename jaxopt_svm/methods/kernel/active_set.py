r"""The active-set method: exact, pivot by pivot.

    min  1/2 beta' K beta - y' beta,     lo <= beta <= hi,    (sum beta = 0),      v = y - K beta

Variables are at a bound or free (the set s). In the textbook's letters I_0, I_c and I_s.

    Step 1  solve for the free ones with the others held:  M_ss p + b 1 = v_s,  sum p = 0
            go beta_s += theta p, theta <= 1 as far as the box allows;
            if a bound stops it, that variable leaves s, and again
    Step 2  price those at bounds:  at lo the slack is b - v_i, at hi it is v_i - b
            (printed with the opposite signs, with which the method never stops: errata.py)
            all slacks >= 0: optimal. Otherwise the smallest one, t, joins s, and again

Joining when K has no curvature along the new direction (duplicate points, low rank): the direction
is followed to the first bound, which always exists, and whoever meets it stays there.
With no free variable, b is not determined: one pair of SMO starts the set.

    candidates=k prices only the k most promising rows, until none of them violates; then all rows
    are priced, and only that full pricing can end the method: the optimum is the same.

Cost of a pivot: O(n_s^2) for the factor, O(n n_s) for v, or O((n_s + k) n_s) with candidates.

Lecture "Optimization Methods for SVMs" (Scheinberg), active set method, steps 1 and 2.
Scheinberg, JMLR 7 (2006). Exact and finite where no pivot is degenerate, exponential in the worst
case; about n/2 pivots in practice. Checked: active_set_signs.py, singular_pivot.py,
cholesky_updates.py.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.methods.kernel.free_set import empty_set
from jaxopt_svm.methods.kernel.pivots import ActiveSetState, pivot, start_from
from jaxopt_svm.methods.kernel.signed import begin, claim, totals
from jaxopt_svm.methods.refusals import needs_kernel_hinge
from jaxopt_svm.problems.kernel import KernelSVM

__all__ = ["ActiveSet", "ActiveSetState"]


@register(
    Info(
        name="active_set",
        family="kernel",
        problems="kernel SVM, hinge, any intercept",
        certificate="its own dual point",
        lecture="Optimization Methods for SVMs: active set method",
        reference="Scheinberg 2006",
    ),
)
@pytree
class ActiveSet:
    """Exact answers, and the referee of the other solvers. A pass is ``pivots`` pivots.

    capacity: room for free variables; it doubles by itself when it is full.
    candidates: rows priced between full pricings; None prices all rows at every pivot.
    tol: slack below which nobody violates; eps^0.6 of the dtype unless given.
    """

    capacity: int = static(default=64)
    candidates: int | None = static(default=None)
    pivots: int = static(default=32)
    tol: float | None = None

    bound_on = "gap"
    settles = True

    def check(self, problem) -> None:
        needs_kernel_hinge(self, problem)
        if self.capacity < 2 or self.pivots < 1:
            raise ValueError("ActiveSet: expected capacity >= 2 and pivots >= 1")
        if self.candidates is not None and not 1 <= self.candidates <= problem.n:
            raise ValueError(
                f"ActiveSet.candidates: expected 1 to {problem.n} rows; got {self.candidates}"
            )

    def grown(self) -> "ActiveSet":
        return ActiveSet(2 * self.capacity, self.candidates, self.pivots, self.tol)

    def holding(self, start: Point) -> "ActiveSet":
        """With room for the free variables of a start."""
        if start.dual is None:
            return self
        size = np.abs(np.asarray(start.dual))
        free = int(np.sum((size > 0) & (size < 1), axis=-1).max())
        return self if free < self.capacity else self.grown().holding(start)

    def init(self, problem: KernelSVM, start: Point | None = None) -> ActiveSetState:
        (beta, v), zero = begin(problem, start), jnp.zeros((), jnp.int32)
        count = self.candidates or 0
        state = ActiveSetState(
            beta=beta,
            v=v,
            free=empty_set(self.capacity, beta.dtype),
            b=jnp.zeros((), beta.dtype),
            candidates=jnp.zeros(count, jnp.int32),
            since=zero if self.candidates is None else zero + 1,
            done=jnp.zeros((), bool),
            full=jnp.zeros((), bool),
            pivots=zero,
            singular=zero,
            touched=jnp.zeros((), beta.dtype),
        )
        return state if start is None else start_from(self, problem, state)

    def draw(self, problem: KernelSVM, key: Array) -> Array:
        del problem, key
        return jnp.zeros(self.pivots, jnp.int32)

    def step(self, problem: KernelSVM, state: ActiveSetState, sample) -> ActiveSetState:
        del sample
        return pivot(self, problem, state)

    def retire(self, state: ActiveSetState, gone) -> ActiveSetState:
        return state._replace(done=state.done | gone)

    def point(self, problem: KernelSVM, state: ActiveSetState) -> Point:
        if self.candidates is None:
            return claim(problem, state.beta, state.v)
        # scores of rows that are not candidates are old: the multiplier is the intercept
        w = jnp.append(state.beta, state.b) if problem.free else state.beta
        return Point(w, problem.alpha_of(state.beta))

    def counted(self, state: ActiveSetState) -> Spent:
        return totals(state.beta, state.touched, state.pivots)

    def spent(self, problem: KernelSVM) -> Spent:
        work = self.pivots * self.capacity / problem.n
        return Spent(work=work, oracle_calls=0.0, updates=float(self.pivots))

    def bound(self, problem: KernelSVM, t) -> None:
        del problem, t

    def tolerance(self, dtype):
        return jnp.finfo(dtype).eps ** 0.6 if self.tol is None else jnp.asarray(self.tol, dtype)
