r"""Sparse rows in a sweep: the lanes behind the features.

vmap puts the lanes first, w (lanes, d): the few features of a sparse row then lie far apart for
every lane. Here a pass over a batch keeps its vectors as (d, lanes) from its first visit to its
last: one gather serves all lanes, and what it reads lies side by side. The visits themselves, a few
numbers each, are vmapped as they are. Newsgroups (131 values a row): 0.2 us for a visit and lane
with 32 of them, 1.0 alone.

``walk`` is the loop over the steps of a pass, with this rule for batches whose lanes share rows,
method and samples; any other batch is the plain vmap. No reverse-mode derivative.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jaxopt_svm.core.blocks import At, LaneAxes, Slots, visit_block

__all__ = ["rows_added", "rows_times", "walk"]


def _steps(method: Any, problem: Any, state: At, drawn: Any, count: Any) -> At:
    return _loop(lambda s, x: method.step(problem, s, x), state, drawn, count)


def _loop(step: Callable, carry: Any, drawn: Any, count: Any) -> Any:
    return lax.fori_loop(
        0, count, lambda k, carry: step(carry, jax.tree.map(lambda x: x[k], drawn)), carry
    )


def _axes(batched) -> Any:
    return jax.tree.map(lambda b: 0 if b else None, batched)


def _slots(tree, batched, index) -> Any:
    """Slots of a block: (size, ...), or (size, lanes, ...) where lanes have their own."""
    one = lambda t: t.at[index].get(mode="clip")
    return jax.tree.map(lambda t, b: jax.vmap(one, 0, 1)(t) if b else one(t), tree, batched)


def _all(tree, value: bool) -> Any:
    return jax.tree.map(lambda _: value, tree)


def walk(method: Any, problem: Any, state: At, drawn: Any, count: Any = None) -> At:
    """The visits of a pass, block after block: a serial method whose visits are linear.

    count: how many of the blocks; None: all.
    """
    count = jax.tree.leaves(drawn)[0].shape[0] if count is None else count
    return _walk(method, problem, state, drawn, count)


_walk = custom_vmap(_steps)


@_walk.def_vmap
def _walk_of_lanes(size: int, batched, method, problem, state: At, drawn, count) -> tuple[At, Any]:
    own, ours, theirs, *samples = batched
    if any(jax.tree.leaves((own, ours.rows, samples))):
        out = jax.vmap(_steps, in_axes=_axes(tuple(batched)), axis_size=size)
        return out(method, problem, state, drawn, count), _all(state, True)
    lead = lambda x, b: x if b else jnp.broadcast_to(x, (size, *x.shape))
    moving = lambda at: (at.vectors, at.tables, at.scalars)
    vectors, tables, scalars = jax.tree.map(lead, moving(state), moving(theirs))
    axes = LaneAxes(_axes(ours), _axes((ours.y, ours.c, theirs.constants)))
    facts = method.facts(problem)

    def step(carry, sample):
        vectors, tables, scalars = carry
        given = (problem.y, problem.c, tables, state.constants)
        flags = (ours.y, ours.c, _all(tables, True), theirs.constants)
        slots = Slots(*_slots(given, flags, sample.index))
        vectors, entries, scalars = visit_block(
            method.visit, problem, sample, vectors, scalars, slots, axes=axes, **facts
        )
        put = lambda t, e: t.at[:, sample.index].set(jnp.moveaxis(e, 0, 1), mode="drop")
        return vectors, jax.tree.map(put, tables, entries), scalars

    behind = tuple(jnp.moveaxis(v, 0, -1) for v in vectors)
    behind, tables, scalars = _loop(step, (behind, tables, scalars), drawn, count)
    vectors = tuple(jnp.moveaxis(v, -1, 0) for v in behind)
    new = At(vectors, tables, scalars, state.constants)
    return new, _all(new, True)._replace(constants=theirs.constants)


def _behind(product: Callable) -> Callable:
    """A product with rows; in a batch that shares sparse rows, one product for all lanes."""

    @custom_vmap
    def one(rows, v):
        return product(rows, v)

    @one.def_vmap
    def of_lanes(size: int, batched, rows, v):
        rows_differ, v_differs = batched
        if any(jax.tree.leaves(rows_differ)) or not v_differs:
            out = jax.vmap(product, in_axes=_axes(tuple(batched)), axis_size=size)(rows, v)
        else:
            out = jnp.moveaxis(product(rows, jnp.moveaxis(v, 0, -1)), -1, 0)
        return out, True

    # other rows, dense or on nodes, have their lanes where they want them
    return lambda rows, v: one(rows, v) if getattr(rows, "behind", False) else product(rows, v)


rows_times = _behind(lambda rows, w: rows.matvec(w))
rows_added = _behind(lambda rows, a: rows.rmatvec(a))
