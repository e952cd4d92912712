r"""Passes by chunks: what core/programs.py does for rows in memory, for rows on disk.

Pass r takes the pages in the order drawn from ``fold_in(key, r)``; within a chunk the method draws
and makes its visits as it would on a small problem of its own, with the vectors (abar, w) handed
from chunk to chunk and the tables (alpha) kept on the host, n numbers a lane. For SDCA every visit
is the exact coordinate step of the whole problem: which rows are in memory decides only the order.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm.core.blocks import At
from jaxopt_svm.core.lanes import Best, over_lanes
from jaxopt_svm.core.protocols import Certificate, Point, Sample
from jaxopt_svm.core.relay import legs_of
from jaxopt_svm.core.sampling import Cyclic, Shuffled, Uniform
from jaxopt_svm.core.shuffle import shuffle
from jaxopt_svm.methods.dual.sdca import SDCA
from jaxopt_svm.methods.primal.sgd import SGD
from jaxopt_svm.streaming.problem import Chunk, Streamed, gathered, scattered

__all__ = ["advance", "begin", "check", "finish", "take"]

_order = jax.jit(shuffle, static_argnums=1)


def check(method: Any, problem: Streamed) -> None:
    """Refuse, in words, what cannot be done by chunks."""
    for leg in legs_of(method)[0]:
        if not isinstance(leg, SDCA | SGD):
            raise ValueError(
                "rows on disk are visited one after the other: use js.SDCA(), js.SGD(), or a Relay "
                f"of them; got {type(leg).__name__}"
            )
        if not isinstance(leg.sampling, Shuffled | Uniform | Cyclic):
            raise ValueError(
                f"{type(leg).__name__} on rows on disk draws all examples alike: use Shuffled(), "
                f"Uniform() or Cyclic(), not {type(leg.sampling).__name__}"
            )
        if isinstance(leg, SGD) and (not leg.certified(problem) or leg.batch > 1):
            raise ValueError(
                "SGD on rows on disk has the step 1/(lam t), single examples and no projection: "
                "what other steps are made of takes a pass over the data"
            )
    method.check(problem.blank())


@jax.jit
def _begun(chunk: Chunk, method, start: Point | None) -> At:
    return over_lanes(method.init, chunk, 0)(chunk, start)


def _real_first(sample: Sample, count) -> Sample:
    """The same order with padding last and masked: a method that shrinks w must not visit it."""
    order = sample.index.reshape(-1)
    real = order < count
    last = jnp.sum(real) + jnp.cumsum(~real) - 1
    place = jnp.where(real, jnp.cumsum(real) - 1, last)
    order = jnp.zeros_like(order).at[place].set(order)
    mask = jnp.arange(order.size) < jnp.sum(real)
    return Sample(order.reshape(sample.index.shape), mask.reshape(sample.index.shape))


@jax.jit
def _visited(chunk: Chunk, method, state: At, key, count) -> At:
    """The visits of a pass that fall on this chunk, whose first ``count`` places are examples."""

    def one(chunk, state):
        sample = method.draw(chunk.alone(), key)
        # a visit of SDCA with weight 0 does nothing anyway
        sample = _real_first(sample, count) if method.scales else sample
        return lax.scan(lambda s, x: (method.step(chunk, s, x), None), state, sample)[0]

    return over_lanes(one, chunk, 0)(chunk, state)


@jax.jit
def _claimed(chunk: Chunk, method, state: At) -> Point:
    return over_lanes(method.point, chunk, 0)(chunk, state)


def _update(problem: Streamed, method, best: Best | None, state: At) -> tuple[Best, Certificate]:
    """Certify a state by one more pass; the certificate returned has the best dual so far."""
    axis = problem.lane_axis

    def claim(chunk, places):
        slots = gathered(state.tables, places, axis)
        return _claimed(chunk, method, At(state.vectors, slots, state.scalars))

    point, now = problem.certified(claim)
    if best is None:
        best = Best(point.w, point.dual, now.primal, now.dual)
    else:
        # a comparison with nan is False, so a broken point is never the best
        lower, higher = now.primal < best.primal_value, now.dual > best.dual_value
        wide = lambda flags, x: np.reshape(flags, np.shape(flags) + (1,) * (x.ndim - axis))
        choose = lambda flags, new, old: (
            new if np.all(flags) else np.where(wide(flags, new), new, old)
        )
        best = Best(
            w=choose(lower, point.w, best.w),
            dual=choose(higher, point.dual, best.dual),
            primal_value=np.where(lower, now.primal, best.primal_value),
            dual_value=np.where(higher, now.dual, best.dual_value),
        )
    gap = now.primal - best.dual_value
    return best, Certificate(now.primal, best.dual_value, gap, now.floor)


def begin(problem: Streamed, method, start: Point | None):
    """State, best point and certificate before the first pass."""
    state = resume(problem, method, start)
    return state, *_update(problem, method, None, state)


def resume(problem: Streamed, method, start: Point | None) -> At:
    """The state alone."""
    axis, origin = problem.lane_axis, problem.origin()
    first = _begun(problem.blank(), method, None)  # vectors and scalars of alpha = 0
    wide = lambda x: np.zeros((*x.shape[:axis], problem.n, *x.shape[axis + 1 :]), x.dtype)
    state = At(first.vectors, jax.tree.map(wide, first.tables), first.scalars)
    if start is not None:
        spread = lambda x, like: np.broadcast_to(x, (*problem.lam.shape, *like.shape))
        w = spread(start.w, origin.w)
        dual = None if start.dual is None else spread(start.dual, origin.dual)
        vectors = jax.tree.map(jnp.zeros_like, first.vectors)

        def add(chunk, rows, places):
            nonlocal vectors
            here = _begun(chunk, method, Point(w, gathered(dual, places, axis)))
            scattered(state.tables, rows, here.tables, axis)
            # both methods begin at (1/lam) sum_i c_i alpha_i x_i, a sum over the chunks
            vectors = jax.tree.map(jnp.add, vectors, here.vectors)

        problem.each(add)
        state = state._replace(vectors=vectors)
    return state


def advance(problem: Streamed, method, state: At, best: Best, key, first: int, count: int):
    """``count`` passes from pass ``first``, then a certificate."""
    axis = problem.lane_axis
    tables = jax.tree.map(np.array, state.tables)  # our own, to write to
    carried = At(state.vectors, (), state.scalars)
    for r in range(first, first + count):
        now = jax.random.fold_in(key, r)
        turn = iter(range(1, problem.pages.count + 1))

        def visit(chunk, rows, places, now=now, turn=turn):
            nonlocal carried
            slots = gathered(tables, places, axis)
            at = At(carried.vectors, slots, carried.scalars)
            new = _visited(chunk, method, at, jax.random.fold_in(now, next(turn)), len(rows))
            scattered(tables, rows, new.tables, axis)
            carried = At(new.vectors, (), new.scalars)

        problem.each(visit, np.asarray(_order(jax.random.fold_in(now, 0), problem.pages.count)))
    state = At(carried.vectors, tables, carried.scalars)
    return state, *_update(problem, method, best, state)


def finish(problem: Streamed, best: Best) -> Certificate:
    """The certificate of the best pair, from the pair alone."""
    return problem.certificate(Point(best.w, best.dual))


def take(tree: Any, lanes: np.ndarray, mesh: None) -> Any:
    """Some lanes of a batched tree."""
    del mesh  # rows on disk are read by one device
    return jax.tree.map(lambda x: np.asarray(x)[lanes], tree)
