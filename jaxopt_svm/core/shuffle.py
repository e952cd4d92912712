r"""A random bijection of {0..n-1} without sorting.

Write an index as (q, r) in Z_a x Z_b with a b >= n and mix the halves with random tables,

    q <- q + F_k(r) mod a,      r <- r + G_k(q) mod b,      k = 1..rounds,

an additive Feistel network: every round is a bijection whatever the tables are. Indices that
land in [n, a b) walk on along their cycle until they are back below n; there are fewer than
a of them, so the walk happens in a small table. Cost O(n) with tables of size sqrt(n):
some thirty times cheaper than sorting random keys, and as good for a pass of a solver.
"""

import math

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = ["shuffle"]

ROUNDS = 4


def _network(index, tables_q, tables_r, a: int, b: int):
    """The bijection of Z_ab; ``index`` is any array of indices below a b."""

    def mix(k, halves):
        q, r = halves
        q = (q + tables_q[k][r]) % a
        return q, (r + tables_r[k][q]) % b

    # a loop, not its rounds one after the other: those take half as long again to compile
    q, r = lax.fori_loop(0, ROUNDS, mix, (index // b, index % b))
    return q * b + r


def shuffle(key: Array, n: int) -> Array:
    """(n,) int32: the numbers 0..n-1 in a random order."""
    a = math.isqrt(n - 1) + 1 if n > 1 else 1
    b = -(-n // a)
    bits = jax.random.bits(key, (ROUNDS, a + b), jnp.uint32)
    tables_q = (bits[:, :b] % jnp.uint32(a)).astype(jnp.int32)
    tables_r = (bits[:, b:] % jnp.uint32(b)).astype(jnp.int32)
    image = _network(jnp.arange(a * b, dtype=jnp.int32), tables_q, tables_r, a, b)
    order, outside = image[:n], image[n:]
    if outside.size == 0:
        return order
    # outside[v - n] is the image of v >= n; jumping doubles the stretch of cycle covered, and a
    # cycle that never comes back below n is never entered from below.
    jump = lambda _, out: jnp.where(out < n, out, out[jnp.maximum(out - n, 0)])
    outside = lax.fori_loop(0, outside.size.bit_length(), jump, outside)
    return jnp.where(order < n, order, outside[jnp.maximum(order - n, 0)])
