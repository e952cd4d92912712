r"""S2CD: semi-stochastic coordinate descent; a step looks at one example and moves one coordinate.

    minimise P(w) = (1/n) {sum_i F_i(w) + n (lam/2)||w||^2},   F_i(w) = n c_i phi(<x_i, w>, y_i)

    L_ij = n c_i x_ij^2/gamma,   omega_i the number of features of example i
    Lhat = (1/n) sum_ij omega_i L_ij + d lam
    1. grad P(x) and the slopes s_i at x                                     one pass
    2. y = x; draw the length t
    3. t times: a pair (i, j) with probability proportional to omega_i L_ij, or to n lam for the
       penalty in i's place (it is separable, so its omega is 1); p_j the marginal of j
           y_j -= h { grad_j P(x)/p_j + Lhat (F_i(y)'_j - F_i(x)'_j)/(omega_i L_ij) }
                                                                  penalty: Lhat (y_j - x_j)
    4. x = y

A step reads one row and writes one number, so the penalty costs sparse rows nothing.
Lecture "Empirical Risk Minimization" (Richtarik), S2CD.
Konecny, Qu & Richtarik, Optim. Methods Softw. 32 (2017), arXiv:1412.6293. Put inside every f_i, as
in the paper's form, the penalty would make all omega_i = d; as a term of its own it does not, and
the same proof applies.

Rate per epoch, r = (1 - lam h)^m, Prob(t) proportional to (1 - lam h)^(m - t):
    E[P(x+) - P*] <= {r/((1 - r)(1 - 2 Lhat h)) + 2 Lhat h/(1 - 2 Lhat h)} (P(x) - P*)
    (proofs_checks/svrg_epochs.py).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import choose
from jaxopt_svm.methods.finite_sum.lengths import Geometric
from jaxopt_svm.methods.finite_sum.terms import after_epochs, check_ridge, slopes
from jaxopt_svm.problems.erm import ERM

__all__ = ["S2CD"]


class S2CDState(NamedTuple):
    """x: (d, ...). h, Lhat, penalty: (), step size, mean weight, chance of the penalty. p: (d,)."""

    x: Array
    h: Array
    Lhat: Array
    penalty: Array
    p: Array


class Pairs(NamedTuple):
    """i: an example; place, coin, column: uniform numbers that choose j; length: t."""

    i: Array
    place: Array
    coin: Array
    column: Array
    length: Array


@register(
    Info(
        name="s2cd",
        family="finite_sum",
        problems="ERM, smooth loss, l2",
        certificate="from slopes",
        lecture="Empirical Risk Minimization: S2CD",
        reference="Konecny, Qu & Richtarik 2017, arXiv:1412.6293",
    )
)
@pytree
class S2CD:
    """Cost of an epoch: 1 + m/n passes. h: 1/(10 Lhat) unless given. m: 2n unless given."""

    h: Any = None
    law: Any = Geometric()
    m: int | None = static(default=None)

    bound_on = "primal"

    def check(self, problem) -> None:
        check_ridge(self, problem)
        if self.m is not None and self.m < 1:
            raise ValueError(f"S2CD: m must be at least 1; got {self.m}")

    def inner_steps(self, problem: ERM) -> int:
        return 2 * problem.n if self.m is None else self.m

    def row_weights(self, problem: ERM):
        """(n,) omega_i sum_j L_ij, free of lam: all lanes of a sweep look at the same examples."""
        omega = problem.rows.row_counts().astype(problem.lam.dtype)
        return omega * problem.n * problem.c * problem.rows.sqnorms / problem.loss.gamma

    def init(self, problem: ERM, start: Point | None = None) -> S2CDState:
        x = (problem.origin() if start is None else start).w
        rows, n = problem.rows, problem.n
        omega = rows.row_counts().astype(problem.lam.dtype)
        columns = rows.column_squares(omega * n * problem.c / problem.loss.gamma) + n * problem.lam
        total = jnp.sum(columns)
        Lhat = total / n
        h = jnp.asarray(0.1 / Lhat if self.h is None else self.h, x.dtype)
        return S2CDState(x, h, Lhat, problem.d * n * problem.lam / total, columns / total)

    def draw(self, problem: ERM, key: Array) -> Pairs:
        keys = jax.random.split(key, 3)
        m, dtype = self.inner_steps(problem), problem.lam.dtype
        weights = self.row_weights(problem)
        total = jnp.sum(weights)
        # with nothing but zero rows every step is the penalty's, whatever i
        even = jnp.full_like(weights, 1.0 / problem.n)
        share = jnp.where(total > 0, weights / jnp.where(total > 0, total, 1.0), even)
        place, coin, column = jax.random.uniform(keys[1], (3, m), dtype)
        length = self.law.draw(problem, keys[2], m, self.init(problem).h)
        pairs = Pairs(choose(share, keys[0], m), place, coin, column, length)
        return jax.tree.map(lambda x: x[None], pairs)

    def change(self, problem: ERM, state: S2CDState, y, old, grad, pair):
        """What step 3 adds to y_j; ``old`` is the slope s_i at x."""
        i, j, x_ij, omega, of_penalty = pair
        move = problem.loss.slope(problem.rows.row(i).dot(y), problem.y[i]) - old
        usable = jnp.where(problem.c[i] > 0, omega * x_ij, 0.0)
        data = problem.loss.gamma * move / jnp.where(usable == 0, 1.0, usable)
        data = jnp.where(usable == 0, 0.0, data)
        step = jnp.where(of_penalty, y[j] - state.x[j], data)
        return -state.h * (grad[j] / state.p[j] + state.Lhat * step)

    def step(self, problem: ERM, state: S2CDState, sample: Pairs) -> S2CDState:
        s, grad = slopes(problem, state.x), problem.grad(state.x)
        omega = problem.rows.row_counts().astype(s.dtype)

        def inner(carry, pair):
            (y, left), (i, place, coin, column) = carry, pair
            of_penalty = coin < state.penalty
            j_row, x_ij = problem.rows.row(i).pick(place)
            by_chance = jnp.minimum((column * problem.d).astype(jnp.int32), problem.d - 1)
            j = jnp.where(of_penalty, by_chance, j_row)
            change = self.change(problem, state, y, s[i], grad, (i, j, x_ij, omega[i], of_penalty))
            return (y.at[j].add(jnp.where(left > 0, change, 0.0)), left - 1), None

        (y, _), _ = lax.scan(inner, (state.x, sample.length), sample[:4])
        return state._replace(x=y)

    def point(self, problem: ERM, state: S2CDState) -> Point:
        del problem
        return Point(state.x)

    def spent(self, problem: ERM) -> Spent:
        m = self.inner_steps(problem)
        return Spent(work=1.0 + m / problem.n, oracle_calls=0.0, updates=1.0)

    def factor(self, problem: ERM):
        """What an epoch multiplies E[P - P*] by, at most."""
        state, m = self.init(problem), self.inner_steps(problem)
        r, x = (1.0 - problem.lam * state.h) ** m, 2.0 * state.Lhat * state.h
        return (r / (1.0 - r) + x) / (1.0 - x)

    def bound(self, problem: ERM, t):
        """factor^t gap_0 after t epochs."""
        return after_epochs(problem, self.factor(problem), t)
