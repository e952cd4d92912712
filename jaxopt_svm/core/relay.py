"""Methods one after the other, each from where the one before stopped."""

from typing import Any

from jaxopt_svm.core import registry
from jaxopt_svm.core.pytree import pytree, static

__all__ = ["Relay", "legs_of"]


@pytree
class Relay:
    """``Relay((js.SDCA(), js.ALMNewton()), (5,))``: five passes of SDCA, then Newton.

    methods: the legs. passes: of every leg but the last, which runs until the lane stops.
    lanes: most lanes of a sweep to solve together (None: all); more go in groups from the largest
      lam down, each started from the last lam of the one before.
    apart: of a batch, lanes that are left after the first leg go on a factor ``apart`` in lam from
      each other, and those between them from the best point between their neighbours', which is
      often certified at once (core/rounds.py). None: all go on together.
    A lane that is done leaves on its leg; ``solution.method`` names the legs it took part in.
    """

    methods: tuple[Any, ...]
    passes: tuple[int, ...] = static()
    lanes: int | None = static(default=None)
    apart: float | None = static(default=None)

    def check(self, problem) -> None:
        count = len(self.methods)
        if count < 1 or len(self.passes) != count - 1 or min(self.passes, default=1) < 1:
            raise ValueError(
                f"Relay: expected methods and, for all but the last of them, a number of passes "
                f">= 1; got {count} methods and passes {self.passes}"
            )
        if self.lanes is not None and self.lanes < 1:
            raise ValueError(f"Relay.lanes: expected at least 1, or None; got {self.lanes}")
        if self.apart is not None and not (self.apart > 1 and count > 1):
            raise ValueError(
                f"Relay.apart: expected a factor above 1 and several methods, or None; got "
                f"{self.apart} and {count} methods"
            )
        for method in self.methods:
            method.check(problem)

    def prepare(self, problem):
        """What the first leg wants; the others ask when their turn comes."""
        own = getattr(self.methods[0], "prepare", None)
        return problem if own is None else own(problem)

    @property
    def name(self) -> str:
        return registry.joined(self.methods)


def legs_of(method: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The methods of a relay and the passes after which each but the last hands over."""
    if not isinstance(method, Relay):
        return (method,), ()
    ends = [sum(method.passes[: k + 1]) for k in range(len(method.passes))]
    return tuple(method.methods), tuple(ends)
