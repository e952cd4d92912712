r"""A primal method with a dual companion: the certificate of any w can be made to close.

A primal-only method is certified by alpha_i = -phi'_i(w). For a smooth loss that gap closes; for
the hinge it need not, however good w is. Certified(method) runs dual passes (SDCA unless told
otherwise) beside the method, started from those slopes. ``w`` is the method's own, untouched;
only the lower bound improves. Cost: one pass of each a pass.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
from jax import lax

from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import name_of
from jaxopt_svm.core.run import prepare
from jaxopt_svm.methods.dual.sdca import SDCA
from jaxopt_svm.wrappers.wrapper import aimed, holding, roomier

__all__ = ["Certified", "CertifiedState"]


class CertifiedState(NamedTuple):
    """primal: the method's state. dual: its companion's."""

    primal: Any
    dual: Any


@pytree
class Certified:
    """``method`` for w, ``companion`` for the dual point. One step is a whole pass of both."""

    method: Any
    companion: Any = SDCA()

    bound_on = "primal"

    @property
    def name(self) -> str:
        return f"certified({name_of(self.method)})"

    def check(self, problem) -> None:
        self.method.check(problem)
        self.companion.check(problem)

    def prepare(self, problem):
        return prepare(prepare(problem, self.method), self.companion)

    def grown(self):
        """Both get more room where they can: the flag does not say which of them asked."""
        mine, theirs = roomier(self.method), roomier(self.companion)
        if mine is None and theirs is None:
            return None
        mine, theirs = mine or self.method, theirs or self.companion
        return dataclasses.replace(self, method=mine, companion=theirs)

    def holding(self, start: Point):
        """A companion with a capacity starts from one label an example, which any holds."""
        return dataclasses.replace(self, method=holding(self.method, start))

    def aim(self, problem, state: CertifiedState, samples):
        mine, theirs = jax.tree.map(lambda x: x[0], samples)
        mine = aimed(self.method, problem, state.primal, mine)
        theirs = aimed(self.companion, problem, state.dual, theirs)
        return jax.tree.map(lambda x: x[None], (mine, theirs))

    def init(self, problem, start: Point | None = None) -> CertifiedState:
        primal = self.method.init(problem, start)
        first = self.method.point(problem, primal)
        if hasattr(self.companion, "grown"):  # labels of the method might find no room
            first = Point(first.w)
        return CertifiedState(primal, self.companion.init(problem, problem.complete(first)))

    def draw(self, problem, key):
        keys = jax.random.split(key)
        samples = (self.method.draw(problem, keys[0]), self.companion.draw(problem, keys[1]))
        return jax.tree.map(lambda x: x[None], samples)

    def step(self, problem, state: CertifiedState, sample) -> CertifiedState:
        def whole_pass(method, state, samples):
            return lax.scan(lambda s, x: (method.step(problem, s, x), None), state, samples)[0]

        mine, theirs = sample
        return CertifiedState(
            whole_pass(self.method, state.primal, mine),
            whole_pass(self.companion, state.dual, theirs),
        )

    def point(self, problem, state: CertifiedState) -> Point:
        w = self.method.point(problem, state.primal).w
        return Point(w, self.companion.point(problem, state.dual).dual)

    def spent(self, problem) -> Spent:
        mine, theirs = self.method.spent(problem), self.companion.spent(problem)
        return Spent(mine.work + theirs.work, mine.oracle_calls + theirs.oracle_calls, mine.updates)

    def bound(self, problem, t):
        return self.method.bound(problem, t)
