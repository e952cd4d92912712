r"""Claim. 1/2 ||w||^2 + C sum_i max_y H_i is P/lam at lam = 1/(C n): the same minimiser, gaps times
C n. The step on the slides, w <- (1 - gamma) w - C gamma [psi(x_i, u) - psi(x_i, y_i)], is that of
lam = 1/C with eta = C gamma: its mean direction is the gradient of 1/2 ||w||^2 + (C/n) sum_i. The
unbiased step has C n for C. And C large does not take the shrink away: w = C v turns the step into
the one with C = 1 and losses l/C, so it is the losses that go; the shrink goes if gamma = gamma'/C.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), SGD for structural SVM.

Check. The mean over all examples of the package's step in both scales, at many w; trajectories of
w/C and v. Two false variants, both of which have to fail: the slide's step as a step of the sum,
and a large C as if it left the perceptron with margin (no shrink) at a fixed gamma.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import CForm, Constant, Point, SlideScale, StructuredSGD, SumScale
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.structured.structured_sgd import Turn
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import listed, optimum, written

GAMMA, C, COUNT = 0.25, 0.4, 30


def toy(lam: float, share: float = 1.0):
    """Equal weights, losses times ``share``."""
    rng = np.random.default_rng(6)
    Psi, losses = rng.normal(size=(6, 5, 3)), rng.uniform(0.3, 1.5, (6, 5))
    Psi[:, 0], losses[:, 0] = 0.0, 0.0
    return written(Psi, share * losses, lam=lam)


@jax.jit
def mean_direction(problem, ws):
    """E[(w - w+)/gamma] over the examples."""
    method = StructuredSGD(CForm(Constant(GAMMA)), capacity=0)

    def one(w, i):
        state = method.init(problem, Point(w))
        state = method.step(problem, state, Turn(Sample(i[None]), jnp.asarray(True)))
        return (w - method.point(problem, state).w) / GAMMA

    every = jnp.arange(problem.n, dtype=jnp.int32)
    return jax.vmap(lambda w: jnp.mean(jax.vmap(one, (None, 0))(w, every), axis=0))(ws)


@jax.jit
def path(problem, eta, order):
    """w after each step, with or without the shrink that lam = 0 takes away."""
    method = StructuredSGD(Constant(eta), capacity=0)

    def step(state, i):
        state = method.step(problem, state, Turn(Sample(i[None]), jnp.asarray(True)))
        return state, method.point(problem, state).w

    return lax.scan(step, method.init(problem), order)[1]


def check() -> Result:
    rng = np.random.default_rng(56)
    ws = jnp.asarray(2 * rng.normal(size=(COUNT, 3)))
    n, true = 6, []
    slide, total = toy(SlideScale().lam(C, 6)), toy(SumScale().lam(C, 6))
    true += [equal(SlideScale().C(slide), C), equal(SumScale().C(total), C)]
    facts = listed(total)
    objective = lambda w: np.sum(w**2, -1) / 2 + C * facts.scores(w).max(-1).sum(-1)
    true.append(equal(jax.vmap(total.primal)(ws) / total.lam, objective(np.asarray(ws))))
    best = facts.w_of(optimum(facts))
    gap = (facts.primal(np.asarray(ws)) - facts.primal(best)) * C * n
    true.append(equal(objective(np.asarray(ws)) - objective(best), gap))
    # the gradients of 1/2 ||w||^2 + (C/n) sum and of 1/2 ||w||^2 + C sum
    of_mean, of_sum = (jax.vmap(p.grad)(ws) / p.lam for p in (slide, total))
    printed = mean_direction(slide, ws)
    true += [equal(printed, of_mean), equal(mean_direction(total, ws), of_sum)]
    false = [smallest(jnp.max(equal(printed, of_sum), axis=0))]
    # w = C v
    order, large = jnp.asarray(rng.integers(0, n, 60, dtype=np.int32)), 1e4
    w = path(toy(1 / large), GAMMA * large, order)
    v = path(toy(1.0, 1 / large), GAMMA, order)
    no_shrink = dataclasses.replace(toy(1.0), lam=jnp.zeros(()))
    free = path(no_shrink, GAMMA * large, order)
    true.append(equal(w / large, v))
    false.append(smallest(equal(w / large, free / large)))
    # gamma = gamma'/C: the shrink goes
    slow = path(toy(1e-9), 0.1, order)
    true.append(1e-6 + equal(slow, path(no_shrink, 0.1, order)))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="c_form",
    text="C = 1/(lam n) for the sum, 1/lam for the slide's step; a large C keeps the shrink",
    lecture="SGD for Structures: SGD for structural SVM",
    check=check,
)
