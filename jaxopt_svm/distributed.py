"""``sweep --distributed``: the same command in every process of a job, each on its own rows."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxopt_svm.data import Dataset, load
from jaxopt_svm.data.own_part import load_part
from jaxopt_svm.mesh.axes import LANES, ROWS
from jaxopt_svm.mesh.last_words import LOST
from jaxopt_svm.mesh.processes import PATIENCE, SILENCE, agree, start_processes

__all__ = ["add_options", "join", "leave", "load_own", "pooled_errors", "together"]


def add_options(add) -> None:
    """Of a job of several processes."""
    add("--distributed", action="store_true", help="one of several processes that run this command "
        "on the same file, each reading its own rows; where they meet is said by the next three "
        "options, or by jax's environment (a cluster's variables)")  # fmt: skip
    add("--coordinator", metavar="HOST:PORT", help="where process 0 listens")
    add("--processes", type=int, metavar="N", help="how many there are")
    add("--process-id", type=int, metavar="K", help="which one this is, from 0")
    add("--devices", type=int, metavar="N", help="CPU devices of each process (default: 1)")
    add("--lane-devices", type=int, default=1, metavar="N",
        help="devices beside each other that share the lambdas (default: 1)")  # fmt: skip
    add("--silence", type=int, default=SILENCE, metavar="SECONDS",
        help="without a word, and a process counts as dead (default: %(default)s)")  # fmt: skip
    add("--patience", type=int, default=PATIENCE, metavar="SECONDS",
        help="to wait for all processes at the start (default: %(default)s)")  # fmt: skip


def join(args: Any) -> Mesh | None:
    """Join the job if the options say so; the mesh of all its devices, or None for one device."""
    given = [args.coordinator, args.processes, args.process_id]
    if not args.distributed:
        if any(x is not None for x in given):
            raise ValueError("--coordinator, --processes, --process-id: only with --distributed")
        if args.devices is None and args.lane_devices == 1:
            return None
    if args.devices is not None:
        if args.devices < 1:
            raise ValueError(f"--devices: expected at least 1; got {args.devices}")
        jax.config.update("jax_num_cpu_devices", args.devices)
    if args.distributed:
        _keep_stdout_clean()
        start_processes(*given, silence=args.silence, patience=args.patience)
    return mesh_of_devices(jax.devices(), args.lane_devices)


def _keep_stdout_clean() -> None:
    """What libraries print on their own (gloo, who is connected) goes to stderr: stdout is ours."""
    ours = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(ours, "w", encoding="utf-8")


def mesh_of_devices(devices: Sequence[Any], lanes: int) -> Mesh:
    """Devices in the order of their processes, ``lanes`` of them beside each other."""
    if lanes < 1 or len(devices) % lanes:
        raise ValueError(
            f"--lane-devices: expected a divisor of the {len(devices)} devices; got {lanes}"
        )
    return Mesh(np.array(devices).reshape(-1, lanes), (ROWS, LANES))


def load_own(name: str, mesh: Mesh | None) -> tuple[Dataset, bool]:
    """The rows of a data set that belong on the devices of this process; whether others have other
    rows."""
    places = [] if mesh is None else _places(mesh)
    if mesh is None or len(places) == mesh.shape[ROWS]:
        return load(name), False
    first, last = min(places), max(places) + 1

    def own(n: int) -> slice:
        size = -(-n // mesh.shape[ROWS])
        return slice(min(n, first * size), min(n, last * size))

    return load_part(name, jax.process_index(), jax.process_count(), agree, own), True


def together(local: Callable[[], Any], apart: bool) -> Any:
    """What ``local`` gives here; if it fails on one process with rows of its own, all fail."""
    found: list[Any] = []
    run = lambda: found.append(local())
    agree(run) if apart else run()
    return found[0]


def leave(error: Exception) -> None:
    """End a process of a job whose computation failed, without waiting for the others."""
    if jax.process_count() == 1:
        return
    first = str(error).splitlines()[0]
    print(
        f"error: process {jax.process_index()} of {jax.process_count()} stops: another process of "
        f"the job died or cannot be reached ({first})",
        file=sys.stderr,
        flush=True,
    )
    os._exit(LOST)


def _places(mesh: Mesh) -> list[int]:
    """Where along "rows" this process has devices."""
    mine = [[d.process_index == jax.process_index() for d in row] for row in mesh.devices]
    return [k for k, row in enumerate(mine) if any(row)]


def pooled_errors(wrong: np.ndarray, regression: bool, apart: bool) -> np.ndarray:
    """(lanes,) mean over the rows of all processes of (lanes, rows) errors of this one's."""
    local = lambda: [wrong.sum(axis=1).tolist(), wrong.shape[1]]
    sums, counts = zip(*(agree(local) if apart else [local()]))
    mean = np.sum(sums, axis=0) / sum(counts)
    return np.sqrt(mean) if regression else mean
