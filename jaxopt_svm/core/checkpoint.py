"""Checkpoints of a running solve: npz, arrays only, bit-identical continuation.

A file carries a fingerprint of the problem, the method, the key and the start; a checkpoint of
anything else is refused. Tolerances and the pass budget may change between runs: lanes that had
stopped at a looser tolerance go on from their points when the others are done. So may the devices:
arrays are stored whole, without regard to where they were. On other devices, or another number of
them, the continuation is the same to rounding.
"""

import hashlib
import os
import pathlib
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.lanes import padded_width, placed
from jaxopt_svm.core.solution import open_npz, write_npz
from jaxopt_svm.mesh.host import fetch
from jaxopt_svm.mesh.processes import agree, first_process

__all__ = ["Store", "fingerprint"]

FIELDS = ("lanes", "passes", "smallest", "stalled", "settled", "full", "last_leg")
COUNTS = ("active", "r", "leg", "begun", "grown", "owed", "narrower", "next_width")


def _array(leaf) -> np.ndarray:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.ascontiguousarray(fetch(leaf))


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


def _refitted(x: np.ndarray, wanted: tuple, n: int, now: int) -> np.ndarray:
    """x with axes of n entries, one an example, as axes of ``now``: what fills nodes up is zero."""
    for axis, sizes in enumerate(zip(x.shape, wanted)):
        if sizes == (n, now) and n != now:
            more = [(0, max(0, now - n) if k == axis else 0) for k in range(x.ndim)]
            x = np.pad(x, more).take(np.arange(now), axis)
    return x


class Store:
    """Where a loop is written to and resumed from; does nothing without a path.

    moving: the start is what other parts of the solve have found so far. A file begun from another
    one is begun anew, since those parts have gone on in the meantime. varying: which lanes these
    are depends on them too; a file of others is begun anew as well.
    """

    def __init__(
        self,
        path: str | os.PathLike | None,
        problem: Any,
        *others: Any,
        moving: bool = False,
        varying: bool = False,
    ):
        self.path, self.varying = None if path is None else pathlib.Path(path), varying
        if self.path is None:
            return
        folder = self.path.parent
        if self.path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ValueError(f"checkpoint: {self.path} cannot be written")
        facts, numbers = problem.identity() if hasattr(problem, "identity") else ("", problem)
        self.start = fingerprint(others[-1]) if moving else None
        self.method = fingerprint(others[:-1])
        # files of older versions know a part by its start too
        self.older = facts + fingerprint((numbers, *others))
        self.fingerprint = facts + fingerprint((numbers, *others[:-1])) if moving else self.older

    def write(self, loop) -> None:
        if self.path is None:
            return
        arrays: dict[str, Any] = {"kind": "checkpoint", "fingerprint": self.fingerprint}
        arrays["n"], arrays["start"] = loop.whole.n, str(self.start)
        arrays["method"] = self.method
        for name in (*FIELDS, *COUNTS):
            arrays[name] = getattr(loop, name)
        for name, values in loop.before.items():
            arrays[f"before.{name}"] = values
        arrays["status"], arrays["chosen"] = loop.status.astype(str), loop.chosen
        arrays["elapsed"] = time.perf_counter() - loop.started
        for name, column in _columns(loop.records).items():
            arrays[f"records.{name}"] = column
        for k, leaf in enumerate(jax.tree.leaves(fetch((loop.state, loop.best)))):
            arrays[f"leaf.{k}"] = leaf
        for lane, best in enumerate(loop.stored):
            for k, leaf in enumerate(jax.tree.leaves(best)):
                arrays[f"stored.{lane}.{k}"] = leaf
        if first_process() or loop.mesh is None:
            write_npz(self.path, arrays)

    def resume(self, loop) -> None:
        """Put the loop back where the file left it, if there is a file."""
        if self.path is None:
            return
        there = agree(self.path.exists) if loop.mesh is not None else [self.path.exists()]
        if not any(there):
            return
        if not all(there):
            raise ValueError(f"checkpoint: {self.path} must be a file that all processes see")
        arrays = open_npz(self.path, "checkpoint")
        if str(arrays["fingerprint"]) not in (self.fingerprint, self.older):
            if self.varying and str(arrays.get("method")) == self.method:
                return
            raise ValueError(
                f"checkpoint: {self.path} belongs to another problem, method, grid or key; "
                "name another file or delete this one"
            )
        if self.start is not None and str(arrays.get("start", self.start)) != self.start:
            return
        for _ in range(int(arrays["leg"])):
            loop.next_leg()
        for _ in range(int(arrays["grown"])):
            loop.grow_to(loop.method.grown())
        if "chosen" in arrays and arrays["chosen"].size:  # files of older versions lack it
            loop.arrange(arrays["chosen"])
        best_structure = jax.tree.structure(loop.best)
        fresh, structure = jax.tree.flatten((loop.state, loop.best))
        lead, sizes = int(loop.batched), (int(arrays["n"]), loop.whole.n)
        slots = np.arange(padded_width(loop.whole, len(arrays["lanes"])))
        slots = np.minimum(slots, len(arrays["lanes"]) - 1)
        leaves = []
        for k, leaf in enumerate(fresh):
            x = arrays[f"leaf.{k}"]
            x = x[slots] if loop.batched else x
            x = _refitted(x, (*x.shape[:lead], *leaf.shape[lead:]), *sizes)
            if x.shape[lead:] != leaf.shape[lead:]:
                raise ValueError(
                    f"checkpoint: {self.path} was written with the rows on another number of "
                    "nodes; make the problem with the same nodes="
                )
            leaves.append(jnp.asarray(x) if loop.mesh is None else jax.device_put(x, leaf.sharding))
        loop.state, loop.best = jax.tree.unflatten(structure, leaves)
        arrays["lanes"] = arrays["lanes"][slots]
        for name in FIELDS:
            setattr(loop, name, arrays[name])
        for name in COUNTS:
            setattr(loop, name, int(arrays.get(name, 0)))  # files of older versions lack some
        loop.before = {name: arrays[f"before.{name}"] for name in loop.before}
        loop.status = arrays["status"].astype(object)
        loop.started = time.perf_counter() - float(arrays["elapsed"])
        shapes = [leaf.shape[lead:] for leaf in jax.tree.leaves(loop.best)]
        kept = lambda lane: [
            _refitted(arrays[f"stored.{lane}.{k}"], shape, *sizes) for k, shape in enumerate(shapes)
        ]
        loop.stored = [
            jax.tree.unflatten(best_structure, kept(lane)) if f"stored.{lane}.0" in arrays else None
            for lane in range(loop.count)
        ]
        columns = {n[8:]: a for n, a in arrays.items() if n.startswith("records.")}
        rows = range(len(columns["gap"]))
        loop.records = [{name: a[k] for name, a in columns.items()} for k in rows]
        if loop.batched:
            loop.problem = placed(loop.whole, loop.lanes)


def _columns(records) -> dict[str, np.ndarray]:
    return {name: np.stack([row[name] for row in records]) for name in records[0]}
