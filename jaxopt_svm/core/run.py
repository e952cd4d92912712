"""Every open-ended loop of the package.

run     pure and jittable: a fixed number of passes, a certificate at each record
solve   host-driven: stops on the certificate
sweep   solve for a whole grid of lam at once: one batched program
path    solve along decreasing lam, each warm-started from the last

A pass is scan(step) over ``draw(problem, fold_in(key, r))``: pass r takes the same steps whatever
the recording grid. In a sweep the loop over passes is outside and vmap inside, over the pass as
a whole, with an unbatched key: indices stay unbatched, so a block's rows and Gram matrix are
gathered and formed once for the grid. (A vmapped while_loop with a batched predicate would batch
its whole carry, and a lax.cond on "time to certify" would certify on every step.)
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxopt_svm.core import registry
from jaxopt_svm.core.drive import Limits, Stopped, drive
from jaxopt_svm.core.groups import in_groups, lanes_within
from jaxopt_svm.core.lanes import (
    certify,
    one_lane,
    one_pass,
    padded_width,
    samples,
)
from jaxopt_svm.core.programs import runs_of
from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.relay import Relay, legs_of
from jaxopt_svm.core.rounds import solve_batch
from jaxopt_svm.core.solution import Solution, Trace

__all__ = ["lam_grid", "path", "prepare", "run", "solve", "sweep"]

MAX_PASSES = 1000


def lam_grid(smallest: float, largest: float, count: int) -> np.ndarray:
    """``count`` values of lam, evenly spaced in the logarithm, largest first."""
    if not 0 < smallest <= largest:
        raise ValueError(f"lam_grid: expected 0 < smallest <= largest; got {smallest}, {largest}")
    if count < 1:
        raise ValueError(f"lam_grid: count must be at least 1; got {count}")
    return np.geomspace(largest, smallest, count)


@functools.partial(jax.jit, static_argnames=("passes", "every", "within"))
def run(
    problem: Any,
    method: Any,
    *,
    passes: int,
    every: int = 1,
    within: int = 1,
    key: Array | None = None,
    start: Point | None = None,
) -> tuple[Any, Trace]:
    """Take ``passes`` passes and certify as you go. Pure: jit, vmap and compose it.

    Args:
      every: passes between records (it must divide ``passes``).
      within: records inside each pass, equally spaced (then ``every`` must be 1).

    Returns:
      The final state, and a Trace whose first record is the starting point.
    """
    if isinstance(method, Relay):
        raise ValueError("run: takes one method; solve, sweep and path run a Relay")
    if hasattr(problem, "runs"):
        raise ValueError("run: is one compiled program; for rows on disk use solve or sweep")
    if passes % every or (within > 1 and every > 1):
        raise ValueError("run: every must divide passes, and be 1 when within > 1")
    key = jax.random.key(0) if key is None else key
    state = method.init(problem, start)

    counted = getattr(method, "counted", lambda state: ())

    def record(state):
        return certify(problem, method, state)[1], counted(state)

    def stretch(state, drawn):
        state = lax.scan(lambda s, x: (method.step(problem, s, x), None), state, drawn)[0]
        return state, record(state)

    def record_inside(state, r):
        drawn = samples(problem, method, state, key, r)
        steps = jax.tree.leaves(drawn)[0].shape[0]
        if steps < within:
            raise ValueError(f"run: within = {within} records, but a pass has {steps} steps")
        # the few steps that do not divide evenly come first, so each pass ends on a record
        first = steps % within
        state, _ = stretch(state, jax.tree.map(lambda x: x[:first], drawn))
        cut = lambda x: x[first:].reshape(within, steps // within, *x.shape[1:])
        return lax.scan(stretch, state, jax.tree.map(cut, drawn))

    def record_between(state, r):
        body = lambda k, s: one_pass(problem, method, s, key, r * every + k)
        state = lax.fori_loop(0, every, body, state)
        return state, record(state)

    first = record(state)
    body = record_inside if within > 1 else record_between
    state, rest = lax.scan(body, state, jnp.arange(passes // every))
    count = passes // every * within
    certificates, spent = jax.tree.map(
        lambda a, b: jnp.concatenate([a[None], b.reshape(count)]), first, rest
    )
    at = jnp.arange(count + 1, dtype=problem.lam.dtype) * (every / within)
    if not spent:
        spent = Spent(*(at * per_pass for per_pass in method.spent(problem)))
    dual = lax.cummax(certificates.dual)
    return state, Trace(
        primal=certificates.primal,
        dual=dual,
        gap=certificates.primal - dual,
        floor=certificates.floor,
        passes=at,
        work=spent.work,
        oracle_calls=spent.oracle_calls,
        updates=spent.updates,
    )


def _check_start(problem, start: Point | None, lanes: int | None) -> None:
    """A start has the shapes of the problem's own points, or one more axis: the lanes."""
    if start is None:
        return
    start = getattr(start, "point", start)
    if not isinstance(start, Point):
        raise ValueError(f"start: expected a Solution or a js.Point; got {type(start).__name__}")
    if start.w is None and (start.dual is None or not hasattr(problem, "assessed")):
        raise ValueError(
            "start: expected a point with w; only the problems of js.make_erm find it, from alpha"
        )
    origin = jax.eval_shape(problem.origin)
    own = getattr(problem, "check_dual", None)  # where dual points have several forms
    if own is not None:
        own(start.dual)
    for name in ("w", "dual") if own is None else ("w",):
        wanted, given = (
            jax.tree.leaves(getattr(origin, name)),
            jax.tree.leaves(getattr(start, name)),
        )
        if name == "dual" and not given:
            continue
        for a, b in zip(wanted, given):
            if np.shape(b) not in (a.shape, (lanes, *a.shape)):
                raise ValueError(f"start: expected {name} of shape {a.shape}; got {np.shape(b)}")


def _in_precision_of(problem, start: Point | Solution | None) -> Point | None:
    """A start as a Point, its numbers in the problem's precision."""
    if start is None:
        return None
    dtype = jax.tree.leaves(jax.eval_shape(problem.origin).w)[0].dtype

    def one(x):
        x = x if isinstance(x, jax.Array) else np.asarray(x)
        return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) and x.dtype != dtype else x

    return jax.tree.map(one, getattr(start, "point", start))


def _check(problem, method, rtol, atol, max_passes, start, lanes=None) -> tuple[Any, Any, Any]:
    """The problem as it will be solved, the method and the start, after every refusal before
    compiling."""
    one = one_lane(problem)
    if method is None:
        problem, method = registry.choose(problem)
    elif isinstance(method, str):
        method = registry.named(method)
    elif isinstance(method, type) or not (hasattr(method, "step") or isinstance(method, Relay)):
        raise ValueError(f"method: expected a method such as js.SDCA(), or a name; got {method!r}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name}: expected a number >= 0; got {value!r}")
    if max_passes < 1:
        raise ValueError(f"max_passes: expected at least 1; got {max_passes}")
    runs_of(problem).check(method, one)
    _check_start(one, start, lanes)
    return problem, method, _in_precision_of(one, start)


def prepare(problem: Any, method: Any) -> Any:
    """The problem with what ``method`` wants of it made on the host, such as its columns.

    ``solve``, ``sweep`` and ``path`` do this by themselves; before ``run`` call it once.
    """
    own = getattr(method, "prepare", None)
    return problem if own is None else own(problem)


def _ready(problem: Any, method: Any) -> Any:
    """``prepare``, and where examples are divided over nodes a refusal, before anything compiles,
    of a method that asks for what nodes cannot answer: its steps are traced once."""
    ready = prepare(problem, method)
    if not getattr(problem, "divided", False):
        return ready

    def trial(problem, leg):
        state = leg.init(problem, None)
        drawn = samples(problem, leg, state, jax.random.key(0), 0)
        return leg.step(problem, state, jax.tree.map(lambda x: x[0], drawn))

    for leg in legs_of(method)[0]:
        try:
            jax.eval_shape(trial, one_lane(prepare(problem, leg)), leg)
        except ValueError as error:
            raise ValueError(f"{registry.name_of(leg)}: {error}") from None
    return ready


# --- host drivers --------------------------------------------------------------------------


def solve(
    problem: Any,
    method: Any = None,
    *,
    rtol: float = 1e-3,
    atol: float = 0.0,
    max_passes: int = MAX_PASSES,
    key: Array | None = None,
    start: Point | Solution | None = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Solution:
    """Solve until the certified gap is at most ``atol + rtol |P|``.

    A problem whose lam has a leading axis already (see its ``lanes``) is solved as one batch.

    Args:
      method: a Method, a registered name, a Relay of methods, or None to have one chosen.
      max_passes: budget in passes over the data.
      key: randomness; the same key gives the same bits (default ``jax.random.key(0)``).
      start: a Solution of any method, or a Point, to start from.
      progress: show a bar. Ctrl-C returns the best point so far, status "interrupted".
      checkpoint: a file, written at every record; if it exists the solve goes on from it,
        bit for bit as if it had never stopped.
    """
    lanes = problem.lam.shape[0] if np.ndim(problem.lam) else None
    problem, method, start = _check(problem, method, rtol, atol, max_passes, start, lanes)
    problem = _ready(problem, method)
    limits = Limits(rtol, atol, max_passes, key)
    if lanes is None:
        return drive(problem, method, *limits, start, progress, checkpoint)
    return _whatever_is_there(
        solve_batch, problem, method, lanes, limits, start, progress, checkpoint
    )


def _whatever_is_there(solve: Callable[..., Solution], *arguments: Any) -> Solution:
    """After Ctrl-C too; on the device, where parts of a solve were joined on the host."""
    try:
        found = solve(*arguments)
    except Stopped as pressed:
        found = pressed.solution
    arrays = jax.device_put((found.w, found.dual, found.certificate, found.lam))
    w, dual, certificate, lam = arrays
    return dataclasses.replace(found, w=w, dual=dual, certificate=certificate, lam=lam)


def sweep(
    problem: Any,
    lams: Sequence[float] | np.ndarray | Array,
    method: Any = None,
    *,
    rtol: float = 1e-3,
    atol: float = 0.0,
    max_passes: int = MAX_PASSES,
    key: Array | None = None,
    start: Point | Solution | None = None,
    progress: bool = False,
    checkpoint: Any = None,
    memory: float | None = None,
) -> Solution:
    """``solve`` for every lam of a grid in one batched program; each lane has its certificate.

    All lanes share the rows, the key and the drawn examples. ``start`` may have a leading axis, one
    entry a lane. Arguments as for ``solve``; every field of the Solution gains a leading axis.
    A relay with ``apart``, which is chosen for dense rows and for a free intercept, solves a grid
    from far apart to near and keeps a checkpoint for each part: the name with "first" or a number
    behind it.

    memory: bytes that the lanes may take beside the data. A grid that needs more is solved in
      groups from the largest lam down, each started from the last lam of the one before, or from
      a start of each lane's own; checkpoints get a number each.
    """
    lams = _lams(lams)
    problem, method, start = _check(problem, method, rtol, atol, max_passes, start, len(lams))
    problem = _ready(problem, method)
    limits = Limits(rtol, atol, max_passes, key)
    size = padded_width(problem, getattr(method, "lanes", None) or len(lams))
    if memory is not None:
        size = min(size, lanes_within(problem, method, memory))
    grid = problem.with_lam(lams)
    return _whatever_is_there(solve_batch, grid, method, size, limits, start, progress, checkpoint)


def path(
    problem: Any,
    lams: Sequence[float] | np.ndarray | Array,
    method: Any = None,
    *,
    rtol: float = 1e-3,
    atol: float = 0.0,
    max_passes: int = MAX_PASSES,
    key: Array | None = None,
    start: Point | Solution | None = None,
    progress: bool = False,
) -> Solution:
    """Solve from the largest lam down, each started from the one before; one compilation.

    A dual point is feasible for every lam, so warm starts cost nothing. Results come back in
    the order of ``lams``.
    """
    lams = _lams(lams)
    problem, method, start = _check(problem, method, rtol, atol, max_passes, start)
    problem = _ready(problem, method)
    limits, grid = Limits(rtol, atol, max_passes, key), problem.with_lam(lams)
    return _whatever_is_there(in_groups, grid, method, 1, limits, start, progress, None)


def _lams(lams) -> np.ndarray:
    values = np.asarray(lams, np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"lams: expected a list of positive numbers; got shape {values.shape}")
    if not (np.isfinite(values) & (values > 0)).all():
        bad = values[~(np.isfinite(values) & (values > 0))][0]
        raise ValueError(f"lams: expected positive finite numbers; got {bad:g}")
    return values
