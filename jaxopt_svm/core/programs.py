"""The programs of a solve: how the pieces of core/lanes.py are compiled, and called by the host.

Passes and certificate are two programs; the second is the same for every method, leg and moment of
a solve. A problem whose data are not in memory has functions of its own in their place (``runs``).
"""

import functools
import sys
from typing import Any, NamedTuple

import jax
import jaxlib
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from jaxopt_svm.core.lanes import (
    Best,
    certified,
    claimed,
    over_lanes,
    passes,
    picked,
    started,
    widened,
)
from jaxopt_svm.core.protocols import Certificate, Method, Point
from jaxopt_svm.mesh.axes import LANES, size

__all__ = [
    "advance",
    "begin",
    "begun_by",
    "between",
    "carried",
    "certifier",
    "check",
    "finish",
    "lowered",
    "lowered_certificate",
    "lowered_passes",
    "program",
    "resume",
    "retired",
    "runs_of",
    "shapes",
    "spread",
    "take",
    "terms",
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


def runs_of(problem) -> Any:
    """Who makes a problem's passes: this module, or the problem's own (rows that are on disk).

    They are six functions: ``check``, ``begin``, ``resume``, ``advance``, ``finish``, ``take``.
    """
    return getattr(problem, "runs", sys.modules[__name__])


def check(method: Method, problem) -> None:
    """Refuse, in words, before anything compiles."""
    method.check(problem)


_start, _claim, _certify = (
    jax.jit(f, compiler_options=PLAIN) for f in (started, claimed, certified)
)
_certify_sparse = jax.jit(certified, compiler_options=SMALL)


def certifier(problem) -> Any:
    """``certified`` as it is compiled for a problem: products with sparse rows are small kernels,
    which take half the time with XLA's own emitters."""
    sparse = getattr(getattr(problem, "rows", None), "behind", False)
    return _certify_sparse if sparse else _certify


def _forgotten(best: Best) -> Best:
    """The same arrays, whose values any point improves on."""
    worst = np.full(best.primal_value.shape, np.inf, best.primal_value.dtype)
    return best._replace(primal_value=worst, dual_value=-worst)


class Shapes(NamedTuple):
    """Of the arrays of a solve."""

    state: Any
    point: Point  # as the state claims it
    best: Best


def _whole(problem, point: Point) -> Point:
    """Points made whole; known by its name, so that it is traced once."""
    complete = lambda problem, point: problem.complete(point)
    return over_lanes(complete, problem, 0)(problem, point)


def shapes(problem, method, start=None) -> Shapes:
    state = jax.eval_shape(started, problem, method, start)
    point = jax.eval_shape(claimed, problem, method, state)
    whole, lam = jax.eval_shape(_whole, problem, point), jax.eval_shape(_lam, problem)
    return Shapes(state, point, Best(whole.w, whole.dual, lam, lam))


def _lam(problem):
    return problem.lam


def begin(problem, method, start):
    """State, best point and certificate before the first pass.

    A start counts as it is given too: its w may be far better than the w of its dual point, which
    is what a dual method makes of it.
    """
    state = _start(problem, method, start)
    wanted = shapes(problem, method, start).best
    best = _forgotten(jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), wanted))
    given = None if start is None else spread(start, Point(wanted.w, wanted.dual))
    if given is None or not getattr(method, "keeps", False):
        best, found = certifier(problem)(problem, best, _claim(problem, method, state))
    if given is not None:
        best, found = certifier(problem)(problem, best, given)
    return state, best, found


def spread(start: Point, wanted: Point) -> Point | None:
    """A start for every lane, or None where points of the method have other shapes."""
    if jax.tree.structure(start) != jax.tree.structure(wanted):
        return None
    fits = lambda x, like: x.shape == like.shape[like.ndim - x.ndim :] and x.dtype == like.dtype
    start = jax.tree.map(lambda x: x if isinstance(x, jax.Array) else np.asarray(x), start)
    if not all(jax.tree.leaves(jax.tree.map(fits, start, wanted))):
        return None
    one = lambda x, like: x if x.shape == like.shape else widened(x, like.shape)
    return jax.tree.map(one, start, wanted)


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
    return picked(tree, lanes) if mesh is None else _taken(tree, lanes, mesh)


@functools.partial(jax.jit, static_argnames="mesh", compiler_options=PLAIN)
def _taken(tree, lanes, mesh):
    some = jax.tree.map(lambda x: x[lanes], tree)
    if size(mesh, LANES) == 1:
        return some
    rest = PartitionSpec.UNCONSTRAINED
    at = lambda x: NamedSharding(mesh, PartitionSpec(LANES, *(rest for _ in x.shape[1:])))
    return jax.tree.map(lambda x: lax.with_sharding_constraint(x, at(x)), some)
