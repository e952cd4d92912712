"""A problem's examples laid over the nodes of a mesh; rows of zero weight fill the nodes up.

In a job of several processes the arrays a user has are those of the process's own examples, in the
order of the processes, and what all have to agree on is exchanged. A process that holds all devices
along "rows" holds all examples. An array that is on the devices of a mesh already stays there.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxopt_svm.mesh.axes import ROWS, checked, place, size
from jaxopt_svm.mesh.processes import agree
from jaxopt_svm.problems.rows import Dense, Padded, best_width, chunked, make_dense, width_costs
from jaxopt_svm.problems.split import Split, split_rows

__all__ = ["Layout", "layout_of", "spread"]


class Layout(NamedTuple):
    """mesh: None for nodes on one device. nodes: in all, own: of this process, in order.

    apart: processes hold different examples. there: X is on the devices already.
    """

    mesh: Mesh | None
    nodes: int
    own: int
    apart: bool = False
    there: bool = False

    def agree(self, local) -> list[Any]:
        """What ``local`` gives on every process with examples of its own."""
        return agree(local) if self.apart else [local()]


def _mesh_of(X: Any) -> Mesh | None:
    """The mesh whose axis "rows" an array is divided over, if it is such an array."""
    at = getattr(X, "sharding", None)
    if not isinstance(at, NamedSharding) or not at.spec or at.spec[0] not in (ROWS, (ROWS,)):
        return None
    return at.mesh if isinstance(at.mesh, Mesh) else None


def layout_of(X: Any, mesh: Any = None, nodes: int | None = None) -> Layout | None:
    """Where the examples go, or None for rows in one piece."""
    there = _mesh_of(X) if isinstance(X, jax.Array) else None
    mesh = there if mesh is None else checked(mesh)
    if nodes is not None and (not isinstance(nodes, int | np.integer) or nodes < 1):
        raise ValueError(f"nodes: expected a whole number of at least 1, or None; got {nodes!r}")
    if mesh is None and nodes is None:
        return None
    mesh = None if mesh is None else checked(mesh)
    devices = size(mesh, ROWS)
    nodes = devices if nodes is None else int(nodes)
    if nodes % devices:
        raise ValueError(
            f'nodes: expected a multiple of the {devices} devices along "{ROWS}"; got {nodes}'
        )
    if there is not None and X.shape[0] % nodes:
        raise ValueError(
            f"nodes: an X that is on devices already is divided as it is, so nodes must divide its "
            f"{X.shape[0]} rows; got {nodes}"
        )
    if mesh is None or there is not None:
        return Layout(mesh, nodes, nodes, there=there is not None)
    mine, apart = _own_devices(mesh)
    return Layout(mesh, nodes, nodes // devices * mine, apart)


def _own_devices(mesh: Mesh) -> tuple[int, bool]:
    """How many places along "rows" this process has, and whether they are its own alone."""
    if ROWS not in mesh.axis_names:
        return 1, False
    along = np.moveaxis(mesh.devices, mesh.axis_names.index(ROWS), 0)
    owners = [{d.process_index for d in np.ravel(devices)} for devices in along]
    me = jax.process_index()
    if all(len(some) == 1 for some in owners):
        order = [min(some) for some in owners]
        if order != sorted(order):
            raise ValueError(f'mesh: processes must come in order along "{ROWS}"; got {order}')
        return order.count(me), len(set(order)) > 1
    if all(some == owners[0] for some in owners):
        return len(owners), False
    raise ValueError(
        f'mesh: a process must hold all devices along "{ROWS}", or share none of its places there '
        "with another one"
    )


def host_rows(X: Any, dtype, layout: Layout) -> Dense | Padded:
    """Rows of a checked matrix on the host, stored as all processes agree to."""
    sparse = hasattr(X, "tocsr")
    if not sparse:
        X = np.asarray(X)
        return Dense(X, np.einsum("ij,ij->i", X, X))
    lengths = np.diff(X.indptr)
    costs = layout.agree(lambda: [int(cost) for cost in width_costs(lengths)])
    width = best_width(np.sum(costs, axis=0))
    return chunked(X.indptr, X.indices, X.data, X.shape[1], dtype, width)


def spread(X: Any, dtype, y: np.ndarray, c: np.ndarray, layout: Layout) -> tuple[Any, Any, Any]:
    """(rows, y, c) on the nodes of a layout; c is zero where a node is filled up."""
    mesh, nodes = layout.mesh, layout.nodes
    if layout.there:
        cut = jax.jit(lambda X: make_dense(X.reshape(-1, X.shape[-1])))
        rows = jax.tree.map(lambda x: x.reshape(nodes, -1, *x.shape[1:]), cut(X))
        return Split(place(rows, mesh, ROWS), mesh), *place((y, c), mesh, ROWS)
    rows = host_rows(X, dtype, layout)
    if mesh is not None and ROWS not in mesh.axis_names and nodes == 1:
        return tuple(place(jax.tree.map(jnp.asarray, (rows, y, c)), mesh))
    room = -(-rows.shape[0] // layout.own)
    chunks = 0 if isinstance(rows, Dense) else _longest(rows, layout.own, room)
    rooms = layout.agree(lambda: [room, chunks])
    room, chunks = (int(most) for most in np.max(rooms, axis=0))
    parts = split_rows(rows, layout.own, room, chunks).parts
    fill = layout.own * room - len(y)
    y = np.concatenate([y, np.repeat(y[-1:], fill, axis=0)])
    c = np.pad(c, (0, fill))
    if mesh is None:
        parts, y, c = jax.tree.map(jnp.asarray, (parts, y, c))
        return Split(parts), y, c
    at = NamedSharding(mesh, PartitionSpec(ROWS if ROWS in mesh.axis_names else None))
    put = lambda x: jax.make_array_from_process_local_data(at, x)
    parts, y, c = jax.tree.map(put, (parts, y, c))
    return Split(parts, mesh), y, c


def _longest(rows: Padded, nodes: int, room: int) -> int:
    """Chunks of the node that has most."""
    ends = np.asarray(rows.start)[np.minimum(np.arange(nodes + 1) * room, rows.shape[0])]
    return int(np.diff(ends).max())
