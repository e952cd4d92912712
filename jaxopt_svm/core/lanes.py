"""Lanes: one problem, or a grid of them in one program; the pure pieces of the drivers.

A pass, a certificate, the best pair so far, and the same over lanes. ``core/loop.py`` is the host
side; what a method may add to the protocol is listed at ``core.protocols.Method``.
"""

import dataclasses
import functools
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax import Array, lax
from jax.core import Tracer
from jax.sharding import NamedSharding, PartitionSpec

from jaxopt_svm.core.protocols import Certificate, Method, Point
from jaxopt_svm.mesh.axes import LANES, on_axis, size

__all__ = [
    "Best",
    "advance",
    "assessed",
    "begin",
    "begun_by",
    "between",
    "carried",
    "certified",
    "certifier",
    "certify",
    "check",
    "claimed",
    "finish",
    "first_slots",
    "has_lanes",
    "lane_axes",
    "least_over_lanes",
    "lowered",
    "lowered_certificate",
    "lowered_passes",
    "mesh_of",
    "of_width",
    "one_lane",
    "one_pass",
    "one_pass_over",
    "over_lanes",
    "padded_width",
    "passes",
    "placed",
    "program",
    "resume",
    "retired",
    "runs_of",
    "samples",
    "shapes",
    "started",
    "take",
    "take_lanes",
    "terms",
    "updated",
]


# How XLA compiles our programs on a CPU; options are names of a version, so others go without.
#
# Small: visits are loops of small kernels. XLA would divide each of them over its threads, by the
# size of the arrays they look into rather than of what they read, and the threads wait longer than
# they work: 19 us for a visit of 32 lanes, 6 without (sparse rows); 28 ms for a pass over 20,000 x
# 54, 18 without. Matrix products keep their threads. Plain: where matrix products do the work, the
# plain emitters take half the time to compile and lose nothing.
_known = jaxlib.__version__.startswith("0.10.")
SMALL: Any = {
    "xla_disable_hlo_passes": "cpu-parallel-task-assigner",
    "xla_backend_optimization_level": 2,
}
PLAIN: Any = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 2}
SMALL, PLAIN = (SMALL, PLAIN) if _known else ({}, {})

BATCH = "batch"  # the lanes of a device, as an axis of vmap
OVER = PartitionSpec(LANES)


def runs_of(problem) -> Any:
    """Who makes a problem's passes: this module, or the problem's own (rows that are on disk).

    They are six functions: ``check``, ``begin``, ``resume``, ``advance``, ``finish``, ``take``.
    """
    return getattr(problem, "runs", sys.modules[__name__])


def check(method: Method, problem) -> None:
    """Refuse, in words, before anything compiles."""
    method.check(problem)


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
    fields = {f: _picked(getattr(problem, f), slots) for f in lane_fields(problem)}
    return dataclasses.replace(problem, **fields)


def _picked(tree, slots):
    """Entries of the first axis. On a CPU numpy does it, without a program for every size."""

    def one(x):
        return jax.device_put(np.asarray(x)[slots]) if _on_cpu(x) else x[slots]

    return jax.tree.map(one, tree)


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


def _forgotten(best: Best) -> Best:
    """The same arrays, whose values any point improves on."""
    worst = np.full(best.primal_value.shape, np.inf, best.primal_value.dtype)
    return best._replace(primal_value=worst, dual_value=-worst)


def started(problem, method, start):
    """The states before the first pass."""
    lanes = jnp.ndim(problem.lam) and start is not None and has_lanes(problem, start)
    axes = (None, 0 if lanes else None)
    init = lambda problem, method, start: method.init(problem, start)
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


_start, _claim, _certify = (
    jax.jit(f, compiler_options=PLAIN) for f in (started, claimed, certified)
)
_certify_sparse = jax.jit(certified, compiler_options=SMALL)


def certifier(problem) -> Any:
    """``certified`` as it is compiled for a problem: products with sparse rows are small kernels,
    which take half the time with XLA's own emitters."""
    sparse = getattr(getattr(problem, "rows", None), "behind", False)
    return _certify_sparse if sparse else _certify


class Shapes(NamedTuple):
    """Of the arrays of a solve."""

    state: Any
    point: Point  # as the state claims it
    best: Best


def shapes(problem, method, start=None) -> Shapes:
    state = jax.eval_shape(started, problem, method, start)
    point = jax.eval_shape(claimed, problem, method, state)
    over = lambda problem, point: over_lanes(assessed, problem, 0)(problem, point)[0]
    whole, lam = jax.eval_shape(over, problem, point), jax.eval_shape(lambda: problem.lam)
    return Shapes(state, point, Best(whole.w, whole.dual, lam, lam))


def begin(problem, method, start):
    """State, best point and certificate before the first pass.

    A start counts as it is given too: its w may be far better than the w of its dual point, which
    is what a dual method makes of it.
    """
    state = _start(problem, method, start)
    wanted = shapes(problem, method, start).best
    best = _forgotten(jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), wanted))
    given = None if start is None else _spread(start, Point(wanted.w, wanted.dual))
    if given is not None:
        best, found = certifier(problem)(problem, best, given)
        if getattr(method, "keeps", False):
            return state, best, found
    return state, *certifier(problem)(problem, best, _claim(problem, method, state))


def _spread(start: Point, wanted: Point) -> Point | None:
    """A start for every lane, or None where points of the method have other shapes."""
    if jax.tree.structure(start) != jax.tree.structure(wanted):
        return None
    fits = lambda x, like: x.shape == like.shape[like.ndim - x.ndim :] and x.dtype == like.dtype
    start = jax.tree.map(lambda x: x if isinstance(x, jax.Array) else np.asarray(x), start)
    if not all(jax.tree.leaves(jax.tree.map(fits, start, wanted))):
        return None
    spread = lambda x, like: x if x.shape == like.shape else jnp.broadcast_to(x, like.shape)
    return jax.tree.map(spread, start, wanted)


def carried(problem, point: Point) -> Point:
    """A point found at another lam, as a start for the lanes of a problem that knows how."""
    return _carry(problem, point) if hasattr(problem, "carried") else point


@functools.partial(jax.jit, compiler_options=PLAIN)
def _carry(problem, point):
    one = lambda problem, point: problem.carried(point)
    return over_lanes(one, problem, None)(problem, point)


@functools.partial(jax.jit, compiler_options=PLAIN)
def terms(problem, point: Point, found: Certificate):
    """What P and D of each lane's point consist of, whatever lam is."""
    one = lambda problem, point, found: problem.terms(point, found)
    return over_lanes(one, problem, 0, 0)(problem, point, found)


@functools.partial(jax.jit, compiler_options=PLAIN)
def between(problem, a: Point, b: Point) -> Point:
    """For each lane the best point between two of its own."""
    one = lambda problem, a, b: problem.between(a, b)
    return over_lanes(one, problem, 0, 0)(problem, a, b)


def resume(problem, method, start):
    """The state alone, where the best point is known."""
    return _start(problem, method, start)


def has_lanes(problem, start: Point) -> bool:
    """Whether a start has one entry for each lane, rather than one for all."""
    rank = lambda w: jnp.ndim(jax.tree.leaves(w)[0])
    return rank(start.w) > rank(jax.eval_shape(lambda: one_lane(problem).origin().w))


def passes(problem, method, state, key, first, count):
    """The states ``count`` passes later; the next pass is pass ``first``."""
    step = over_lanes(one_pass, problem, None, 0, None, None)
    body = lambda r, s: step(problem, method, s, key, r)
    return lax.fori_loop(first, first + count, body, state)


_by_default = jax.jit(passes)
_small_kernels = jax.jit(passes, compiler_options=SMALL)
_plain_kernels = jax.jit(passes, compiler_options=PLAIN)


def program(method) -> Any:
    """``passes`` as it is compiled for a method."""
    known = {"small": _small_kernels, "plain": _plain_kernels}
    return known.get(getattr(method, "kernels", ""), _by_default)


def advance(problem, method, state, best, key, first, count):
    """``count`` passes from pass ``first``, then a certificate."""
    state = program(method)(problem, method, state, key, first, count)
    return state, *certifier(problem)(problem, best, _claim(problem, method, state))


def begun_by(problem, method, start: Point) -> Any:
    """The program behind ``resume``, to be compiled."""
    return _start.lower(problem, method, start)


def lowered(problem, method, state, best) -> tuple[Any, Any]:
    """The two programs behind ``advance``, passes and certificate, to be compiled and looked at."""
    return lowered_passes(problem, method, state), lowered_certificate(problem, method, state, best)


def lowered_passes(problem, method, state) -> Any:
    return program(method).lower(problem, method, state, jax.random.key(0), 0, 1)


def lowered_certificate(problem, method, state, best) -> Any:
    point = jax.eval_shape(claimed, problem, method, state)
    return certifier(problem).lower(problem, best, point)


def finish(problem, best: Best) -> Certificate:
    """The certificate of the best pair, from the pair alone."""
    return certifier(problem)(problem, _forgotten(best), Point(best.w, best.dual))[1]


@functools.partial(jax.jit, compiler_options=PLAIN)
def retired(method, state, gone):
    """States whose slots that are ``gone`` (a mask) cost nothing from now on."""
    return method.retire(state, gone)


def take(tree, lanes, mesh=None):
    """Some lanes of a batched tree, laid over the devices that share them."""
    return _picked(tree, lanes) if mesh is None else _taken(tree, lanes, mesh)


@functools.partial(jax.jit, static_argnames="mesh", compiler_options=PLAIN)
def _taken(tree, lanes, mesh):
    some = jax.tree.map(lambda x: x[lanes], tree)
    if size(mesh, LANES) == 1:
        return some
    rest = PartitionSpec.UNCONSTRAINED
    at = lambda x: NamedSharding(mesh, PartitionSpec(LANES, *(rest for _ in x.shape[1:])))
    return jax.tree.map(lambda x: lax.with_sharding_constraint(x, at(x)), some)
