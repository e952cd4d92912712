"""The two semirings of the dynamic programs: (max, +) decodes, (logsumexp, +) counts.

One program over a semiring gives them all: with (max, +) its value is the score of the best
labelling and its beliefs are max-marginals; with (logsumexp, +) they are the log-partition
function and log-marginals.
"""

import functools
from typing import Protocol

import jax
import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.pytree import pytree

__all__ = ["LogSumExp", "MaxPlus", "Semiring"]

UNROLLED = 64


class Semiring(Protocol):
    """The addition of the semiring; its multiplication is +."""

    def total(self, x) -> Array:
        """The sum of x over its last axis."""
        ...

    def push(self, message, table) -> Array:
        """(K,) b -> the sum over a of message_a + table_ab."""
        ...


@pytree
class MaxPlus:
    """(max, +): the best labelling."""

    def total(self, x):
        return jnp.max(x, axis=-1)

    def push(self, message, table):
        rows = table.shape[0]
        if rows > UNROLLED:
            return jnp.max(message[:, None] + table, axis=0)
        # K elementwise maxima: a reduction over the short axis of a batch does not vectorise
        # on CPU (measured 45 against 19 ms on the 5,512 words of OCR)
        return functools.reduce(jnp.maximum, (message[a] + table[a] for a in range(rows)))


@pytree
class LogSumExp:
    """(logsumexp, +): the sum over all labellings, in logarithms."""

    def total(self, x):
        return jax.nn.logsumexp(x, axis=-1)

    def push(self, message, table):
        return jax.nn.logsumexp(message[:, None] + table, axis=0)
