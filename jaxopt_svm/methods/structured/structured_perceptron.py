r"""The structured perceptron and its average: promote the truth, demote what was decoded.

    y' = argmax_y <w, psi(x_i, y)>                                  no loss is added
    if y' != y_i:  w <- w - gamma n c_i [psi(x_i, y') - psi(x_i, y_i)]    a mistake

It is SGD on sum_i c_i max_y <w, psi(x_i, y) - psi(x_i, y_i)>: no margin, no regulariser; a constant
gamma only scales w. Without weights n c_i = 1; an example of weight 0 might as well not be there.
Ties are mistakes (w = 0 is one for every example): a label as good as the truth up to ``tie`` gamma
times its loss is taken for the better one.
The average over all examples seen, w_0 = 0 among them, by one more vector:
    u <- u + c times the move of w, at example number c = 1, 2, ...;  mean = w - u/c

Lecture "Stochastic Gradient Descent for Structures" (Srikumar); Collins, EMNLP 2002.
Separable by a unit vector with margin delta, ||psi(x_i, y) - psi(x_i, y_i)|| <= Dm:
    mistakes <= (Dm/delta)^2                              proofs_checks/perceptron_mistakes.py
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.methods.refusals import needs_structures
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["StructuredPerceptron", "averaged_perceptron"]


class PerceptronState(NamedTuple):
    """w, u: (d,); u is () without the average. c: examples seen, and one. mistakes: a count."""

    w: Array
    u: Any
    c: Array
    mistakes: Array


def _info(name: str, what: str) -> Info:
    return Info(
        name=name,
        family="structured",
        problems="structured, with or without a margin",
        certificate="from decoded labels",
        lecture=f"Stochastic Gradient Descent for Structures: {what}",
        reference="Collins 2002, EMNLP",
    )


@register(_info("structured_perceptron", "structured perceptron"))
@pytree
class StructuredPerceptron:
    """No lam in its steps: the certificate says how good its w is for the problem's lam.

    gamma: the step. tie: see above. average: return the mean of all iterates, the usual choice.
    """

    gamma: float = 1.0
    tie: float = 1e-6
    sampling: Any = Shuffled()
    average: bool = static(default=False)

    @property
    def name(self) -> str:
        return "averaged_perceptron" if self.average else "structured_perceptron"

    def check(self, problem) -> None:
        needs_structures(self, problem)
        self.sampling.check(problem)
        if not self.gamma > 0 or not self.tie > 0:
            raise ValueError(
                f"gamma and tie: expected positive numbers; got {self.gamma}, {self.tie}"
            )

    def init(self, problem: Structured, start: Point | None = None) -> PerceptronState:
        w = problem.origin().w if start is None else jnp.asarray(start.w)
        u = jnp.zeros_like(w) if self.average else ()
        return PerceptronState(w, u, jnp.ones((), jnp.int32), jnp.zeros((), jnp.int32))

    def draw(self, problem, key: Array) -> Sample:
        return self.sampling.draw(problem, key, 1)

    def step(self, problem: Structured, state: PerceptronState, sample: Sample) -> PerceptronState:
        w, u, c, mistakes = state
        example, model = problem.take(sample.index[0]), problem.model
        x, y = example.x, example.y
        lean = jax.tree.map(lambda l: self.tie * self.gamma * l, model.loss(x, y))
        theta = jax.tree.map(jnp.add, model.potentials(w, x), lean)
        label = model.decode(theta, x)[1].astype(problem.y.dtype)
        found, truth = (model.statistics(x, a) for a in (label, y))
        gamma, here = self.gamma * problem.n * example.c, example.c > 0
        step = jax.tree.map(lambda a, b: gamma * (b - a), found, truth)
        wrong = here & (model.score(model.loss(x, y), x, label) > 0)
        if self.average:
            u = model.add(u, x, jax.tree.map(lambda s: c.astype(w.dtype) * s, step))
        w = model.add(w, x, step)
        return PerceptronState(w, u, c + here.astype(c.dtype), mistakes + wrong.astype(c.dtype))

    def point(self, problem, state: PerceptronState) -> Point:
        if not self.average:
            return Point(state.w)
        return Point(state.w - state.u / state.c.astype(state.w.dtype))

    def spent(self, problem) -> Spent:
        return Spent(work=1.0, oracle_calls=float(problem.n), updates=float(problem.n))

    def bound(self, problem, t):
        """A bound on mistakes, not on P."""
        del problem, t


@register(_info("averaged_perceptron", "averaged perceptron"))
def averaged_perceptron(gamma: float = 1.0) -> StructuredPerceptron:
    """The mean of all iterates of the structured perceptron."""
    return StructuredPerceptron(gamma, average=True)
