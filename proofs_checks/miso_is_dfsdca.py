r"""Claim. MISO-mu is dfSDCA, and its greedy step is Finito's.

    MISO     z_i = (1 - delta) z_i + delta (w - f_i'(w)/lam),  w = mean z     (n vectors)
    dfSDCA   alpha_i -= delta (phi_i' + alpha_i), w = abar(alpha)             (n numbers)

make the same w, with z_i = (n c_i/lam) alpha_i x_i. With delta = 1 both are Finito with a = 1. The
greedy step diverges for small lam and converges when n >= 2 Lf/lam.
Lecture "Empirical Risk Minimization" (Richtarik), MISO, Finito and dfSDCA.

Check. MISO in its own words against the package's steps over random visits, Finito with a = 1
against the greedy step, and the greedy step's fate at two lam. False variant: Finito with a = 2 is
the greedy step.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import Damping, DfSDCA, Finito, Logistic, Point, Squared, StrongConvexity, Uniform
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.finite_sum.terms import slopes, term_smoothness
from proofs_checks.claims import Claim, Result, equal, iterates, smallest, toy

STEPS = 200


@jax.jit
def miso(problem, delta, order):
    """(T, d) the iterates of MISO-mu as its authors write it, from z = 0."""
    X = problem.rows.toarray()

    def visit(z, i):
        w = jnp.mean(z, axis=0)
        slope = problem.loss.slope(X[i] @ w, problem.y[i])
        gradient = problem.n * problem.c[i] * slope * X[i] + problem.lam * w
        return z.at[i].set((1 - delta) * z[i] + delta * (w - gradient / problem.lam)), w

    return lax.scan(visit, jnp.zeros((problem.n, problem.d)), order)[1]


def started(problem, method, order, alpha):
    """(T, d) iterates from the given dual point."""

    def step(state, i):
        return method.step(problem, state, Sample(i)), method.point(problem, state).w

    start = method.init(problem, Point(jnp.zeros(problem.d), alpha))
    return lax.scan(step, start, order)[1]


def check() -> Result:
    rng = np.random.default_rng(2)
    problem = toy(Logistic())
    order = jnp.asarray(rng.integers(problem.n, size=STEPS), jnp.int32)
    visits, run = order[:, None], jax.jit(started)
    same = [
        equal(
            iterates(problem, DfSDCA(Uniform(), Damping(delta), block=1), visits),
            miso(problem, delta, order),
        )
        for delta in (0.3, 1.0)
    ]
    # Finito starts with the slopes at 0 in its memory
    greedy = DfSDCA(Uniform(), Damping(1.0), block=1)
    there = run(problem, greedy, visits, -slopes(problem, jnp.zeros(problem.d)))
    finito = lambda a: Finito(StrongConvexity(a), Uniform(), block=1)
    same.append(equal(iterates(problem, finito(1.0), visits), there))
    different = equal(iterates(problem, finito(2.0), visits), there)
    # the fate of the greedy step: a bounded path, or one that leaves every bound
    squares = toy(Squared())
    safe = squares.with_lam(4 * term_smoothness(squares.with_lam(0.0)) / squares.n)
    distance = lambda p: jnp.linalg.norm(iterates(p, greedy, visits)[-1] - _optimum(p))
    calm, wild = distance(safe), distance(squares.with_lam(1e-3))
    return Result(smallest(*same, 1e-6 - calm, wild - 1e6), smallest(jnp.min(different)))


def _optimum(problem):
    """w* of least squares."""
    X, c = problem.rows.toarray(), problem.c
    A = (X.T * c[None]) @ X / problem.loss.mu + problem.lam * jnp.eye(problem.d)
    return jnp.linalg.solve(A, X.T @ (c * problem.y) / problem.loss.mu)


claim = Claim(
    name="miso_is_dfsdca",
    text="MISO-mu = dfSDCA, greedy MISO = Finito(a = 1); greedy needs n >= 2 Lf/lam",
    lecture="Empirical Risk Minimization: MISO and dfSDCA",
    check=check,
)
