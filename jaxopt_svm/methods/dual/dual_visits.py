r"""The pattern of the dual family: look at a score, move alpha_i, keep abar.

    abar = (1/lam) sum_i c_i alpha_i x_i

A visit of example i
    1. may first move the method's own vectors                         (``before``)
    2. takes the score z = <x_i, .> of the vector it looks at          (``look``)
    3. moves alpha_i as z says                                         (``coordinate``)
    4. adds c_i (new - alpha_i)/lam x_i to abar
    5. may move its own vectors again                                  (``after``)
Serial samplings do this example after example. For a set of examples 1, 2 and 5 happen once
and 3, 4 for every member from the same score vector. State: vectors (own..., abar), tables
(alpha,), constants (p, v) of the sampling where a method reads them.
"""

from typing import Any

from jax import lax

from jaxopt_svm.core.blocks import At, Example, parallel_step
from jaxopt_svm.core.lanes_behind import walk
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.visits import Visits

__all__ = ["DualVisits"]


class DualVisits(Visits):
    """Base of SDCA, Quartz, ASDCA and SPDC: they differ in four short functions."""

    def linear(self, problem) -> bool:
        return problem.regularizer.linear

    def before(self, problem, own: tuple, abar, scalars) -> tuple:
        del problem, abar, scalars
        return own

    def look(self, problem, own: tuple, abar, scalars) -> tuple[Any, Any]:
        """The vector whose product with x_i is the score, and an elementwise map on the way."""
        del own, scalars
        return abar, problem.regularizer.link

    def coordinate(self, problem, example: Example, z, alpha, at: At) -> Any:
        raise TypeError(f"{type(self).__name__} must define coordinate")

    def after(self, problem, own: tuple, old, abar, at: At) -> tuple:
        """``old`` and ``abar`` are before and after the move."""
        del problem, old, abar, at
        return own

    def visit(self, problem, example: Example, at: At) -> At:
        (*first, abar), (alpha,), (row, _, c) = at.vectors, at.tables, example
        own = self.before(problem, tuple(first), abar, at.scalars)
        z = row.dot(*self.look(problem, own, abar, at.scalars))
        new = self.coordinate(problem, example, z, alpha, at)
        moved = row.add(abar, c * (new - alpha) / problem.lam)
        own = self.after(problem, own, abar, moved, at)
        return At((*own, moved), (new,), at.scalars, at.constants)

    def walk_pass(self, problem, state: At, drawn: Sample) -> At:
        behind = getattr(problem.rows, "behind", False)
        if behind and self.sampling.serial and self.linear(problem):
            return walk(self, problem, state, drawn)
        return lax.scan(lambda s, x: (self.step(problem, s, x), None), state, drawn)[0]

    def step(self, problem, state: At, sample: Sample) -> At:
        if self.sampling.serial:
            return super().step(problem, state, sample)
        *first, abar = state.vectors
        own = self.before(problem, tuple(first), abar, state.scalars)
        vector, through = self.look(problem, own, abar, state.scalars)

        def member(problem, example: Example, at: At) -> At:
            (seen, abar), (alpha,), (row, _, c) = at.vectors, at.tables, example
            new = self.coordinate(problem, example, row.dot(seen), alpha, at)
            abar = row.add(abar, c * (new - alpha) / problem.lam)
            return At((seen, abar), (new,), at.scalars, at.constants)

        seen = vector if through is None else through(vector)
        start = At((seen, abar), state.tables, state.scalars, state.constants)
        new = parallel_step(member, problem, start, sample)
        moved = new.vectors[1]
        own = self.after(problem, own, abar, moved, state)
        return At((*own, moved), new.tables, state.scalars, state.constants)
