"""Checkpoints of a running solve: npz, arrays only, bit-identical continuation.

A file carries a fingerprint of the problem, the method, the key and the start; a checkpoint of
anything else is refused. Tolerances and the pass budget may change between runs.
"""

import hashlib
import os
import pathlib
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.lanes import take_lanes
from jaxopt_svm.core.solution import open_npz, write_npz

__all__ = ["Store", "fingerprint"]

FIELDS = ("lanes", "passes", "smallest", "stalled", "settled", "full", "last_leg")
COUNTS = ("active", "r", "leg", "begun", "grown", "owed")


def _array(leaf) -> np.ndarray:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.ascontiguousarray(leaf)


def _structure(tree) -> str:
    """The types, static fields included; functions by name, since their address changes."""
    leaves, treedef = jax.tree.flatten(tree)
    text = str(treedef)
    shapes = [(np.shape(leaf), str(_array(leaf).dtype)) for leaf in leaves]
    return " ".join(part.split(" at 0x")[0] for part in text.split("<function ")) + str(shapes)


def fingerprint(tree: Any) -> str:
    """A digest of every number and every choice in a tree."""
    digest = hashlib.blake2b(_structure(tree).encode(), digest_size=16)
    for leaf in jax.tree.leaves(tree):
        digest.update(_array(leaf).data)
    return digest.hexdigest()


class Store:
    """Where a loop is written to and resumed from; does nothing without a path."""

    def __init__(self, path: str | os.PathLike | None, tree: Any):
        self.path = None if path is None else pathlib.Path(path)
        if self.path is None:
            return
        folder = self.path.parent
        if self.path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ValueError(f"checkpoint: {self.path} cannot be written")
        self.fingerprint = fingerprint(tree)

    def write(self, loop) -> None:
        if self.path is None:
            return
        arrays: dict[str, Any] = {"kind": "checkpoint", "fingerprint": self.fingerprint}
        for name in (*FIELDS, *COUNTS):
            arrays[name] = getattr(loop, name)
        for name, values in loop.before.items():
            arrays[f"before.{name}"] = values
        arrays["status"] = loop.status.astype(str)
        arrays["elapsed"] = time.perf_counter() - loop.started
        for name, column in _columns(loop.records).items():
            arrays[f"records.{name}"] = column
        for k, leaf in enumerate(jax.tree.leaves((loop.state, loop.best))):
            arrays[f"leaf.{k}"] = leaf
        for lane, best in enumerate(loop.stored):
            for k, leaf in enumerate(jax.tree.leaves(best)):
                arrays[f"stored.{lane}.{k}"] = leaf
        write_npz(self.path, arrays)

    def resume(self, loop) -> None:
        """Put the loop back where the file left it, if there is a file."""
        if self.path is None or not self.path.exists():
            return
        arrays = open_npz(self.path, "checkpoint")
        if str(arrays["fingerprint"]) != self.fingerprint:
            raise ValueError(
                f"checkpoint: {self.path} belongs to another problem, method, grid or key; "
                "name another file or delete this one"
            )
        for _ in range(int(arrays["leg"])):
            loop.next_leg()
        for _ in range(int(arrays["grown"])):
            loop.grow_to(loop.method.grown())
        best_structure = jax.tree.structure(loop.best)
        structure = jax.tree.structure((loop.state, loop.best))
        leaves = [jnp.asarray(arrays[f"leaf.{k}"]) for k in range(structure.num_leaves)]
        loop.state, loop.best = jax.tree.unflatten(structure, leaves)
        for name in FIELDS:
            setattr(loop, name, arrays[name])
        for name in COUNTS:
            setattr(loop, name, int(arrays[name]))
        loop.before = {name: arrays[f"before.{name}"] for name in loop.before}
        loop.status = arrays["status"].astype(object)
        loop.started = time.perf_counter() - float(arrays["elapsed"])
        count = range(best_structure.num_leaves)
        loop.stored = [
            jax.tree.unflatten(best_structure, [arrays[f"stored.{lane}.{k}"] for k in count])
            if f"stored.{lane}.0" in arrays
            else None
            for lane in range(loop.count)
        ]
        columns = {n[8:]: a for n, a in arrays.items() if n.startswith("records.")}
        rows = range(len(columns["gap"]))
        loop.records = [{name: a[k] for name, a in columns.items()} for k in rows]
        if loop.batched:
            loop.problem = take_lanes(loop.whole, loop.lanes)


def _columns(records) -> dict[str, np.ndarray]:
    return {name: np.stack([row[name] for row in records]) for name in records[0]}
