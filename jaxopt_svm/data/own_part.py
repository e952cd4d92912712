"""The rows of a file that are this process's own, in a job of several processes.

svmlight   the file is cut into as many stretches of bytes as there are processes; each counts the
           rows of its stretch, and then reads its own rows from the stretches that hold them
.npy       one matrix, the label in its last column: mapped, so only own rows are read
others     csv, npz, packed files, named sets: read whole by every process, then cut
"""

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxopt_svm.data.dataset import Dataset
from jaxopt_svm.data.files import CSV, OPENERS, map_npy, parse_svmlight
from jaxopt_svm.data.load import load
from jaxopt_svm.data.named import SETS

__all__ = ["load_part"]


class Stretch(NamedTuple):
    """Bytes first..last of a file, starting at the beginning of a line; rows: how many it has."""

    first: int
    rows: int


def load_part(
    name: str, process: int, processes: int, agree: Callable, own: Callable[[int], slice]
) -> Dataset:
    """A data set with the rows ``own(n)`` only, n being the number of all.

    agree: gives every process what a function gives on each of them, or raises on all.
    """
    path = pathlib.Path(name).expanduser()
    packed, ending = path.suffix in OPENERS, path.suffix.lower()
    note = f"read from {path}"
    if name in SETS or not path.is_file() or packed or ending in (*CSV, ".npz"):
        whole: list[Dataset] = []
        agree(lambda: whole.append(load(name)))
        _same(name, agree, lambda: list(whole[0].X.shape), "rows and features")
        rows = own(whole[0].X.shape[0])
        return whole[0]._replace(X=whole[0].X[rows], y=whole[0].y[rows])
    if ending == ".npy":
        found: list[np.ndarray] = []
        agree(lambda: found.append(map_npy(path)))
        _same(name, agree, lambda: [*found[0].shape, str(found[0].dtype)], "rows, columns and type")
        table = np.array(found[0][own(found[0].shape[0])])  # only now anything is read
        return Dataset(table[:, :-1], table[:, -1], path.name, note)
    _same(name, agree, lambda: [os.path.getsize(path)], "bytes")
    X, y = _svmlight_part(path, process, processes, agree, own)
    return Dataset(X, y, path.name, note)


def _same(name: str, agree: Callable, fact: Callable[[], list], what: str) -> None:
    """Refuse, on all processes, a file that is not the same on each of them."""
    facts = agree(fact)
    for k, other in enumerate(facts):
        if other != facts[0]:
            raise ValueError(
                f"{name}: not the same on all processes: {what} are {facts[0]} on process 0 and "
                f"{other} on process {k}"
            )


def _lines(file: Any) -> Iterator[tuple[int, bytes]]:
    """(place, line) of every line that is a row: not blank, and not a comment."""
    while line := file.readline():
        content = line.strip()
        if content and not content.startswith(b"#"):
            yield file.tell() - len(line), line


def _count(path: pathlib.Path, process: int, processes: int) -> list[int]:
    """[first byte, rows] of this process's stretch: the lines that begin in it."""
    total = os.path.getsize(path)
    begin, end = total * process // processes, total * (process + 1) // processes
    with path.open("rb") as file:
        if begin:
            file.seek(begin - 1)
            file.readline()  # the line that began before; none of it if it ended just there
        first, rows = file.tell(), 0
        for place, _ in _lines(file):
            if place >= end:
                break
            rows += 1
    return [first, rows]


def _svmlight_part(path: pathlib.Path, process: int, processes: int, agree, own):
    stretches = [Stretch(*each) for each in agree(lambda: _count(path, process, processes))]
    ends = np.cumsum([stretch.rows for stretch in stretches])
    rows = own(int(ends[-1]))
    read: list[Any] = []

    def local() -> list[int]:
        """Reads, with indices as they are written; [smallest index, largest]."""
        k = int(np.searchsorted(ends, rows.start, side="right"))
        if k == len(stretches) or rows.stop <= rows.start:
            raise ValueError(f"{path}: {ends[-1]} rows are too few for these devices")
        skip, wanted = rows.start - (int(ends[k]) - stretches[k].rows), rows.stop - rows.start
        with path.open("rb") as file:
            file.seek(stretches[k].first)
            lines = _lines(file)
            for _ in range(skip):
                next(lines)
            content = b"".join(line for _, (_, line) in zip(range(wanted), lines))
        X, y = parse_svmlight(content, path, first=rows.start, zero_based=True)
        read.extend((X, y))
        used = X.indices if X.nnz else np.zeros(1, int)
        return [int(used.min()), X.shape[1]]

    facts = agree(local)
    X, y = read
    columns = max(most for _, most in facts)
    X.resize((X.shape[0], columns))
    one_based = min(least for least, _ in facts) > 0  # index 0 occurs nowhere: counted from 1
    return (X[:, 1:] if one_based else X), y
