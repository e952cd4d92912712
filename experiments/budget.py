"""The time an experiment may take: 8 minutes, or 20 seconds with --quick, compilation included.

An experiment goes through its parts with ``each``, which shows a bar, starts nothing when the time
is up, and remembers what was left out; the runner then says so in the answer.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

from jaxopt_svm.data.extra import need

__all__ = ["FULL", "QUICK", "Budget", "OutOfTime", "budget", "each", "enough"]

FULL, QUICK = 480.0, 20.0
T = TypeVar("T")


class OutOfTime(Exception):
    """Too little was measured for an answer."""


def _processor_seconds() -> float:
    """Of this process and of those it has started and seen end."""
    return sum(os.times()[:4])


class Budget:
    """A clock that started when it was made. share: of the time, for parts that start new work."""

    def __init__(self, seconds: float = float("inf"), share: float = 0.8):
        self.seconds, self.share = seconds, share
        self.started = time.perf_counter(), _processor_seconds()
        self.left_out: list[str] = []

    @property
    def spent(self) -> float:
        """By the clock, or by the processors where others keep them busy: the smaller."""
        wall, own = self.started
        return min(time.perf_counter() - wall, _processor_seconds() - own)

    @property
    def left(self) -> float:
        """Seconds in which new work may start."""
        return self.share * self.seconds - self.spent

    def allows(self, what: str) -> bool:
        """Whether there is time; if not, ``what`` is remembered as left out."""
        if self.left > 0:
            return True
        self.left_out.append(what)
        return False

    def said(self) -> str:
        """A sentence on what was left out or took too long; empty if there is nothing to say."""
        if self.left_out:
            return f" The budget of {self.seconds:g} s left out: {', '.join(self.left_out)}."
        if self.spent > self.seconds:
            return f" It took {self.spent:.0f} s, over its budget of {self.seconds:g} s."
        return ""

    def __enter__(self) -> "Budget":
        self._token = _CURRENT.set(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _CURRENT.reset(self._token)


_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)


def budget() -> Budget:
    """The one under which we run; without one, all the time there is."""
    return _CURRENT.get() or Budget()


def enough(measured: bool) -> None:
    """Refuse to answer when the parts that the answer is made of were left out."""
    if not measured:
        raise OutOfTime(f"too little time for an answer.{budget().said()}")


def each(items: Iterable[T], name: str = "", label: Callable[[T], str] = str) -> Iterator[T]:
    """The items with a bar, while there is time; the first is always given."""
    known, first, clock = list(items), True, budget()
    for item in need("tqdm", "a progress bar").tqdm(known, desc=name, leave=False):
        if first or clock.allows(f"{name} {label(item)}".strip()):
            first = False
            yield item
