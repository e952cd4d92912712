r"""Claim. On data that a unit vector separates with margin delta, ||Psi|| <= Dm, the structured
perceptron makes at most (Dm/delta)^2 mistakes, in any order, however many passes; ties count, and
a constant gamma only scales w. The mean of all iterates is w - u/c, with u <- u - c gamma Psi.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), perceptron; Collins 2002.

Check. Separable tables in random orders, with the margin of a vector that separates them; the bound
is attained when all Psi are orthogonal. False variant: half the bound there.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import StructuredPerceptron
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import written

PASSES = 40


@jax.jit
def perceptron(problem, method, order):
    def step(state, i):
        state = method.step(problem, state, Sample(i[None]))
        return state, (state.w, state.mistakes)

    state, (ws, mistakes) = lax.scan(step, method.init(problem), order)
    return method.point(problem, state).w, ws, mistakes


def separable(rng, n=6, labels=5, d=3):
    """Tables with <v, Psi> <= -0.3 for a unit vector v, and that margin."""
    v = rng.normal(size=d)
    v /= np.linalg.norm(v)
    Psi = rng.normal(size=(n, labels, d))
    excess = np.maximum(Psi @ v + 0.3, 0)
    Psi = Psi - excess[..., None] * v
    Psi[:, 0] = 0.0
    losses = np.ones((n, labels))
    losses[:, 0] = 0.0
    delta = -(Psi[:, 1:] @ v).max()
    return written(Psi, losses), delta, np.linalg.norm(Psi, axis=-1).max()


def orthogonal(n=3):
    """Psi_i(y) = -e_i for every wrong label: n mistakes, delta = 1/sqrt(n)."""
    Psi = np.zeros((n, 5, 3))
    Psi[np.arange(n), 1:, np.arange(n)] = -1.0
    losses = np.ones((n, 5))
    losses[:, 0] = 0.0
    return written(Psi, losses)


def check() -> Result:
    rng, true = np.random.default_rng(57), []
    for _ in range(8):
        problem, delta, Dm = separable(rng)
        order = np.concatenate([rng.permutation(6) for _ in range(PASSES)]).astype(np.int32)
        run = lambda gamma, problem=problem, order=order: map(
            np.asarray, perceptron(problem, StructuredPerceptron(gamma, average=True), order)
        )
        (mean, ws, count), (seven, _, same) = run(1.0), run(7.0)
        bound = (Dm / delta) ** 2
        true += [bound - count[-1], -abs(float(count[-1] - same[-1])), equal(seven, 7.0 * mean)]
        true.append(equal(mean, ws.sum(0) / (len(order) + 1)))
        # done: a whole pass without a mistake once there are few enough left
        true.append(0.0 if count[-7] == count[-1] or len(order) < bound else -1.0)
    order = jnp.arange(6, dtype=jnp.int32) % 3
    tight = float(perceptron(orthogonal(), StructuredPerceptron(), order)[2][-1])
    return Result(smallest(*true, 3.0 - tight), 3.0 / 2 - tight)


claim = Claim(
    name="perceptron_mistakes",
    text="structured perceptron: at most (Dm/delta)^2 mistakes, attained; its lazy average",
    lecture="SGD for Structures: structured perceptron",
    check=check,
)
