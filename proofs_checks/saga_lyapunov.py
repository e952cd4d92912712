r"""Claim. With u_i the point where example i was last visited, k = 1/(2 eta (1 - eta lam) n) and

    T = sum_i c_i {phi_i(u_i) - phi_i(w*) - phi_i'(w*) <x_i, u_i - w*>} + k ||w - w*||^2

one step of SAGA on a uniform example gives, from any w and any u,

    E[T+] <= (1 - eta lam) T                             for eta = 1/(2 (lam n + Lf))
    E[T+] <= (1 - min(1/(4n), lam/(3 Lf))) T             for eta = 1/(3 Lf)

Lecture "Empirical Risk Minimization" (Richtarik), SAGA; Defazio, Bach & Lacoste-Julien, NIPS 2014,
arXiv:1407.0202. The slopes alone are remembered, lam w is kept outside.

Check. The package's own step on every example, from random and from nearly optimal states, smooth
losses, weighted. False variant: twice the contraction.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SAGA, Logistic, Point, SmoothHinge, Uniform
from jaxopt_svm.core.blocks import At
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.finite_sum.terms import data_gradient, term_smoothness
from proofs_checks.claims import Claim, Result, optimum, smallest, spread, toy

COUNT = 200


@jax.jit
def slacks(problem, method, share, best: Point, ws, us):
    X, k = problem.rows.toarray(), method.potential_weight(problem)
    at_best = X @ best.w
    slope = problem.loss.slope(at_best, problem.y)

    def potential(w, u):
        z = jnp.sum(X * u, axis=1)
        bregman = problem.loss.value(z, problem.y) - problem.loss.value(at_best, problem.y)
        bregman = bregman - slope * (z - at_best)
        return jnp.sum(problem.c * bregman) + k * jnp.sum((w - best.w) ** 2)

    def one(w, u):
        s = problem.loss.slope(jnp.sum(X * u, axis=1), problem.y)
        state = At((w, data_gradient(problem, s)), (s,), (method.step_size(problem),))

        def after(i):
            new = method.step(problem, state, Sample(i[None]))
            return potential(new.vectors[0], u.at[i].set(w))

        mean = jnp.mean(jax.vmap(after)(jnp.arange(problem.n, dtype=jnp.int32)))
        now = potential(w, u)
        # relative, since T spans many orders of magnitude
        return (1 - share) - mean / now, (1 - 2 * share) - mean / now

    return [jnp.min(s) for s in jax.vmap(one)(ws, us)]


def check() -> Result:
    rng, found = np.random.default_rng(5), []
    for loss in (SmoothHinge(0.5), Logistic()):
        problem = toy(loss, lam=0.3)
        best, (n, d) = optimum(problem), problem.rows.shape
        size = spread(rng, -2.0, 1.0, COUNT, 1)
        ws = best.w[None] + size * rng.normal(size=(COUNT, d))
        us = best.w[None, None] + size[:, None] * rng.normal(size=(COUNT, n, d))
        # a third of the states differs from the optimum in w only, a third in u only
        third = COUNT // 3
        us[:third], ws[third : 2 * third] = best.w, best.w
        small = 1.0 / (2.0 * (problem.lam * n + term_smoothness(problem)))
        method = SAGA(sampling=Uniform(), block=1)
        careful = SAGA(small, Uniform(), block=1)
        found.append(slacks(problem, careful, small * problem.lam, best, ws, us))
        found.append(slacks(problem, method, method.contraction(problem), best, ws, us))
    return Result(smallest(*(t for t, _ in found)), smallest(*(f for _, f in found)))


claim = Claim(
    name="saga_lyapunov",
    text="SAGA's Lyapunov function contracts on average, for both step sizes",
    lecture="Empirical Risk Minimization: SAGA",
    check=check,
)
