r"""mS2GD: mini-batch semi-stochastic gradient descent with a proximal step.

    minimise  (1/n) sum_i F_i(w) + lam g(w),   F_i(w) = n c_i phi(<x_i, w>, y_i),
    g l2 or elastic net

    1. s_i = phi'(<x_i, x>, y_i) for all i;   G = sum_i c_i s_i x_i          one pass
    2. y = x; draw the length t uniform on 1..m
    3. t times, S of b distinct examples:
           v = G + (1/b) sum_{i in S} n c_i (phi'(<x_i, y>, y_i) - s_i) x_i
           y = prox_{h lam g}(y - h v)
    4. x = y

Lecture "Empirical Risk Minimization" (Richtarik), mS2GD.
Konecny, Liu, Richtarik & Takac, IEEE J. Sel. Top. Signal Process. 10 (2016), arXiv:1504.04407.

Rate per epoch, L = max_i n c_i ||x_i||^2/gamma, mu = lam, a = (n - b)/(b (n - 1)), h <= 1/L:
    E[P(x+) - P*] <= rho (P(x) - P*),
    rho = 1/(m h mu (1 - 4hLa)) + 4hLa (m + 1)/(m (1 - 4hLa))     (proofs_checks/svrg_epochs.py)
b = n is the proximal gradient method.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import distinct
from jaxopt_svm.methods.finite_sum.lengths import AnyAfter, Epoch, EpochState
from jaxopt_svm.methods.finite_sum.terms import after_epochs, data_gradient, data_smoothness, slopes
from jaxopt_svm.methods.refusals import needs_erm, needs_smooth, refuse_free_intercept
from jaxopt_svm.problems.erm import ERM

__all__ = ["MS2GD"]


@register(
    Info(
        name="ms2gd",
        family="finite_sum",
        problems="ERM, smooth loss, l2 or elastic net",
        certificate="from slopes",
        lecture="Empirical Risk Minimization: mS2GD",
        reference="Konecny et al. 2016, arXiv:1504.04407",
    )
)
@pytree
class MS2GD:
    """For accelerators, and for the elastic net. Cost of an epoch: 1 + m b/n passes, m O(d).

    b: size of a mini-batch. m: inner steps, 2n/b unless given. h: min(1, 0.1/a)/L unless given.
    """

    h: Any = None
    law: Any = AnyAfter()
    b: int = static(default=8)
    m: int | None = static(default=None)

    bound_on = "primal"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        needs_smooth(self, problem)
        refuse_free_intercept(self, problem)
        if not 1 <= self.b <= problem.n:
            raise ValueError(f"MS2GD: b must lie between 1 and n = {problem.n}; got {self.b}")
        if self.m is not None and self.m < 1:
            raise ValueError(f"MS2GD: m must be at least 1; got {self.m}")

    def inner_steps(self, problem: ERM) -> int:
        return -(-2 * problem.n // self.b) if self.m is None else self.m

    def spread(self, problem: ERM) -> float:
        """a(b): the variance of a mean of b distinct terms, beside that of one."""
        return (problem.n - self.b) / (self.b * max(1, problem.n - 1))

    def step_size(self, problem: ERM):
        h = self.h
        if h is None:
            L = jnp.maximum(data_smoothness(problem), jnp.finfo(problem.lam.dtype).tiny)
            h = min(1.0, 0.1 / max(self.spread(problem), 0.1)) / L
        return jnp.asarray(h, problem.lam.dtype)

    def init(self, problem: ERM, start: Point | None = None) -> EpochState:
        x = (problem.origin() if start is None else start).w
        return EpochState(x, self.step_size(problem))

    def draw(self, problem: ERM, key: Array) -> Epoch:
        sets, length = jax.random.split(key)
        m = self.inner_steps(problem)
        index = distinct(sets, m, problem.n, self.b)
        t = self.law.draw(problem, length, m, self.step_size(problem))
        return Epoch(Sample(index[None]), t[None])

    def direction(self, problem: ERM, y, s, G, index):
        """v of step 3."""
        target, c, old = (a.at[index].get(mode="clip") for a in (problem.y, problem.c, s))
        change = problem.loss.slope(problem.rows.dot(index, y), target) - old
        scale = (problem.n / self.b) * c
        scaled = scale.reshape(-1, *(1,) * (change.ndim - 1)) * change
        return problem.rows.add(G, index, scaled)

    def step(self, problem: ERM, state: EpochState, sample: Epoch) -> EpochState:
        s = slopes(problem, state.x)
        G = data_gradient(problem, s)

        def inner(carry, index):
            y, left = carry
            v = self.direction(problem, y, s, G, index)
            new = problem.regularizer.prox(y - state.h * v, state.h * problem.lam)
            return (jnp.where(left > 0, new, y), left - 1), None

        (y, _), _ = lax.scan(inner, (state.x, sample.length), sample.visits.index)
        return EpochState(y, state.h)

    def point(self, problem: ERM, state: EpochState) -> Point:
        del problem
        return Point(state.x)

    def spent(self, problem: ERM) -> Spent:
        work = 1.0 + self.inner_steps(problem) * self.b / problem.n
        return Spent(work=work, oracle_calls=0.0, updates=1.0)

    def factor(self, problem: ERM):
        """rho."""
        m, h, mu = self.inner_steps(problem), self.step_size(problem), problem.lam
        x = 4.0 * h * data_smoothness(problem) * self.spread(problem)
        return 1.0 / (m * h * mu * (1.0 - x)) + x * (m + 1) / (m * (1.0 - x))

    def bound(self, problem: ERM, t):
        """rho^t gap_0 after t epochs."""
        return after_epochs(problem, self.factor(problem), t)
