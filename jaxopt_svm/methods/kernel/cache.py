r"""A bounded cache of kernel rows, the least recently used row leaving first.

For problems whose Gram matrix is made row by row. On a hit the row is read, on a miss it is
computed and takes the slot that was not asked for longest. Under a batch of lanes a branch becomes
a choice and every row would be computed anyway: the cache is for one lane at a time.
Lecture "Optimization Methods for SVMs" (Scheinberg), workload of a decomposition method; Joachims
1999.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

__all__ = ["Cache", "empty_cache", "look_up"]


class Cache(NamedTuple):
    """rows: (size, n). tag: whose row it is, -1 for nobody's. stamp: when it was last used."""

    rows: Array
    tag: Array
    stamp: Array
    clock: Array


def empty_cache(size: int, problem) -> Cache:
    return Cache(
        rows=jnp.zeros((size, problem.n), problem.c.dtype),
        tag=jnp.full(size, -1, jnp.int32),
        stamp=jnp.zeros(size, jnp.int32),
        clock=jnp.ones((), jnp.int32),
    )


def look_up(cache: Cache, gram, i) -> tuple[Array, Cache, Array]:
    """Row i, the cache that has it, and 1 if it had to be computed, else 0."""
    here = cache.tag == i
    hit = jnp.any(here)
    slot = jnp.where(hit, jnp.argmax(here), jnp.argmin(cache.stamp))
    row = lax.cond(hit, lambda: cache.rows[slot], lambda: gram.row_of(i))
    # writing a hit back to its own slot keeps this one store, in place
    after = Cache(
        rows=cache.rows.at[slot].set(row),
        tag=cache.tag.at[slot].set(i.astype(jnp.int32)),
        stamp=cache.stamp.at[slot].set(cache.clock),
        clock=cache.clock + 1,
    )
    return row, after, (~hit).astype(jnp.int32)
