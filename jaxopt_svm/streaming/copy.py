"""A copy of the rows in random order: then rows that are read together have nothing in common.

Files are often sorted, by class, by time, by place. Chunks of neighbours are then poor samples of
the data, and passes are wasted (on Covertype one in three). The copy is made once, in one pass
with a buffer of one chunk: a page of the copy gets its rows in the order in which they come, so
what a chunk of the source brings for a page is one write. Text is parsed here for the last time.
"""

import os
import tempfile
import weakref
from typing import Any

import numpy as np

from jaxopt_svm.core.solution import Unreadable
from jaxopt_svm.data.extra import need
from jaxopt_svm.streaming.sources import Source, narrowed

__all__ = ["Copy"]


class Copy:
    """A source of its own: row k is row ``order[k]`` of the one it was made from.

    dense: rows of d numbers; else (feature, value) pairs. The file has no name, and is gone with
    this object.
    """

    def __init__(self, source: Source, folder: str | os.PathLike, page: int, at_once: int, dtype):
        self.name, self.n, self.d = f"copy of {source.name} in {folder}", source.n, source.d
        self.dtype, self.lengths = np.dtype(dtype), None
        self.record = np.dtype((self.dtype, (self.d,)))
        small = np.int32 if self.n < 2**31 else np.int64
        order = np.random.default_rng(0).permutation(self.n).astype(small)
        for lo in range(0, self.n, page):
            order[lo : lo + page].sort()
        self.order = order
        if source.lengths is not None:
            self.lengths = source.lengths[order]
            self.record = np.dtype([("feature", np.int32), ("value", self.dtype)])
        each = np.ones(self.n, np.int64) if self.lengths is None else self.lengths
        self.starts = np.concatenate([[0], np.cumsum(each)]) * self.record.itemsize
        try:
            self.file, name = tempfile.mkstemp(dir=folder)
            weakref.finalize(self, os.close, self.file)
            os.unlink(name)
            os.posix_fallocate(self.file, 0, int(self.starts[-1]))
        except OSError as error:
            raise ValueError(
                f"scratch: {self.starts[-1]} bytes cannot be written to {folder} ({error.strerror})"
            ) from None
        self._fill(source, at_once)

    def _fill(self, source: Source, at_once: int) -> None:
        place = np.empty_like(self.order)  # where each row of the source goes
        place[self.order] = np.arange(self.n, dtype=self.order.dtype)
        for lo in range(0, self.n, at_once):
            hi = min(lo + at_once, self.n)
            X = narrowed(source, source.rows(source.raw(lo, hi), lo, hi), lo, self.dtype)
            turn = np.argsort(place[lo:hi])
            # within a page rows keep the order of the source, so they come in runs
            ends = np.flatnonzero(np.diff(place[lo:hi][turn]) != 1) + 1
            for run in np.split(turn, ends):
                first = int(self.starts[place[lo + run[0]]])
                os.pwrite(self.file, self._records(X, run), first)

    def _records(self, X: Any, some: np.ndarray) -> bytes:
        if self.lengths is None:
            return np.ascontiguousarray(X[some], self.dtype).tobytes()
        X = X[some]
        pairs = np.empty(len(X.data), self.record)
        pairs["feature"], pairs["value"] = X.indices, X.data
        return pairs.tobytes()

    def raw(self, lo: int, hi: int) -> bytes:
        first, last = int(self.starts[lo]), int(self.starts[hi])
        content = os.pread(self.file, last - first, first)
        if len(content) < last - first:
            raise Unreadable(f"{self.place(lo, hi)}: the file ends at byte {first + len(content)}")
        return content

    def rows(self, raw: bytes, lo: int, hi: int) -> Any:
        if self.lengths is None:
            return np.frombuffer(raw, self.dtype).reshape(hi - lo, self.d)
        pairs = np.frombuffer(raw, self.record)
        indptr = np.concatenate([[0], np.cumsum(self.lengths[lo:hi])])
        matrix = need("scipy.sparse", "sparse rows").csr_matrix
        return matrix((pairs["value"], pairs["feature"], indptr), shape=(hi - lo, self.d))

    def place(self, lo: int, hi: int) -> str:
        return f"{self.name}, rows {lo}..{hi - 1} (bytes {self.starts[lo]}..{self.starts[hi] - 1})"
