"""An svmlight file as a source of rows: one scan makes an index, then any range can be parsed.

The scan reads the file in blocks of whole lines, parses every one of them (so that a bad line is
named before anything is solved) and keeps, for each row, its label, its number of stored values and
the byte where it starts: three numbers a row. Blank lines and comments are not rows.
"""

import os
import pathlib
from typing import Any

import numpy as np

from jaxopt_svm.core.solution import Unreadable
from jaxopt_svm.data.files import OPENERS, parse_svmlight
from jaxopt_svm.problems.rows import NARROW
from jaxopt_svm.streaming.sources import read_range

__all__ = ["Svmlight"]

BLOCK = 1 << 22  # bytes of text parsed at a time


class Svmlight:
    """``label index:value ...`` on each line. columns: features there are, if the user says so."""

    dtype = None

    def __init__(self, path: str | os.PathLike, columns: int | None = None):
        self.path, self.name, self.columns = pathlib.Path(path), str(path), columns
        if self.path.suffix in OPENERS:
            raise ValueError(f"{path}: a packed file has no place to start reading; unpack it")
        labels, lengths, starts, lines = [], [], [], []
        least, most = np.inf, -1
        for first, number, block in self._blocks():
            at, line = _row_starts(block)
            if not at.size:
                continue
            X, y = self._read(block, number)
            labels.append(y)
            lengths.append(np.diff(X.indptr))
            starts.append(first + at)
            lines.append(number + line)
            if X.indices.size:
                least, most = min(least, X.indices.min()), max(most, X.indices.max())
        if not labels:
            raise ValueError(f"{path}: the file has no rows")
        if most < 0:
            raise ValueError(f"{path}: no row has a feature")
        self.shift = int(least >= 1)  # indices count from 1, unless one of them is 0
        self.labels, self.lengths = np.concatenate(labels), np.concatenate(lengths)
        self.starts = np.append(np.concatenate(starts), self.path.stat().st_size)
        self.lines = np.concatenate(lines)
        self.n, self.d = len(self.labels), int(most) + 1 - self.shift
        if columns is not None:
            if columns < self.d:
                raise ValueError(f"{path}: {self._beyond(columns)}")
            self.d = columns
        if self.d <= NARROW:
            self.lengths = None  # made dense

    def _blocks(self):
        """(byte, number of the first line, whole lines) from the start of the file to its end."""
        with self.path.open("rb") as file:
            first, number, rest = 0, 1, b""
            while block := file.read(BLOCK):
                whole, newline, tail = (rest + block).rpartition(b"\n")
                if newline:
                    yield first, number, whole + newline
                    first, number = first + len(whole) + 1, number + whole.count(b"\n") + 1
                rest = tail
            if rest:
                yield first, number, rest

    def _read(self, block: bytes, number: int) -> tuple[Any, np.ndarray]:
        """Rows and labels of some lines, indices as they are written; a bad line is named."""
        try:
            X, y = parse_svmlight(block, self.path, first=number - 1, zero_based=True)
        except ValueError as error:
            raise Unreadable(str(error)) from None
        if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
            rows = np.repeat(np.arange(len(y)), np.diff(X.indptr))[~np.isfinite(X.data)]
            bad = min([*rows, *np.flatnonzero(~np.isfinite(y))])
            line = number + _row_starts(block)[1][bad]
            raise Unreadable(f"{self.name}, line {line}: expected finite numbers; found nan or inf")
        return X, y

    def _beyond(self, columns: int) -> str:
        """Which line first has a feature that there should not be."""
        for _, number, block in self._blocks():
            at, line = _row_starts(block)
            if not at.size:
                continue
            X, _ = self._read(block, number)
            over = np.flatnonzero(X.indices >= columns + self.shift)
            if over.size:
                row = np.searchsorted(X.indptr, over[0], side="right") - 1
                index = X.indices[over[0]]
                return f"line {number + line[row]}: feature {index}, but columns = {columns}"
        raise AssertionError("a feature was beyond the columns a moment ago")

    def raw(self, lo: int, hi: int) -> bytes:
        first, last = int(self.starts[lo]), int(self.starts[hi])
        return read_range(self.path, first, last, self.place(lo, hi))

    def rows(self, raw: bytes, lo: int, hi: int) -> Any:
        X, _ = self._read(raw, int(self.lines[lo]))
        X = type(X)((X.data, X.indices - self.shift, X.indptr), shape=(hi - lo, self.d))
        return X.toarray() if self.lengths is None else X

    def place(self, lo: int, hi: int) -> str:
        first, last = self.starts[lo], self.starts[hi]
        lines = f"lines {self.lines[lo]}..{self.lines[hi - 1]}"
        return f"{self.name}, {lines} (bytes {first}..{last - 1})"


def _row_starts(block: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Where in a block its rows start, and which of its lines they are; the rest is comment."""
    lines = block.splitlines(keepends=True)
    starts = np.cumsum([0, *map(len, lines)])[:-1]
    rows = np.array([bool(line.partition(b"#")[0].strip()) for line in lines], bool)
    return starts[rows], np.flatnonzero(rows)
