r"""Claim. The gap splits into terms that are all >= 0: for any w and any feasible alpha

    P(w) - D(alpha) = lam {g(w) + g*(abar) - <w, abar>}
                      + sum_i c_i {phi_i(<x_i, w>) + phi_i*(-alpha_i) + alpha_i <x_i, w>}

because lam <w, abar> = sum_i c_i alpha_i <x_i, w>. Weak duality follows, term by term.
Lecture "Empirical Risk Minimization" (Richtarik), Fenchel duality.

Check. Random w and alpha, all losses, l2 and elastic net, weights, one output and three. Two
false variants, both of which have to fail in every case: the formula as printed, where the mean
covers only its first term because a parenthesis is missing, and the sign of alpha_i <x_i, w>
turned round.
"""

import jax
import jax.numpy as jnp
import numpy as np

from proofs_checks.claims import (
    PAIRS,
    VECTOR_PAIRS,
    Claim,
    Result,
    equal,
    feasible,
    inner,
    smallest,
    toy,
)

COUNT = 300


def terms(problem, w, alpha):
    """The brace of g, and of each example its three parts."""
    g, z, abar = problem.regularizer, problem.rows.matvec(w), problem.abar(alpha)
    brace = g.value(w) + g.conj(abar) - jnp.vdot(w, abar)
    return (
        brace,
        problem.loss.value(z, problem.y),
        -problem.loss.neg_conj(alpha, problem.y),
        inner(alpha, z),
    )


@jax.jit
def slacks(problem, ws, alphas):
    def one(w, alpha):
        c, lam = problem.c, problem.lam
        gap = problem.primal(w) - problem.dual(alpha)
        brace, phi, conj, product = terms(problem, w, alpha)
        true = jnp.minimum(
            equal(gap, lam * brace + jnp.sum(c * (phi + conj + product))),
            jnp.minimum(brace, jnp.min(phi + conj + product)),
        )
        printed = equal(gap, lam * brace + jnp.sum(c * phi) + jnp.sum(conj + product))
        sign = equal(gap, lam * brace + jnp.sum(c * (phi + conj - product)))
        return true, printed, sign

    return [jnp.min(s) for s in jax.vmap(one)(ws, alphas)]


def case(loss, regularizer, rng):
    problem = toy(loss, regularizer)
    ws = jnp.asarray(2.0 * rng.normal(size=(COUNT, *problem.origin().w.shape)))
    return slacks(problem, ws, feasible(problem, rng, COUNT))


def check() -> Result:
    rng = np.random.default_rng(4)
    found = [case(loss, g, rng) for loss, g in (*PAIRS, *VECTOR_PAIRS)]
    wrong = max(float(s) for _, *false in found for s in false)
    return Result(smallest(*(t for t, *_ in found)), wrong)


claim = Claim(
    name="split_identity",
    text="P - D is a sum of Fenchel-Young terms, each >= 0",
    lecture="Empirical Risk Minimization: Fenchel duality",
    check=check,
)
