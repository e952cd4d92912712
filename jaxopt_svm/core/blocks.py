r"""Visits: a serial method written for one example, run one by one or in exact blocks.

A method writes

    visit(problem, example, at) -> at

where ``at`` holds the carried d-vectors, this example's slot of the n-sized tables, and
scalars. A visit indexes nothing: it asks its row for ``dot``, ``add`` and ``sqnorm``.

Lifting to a block of B rows X_b (dense rows). Let V be the k carried vectors at the start of
the block. As long as visits only scale and add vectors and add multiples of rows, every vector
stays in span{V, X_b}, and a visit sees it only through its products with X_b. So a vector is
carried as

    [ X_b v (B)  |  coefficients on V (k)  |  coefficients on X_b (B) ]

and row j becomes [ (X_b X_b')_j | 0 | e_j ]: B visits cost O(B^2) on short arrays, and one pair
of matrix products at either end does the work in d. This is exact to rounding: B = 1 with
true rows is the referee (tests/test_blocks.py). Under a batch of lanes the indices are
unbatched, so rows and Gram matrix are gathered and formed once for the whole grid.

Sparse rows have no Gram matrix worth forming. There a vector is a combination K of k base arrays,
visits change K and say what multiple of the row to add, and the bases absorb the rows: a shrink of
w costs O(1), a visit O(stored values). Visits that are not linear in the vectors (an l1 link)
walk the true rows. The block then saves traffic with the tables: gathered and scattered once.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree

__all__ = [
    "At",
    "Example",
    "LaneAxes",
    "Slots",
    "gather",
    "parallel_step",
    "serial_step",
    "visit_block",
]


def outer(coefficients, values):
    """coefficients (...) against values (size,): the array (size, ...) of their products."""
    return jnp.multiply.outer(values, coefficients)


class Example(NamedTuple):
    """One example as a visit sees it: its row, its target y and its weight c."""

    row: Any
    y: Array
    c: Array


class At(NamedTuple):
    """The state of a serial method; inside a visit, tables and constants are one slot.

    vectors: tuple of (d, ...) arrays. tables: pytree of (n, ...) arrays, read and written.
    scalars: pytree of anything small. constants: pytree of (n, ...) arrays, only read.
    """

    vectors: tuple
    tables: Any = ()
    scalars: Any = ()
    constants: Any = ()


@pytree
class SpanRow:
    """Row j of a block, for vectors carried as [margins | on V | on X_b]."""

    j: Array
    direction: Array  # (B + k + B,)
    sqnorm: Array

    def dot(self, u, through=None):
        del through  # only the identity gets here: see serial_step
        return lax.dynamic_index_in_dim(u, self.j, 0, keepdims=False)

    def add(self, u, c):
        return u + outer(c, self.direction)


def _onehots(vectors: tuple, before: list, after: int) -> tuple:
    """Each vector as [its margins | one-hot on the carried vectors | zeros (after)]."""
    k = len(vectors)

    def one(m, v, margins):
        on = jnp.zeros((k, *v.shape[1:]), v.dtype).at[m].set(1.0)
        return jnp.concatenate([margins, on, jnp.zeros((after, *v.shape[1:]), v.dtype)])

    return tuple(one(m, v, margins) for m, (v, margins) in enumerate(zip(vectors, before)))


def _combine(coefficients, vectors: tuple) -> Any:
    """sum_m coefficients[m] * vectors[m], a coefficient for each output."""
    over = lambda c, v: c[None] if 0 < c.ndim < v.ndim else c
    terms = [over(c, v) * v for c, v in zip(coefficients, vectors, strict=True)]
    return functools.reduce(jnp.add, terms)


def _slots(tree, index):
    return jax.tree.map(lambda t: t.at[index].get(mode="clip"), tree)


def _spread(twins, entry, cache):
    """Write ``entry`` to every slot of ``cache`` that is the same example."""
    put = lambda e, t: jnp.where(twins.reshape(-1, *(1,) * e.ndim), e, t)
    return jax.tree.map(put, entry, cache)


class Slots(NamedTuple):
    """The examples of a block: targets, weights, and their slots of tables and constants."""

    y: Array
    c: Array
    tables: Any
    constants: Any


def gather(problem, state: At, index) -> Slots:
    """Slots of every index; padding repeats the last example."""
    return Slots(*_slots((problem.y, problem.c, state.tables, state.constants), index))


class LaneAxes(NamedTuple):
    """Which numbers of a batch differ from lane to lane: vmap axes of a problem, and of the y, c
    and constants of an example."""

    problem: Any
    given: tuple


def visit_block(
    visit,
    problem,
    sample: Sample,
    vectors: tuple,
    scalars,
    slots: Slots,
    *,
    unique: bool,
    linear: bool,
    scales: bool,
    tiled: bool = False,
    axes: LaneAxes | None = None,
) -> tuple[tuple, Any, Any]:
    """The visits of a block one after the other; returns vectors, table slots and scalars.

    tiled: the indices are those of a tile of sparse rows (problems/tiles.py).
    axes: for all lanes of a batch together (sparse rows, see core/lanes_behind.py).
    """
    index, mask = sample
    # a repeated example sees its earlier moves: its slots are kept equal in the cache
    same = None if unique else index[:, None] == index[None, :]
    given = (slots.y, slots.c, slots.constants)
    block = _Block(visit, problem, index, mask, same, given, axes)
    dense = problem.rows.spans and index.shape[0] > 1
    if linear and (dense or (tiled and not scales)):
        return _span(block, vectors, slots.tables, scalars, scales)
    walk = _walk_lazily if linear and not problem.rows.spans else _walk
    return walk(block, vectors, slots.tables, scalars, scales)


def serial_step(
    visit,
    problem,
    state: At,
    sample: Sample,
    *,
    unique: bool,
    linear: bool,
    scales: bool,
    tiled: bool = False,
) -> At:
    """The visits of a block one after the other, each seeing all earlier ones.

    unique: no example comes twice. linear: visits only scale and add vectors and add rows.
    scales: they do scale or mix vectors (False: they only add rows).
    tiled: the block is a tile of sparse rows.
    """
    index, mask = sample
    slots = gather(problem, state, index)
    facts: Any = {"unique": unique, "linear": linear, "scales": scales, "tiled": tiled}
    vectors, entries, scalars = visit_block(
        visit, problem, sample, state.vectors, state.scalars, slots, **facts
    )
    tables = jax.tree.map(
        lambda t, e: t.at[index].set(e, mode="drop", unique_indices=unique and mask is None),
        state.tables,
        entries,
    )
    return At(vectors, tables, scalars, state.constants)


class _Block(NamedTuple):
    """What the three ways of running a block share."""

    visit: Any
    problem: Any
    index: Array
    mask: Array | None
    same: Array | None
    given: tuple  # y, c, constants of each example
    axes: LaneAxes | None = None  # of a batch, whose vectors have the lanes behind

    def at(self, row, given, vectors, entry, scalars) -> At:
        """One visit, or the same visit of every lane."""

        def one(problem, given, vectors, entry, scalars):
            y, c, constant = given
            new = self.visit(problem, Example(row, y, c), At(vectors, entry, scalars, constant))
            return new.vectors, new.tables, new.scalars

        if self.axes is not None:
            one = jax.vmap(one, in_axes=(*self.axes, -1, 0, 0), out_axes=(-1, 0, 0))
        return At(*one(self.problem, given, vectors, entry, scalars))

    def write(self, j, entry, cache):
        """The visit's table slots, back to where later visits of the block look."""
        if self.same is None:
            return jax.tree.map(lambda t, e: t.at[j].set(e), cache, entry)
        return _spread(self.same[j], entry, cache)

    def count(self):
        """How many of the indices are not padding; padding comes last."""
        return self.index.shape[0] if self.mask is None else jnp.sum(self.mask)


def _span(block: _Block, vectors, entries, scalars, scales):
    """A block in its own coordinates: see the top of this file."""
    rows, B, k = block.problem.rows.take(block.index), block.index.shape[0], len(vectors)
    G = rows.gram()
    direction = [G, jnp.zeros((B, k), G.dtype), jnp.eye(B, dtype=G.dtype)]
    items = SpanRow(jnp.arange(B), jnp.concatenate(direction, axis=1), jnp.diagonal(G))
    start = _onehots(vectors, [rows.matvec(v) for v in vectors], B)

    def body(carry, xs):
        (u, scalars, cache), (row, entry, given, counts) = carry, xs
        entry = entry if block.same is None else _slots(cache, row.j)
        old = At(u, entry, scalars)
        new = block.at(row, given, *old[:3])
        if counts is not None:
            new = jax.tree.map(lambda a, b: jnp.where(counts, a, b), At(*new[:3]), old)
        if block.same is not None:
            cache = _spread(block.same[row.j], new.tables, cache)
        return (new.vectors, new.scalars, cache), new.tables

    # without repeats the table slots travel with the scan, with them in the carry
    cache = () if block.same is None else entries
    xs = (items, entries, block.given, block.mask)
    (u, scalars, cache), moved = lax.scan(body, (start, scalars, cache), xs)
    if scales:
        lifted = tuple(_combine(m[B : B + k], vectors) + rows.rmatvec(m[B + k :]) for m in u)
    else:
        lifted = tuple(rows.added(v, m[B + k :]) for v, m in zip(vectors, u, strict=True))
    return lifted, moved if block.same is None else cache, scalars


def _walk(block: _Block, vectors, entries, scalars, scales):
    """True rows and true vectors, one visit after the other: the referee of the other ways."""
    del scales

    def body(j, carry):
        vectors, cache, scalars = carry
        row, given = block.problem.rows.row(block.index[j]), _slots(block.given, j)
        new = block.at(row, given, vectors, _slots(cache, j), scalars)
        return new.vectors, block.write(j, new.tables, cache), new.scalars

    return lax.fori_loop(0, block.count(), body, (vectors, entries, scalars))


def _walk_lazily(block: _Block, vectors, entries, scalars, scales):
    """Sparse rows: vector m is sum_j K[m, j] base_j, and only the bases are long arrays."""
    k = len(vectors)
    eye = lambda v, m: jnp.zeros((k, *v.shape[1:]), v.dtype).at[m].set(1.0)
    identity = tuple(eye(v, m) for m, v in enumerate(vectors))

    def body(j, carry):
        bases, K, cache, scalars = carry
        row, given = block.problem.rows.row(block.index[j]), _slots(block.given, j)
        margins = tuple(row.dot(b) for b in bases)
        zero = lambda v: jnp.zeros((1, *v.shape[1:]), v.dtype)
        u = tuple(
            jnp.concatenate([_combine(K[m], margins)[None], K[m], zero(v)])
            for m, v in enumerate(vectors)
        )
        local = _own_row(row.sqnorm, k)
        new = block.at(local, given, u, _slots(cache, j), scalars)
        wanted = tuple(v[-1] for v in new.vectors)  # the multiple of the row each vector gains
        if scales:
            K = tuple(v[1 : 1 + k] for v in new.vectors)
            wanted = _solve(K, wanted)
        bases = tuple(row.add(b, c) for b, c in zip(bases, wanted))
        return bases, K, block.write(j, new.tables, cache), new.scalars

    start = (vectors, identity, entries, scalars)
    bases, K, entries, scalars = lax.fori_loop(0, block.count(), body, start)
    if scales:
        bases = tuple(_combine(K[m], bases) for m in range(k))
    return bases, entries, scalars


def _own_row(sqnorm, k: int) -> SpanRow:
    """The row of a visit whose vectors are [margin | on k bases | on the row itself]."""
    direction = jnp.zeros(k + 2, sqnorm.dtype).at[0].set(sqnorm).at[-1].set(1.0)
    return SpanRow(jnp.zeros((), jnp.int32), direction, sqnorm)


def _solve(K: tuple, r: tuple) -> tuple:
    """s with sum_j K[m][j] s_j = r_m: elimination without pivoting, entries may have axes.

    K starts as the identity and collects shrinks close to one, so its pivots are safe.
    """
    k = len(r)
    rows, right = [[K[m][j] for j in range(k)] for m in range(k)], list(r)
    for p in range(k):
        for m in range(p + 1, k):
            f = rows[m][p] / rows[p][p]
            rows[m] = [a - f * b for a, b in zip(rows[m], rows[p])]
            right[m] = right[m] - f * right[p]
    for p in reversed(range(k)):
        right[p] = (right[p] - sum(rows[p][j] * right[j] for j in range(p + 1, k))) / rows[p][p]
    return tuple(right)


def parallel_step(visit, problem, state: At, sample: Sample, *, through=None) -> At:
    """The visits of a set all from the same state; their changes are added.

    ``visit`` gets each example with vectors in the span of V and its own row; ``through`` is the
    map its products go through. Scalars are the caller's business and come back as they were.
    """
    index, mask = sample
    rows, k = problem.rows, len(state.vectors)
    seen = [v if through is None else through(v) for v in state.vectors]
    margins = [jnp.expand_dims(rows.dot(index, v), 1) for v in seen]  # (B, 1, ...)
    y, c, entries, constants = gather(problem, state, index)
    sqnorms = rows.sqnorms.at[index].get(mode="clip")

    def one(margins, sqnorm, entry, y, c, constant, counts):
        at = At(_onehots(state.vectors, margins, 1), entry, state.scalars, constant)
        new = visit(problem, Example(_own_row(sqnorm, k), y, c), at)
        if counts is None:
            return new
        return jax.tree.map(lambda a, b: jnp.where(counts, a, b), new, at)

    new = jax.vmap(one)(margins, sqnorms, entries, y, c, constants, mask)
    vectors = []
    for m, (v, u) in enumerate(zip(state.vectors, new.vectors)):
        on = u[:, 1 : 1 + k].at[:, m].add(-1.0).sum(0)  # total change of the coefficients on V
        vectors.append(rows.add(v + _combine(on, state.vectors), index, u[:, -1]))
    tables = jax.tree.map(
        lambda t, e, old: t.at[index].add(e - old, mode="drop"), state.tables, new.tables, entries
    )
    return At(tuple(vectors), tables, state.scalars, state.constants)
