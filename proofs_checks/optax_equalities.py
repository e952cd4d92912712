r"""Claim. The package's AdaGrad, RMSProp and Adam are the recursions of the slides,

    AdaGrad  v += g^2                       w -= gamma g/sqrt(v)    first step gamma sign(g)
    RMSProp  v = beta v + (1 - beta) g^2    w -= gamma g/sqrt(v)    the same over sqrt(1 - beta)
    Adam     m, v with 1 - beta^t           w -= gamma m/(sqrt(v) + eps)

with the current g in v, and a rate of 0 for features never seen, where the slide has 0/0. C g in
place of g changes nothing: C must enter through the shrink, in the three ways of ``Adaptive``.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), per-parameter rates.

Check. Trajectories of the package in all nine combinations against numpy, gradients taken from the
problem; one feature is never seen. False variant: optax.adagrad as it comes, whose accumulator
starts at 0.1.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from jaxopt_svm import (
    AdaGrad,
    Adam,
    Adaptive,
    Constant,
    Coupled,
    Decoupled,
    Preconditioned,
    RMSProp,
)
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import written

STEPS, GAMMA, LAM = 30, 0.3, 0.2
BETA, B1, B2, EPS = 0.9, 0.9, 0.999, 1e-8


def toy():
    rng = np.random.default_rng(7)
    Psi, losses = rng.normal(size=(6, 5, 3)), rng.uniform(0.3, 1.5, (6, 5))
    Psi[:, 0], losses[:, 0], Psi[:, :, 2] = 0.0, 0.0, 0.0
    return written(Psi, losses, lam=LAM)


@jax.jit
def run(problem, method, order):
    def step(state, i):
        sample = Sample(i[None])
        g = problem.loss_grad(state.w, sample)
        state = method.step(problem, state, sample)
        return state, (g, state.w)

    return lax.scan(step, method.init(problem), order)[1]


def recursion(scaling, shrink, gs, ws):
    """The slide's next w from each of the package's w."""
    v, m, out = np.zeros(3), np.zeros(3), []
    for t, (g, w) in enumerate(zip(gs, ws), 1):
        h = g + LAM * w if isinstance(shrink, Coupled) else g
        match scaling:
            case AdaGrad():
                v = v + h**2
                top, size = h, np.sqrt(v)
            case RMSProp():
                v = BETA * v + (1 - BETA) * h**2
                top, size = h, np.sqrt(v)
            case _:
                m, v = B1 * m + (1 - B1) * h, B2 * v + (1 - B2) * h**2
                top, size = m / (1 - B1**t), np.sqrt(v / (1 - B2**t)) + EPS
        over = lambda a, v=v, size=size: np.where(v > 0, a / np.where(v > 0, size, 1), 0)
        move = over(top)
        if isinstance(shrink, Preconditioned):
            shrink_part = over(LAM * w)
            far = GAMMA * np.abs(shrink_part) > np.abs(w)  # it never crosses zero
            move = over(top) + np.where(far, w / GAMMA, shrink_part)
        elif isinstance(shrink, Decoupled):
            move = over(top) + LAM * w
        out.append(w - GAMMA * move)
    return np.array(out)


def check() -> Result:
    problem = toy()
    order = jnp.asarray(np.random.default_rng(59).integers(0, 6, STEPS, dtype=np.int32))
    true, g = [], jnp.asarray([0.5, -2.0, 0.0])
    for scaling in (AdaGrad(), RMSProp(BETA), Adam(B1, B2, EPS)):
        for shrink in (Preconditioned(), Coupled(), Decoupled()):
            method = Adaptive(scaling, Constant(GAMMA), shrink, batch=1)
            gs, after = map(np.asarray, run(problem, method, order))
            before = np.concatenate([np.zeros((1, 3)), after[:-1]])
            true.append(equal(after, recursion(scaling, shrink, gs, before)))
        tx = scaling.tx()
        with jax.numpy_dtype_promotion("standard"):  # optax mixes integer counts with floats
            steps = [tx.update(C * g, tx.init(g), g)[0] for C in (1.0, 1e4)]
        true.append(1e-7 + equal(steps[0], steps[1]))  # Adam's eps is not scaled
        factor = 1 / np.sqrt(1 - BETA) if isinstance(scaling, RMSProp) else 1.0
        true.append(1e-7 + equal(steps[0], factor * jnp.sign(g)))
    plain = optax.adagrad(1.0)
    first = -jnp.asarray(plain.update(g, plain.init(g), g)[0])
    return Result(smallest(*true), smallest(equal(first, jnp.sign(g))))


claim = Claim(
    name="optax_equalities",
    text="AdaGrad, RMSProp, Adam in three shrink modes equal the slides; C in g changes nothing",
    lecture="SGD for Structures: per-parameter rates",
    check=check,
)
