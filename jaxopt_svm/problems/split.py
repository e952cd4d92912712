"""The rows of a matrix divided over nodes: one more axis in front, a node's rows together.

Node k holds rows k s, ..., (k + 1) s - 1, s = ceil(rows / nodes); what is missing at the end are
zero rows. The leading axis is one to vmap over, or to lay over the devices of a mesh: a node's
rows then live on its device and nowhere else.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.problems.rows import Dense, Padded

__all__ = ["Split", "split_rows"]


@pytree
class Split:
    """Rows over nodes. It answers, for all rows together, what samplings of nodes ask."""

    parts: Any  # Dense or Padded with a leading axis, one entry a node

    @property
    def spans(self) -> bool:
        return self.parts.spans

    @property
    def nodes(self) -> int:
        return self.parts.sqnorms.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        wide = self.parts.X.shape[2] if isinstance(self.parts, Dense) else self.parts.d
        return self.parts.sqnorms.size, wide

    @property
    def sqnorms(self) -> Array:
        return self.parts.sqnorms.reshape(-1)

    def _each(self, ask, *shared):
        """A question to every node; (nodes, ...)."""
        return jax.vmap(lambda rows: ask(rows, *shared))(self.parts)

    def rmatvec(self, a):
        own = a.reshape(self.nodes, -1, *a.shape[1:])
        return jnp.sum(jax.vmap(lambda rows, a: rows.rmatvec(a))(self.parts, own), axis=0)

    def column_counts(self):
        return jnp.sum(self._each(lambda rows: rows.column_counts()), axis=0)

    def groups_touched(self, group, count: int):
        """How many nodes have the column; the groups are the nodes."""
        del group, count
        return jnp.sum(self._each(lambda rows: rows.column_counts()) > 0, axis=0)

    def weighted_sqnorms(self, weights):
        return self._each(lambda rows, w: rows.weighted_sqnorms(w), weights).reshape(-1)

    def toarray(self):
        return self._each(lambda rows: rows.toarray()).reshape(self.shape)


def split_rows(rows: Dense | Padded, nodes: int) -> Split:
    """``rows`` in order over nodes, on the host."""
    count = rows.shape[0]
    size = -(-count // nodes)
    missing = nodes * size - count
    sqnorms = jnp.pad(rows.sqnorms, (0, missing)).reshape(nodes, size)
    if isinstance(rows, Dense):
        X = jnp.pad(rows.X, ((0, missing), (0, 0)))
        return Split(Dense(X.reshape(nodes, size, -1), sqnorms))
    ends = np.pad(np.asarray(rows.start), (0, missing), mode="edge")
    first, last = ends[:-1:size], ends[size::size]
    longest = max(1, int((last - first).max()))
    # chunk number of every slot of every node; beyond a node's own chunks comes padding
    slot = first[:, None] + np.arange(longest)[None, :]
    held = slot < last[:, None]
    slot = np.minimum(slot, rows.cols.shape[0] - 1)
    own = np.asarray(rows.owner)[slot] - size * np.arange(nodes)[:, None]
    start = np.stack([ends[k * size : (k + 1) * size + 1] - first[k] for k in range(nodes)])
    parts = Padded(
        cols=jnp.asarray(np.where(held[..., None], np.asarray(rows.cols)[slot], 0)),
        vals=jnp.asarray(np.where(held[..., None], np.asarray(rows.vals)[slot], 0)),
        start=jnp.asarray(start.astype(np.int32)),
        owner=jnp.asarray(np.where(held, own, size - 1).astype(np.int32)),
        sqnorms=sqnorms,
        d=rows.d,
    )
    return Split(parts)
