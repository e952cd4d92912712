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

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxopt_svm.core import checkpoint as checkpoints
from jaxopt_svm.core import registry
from jaxopt_svm.core.groups import in_order, keeping, lanes_within
from jaxopt_svm.core.lanes import (
    carried,
    certify,
    one_lane,
    one_pass,
    padded_width,
    runs_of,
    samples,
)
from jaxopt_svm.core.loop import Loop
from jaxopt_svm.core.protocols import Point, Spent
from jaxopt_svm.core.relay import Relay, legs_of
from jaxopt_svm.core.solution import Solution, Status, Trace, Unreadable

__all__ = ["lam_grid", "path", "prepare", "run", "solve", "sweep"]

MAX_PASSES = 1000


def lam_grid(smallest: float, largest: float, count: int) -> np.ndarray:
    """``count`` values of lam, evenly spaced in the logarithm, largest first."""
    if not 0 < smallest <= largest:
        raise ValueError(f"lam_grid: expected 0 < smallest <= largest; got {smallest}, {largest}")
    if count < 1:
        raise ValueError(f"lam_grid: count must be at least 1; got {count}")
    return np.geomspace(largest, smallest, count)


def _key(key: Array | None) -> Array:
    return jax.random.key(0) if key is None else key


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
    key = _key(key)
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


class _Progress:
    """A tqdm bar over passes, or nothing."""

    def __init__(self, show: bool, max_passes: int):
        self.bar = None
        if show:
            try:
                from tqdm import tqdm
            except ImportError:
                raise ImportError(
                    'progress=True needs tqdm: pip install "jaxopt_svm[cli]"'
                ) from None
            self.bar = tqdm(total=max_passes, unit="pass", leave=True)

    def update(self, loop: Loop) -> None:
        if self.bar is not None:
            row = loop.records[-1]
            relative = np.nanmax(row["gap"] / np.abs(row["primal"]))
            self.bar.set_postfix_str(f"lanes {loop.active}, largest relative gap {relative:.1e}")
            self.bar.update(loop.r - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _check_start(problem, start: Point | None, lanes: int | None) -> None:
    """A start has the shapes of the problem's own points, or one more axis: the lanes."""
    if start is None:
        return
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


def _check(problem, method, rtol, atol, max_passes, start, lanes=None) -> tuple[Any, Any]:
    """The problem as it will be solved and the method, after every refusal before compiling."""
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
    return problem, method


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


def _solve(problem, method, rtol, atol, max_passes, key, start, progress, checkpoint) -> Solution:
    """The loop behind solve and sweep; problem.lam may have a leading axis."""
    key, start = _key(key), getattr(start, "point", start)
    loop = Loop(problem, method, key, start)
    store = checkpoints.Store(checkpoint, problem, method, key, start)
    store.resume(loop)
    bar = _Progress(progress, max_passes)
    stop = lambda: loop.stop(np.full(loop.active, Status.INTERRUPTED, dtype=object))
    try:
        loop.judge(rtol, atol, max_passes)
        while loop.active:
            loop.hand_over()  # first of all: a loop that is resumed may have stopped right here
            loop.arrange()
            loop.look_ahead()
            loop.advance(loop.stretch(max_passes))
            store.write(loop)
            bar.update(loop)
            loop.judge(rtol, atol, max_passes)
        return loop.solution(problem)
    except KeyboardInterrupt:
        stop()
        return loop.solution(problem)
    except Unreadable as error:
        stop()
        raise error.after(loop.solution(problem, again=False), store.path) from None
    finally:
        bar.close()


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
    problem, method = _check(problem, method, rtol, atol, max_passes, start, lanes)
    problem = _ready(problem, method)
    return _solve(problem, method, rtol, atol, max_passes, key, start, progress, checkpoint)


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

    memory: bytes that the lanes may take beside the data. A grid that needs more is solved in
      groups from the largest lam down, each started from the last lam of the one before
      (``start`` must then be one point for all); checkpoints get a number each.
    """
    lams = _lams(lams)
    problem, method = _check(problem, method, rtol, atol, max_passes, start, len(lams))
    problem = _ready(problem, method)
    rest = (rtol, atol, max_passes, key)
    size = padded_width(problem, getattr(method, "lanes", None) or len(lams))
    if memory is not None:
        size = min(size, lanes_within(problem, method, memory))
    if size >= len(lams):
        return _solve(problem.with_lam(lams), method, *rest, start, progress, checkpoint)
    return _in_groups(problem, lams, size, method, rest, start, progress, checkpoint)


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
    problem, method = _check(problem, method, rtol, atol, max_passes, start)
    problem = _ready(problem, method)
    rest = (rtol, atol, max_passes, key)
    return _in_groups(problem, lams, 1, method, rest, start, progress, None)


def _in_groups(
    problem,
    lams,
    size: int,
    method,
    rest: tuple[float, float, int, Any],
    start,
    progress,
    checkpoint,
) -> Solution:
    """``size`` lanes at a time, from the largest lam down; one alone needs no batch."""
    order = np.argsort(-lams, kind="stable")
    found: list[Solution] = []
    for k in range(0, len(lams), size):
        file = None if checkpoint is None else f"{checkpoint}.{k // size}"
        some = problem.with_lam(lams[order[k]] if size == 1 else lams[order[k : k + size]])
        start = start if not found else carried(some, start)
        with keeping(found, lambda groups: in_order(groups, order)):
            found.append(_solve(some, method, *rest, start, progress, file))
        if np.any(found[-1].status == Status.INTERRUPTED):
            break
        point = found[-1].point
        start = point if size == 1 else jax.tree.map(lambda x: x[-1], point)
    return in_order(found, order)


def _lams(lams) -> np.ndarray:
    values = np.asarray(lams, np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"lams: expected a list of positive numbers; got shape {values.shape}")
    if not (np.isfinite(values) & (values > 0)).all():
        bad = values[~(np.isfinite(values) & (values > 0))][0]
        raise ValueError(f"lams: expected positive finite numbers; got {bad:g}")
    return values
