r"""Claim. Gradient descent with step gamma lowers an L-smooth f at every step if gamma < 2/L, and
for convex f leads to the global minimum, linearly when f is strongly convex; without smoothness a
constant step stalls at a distance of the order of gamma, and steps 1/(lam t) converge like 1/t.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), gradient descent and its cost.

Check. The package's subgradient method on a least squares problem for gamma L = 0.5, 1, 1.9, and on
1/2 w^2 + |w| (absolute loss). Two false variants, both of which have to fail: descent for any
gamma, at gamma L = 2.4; and a linear rate with a constant step on the second function.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import Absolute, Constant, InverseLam, Point, Squared, Subgradient, make_erm
from proofs_checks.claims import Claim, Result, optimum, smallest, toy

STEPS = 300


@jax.jit
def values(problem, method, start):
    """P(w_0), P(w_1), ..."""

    def step(state, sample):
        state = method.step(problem, state, sample)
        return state, problem.primal(method.point(problem, state).w)

    state = method.init(problem, Point(start))
    rest = lax.scan(step, state, jnp.zeros(STEPS, jnp.int32))[1]
    return jnp.concatenate([problem.primal(start)[None], rest])


def check() -> Result:
    problem = toy(Squared(0.7))
    X = np.asarray(problem.rows.matvec(jnp.eye(problem.d)))
    hessian = X.T @ (np.asarray(problem.c)[:, None] * X) / 0.7 + float(problem.lam) * np.eye(5)
    L, least = np.linalg.eigvalsh(hessian)[-1], float(problem.primal(optimum(problem).w))
    start = jnp.ones(problem.d)
    fall = lambda share: -jnp.diff(values(problem, Subgradient(Constant(share / L)), start)[:20])
    true = [fall(share) for share in (0.5, 1.0, 1.9)]
    mu, f = float(problem.lam), values(problem, Subgradient(Constant(1 / L)), start)
    t = np.arange(STEPS + 1)
    true.append((1 - mu / L) ** t * (f[0] - least) - (f - least))
    # 1/2 w^2 + |w|: one example of weight 1, lam = 1
    corner = make_erm(np.ones((1, 1)), np.zeros(1), loss=Absolute(), lam=1.0)
    w0 = jnp.asarray([1.003])
    stuck = values(corner, Subgradient(Constant(0.1)), w0)[-50:]
    moving = values(corner, Subgradient(InverseLam(0.37)), w0)
    true += [jnp.max(stuck) - 1e-2, 3.0 / (t[10:] + 1) - moving[10:]]
    rises = smallest(fall(2.4))
    return Result(smallest(*true), max(rises, 1e-3 - float(jnp.max(stuck))))


claim = Claim(
    name="gradient_descent",
    text="descent needs gamma < 2/L, a linear rate needs smoothness",
    lecture="SGD for Structures: gradient descent",
    check=check,
)
