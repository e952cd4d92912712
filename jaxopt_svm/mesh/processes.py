r"""Several processes, each with its own devices and its own part of the examples.

    js.start_processes("10.0.0.1:9911", 2, 0)      # on the first of two machines
    js.start_processes("10.0.0.1:9911", 2, 1)      # on the second

Every process then runs the same program on the same global mesh. Certificates are the same numbers
on all of them and the clock decides nothing, so all take the same decisions. One that fails on its
own data tells the others before anything is computed; one that dies is noticed by its silence.
"""

import json
import os
import socket
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from jaxopt_svm.mesh.last_words import say_before_the_end

__all__ = ["agree", "first_process", "start_processes"]

SILENCE = 10  # seconds without a heartbeat after which a process counts as dead
PATIENCE = 60  # seconds to wait for the others at the start
COORDINATOR = "JAX_COORDINATOR_ADDRESS"


def start_processes(
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
    *,
    silence: int = SILENCE,
    patience: int = PATIENCE,
) -> None:
    """Join a job of several processes; call it before anything else uses jax.

    Args:
      coordinator: host:port where process 0 listens. None for what jax finds in its environment.
      processes, process: how many there are, and which one this is.
      silence: seconds after which a process that died is noticed, and the others stop.
      patience: seconds to wait for all of them to be there.
    """
    given = [x is not None for x in (processes, process)]
    if any(given) and not all(given):
        raise ValueError("processes and process: give both, or neither to have jax find them")
    if processes is not None and process is not None and not 0 <= process < processes:
        raise ValueError(f"process: expected 0 <= process < {processes}; got {process}")
    for name, value in (("silence", silence), ("patience", patience)):
        if value < 1:
            raise ValueError(f"{name}: expected at least 1 second; got {value}")
    address = coordinator or os.environ.get(COORDINATOR)
    if address is not None:
        _check_address(address, listens=process == 0)
    # gloo is the way between processes on CPUs; devices of other kinds ignore it
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    late = f"coordinator: the job was not complete within {patience} seconds ({address or 'jax'})"
    say_before_the_end(late)
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            initialization_timeout=patience,
            heartbeat_timeout_seconds=silence,
            shutdown_timeout_seconds=max(silence, 10),
        )
    except ValueError as error:
        raise ValueError(
            f"coordinator: {error} (give host:port, the number of processes and this one's id, or "
            f"set {COORDINATOR} as jax documents)"
        ) from None
    except RuntimeError as error:
        raise ValueError(f"{late}: {str(error).splitlines()[0]}") from None
    say_before_the_end(
        f"process {jax.process_index()} of {jax.process_count()} stops: another process of the job "
        "died or cannot be reached (the lines above are the runtime's own report). Nothing is "
        "wrong with this one; start the job again, with the same checkpoint if it had one"
    )


def _check_address(address: str, listens: bool) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"coordinator: expected host:port, such as 10.0.0.1:9911; got {address!r}")
    if not listens:
        return
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), int(port)))
        except OSError as error:
            raise ValueError(
                f"coordinator: process 0 cannot listen at {address} ({error.strerror}); is the "
                "port in use? Choose another one for all processes"
            ) from None


def first_process() -> bool:
    """Whether this is the process that prints and writes files."""
    return jax.process_index() == 0


def agree(local: Callable[[], Any]) -> list[Any]:
    """What ``local`` gives on every process (values that JSON knows), known to all of them.

    If it raises a ValueError or OSError on one, all raise a ValueError that names the process.
    """
    if jax.process_count() == 1:
        return [local()]
    try:
        mine = {"value": local()}
    except (ValueError, OSError, ImportError) as error:
        mine = {"error": str(error)}
    answers = [json.loads(text) for text in _exchanged(json.dumps(mine))]
    for k, answer in enumerate(answers):
        if "error" in answer:
            raise ValueError(f"process {k}: {answer['error']}")
    return [answer["value"] for answer in answers]


def _exchanged(text: str) -> list[str]:
    """The texts of all processes: their lengths first, then the bytes, padded to the longest."""
    mine = np.frombuffer(text.encode(), np.uint8)
    lengths = np.ravel(multihost_utils.process_allgather(np.array([mine.size], np.int32)))
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: mine.size] = mine
    everyone = multihost_utils.process_allgather(padded).reshape(len(lengths), -1)
    return [bytes(row[:size]).decode() for row, size in zip(everyone, lengths)]
