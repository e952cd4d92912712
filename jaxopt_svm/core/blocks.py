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

Sparse rows, and visits that are not linear in the vectors (an l1 link), walk the true rows; the
block then only saves traffic with the tables: gathered once, scattered once.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree

__all__ = ["At", "Example", "Visits", "parallel_step", "serial_step"]

BLOCK = 32


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
        return u + self.direction.reshape(self.direction.shape + (1,) * jnp.ndim(c)) * c


def _onehots(vectors: tuple, before: list, after: int) -> tuple:
    """Each vector as [its margins | one-hot on the carried vectors | zeros (after)]."""
    k = len(vectors)

    def one(m, v, margins):
        on = jnp.zeros((k, *v.shape[1:]), v.dtype).at[m].set(1.0)
        return jnp.concatenate([margins, on, jnp.zeros((after, *v.shape[1:]), v.dtype)])

    return tuple(one(m, v, margins) for m, (v, margins) in enumerate(zip(vectors, before)))


def _combine(coefficients, vectors: tuple):
    """sum_m coefficients[m] * vectors[m]; a zero coefficient is exact."""
    return sum(c * v for c, v in zip(coefficients, vectors, strict=True))


class _Span:
    """A dense block in its own coordinates."""

    def __init__(self, rows, index, vectors):
        self.block, self.start, self.size = rows.take(index), vectors, index.shape[0]
        B, k = self.size, len(vectors)
        G = self.block.gram()
        direction = jnp.concatenate(
            [G, jnp.zeros((B, k), G.dtype), jnp.eye(B, dtype=G.dtype)], axis=1
        )
        self.items = SpanRow(jnp.arange(B), direction, jnp.diagonal(G))
        self.vectors = _onehots(vectors, [self.block.matvec(v) for v in vectors], B)

    def row(self, item):
        return item

    def leave(self, vectors):
        """Back to true coordinates: two products for each vector."""
        B, k = self.size, len(self.start)
        return tuple(
            _combine(u[B : B + k], self.start) + self.block.rmatvec(u[B + k :]) for u in vectors
        )


class _Walk:
    """True rows, one after the other."""

    def __init__(self, rows, index, vectors):
        self.rows, self.items, self.vectors = rows, index, vectors

    def row(self, item):
        return self.rows.row(item)

    def leave(self, vectors):
        return vectors


def _slots(tree, index):
    return jax.tree.map(lambda t: t.at[index].get(mode="clip"), tree)


def _keep(mask, new, old):
    return jax.tree.map(lambda a, b: jnp.where(mask, a, b), new, old)


def serial_step(visit, problem, state: At, sample: Sample, *, unique: bool, linear: bool) -> At:
    """The visits of a block one after the other, each seeing all earlier ones."""
    index, mask = sample
    block = (_Span if linear and problem.rows.spans and index.shape[0] > 1 else _Walk)(
        problem.rows, index, state.vectors
    )
    y, c, entries, constants = _slots((problem.y, problem.c, state.tables, state.constants), index)

    def one(vectors, scalars, entry, item, y, c, constant, counts):
        at = At(vectors, entry, scalars, constant)
        new = visit(problem, Example(block.row(item), y, c), at)
        return new if counts is None else _keep(counts, new, at)

    given = (block.items, y, c, constants, mask)
    if unique:
        # no example comes twice, so table slots travel with the scan

        def body(carry, xs):
            entry, (item, y, c, constant, counts) = xs
            new = one(*carry, entry, item, y, c, constant, counts)
            return (new.vectors, new.scalars), new.tables

        carry, entries = lax.scan(body, (block.vectors, state.scalars), (entries, given))
        vectors, scalars = carry
    else:
        # a repeated example sees its earlier moves: its slots are kept equal in the cache
        same = index[:, None] == index[None, :]

        def body(carry, xs):
            vectors, scalars, cache = carry
            j, twins, (item, y, c, constant, counts) = xs
            entry = jax.tree.map(lambda t: t[j], cache)
            new = one(vectors, scalars, entry, item, y, c, constant, counts)
            spread = lambda t, e: jnp.where(twins.reshape(-1, *(1,) * e.ndim), e, t)
            return (new.vectors, new.scalars, jax.tree.map(spread, cache, new.tables)), None

        start = (block.vectors, state.scalars, entries)
        (vectors, scalars, entries), _ = lax.scan(
            body, start, (jnp.arange(index.shape[0]), same, given)
        )
    tables = jax.tree.map(
        lambda t, e: t.at[index].set(e, mode="drop", unique_indices=unique and mask is None),
        state.tables,
        entries,
    )
    return At(block.leave(vectors), tables, scalars, state.constants)


def parallel_step(visit, problem, state: At, sample: Sample, *, through=None) -> At:
    """The visits of a set all from the same state; their changes are added.

    ``visit`` gets each example with vectors in the span of V and its own row; ``through`` is the
    map its products go through. Scalars are the caller's business and come back as they were.
    """
    index, mask = sample
    rows, k = problem.rows, len(state.vectors)
    seen = [v if through is None else through(v) for v in state.vectors]
    margins = [jnp.expand_dims(rows.dot(index, v), 1) for v in seen]  # (B, 1, ...)
    y, c, entries, constants = _slots((problem.y, problem.c, state.tables, state.constants), index)
    sqnorms = rows.sqnorms.at[index].get(mode="clip")

    def one(margins, sqnorm, entry, y, c, constant, counts):
        direction = jnp.zeros(k + 2, sqnorm.dtype).at[0].set(sqnorm).at[-1].set(1.0)
        row = SpanRow(jnp.zeros((), jnp.int32), direction, sqnorm)
        at = At(_onehots(state.vectors, margins, 1), entry, state.scalars, constant)
        new = visit(problem, Example(row, y, c), at)
        return new if counts is None else _keep(counts, new, at)

    new = jax.vmap(one)(margins, sqnorms, entries, y, c, constants, mask)
    vectors = []
    for m, (v, u) in enumerate(zip(state.vectors, new.vectors)):
        on = u[:, 1 : 1 + k].at[:, m].add(-1.0).sum(0)  # total change of the coefficients on V
        vectors.append(rows.add(v + _combine(on, state.vectors), index, u[:, -1]))
    tables = jax.tree.map(
        lambda t, e, old: t.at[index].add(e - old, mode="drop"), state.tables, new.tables, entries
    )
    return At(tuple(vectors), tables, state.scalars, state.constants)


class Visits:
    """What every method made of visits shares; it adds fields ``sampling`` and ``block``."""

    sampling: Any
    block: int

    def visit(self, problem, example: Example, at: At) -> At:
        raise TypeError(f"{type(self).__name__} must define visit")

    def linear(self, problem) -> bool:
        """Whether visits only scale and add vectors (static)."""
        del problem
        return True

    def refresh(self, problem, state: At) -> At:
        """Called before each block: recompute what would drift."""
        del problem
        return state

    def draw(self, problem, key: Array) -> Sample:
        return self.sampling.draw(problem, key, self.block)

    def block_step(self, visit, problem, state: At, sample: Sample) -> At:
        """``visit`` over one sample, in the order the sampling asks for."""
        linear = self.linear(problem)
        if self.sampling.serial:
            unique = self.sampling.unique
            return serial_step(visit, problem, state, sample, unique=unique, linear=linear)
        through = None if linear else problem.regularizer.link
        return parallel_step(visit, problem, state, sample, through=through)

    def step(self, problem, state: At, sample: Sample) -> At:
        return self.block_step(self.visit, problem, self.refresh(problem, state), sample)
