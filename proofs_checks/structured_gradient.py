r"""Claim. The slope of D in the mass of a label is that label's loss-augmented score:

    [b - A'A alpha]_i(y) = H_i(y; w(alpha)) = l(y_i, y) + <w, psi(x_i, y) - psi(x_i, y_i)>

with w(alpha) = -A alpha/sqrt(lam) and lam ||w||^2 = ||A alpha||^2. So the steepest feasible
ascent in block i is the corner that loss-augmented decoding finds.
Lecture "Online solvers for convex risk minimization" (Franc), dual problem, steepest ascent.

Check. Automatic differentiation of D, all labels written out, against the package's scores and its
decoding at w(alpha); multiclass and chains, weighted.
False variant: b - 2 A'A alpha, the half of the square lost.
"""

import jax
import jax.numpy as jnp
import numpy as np

from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import chain, listed, mixture, multiclass

COUNT = 100


@jax.jit
def package(problem, labels, ws):
    """(H (n, Y), the values of loss-augmented decoding (n,)) at each w."""
    every = problem.take(jnp.arange(problem.n))

    def scores(w, example, labels):
        theta = problem.potentials(w, example)
        each = jax.vmap(problem.model.score, (None, None, 0))(theta, example.x, labels)
        return each - problem.model.score(theta, example.x, example.y)

    one = lambda w: (jax.vmap(scores, (None, 0, 0))(w, every, labels), problem.oracles(w).value)
    return jax.vmap(one)(ws)


@jax.jit
def slopes(b, A, alphas):
    """Of D(alpha) = <b, alpha> - 1/2 ||A alpha||^2, and of the same with the square not halved."""
    D = lambda alpha, half: jnp.vdot(b, alpha) - half * jnp.sum(jnp.tensordot(A, alpha, 2) ** 2)
    return [jax.vmap(jax.grad(D), (0, None))(alphas, half) for half in (0.5, 1.0)]


def case(problem, rng):
    facts = listed(problem)
    a = facts.masses(rng, COUNT)
    w = facts.w_of(a)
    scores, decoded = package(problem, mixture(problem, facts, a[0]).labels, w)
    A = np.moveaxis(facts.Psi, 2, 0) / np.sqrt(facts.lam)
    right, wrong = slopes(facts.losses, A, facts.c[:, None] * a)
    true = [
        equal(right, scores),
        equal(jnp.max(right, -1), decoded),
        equal(facts.lam * np.sum(w**2, -1), np.sum(facts.image(a) ** 2, -1)),
    ]
    return smallest(*true), smallest(equal(wrong, scores))


def check() -> Result:
    rng = np.random.default_rng(32)
    found = [case(problem, rng) for problem in (multiclass(), chain())]
    return Result(smallest(*(t for t, _ in found)), max(f for _, f in found))


claim = Claim(
    name="structured_gradient",
    text="the gradient of D is the table of loss-augmented scores at w(alpha)",
    lecture="Online solvers: dual problem",
    check=check,
)
