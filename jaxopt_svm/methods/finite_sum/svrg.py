r"""SVRG and S2GD: stochastic steps corrected by a full gradient, epoch after epoch.

    minimise P(w) = (1/n) sum_i f_i(w)      (terms.py)

    1. s_i = phi'(<x_i, x>, y_i) for all i;   g = sum_i c_i s_i x_i          one pass
    2. y = x; draw the length t <= m
    3. t times, i uniform:  y -= h (n c_i (phi'(<x_i, y>, y_i) - s_i) x_i + g + lam y)
    4. x = y

The direction is f_i'(y) - f_i'(x) + grad P(x): its mean is grad P(y), its variance vanishes at w*.
Nothing is remembered between epochs but x.

    svrg   option I: t = m.  option II: t uniform on 0..m-1 (``law=AnyBefore()``)
    s2gd   Prob(t) proportional to (1 - nu h)^(m - t): long epochs are likelier

Lecture "Empirical Risk Minimization" (Richtarik), SVRG and S2GD.
Johnson & Zhang, NIPS 2013; Konecny & Richtarik, Front. Appl. Math. Stat. 3 (2017),
arXiv:1312.1666.

Rate per epoch, E[P(x+) - P*] <= factor (P(x) - P*), L = Lf, mu = lam:
    II     1/(mu h (1 - 2Lh) m) + 2Lh/(1 - 2Lh)
    S2GD   (1 - nu h)^m/(beta mu h (1 - 2Lh)) + 2(L - mu)h/(1 - 2Lh),  beta = sum_t (1 - nu h)^(m-t)
    checked exactly in proofs_checks/svrg_epochs.py
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.core.visits import BLOCK, Visits
from jaxopt_svm.methods.finite_sum.lengths import (
    AnyBefore,
    Epoch,
    EpochState,
    Geometric,
    Last,
)
from jaxopt_svm.methods.finite_sum.terms import (
    after_epochs,
    check_terms,
    data_gradient,
    slopes,
    term_smoothness,
)
from jaxopt_svm.problems.erm import ERM

__all__ = ["SVRG", "s2gd"]


@register(
    Info(
        name="svrg",
        family="finite_sum",
        problems="ERM, smooth loss, l2",
        certificate="from slopes",
        lecture="Empirical Risk Minimization: SVRG",
        reference="Johnson & Zhang, NIPS 2013",
    )
)
@pytree
class SVRG(Visits):
    """No memory of size n. Cost of an epoch: 1 + m/n passes.

    h: 1/(10 Lf) unless given. m: inner steps, 2n unless given. law: the length of an epoch.
    """

    h: Any = None
    law: Any = Last()
    sampling: Any = Shuffled()
    m: int | None = static(default=None)
    block: int = static(default=BLOCK)

    bound_on = "primal"

    def check(self, problem) -> None:
        check_terms(self, problem)
        if self.m is not None and self.m < 1:
            raise ValueError(f"SVRG: m must be at least 1; got {self.m}")

    def inner_steps(self, problem: ERM) -> int:
        return 2 * problem.n if self.m is None else self.m

    def step_size(self, problem: ERM):
        h = 0.1 / term_smoothness(problem) if self.h is None else self.h
        return jnp.asarray(h, problem.lam.dtype)

    def init(self, problem: ERM, start: Point | None = None) -> EpochState:
        x = (problem.origin() if start is None else start).w
        return EpochState(x, self.step_size(problem))

    def draw(self, problem: ERM, key: Array) -> Epoch:
        """One epoch: whole passes of examples, as many as m steps need."""
        order, length = jax.random.split(key)
        m = self.inner_steps(problem)
        keys = jax.random.split(order, -(-m // problem.n))
        passes = jax.vmap(super().draw, (None, 0))(problem, keys)
        visits = jax.tree.map(lambda x: x.reshape(1, -1, *x.shape[2:]), passes)
        return Epoch(visits, self.law.draw(problem, length, m, self.step_size(problem))[None])

    def visit(self, problem: ERM, example: Example, at: At) -> At:
        """Step 3; a visit after the t-th has step size 0."""
        (y, g), (h, left), s_i, (row, target, c) = at.vectors, at.scalars, at.constants, example
        h_now = jnp.where(left > 0, h, 0.0)
        s = problem.loss.slope(row.dot(y), target)
        y = (1.0 - h_now * problem.lam) * y - h_now * g
        y = row.add(y, -h_now * problem.n * c * (s - s_i))
        return At((y, g), (), (h, left - 1), s_i)

    def step(self, problem: ERM, state: EpochState, sample: Epoch) -> EpochState:
        s = slopes(problem, state.x)
        start = At((state.x, data_gradient(problem, s)), (), (state.h, sample.length), s)

        def some(at, visits):
            return self.block_step(self.visit, problem, at, visits, scales=True), None

        return EpochState(lax.scan(some, start, sample.visits)[0].vectors[0], state.h)

    def point(self, problem: ERM, state: EpochState) -> Point:
        del problem
        return Point(state.x)

    def spent(self, problem: ERM) -> Spent:
        m = self.inner_steps(problem)
        return Spent(work=1.0 + m / problem.n, oracle_calls=0.0, updates=1.0)

    def factor(self, problem: ERM):
        """What an epoch multiplies E[P - P*] by, at most."""
        m, h = self.inner_steps(problem), self.step_size(problem)
        L, mu = term_smoothness(problem), problem.lam
        rest = 1.0 - 2.0 * L * h
        if isinstance(self.law, Geometric):
            nu = mu if self.law.nu is None else self.law.nu
            beta = jnp.sum((1.0 - nu * h) ** jnp.arange(m, dtype=mu.dtype))
            return (1.0 - nu * h) ** m / (beta * mu * h * rest) + 2.0 * (L - mu) * h / rest
        return 1.0 / (mu * h * rest * m) + 2.0 * L * h / rest

    def bound(self, problem: ERM, t):
        """factor^t gap_0 after t epochs; option I has no such theorem."""
        if not isinstance(self.law, AnyBefore | Geometric):
            return None
        return after_epochs(problem, self.factor(problem), t)


@register(
    Info(
        name="s2gd",
        family="finite_sum",
        problems="ERM, smooth loss, l2",
        certificate="from slopes",
        lecture="Empirical Risk Minimization: S2GD",
        reference="Konecny & Richtarik 2017, arXiv:1312.1666",
    )
)
def s2gd(h: Any = None, nu: Any = None, m: int | None = None, block: int = BLOCK) -> SVRG:
    """Semi-stochastic gradient descent: SVRG with a geometric law for the length of an epoch."""
    return SVRG(h, Geometric(nu), m=m, block=block)
