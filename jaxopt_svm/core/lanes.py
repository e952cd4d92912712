"""Lanes: one problem, or a grid of them in one program; the pure pieces of the drivers.

A pass, a certificate, the best pair so far, and the same over lanes. ``core/loop.py`` is the host
side; what a method may add to the protocol is listed at ``core.protocols.Method``.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer
from jax.sharding import PartitionSpec

from jaxopt_svm.core.protocols import Certificate, Method, Point
from jaxopt_svm.mesh.axes import LANES, on_axis, size

__all__ = [
    "Best",
    "assessed",
    "certified",
    "certify",
    "claimed",
    "first_slots",
    "has_lanes",
    "lane_axes",
    "least_over_lanes",
    "mesh_of",
    "of_width",
    "one_lane",
    "one_pass",
    "one_pass_over",
    "over_lanes",
    "padded_width",
    "passes",
    "picked",
    "placed",
    "samples",
    "started",
    "take_lanes",
    "updated",
    "widened",
]


BATCH = "batch"  # the lanes of a device, as an axis of vmap
OVER = PartitionSpec(LANES)


def samples(problem, method: Method, state, key: Array, r):
    """The samples of pass r; a method that aims by its state does so once a pass."""
    drawn = method.draw(problem, jax.random.fold_in(key, r))
    aim = getattr(method, "aim", None)
    return drawn if aim is None else aim(problem, state, drawn)


def one_pass(problem, method: Method, state, key: Array, r):
    """Pass r: draw once, then step through the samples."""
    return one_pass_over(method, problem, state, samples(problem, method, state, key, r))


def one_pass_over(method: Method, problem, state, drawn):
    """The steps of one pass, through samples that were drawn."""
    own = getattr(method, "walk_pass", None)
    if own is not None:
        return own(problem, state, drawn)
    return lax.scan(lambda s, x: (method.step(problem, s, x), None), state, drawn)[0]


def certify(problem, method: Method, state) -> tuple[Point, Certificate]:
    """The state's point, completed, and what the problem says of it."""
    return assessed(problem, method.point(problem, state))


def assessed(problem, point: Point) -> tuple[Point, Certificate]:
    """A point made whole, and its certificate; some problems do both at once for less."""
    if hasattr(problem, "assessed"):
        return problem.assessed(point)
    point = problem.complete(point)
    return point, problem.certificate(point)


class Best(NamedTuple):
    """Best primal point and best dual point seen, and their values."""

    w: Any
    dual: Any
    primal_value: Any
    dual_value: Any


def mesh_of(problem) -> Any:
    """The mesh a problem lives on, or None."""
    return getattr(problem, "mesh", None)


def padded_width(problem, width: int) -> int:
    """So many lanes and no fewer, as a multiple of the devices that share them."""
    devices = size(mesh_of(problem), LANES)
    return -(-width // devices) * devices


def first_slots(problem, width: int = 0) -> np.ndarray:
    """The lane of each slot before any has left: the last one repeats to fill the devices, or a
    width asked for."""
    if jnp.ndim(problem.lam) == 0:
        return np.zeros(1, int)
    count = problem.lam.shape[0]
    return np.minimum(np.arange(padded_width(problem, max(count, width))), count - 1)


def lane_fields(problem) -> tuple[str, ...]:
    """Names of the fields with an entry for each lane: lam, and what the problem names beside."""
    return getattr(problem, "lanes", ("lam",))


def lane_axes(problem):
    """vmap axes for a problem whose lam has a leading axis: what has no lanes is shared."""
    axes = {f: jax.tree.map(lambda _: 0, getattr(problem, f)) for f in lane_fields(problem)}
    return dataclasses.replace(jax.tree.map(lambda _: None, problem), **axes)


def take_lanes(problem, slots):
    """The problem of some lanes, or of one of them (``slots`` a number)."""
    fields = {f: picked(getattr(problem, f), slots) for f in lane_fields(problem)}
    return dataclasses.replace(problem, **fields)


def picked(tree, slots):
    """Entries of the first axis. On a CPU numpy does it, without a program for every size."""

    def one(x):
        return jax.device_put(np.asarray(x)[slots]) if _on_cpu(x) else x[slots]

    return jax.tree.map(one, tree)


def widened(x, shape: tuple[int, ...]):
    """x with more axes in front. On a CPU by numpy as well."""
    if isinstance(x, np.ndarray) or _on_cpu(x):
        return np.broadcast_to(np.asarray(x), shape)
    return jnp.broadcast_to(x, shape)


def _on_cpu(x: Any) -> bool:
    if not isinstance(x, jax.Array) or isinstance(x, Tracer) or not x.is_fully_addressable:
        return False
    return {device.platform for device in x.devices()} == {"cpu"}


def placed(problem, slots):
    """The problem of these lanes, laid over its mesh if it has one; for the host."""
    every = not jnp.ndim(problem.lam) or np.array_equal(slots, np.arange(problem.lam.shape[0]))
    some = problem if every else take_lanes(problem, slots)
    return some if mesh_of(problem) is None else some.placed()


def of_width(problem, width: int):
    """Shapes of the problem with so many lanes."""

    def wide(x):
        x = jnp.asarray(x)
        return jax.ShapeDtypeStruct((width, *x.shape[1:]), x.dtype)

    fields = {f: jax.tree.map(wide, getattr(problem, f)) for f in lane_fields(problem)}
    return dataclasses.replace(problem, **fields)


def one_lane(problem):
    """The problem itself, or the first of its lanes."""
    return problem if jnp.ndim(problem.lam) == 0 else take_lanes(problem, 0)


def over_lanes(function, problem, *axes) -> Any:
    """``function`` itself for one lam, its vmap for a grid of them.

    On a mesh with an axis "lanes" every device runs its own lanes, loops and all.
    """
    if jnp.ndim(problem.lam) == 0:
        return function
    run = jax.vmap(function, in_axes=(lane_axes(problem), *axes), axis_name=BATCH)
    if problem.lam.shape[0] != padded_width(problem, problem.lam.shape[0]):
        return run  # the loop pads its lanes; what is asked once need not
    own = {f: jax.tree.map(lambda _: OVER, getattr(problem, f)) for f in lane_fields(problem)}
    first = dataclasses.replace(jax.tree.map(lambda _: PartitionSpec(), problem), **own)
    specs = (first, *(OVER if axis == 0 else PartitionSpec() for axis in axes))
    return on_axis(run, mesh_of(problem), LANES, specs, OVER)


def least_over_lanes(x):
    """The least of x over the lanes of a batch: one value for all of them, not one a lane."""
    try:
        return lax.pmin(x, BATCH)
    except NameError:  # not in a batch
        return x


def _where(better, new, old):
    """Choose whole trees: ``better`` is one boolean."""
    return jax.tree.map(lambda a, b: jnp.where(better, a, b), new, old)


def updated(best: Best, point: Point, now: Certificate) -> tuple[Best, Certificate]:
    """The best pair with a new point, and its certificate with the best dual value so far."""
    # a comparison with nan is False, so a broken point is never the best
    lower, higher = now.primal < best.primal_value, now.dual > best.dual_value
    best = Best(
        w=_where(lower, point.w, best.w),
        dual=_where(higher, point.dual, best.dual),
        primal_value=jnp.where(lower, now.primal, best.primal_value),
        dual_value=jnp.where(higher, now.dual, best.dual_value),
    )
    gap = now.primal - best.dual_value
    return best, Certificate(now.primal, best.dual_value, gap, now.floor)


def started(problem, method, start):
    """The states before the first pass."""
    lanes = jnp.ndim(problem.lam) and start is not None and has_lanes(problem, start)
    axes = (None, 0 if lanes else None)

    def init(problem, method, start):
        whole = start is None or start.w is not None
        return method.init(problem, start if whole else problem.complete(start))

    return over_lanes(init, problem, *axes)(problem, method, start)


def claimed(problem, method, state) -> Point:
    """What the states claim; arrays that a point takes over from its state are not copied."""
    one = lambda problem, method, state: method.point(problem, state)
    return over_lanes(one, problem, None, 0)(problem, method, state)


def certified(problem, best: Best, point: Point) -> tuple[Best, Certificate]:
    """Points certified by the problem: one program for all methods and moments of a solve."""

    def one(problem, best, point):
        return updated(best, *assessed(problem, point))

    return over_lanes(one, problem, 0, 0)(problem, best, point)


def has_lanes(problem, start: Point) -> bool:
    """Whether a start has one entry for each lane, rather than one for all."""
    part = "dual" if start.w is None else "w"
    rank = lambda point: jnp.ndim(jax.tree.leaves(getattr(point, part))[0])
    return rank(start) > rank(jax.eval_shape(lambda: one_lane(problem).origin()))


def passes(problem, method, state, key, first, count):
    """The states ``count`` passes later; the next pass is pass ``first``."""
    step = over_lanes(one_pass, problem, None, 0, None, None)
    body = lambda r, s: step(problem, method, s, key, r)
    return lax.fori_loop(first, first + count, body, state)
