"""What the drivers give back: an answer, its certificate, why it stopped, and the trace as data."""

import dataclasses
import os
import pathlib
import tempfile
import zipfile
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from jaxopt_svm.core.protocols import Certificate, Point

__all__ = [
    "Solution",
    "Status",
    "Trace",
    "Unreadable",
    "load",
    "open_npz",
    "save",
    "stored_form",
    "write_npz",
]


class Status(StrEnum):
    """Why a lane stopped."""

    RUNNING = "running"  # it has not
    CONVERGED = "converged"  # gap <= atol + rtol |P|
    MAX_PASSES = "max_passes"  # the budget is spent; the certificate says how far it got
    SETTLED = "settled"  # the method's own rule: whole passes without an update
    PRECISION_FLOOR = "precision_floor"  # the gap is at the rounding level of this dtype
    DIVERGED = "diverged"  # nan or inf appeared; w is the best point before that
    INTERRUPTED = "interrupted"  # Ctrl-C; w is the best point so far
    CAPACITY = "capacity"  # a fixed-size working set overflowed


class Trace(NamedTuple):
    """One value a record; for a sweep, (lanes, records), nan after a lane has stopped.

    primal: P at the recorded point. dual: the best lower bound so far. gap: primal - dual.
    floor: rounding bound. passes, work (row touches / n), oracle_calls, updates: what was spent.
    seconds: since the start, for host drivers (``run`` has none).
    """

    primal: Any
    dual: Any
    gap: Any
    floor: Any
    passes: Any
    work: Any
    oracle_calls: Any
    updates: Any
    seconds: Any = None


@dataclasses.dataclass(frozen=True)
class Solution:
    """The best point found, with the certificate the problem gave it.

    w: the recorded point with the smallest primal value. dual: the one with the largest dual value.
    certificate: problem.certificate(Point(w, dual)). status: a Status (an array of them for a
    sweep). method: what ran. passes: when it stopped. lam: what was solved for.
    From a sweep every field has a leading axis, one entry a lane.
    """

    w: Any
    dual: Any
    certificate: Certificate
    status: Any
    method: Any
    passes: Any
    lam: Any
    trace: Trace

    @property
    def point(self) -> Point:
        """A warm start for another solve."""
        return Point(self.w, self.dual)

    @property
    def relative_gap(self):
        """gap / |P|, the number rtol speaks about."""
        primal = np.abs(np.asarray(self.certificate.primal))
        return np.asarray(self.certificate.gap) / np.maximum(primal, np.finfo(np.float32).tiny)

    def __repr__(self) -> str:
        gap = np.asarray(self.certificate.gap)
        if gap.ndim == 0:
            return (
                f"Solution({self.method}, {self.status}, passes={int(self.passes)}, "
                f"primal={float(self.certificate.primal):.6g}, gap={float(gap):.2g})"
            )
        done = int(np.sum(np.asarray(self.status) == Status.CONVERGED))
        return (
            f"Solution({gap.size} lanes, {done} converged, "
            f"largest relative gap {float(np.max(self.relative_gap)):.2g})"
        )


class Unreadable(ValueError):
    """A part of the data cannot be read; the message names it.

    solution: the best points so far if a solve was under way, with the values that the problem
    computed when all of the data could be read; else None.
    """

    def __init__(self, message: str, solution: Solution | None = None):
        super().__init__(message)
        self.solution = solution

    def after(self, solution: Solution, checkpoint: os.PathLike | None) -> "Unreadable":
        """The same with what was found before, and how to go on."""
        told = f"{self}. The best points of {int(np.max(solution.passes))} passes are in the "
        told += "attribute `solution` of this error"
        if checkpoint is not None:
            told += f"; mend the data and solve again with checkpoint {checkpoint} to go on"
        return Unreadable(told, solution)


def write_npz(path: str | os.PathLike, arrays: dict[str, Any]) -> pathlib.Path:
    """Arrays to ``path`` as npz, all or nothing: a reader never sees half a file."""
    path = pathlib.Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent or ".", prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, **{k: np.asarray(v) for k, v in arrays.items()})
        os.replace(name, path)
    except BaseException:
        pathlib.Path(name).unlink(missing_ok=True)
        raise
    return path


def open_npz(path: str | os.PathLike, kind: str) -> dict[str, np.ndarray]:
    """The arrays of one of our own files; never unpickles anything."""
    try:
        # opened here, because numpy leaves a broken file open
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path}: not a readable npz file ({error})") from None
    if str(arrays.get("kind")) != kind:
        raise ValueError(f"{path}: not a {kind} file of jaxopt_svm")
    return arrays


def _fields(prefix: str, record: NamedTuple) -> dict[str, Any]:
    return {f"{prefix}.{k}": v for k, v in record._asdict().items() if v is not None}


_FORMS: dict[str, type] = {}


def stored_form(cls):
    """Decorator for a NamedTuple of arrays that a point may consist of: files can hold it."""
    _FORMS[cls.__name__] = cls
    return cls


def _parts(prefix: str, value: Any) -> dict[str, Any]:
    """An array, or the fields of a registered form, under names that ``_whole`` finds again."""
    if not hasattr(value, "_fields"):
        return {} if value is None else {prefix: value}
    if type(value).__name__ not in _FORMS:
        raise ValueError(f"save: no way is known to store a {type(value).__name__}")
    return {f"{prefix}.form": type(value).__name__} | _fields(prefix, value)


def _whole(prefix: str, arrays: dict[str, np.ndarray]) -> Any:
    if f"{prefix}.form" not in arrays:
        return arrays.get(prefix)
    cls = _FORMS.get(str(arrays[f"{prefix}.form"]))
    if cls is None:
        raise ValueError(f"load: the file holds a {arrays[f'{prefix}.form']}, unknown here")
    return cls(**{f: arrays[f"{prefix}.{f}"] for f in cls._fields if f"{prefix}.{f}" in arrays})


def save(path: str | os.PathLike, solution: Solution) -> pathlib.Path:
    """Write a Solution as npz (arrays only, no pickle)."""
    arrays: dict[str, Any] = {"kind": "solution", "passes": solution.passes}
    arrays |= {"status": np.asarray(solution.status, str), "method": np.asarray(solution.method)}
    arrays |= {"lam": solution.lam} | _parts("w", solution.w) | _parts("dual", solution.dual)
    arrays |= _fields("certificate", solution.certificate) | _fields("trace", solution.trace)
    return write_npz(path, arrays)


def load(path: str | os.PathLike) -> Solution:
    """Read a Solution written by ``save``."""
    arrays = open_npz(path, "solution")

    def record(prefix, cls):
        return cls(**{f: arrays[f"{prefix}.{f}"] for f in cls._fields if f"{prefix}.{f}" in arrays})

    status, method = arrays["status"], arrays["method"]
    single = status.ndim == 0
    return Solution(
        w=_whole("w", arrays),
        dual=_whole("dual", arrays),
        certificate=record("certificate", Certificate),
        status=Status(str(status)) if single else status,
        method=str(method) if single else method,
        passes=int(arrays["passes"]) if single else arrays["passes"],
        lam=arrays["lam"],
        trace=record("trace", Trace),
    )
