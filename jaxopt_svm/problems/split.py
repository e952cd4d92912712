"""The rows of a matrix divided over nodes: one more axis in front, a node's rows together.

Node k holds rows k s, ..., (k + 1) s - 1, s = ceil(rows / nodes); what is missing at the end are
zero rows. The leading axis is one to vmap over, or to lay over the devices of a mesh: a node's
rows then live on its device and nowhere else. Vectors with an entry a row, (nodes s,), are divided
alike, and a product X'a is a sum over nodes: d numbers is what devices exchange, whatever n is.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, PartitionSpec

from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.mesh.axes import ROWS, on_axis, size
from jaxopt_svm.problems.rows import Dense, Padded, make_dense

__all__ = ["Split", "are_dense", "split_rows"]

OWN, SHARED = PartitionSpec(ROWS), PartitionSpec()


@pytree
class Split:
    """Rows over nodes; mesh: whose devices along "rows" the nodes live on, None for one device.

    What looks at all rows is answered; what asks for single rows by their number is refused.
    """

    parts: Any  # Dense or Padded with a leading axis, one entry a node
    mesh: Mesh | None = static(default=None)

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

    # --- asking nodes ---------------------------------------------------------------------------

    def by_node(self, a) -> Any:
        """Arrays with an entry a row as (nodes, rows of a node, ...)."""
        return jax.tree.map(lambda x: x.reshape(self.nodes, -1, *x.shape[1:]), a)

    def each(self, ask: Callable, own: tuple = (), shared: tuple = ()) -> Any:
        """ask(part, *own of the node, *shared) of every node; (nodes, ...)."""
        return self.each_and_sum(lambda *given: (ask(*given), ()), own, shared)[0]

    def summed(self, ask: Callable, own: tuple = (), shared: tuple = ()) -> Any:
        """The answers of all nodes added up."""
        return self.each_and_sum(lambda *given: ((), ask(*given)), own, shared)[1]

    def each_and_sum(self, ask: Callable, own: tuple = (), shared: tuple = ()) -> tuple[Any, Any]:
        """Nodes answer with a pair: the first halves, (nodes, ...), and the sum of the second ones,
        taken on each device first, then over devices."""

        def run(*given):
            mine, answers = _of_nodes(ask, len(own))(*given)
            total = jax.tree.map(lambda x: jnp.sum(x, axis=0, dtype=x.dtype), answers)
            return mine, lax.psum(total, ROWS) if self.divided else total

        specs = (OWN, *(OWN for _ in own), *(SHARED for _ in shared))
        return on_axis(run, self.mesh, ROWS, specs, (OWN, SHARED))(self.parts, *own, *shared)

    @property
    def divided(self) -> bool:
        return self.mesh is not None and ROWS in self.mesh.axis_names

    # --- rows -----------------------------------------------------------------------------------

    def matvec(self, w):
        z = self.each(lambda rows, w: rows.matvec(w), shared=(w,))
        return z.reshape(-1, *z.shape[2:])

    def rmatvec(self, a):
        return self.summed(lambda rows, a: rows.rmatvec(a), (self.by_node(a),))

    def column_counts(self):
        return self.summed(lambda rows: rows.column_counts())

    def row_counts(self):
        return self.each(lambda rows: rows.row_counts()).reshape(-1)

    def column_squares(self, weights):
        return self.summed(lambda rows, w: rows.column_squares(w), (self.by_node(weights),))

    def column_sums(self, values):
        return self.summed(lambda rows, v: rows.column_sums(v), (self.by_node(values),))

    def groups_touched(self, group, count: int):
        """How many nodes have the column; the groups are the nodes."""
        del group, count
        return self.summed(lambda rows: (rows.column_counts() > 0).astype(jnp.int32))

    def weighted_sqnorms(self, weights):
        squares = self.each(lambda rows, w: rows.weighted_sqnorms(w), shared=(weights,))
        return squares.reshape(-1)

    def norm_product(self):
        sums = self.each(lambda rows: rows.absolute_sums()[0])
        return jnp.max(sums) * jnp.max(self.summed(lambda rows: rows.absolute_sums()[1]))

    def column_gram(self, weights):
        return self.summed(lambda rows, w: rows.column_gram(w), (self.by_node(weights),))

    def without_last(self) -> "Split":
        """Without the last column, which is that of an intercept."""
        return Split(self.each(lambda rows: rows.without_last()), self.mesh)

    def dense(self) -> "Split":
        """The same rows stored densely, every node's at its place."""
        return Split(self.each(lambda rows: make_dense(rows.toarray())), self.mesh)

    def toarray(self):
        return self.each(lambda rows: rows.toarray()).reshape(self.shape)

    def digest(self):
        firsts = jnp.arange(self.nodes, dtype=jnp.int32) * (self.shape[0] // self.nodes)
        return self.summed(lambda rows, first: rows.digest(first), (firsts,))

    # --- what nodes cannot answer ---------------------------------------------------------------

    def _refuse(self, *_):
        where = f" on {size(self.mesh, ROWS)} devices" if self.divided else ""
        raise ValueError(
            f"it visits single rows, and these are divided over {self.nodes} nodes{where}; use "
            "DisDCA (coordinate steps on every node), or a method of sums over all rows: "
            "ALMNewton, Newton, InteriorPointLowRank, LBFGS, huber_agd, Subgradient"
        )

    take = dot = add = row = gram = smaller_gram = entry_sqnorms = group_counts = _refuse


def _of_nodes(ask: Callable, own: int) -> Callable:
    """``ask`` of all nodes of a device, its part and ``own`` arguments with a leading axis."""

    def run(*given):
        mine, common = given[: 1 + own], given[1 + own :]
        if jax.tree.leaves(mine)[0].shape[0] > 1:
            return jax.vmap(ask, (*(0 for _ in mine), *(None for _ in common)))(*given)
        # one node: no batch of one, which loops over rows would pay for with a copy of them
        alone = jax.tree.map(lambda x: x[0], mine)
        return jax.tree.map(lambda x: jnp.asarray(x)[None], ask(*alone, *common))

    return run


def are_dense(rows: Any) -> bool:
    """Dense rows, in one piece or divided."""
    return isinstance(rows.parts if isinstance(rows, Split) else rows, Dense)


def split_rows(rows: Dense | Padded, nodes: int, size: int = 0, longest: int = 0) -> Split:
    """``rows`` in order over nodes, on the host: numpy arrays, for the caller to place.

    size: rows of a node, longest: chunks of a node; more than these rows need if others need more.
    """
    count = rows.shape[0]
    size = max(size, -(-count // nodes))
    missing = nodes * size - count
    sqnorms = np.pad(np.asarray(rows.sqnorms), (0, missing)).reshape(nodes, size)
    if isinstance(rows, Dense):
        X = np.asarray(rows.X)
        X = np.pad(X, ((0, missing), (0, 0))) if missing else X
        return Split(Dense(X.reshape(nodes, size, -1), sqnorms))
    ends = np.pad(np.asarray(rows.start), (0, missing), mode="edge")
    first, last = ends[:-1:size], ends[size::size]
    longest = max(1, longest, int((last - first).max()))
    # chunk number of every slot of every node; beyond a node's own chunks comes padding
    slot = first[:, None] + np.arange(longest)[None, :]
    held = slot < last[:, None]
    slot = np.minimum(slot, rows.cols.shape[0] - 1)
    own = np.asarray(rows.owner)[slot] - size * np.arange(nodes)[:, None]
    start = np.stack([ends[k * size : (k + 1) * size + 1] - first[k] for k in range(nodes)])
    parts = Padded(
        cols=np.where(held[..., None], np.asarray(rows.cols)[slot], 0),
        vals=np.where(held[..., None], np.asarray(rows.vals)[slot], 0),
        start=start.astype(np.int32),
        owner=np.where(held, own, size - 1).astype(np.int32),
        sqnorms=sqnorms,
        d=rows.d,
    )
    return Split(parts)
