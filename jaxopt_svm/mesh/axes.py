r"""Two axes of a mesh: "rows" divides the examples, "lanes" the grid of lam, folds and classes.

    mesh = jax.make_mesh((2, 2), ("rows", "lanes"))

Along "lanes" every device runs its own lanes: no communication. Along "rows" every device keeps the
examples of its nodes; vectors with an entry an example are divided in the same way, vectors with an
entry a feature are on all of them, and a sum over examples is a sum over devices. Inside a function
of ``on_axis`` a device sees its own part and says itself what is added up; outside of it, sums of
n numbers are left to the compiler.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

__all__ = ["AXES", "LANES", "ROWS", "checked", "on_axis", "place", "size"]

ROWS, LANES = "rows", "lanes"
AXES = (ROWS, LANES)


def checked(mesh: Any) -> Mesh:
    """The mesh with axes that are left to the compiler outside of ``on_axis``; or a refusal."""
    if not isinstance(mesh, Mesh):
        raise ValueError(
            f'mesh: expected a jax mesh such as jax.make_mesh((4,), ("rows",)); got {mesh!r}'
        )
    wrong = [name for name in mesh.axis_names if name not in AXES]
    if wrong:
        raise ValueError(
            f'mesh: its axes are called "{ROWS}" (examples) and "{LANES}" (lam, folds, classes); '
            f"got {wrong[0]!r}"
        )
    return Mesh(mesh.devices, mesh.axis_names)


def size(mesh: Mesh | None, axis: str) -> int:
    """Devices along an axis: 1 without a mesh, or if it has no such axis."""
    return 1 if mesh is None else dict(mesh.shape).get(axis, 1)


def place(tree: Any, mesh: Mesh | None, *axes: str | None) -> Any:
    """Arrays with their leading dimensions laid over these axes, where the mesh has them."""
    if mesh is None:
        return tree
    named = [axis if axis in mesh.axis_names else None for axis in axes]
    put = lambda x: jax.device_put(x, NamedSharding(mesh, PartitionSpec(*named[: x.ndim])))
    return jax.tree.map(put, tree)


def on_axis(function: Callable, mesh: Mesh | None, axis: str, in_specs: Any, out_specs: Any):
    """``function`` on each device along ``axis``, with its own part of what the specs divide.

    The other axis stays as it is, so that functions of rows run inside functions of lanes.
    """
    if mesh is None or axis not in mesh.axis_names:
        return function
    around = jax.sharding.get_abstract_mesh()  # not empty inside a function of the other axis
    run = jax.shard_map(
        function,
        mesh=mesh if around.empty else None,
        in_specs=in_specs,
        out_specs=out_specs,
        axis_names={axis},
        check_vma=False,
    )
    # called outside of jit, jax 0.10.2 cannot run a function of one of two axes
    return jax.jit(run) if around.empty and len(mesh.axis_names) > 1 else run
