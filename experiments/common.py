"""What the experiments share: set-up, timing, and where results go."""

import csv
import functools
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax

from experiments.figures import new_figure, save
from jaxopt_svm.cli import set_up_jax
from jaxopt_svm.core.lanes import one_pass, over_lanes
from jaxopt_svm.core.run import run

__all__ = [
    "CompileClock",
    "Found",
    "compiled_passes",
    "median_ratio",
    "new_figure",
    "over_keys",
    "rounds",
    "set_up",
    "several_passes",
    "write",
]


class Found(NamedTuple):
    """rows: one flat record per measurement, for the csv. facts: named numbers computed from them.
    text: the same for a person. sentence: the answer, computed from the data. figure: a Figure.
    """

    rows: list[dict[str, Any]]
    facts: dict[str, Any]
    text: str
    sentence: str
    figure: Any


def set_up(*, x64: bool = True, cache: bool = True) -> None:
    """Precision, and the cache of compiled programs (not when compile times are the question)."""
    if cache:
        set_up_jax(x64=x64)
    elif x64:
        jax.config.update("jax_enable_x64", True)


def rounds(functions: list[Callable[[], Any]], repeats: int) -> list[list[float]]:
    """Seconds of each function in each of ``repeats`` rounds, after a call to warm up.

    In turn, so that what else the machine does falls on all of them alike and ratios survive it.
    """
    for function in functions:
        jax.block_until_ready(function())
    times = [[] for _ in functions]
    for _ in range(repeats):
        for function, mine in zip(functions, times):
            started = time.perf_counter()
            jax.block_until_ready(function())
            mine.append(time.perf_counter() - started)
    return times


class CompileClock:
    """Seconds of tracing and compiling since it was made, of all threads together, so that times
    can leave them out; of them those of XLA, the rest being Python's."""

    def __init__(self):
        self.seconds = self.xla = 0.0
        jax.monitoring.register_event_duration_secs_listener(self._hear)

    def _hear(self, event: str, duration_secs: float, **_) -> None:
        if event.startswith("/jax/core/compile/"):
            self.seconds += duration_secs
        if event.startswith("/jax/core/compile/backend"):
            self.xla += duration_secs


@functools.partial(jax.jit, static_argnames="count")
def several_passes(problem, method, state, key, count: int):
    """The state ``count`` passes later, of every lane."""
    step = over_lanes(one_pass, problem, None, 0, None, None)
    return lax.fori_loop(0, count, lambda r, s: step(problem, method, s, key, r), state)


def compiled_passes(problem, method, count: int) -> tuple[Callable[[], Any], float]:
    """A function that takes ``count`` passes and nothing else, and the seconds to compile it.

    With a grid in ``problem.lam`` it is one program for all of them.
    """
    state = over_lanes(method.init, problem)(problem)
    arguments = (problem, method, state, jax.random.key(0))
    started = time.perf_counter()
    compiled = several_passes.lower(*arguments, count).compile()
    return lambda: compiled(*arguments), time.perf_counter() - started


def over_keys(problem, method, seeds: int, **options) -> Any:
    """The trace of ``js.run`` for each of ``seeds`` keys, one batched program."""
    keys = jax.random.split(jax.random.key(0), seeds)
    return jax.vmap(lambda key: run(problem, method, key=key, **options)[1])(keys)


def median_ratio(above: list[float], below: list[float]) -> float:
    """Median over the rounds of one time divided by another."""
    return statistics.median(a / b for a, b in zip(above, below))


def write(out: pathlib.Path, name: str, found: Found) -> list[pathlib.Path]:
    """<name>.csv with the union of the rows' fields, and <name>.png."""
    table, picture = out / f"{name}.csv", out / f"{name}.png"
    fields = list(dict.fromkeys(field for row in found.rows for field in row))
    # six digits are more than a figure or a comparison needs, and keep the files small
    show = lambda value: f"{value:.6g}" if isinstance(value, float | np.floating) else value
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: show(v) for k, v in row.items()} for row in found.rows)
    save(found.figure, picture)
    return [table, picture]
