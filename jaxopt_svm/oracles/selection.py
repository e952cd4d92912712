"""The largest of n numbers, and the k largest without sorting them all.

lax.top_k sorts on a CPU: 0.8 ms for one vector of 4,435, 80 ms for a batch of 96. Here n numbers
are kept in chunks; the largest of each chunk is known, and taking the next number looks at one
chunk only. O(n + k (n/chunk + chunk)), exact, ties to the smaller index.
"""

import jax.numpy as jnp
from jax import Array, lax

__all__ = ["largest", "largest_index"]

CHUNK = 64
SMALL = 512  # below this many numbers sorting is as good


def largest_index(values: Array) -> tuple[Array, Array]:
    """(index, value) of the largest; ties to the smaller index.

    argmax carries pairs and is not vectorised on a CPU; two plain reductions are ten times faster.
    """
    n = values.shape[0]
    top = jnp.max(values)
    at = jnp.arange(n, dtype=jnp.int32)
    return jnp.min(jnp.where(values == top, at, n - 1)), top


def largest(values: Array, k: int) -> tuple[Array, Array]:
    """(values, indices) of the k largest, largest first; as ``lax.top_k``, with int32 indices."""
    n = values.shape[0]
    if n <= SMALL:
        top, index = lax.top_k(values, k)
        return top, index.astype(jnp.int32)
    count = -(-n // CHUNK)
    padded = jnp.pad(values, (0, count * CHUNK - n), constant_values=-jnp.inf)
    table = padded.reshape(count, CHUNK)
    at = jnp.arange(CHUNK, dtype=jnp.int32)
    best, where = jnp.max(table, axis=1), jnp.argmax(table, axis=1).astype(jnp.int32)

    def take(carry, _):
        best, where = carry
        c = jnp.argmax(best).astype(jnp.int32)
        value, j = best[c], where[c]
        # the table is only read: what has been taken is told by its last value and place
        row = table[c]
        later = (row < value) | ((row == value) & (at > j))
        rest = jnp.where(later, row, -jnp.inf)
        following = jnp.argmax(rest).astype(jnp.int32)
        carry = best.at[c].set(rest[following]), where.at[c].set(following)
        return carry, (value, jnp.minimum(c * CHUNK + j, n - 1))

    _, (top, index) = lax.scan(take, (best, where), length=k)
    return top, index
