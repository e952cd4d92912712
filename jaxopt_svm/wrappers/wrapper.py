"""What every wrapper passes on of the method inside it, beyond the protocol.

A label that finds no slot, samples that are aimed by a state, columns made on the host: the drivers
ask the outermost method, and the wrapper asks the one it holds. See ``core.protocols.Method``.
"""

import dataclasses
from typing import Any

import jax

from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.run import prepare

__all__ = ["Wrapper", "aimed", "holding", "roomier"]


def roomier(method):
    """The method with twice the capacity; None where it has no capacity, or none beyond this."""
    return method.grown() if hasattr(method, "grown") else None


def holding(method, start: Point):
    """The method with room for the start."""
    return method.holding(start) if hasattr(method, "holding") else method


def aimed(method, problem, state, samples):
    """The samples of a pass, aimed if the method does that."""
    return method.aim(problem, state, samples) if hasattr(method, "aim") else samples


class Wrapper:
    """A method around ``method``, whose state is ``state.inner``. The host finds the flag ``full``
    of the inner state by itself."""

    method: Any

    whole_pass = True  # a step of the wrapper is a pass of the method: one more axis on samples

    def prepare(self, problem):
        return prepare(problem, self.method)

    def grown(self):
        inner = roomier(self.method)
        return None if inner is None else dataclasses.replace(self, method=inner)  # pyright: ignore

    def holding(self, start: Point):
        return dataclasses.replace(self, method=holding(self.method, start))  # pyright: ignore

    def aim(self, problem, state, samples):
        if not self.whole_pass:
            return aimed(self.method, problem, state.inner, samples)
        inside = jax.tree.map(lambda x: x[0], samples)
        return jax.tree.map(lambda x: x[None], aimed(self.method, problem, state.inner, inside))
