"""Where rows come from: an npy file, or an array (a memory map among them).

A source knows its shape and gives any range of its rows, twice over: ``raw``, the bytes as they
are stored, and ``rows``, the numbers in them. Pages (streaming/pages.py) keep a checksum of
the bytes, so that rows which change or vanish during a solve are named, never computed with.

An npy file is read, not mapped: mapped pages count as resident memory, and a map of a file that is
cut off under it ends the process without a word.
"""

import os
import pathlib
from typing import Any, Protocol

import numpy as np

from jaxopt_svm.core.solution import Unreadable

__all__ = ["Npy", "Source", "Table", "narrowed", "read_range"]


class Source(Protocol):
    """n rows of d features. lengths: (n,) stored values a row if rows are sparse, else None."""

    name: str
    n: int
    d: int
    dtype: Any  # of the numbers, or None where the text leaves it open
    lengths: np.ndarray | None

    def raw(self, lo: int, hi: int) -> Any:
        """The bytes of rows lo..hi-1."""
        ...

    def rows(self, raw: Any, lo: int, hi: int) -> Any:
        """The numbers in them: (hi - lo, d), an array or a CSR matrix."""
        ...

    def place(self, lo: int, hi: int) -> str:
        """Where they are, in words for a person with an editor."""
        ...


def read_range(path: pathlib.Path, first: int, last: int, place: str) -> bytes:
    """Bytes first..last-1 of a file, or an error that says what is missing."""
    try:
        with path.open("rb") as file:
            file.seek(first)
            content = file.read(last - first)
    except OSError as error:
        raise Unreadable(f"{place}: cannot be read ({error.strerror})") from None
    if len(content) < last - first:
        raise Unreadable(f"{place}: the file ends at byte {first + len(content)}")
    return content


def narrowed(source: "Source", X: Any, lo: int, dtype) -> Any:
    """Rows from ``lo`` on in the dtype of the solve, or an error that names one it cannot hold."""
    if not isinstance(X, np.ndarray):
        return X  # text: checked where it is parsed
    with np.errstate(over="ignore"):
        X = X.astype(dtype, copy=False)
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise Unreadable(
            f"{source.place(lo + row, lo + row + 1)}: expected finite numbers; "
            f"found nan or inf in column {column}"
        )
    return X


def _checked(name: str, shape: tuple, dtype: np.dtype) -> None:
    if dtype.kind not in "fiub":
        raise ValueError(f"{name}: expected real numbers; got an array of dtype {dtype}")
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"{name}: expected a matrix of shape (n, d); got shape {shape}")


class Npy:
    """A matrix written by ``np.save``."""

    lengths: np.ndarray | None = None

    def __init__(self, path: str | os.PathLike):
        self.path = pathlib.Path(path)
        self.name = str(path)
        with self.path.open("rb") as file:
            try:
                read = np.lib.format.read_array_header_1_0
                if np.lib.format.read_magic(file) != (1, 0):
                    read = np.lib.format.read_array_header_2_0
                shape, by_columns, dtype = read(file)
            except ValueError as error:
                raise ValueError(f"{path}: expected a file of np.save ({error})") from None
            self.first = file.tell()
        _checked(self.name, shape, dtype)
        if by_columns and min(shape) > 1:
            raise ValueError(
                f"{path}: stored by columns, so a row is all over the file; write it with "
                "np.save(path, np.ascontiguousarray(X))"
            )
        (self.n, self.d), self.dtype = shape, dtype
        self.row_bytes = self.d * dtype.itemsize
        wanted, there = self.first + self.n * self.row_bytes, self.path.stat().st_size
        if there < wanted:
            whole = max(0, there - self.first) // self.row_bytes
            raise Unreadable(
                f"{path}: cut off at byte {there}; {self.n} rows need {wanted} bytes, and rows "
                f"{whole}..{self.n - 1} are missing"
            )

    def _bytes(self, lo: int, hi: int) -> tuple[int, int]:
        return self.first + lo * self.row_bytes, self.first + hi * self.row_bytes

    def raw(self, lo: int, hi: int) -> bytes:
        return read_range(self.path, *self._bytes(lo, hi), self.place(lo, hi))

    def rows(self, raw: bytes, lo: int, hi: int) -> np.ndarray:
        return np.frombuffer(raw, self.dtype).reshape(hi - lo, self.d)

    def place(self, lo: int, hi: int) -> str:
        first, last = self._bytes(lo, hi)
        return f"{self.name}, rows {lo}..{hi - 1} (bytes {first}..{last - 1})"


class Table:
    """An array, or what numpy slices like one: a memory map."""

    name = "X"
    lengths: np.ndarray | None = None

    def __init__(self, X: Any):
        self.X, self.dtype = X, np.dtype(X.dtype)
        _checked(self.name, np.shape(X), self.dtype)
        self.n, self.d = X.shape

    def raw(self, lo: int, hi: int) -> memoryview:
        return np.ascontiguousarray(self.X[lo:hi]).data

    def rows(self, raw: memoryview, lo: int, hi: int) -> np.ndarray:
        return np.asarray(raw).reshape(hi - lo, self.d)

    def place(self, lo: int, hi: int) -> str:
        return f"{self.name}, rows {lo}..{hi - 1}"
