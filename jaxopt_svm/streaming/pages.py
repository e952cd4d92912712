"""Rows in pages and chunks: how a source goes through a buffer of fixed size.

A page is a run of rows that lie together in the file; a chunk is a fixed number of pages, from
anywhere. A pass takes the pages in random order, chunk by chunk, so that rows which are neighbours
in the file need not be neighbours in the pass, and yet every read is one stretch of the file.

Of the rows there are two copies at most: the chunk that is worked on, and the next one, which a
thread loads meanwhile. The budget in bytes counts both.
"""

import mmap
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.core.solution import Unreadable
from jaxopt_svm.problems.make import with_constant
from jaxopt_svm.problems.rows import Dense, best_width, chunked, width_costs
from jaxopt_svm.streaming.copy import Copy
from jaxopt_svm.streaming.sources import Source, narrowed

__all__ = ["Pages"]

COPIES = 2  # of a chunk: in work, and being loaded
PAGE = 1 << 15  # bytes that are worth a read of their own
MIXED = (16, 1024)  # pages a chunk, at least and at most


def _zeros(shape: tuple[int, int], dtype) -> np.ndarray:
    """New memory straight from the system: jax takes it over without copying, and the system has
    it back at once; what threads allocate in the usual way stays with the process for long."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, size), dtype).reshape(shape)


class _DenseShelf:
    """A chunk as one matrix."""

    def __init__(self, size: int, d: int, constant: bool, dtype):
        self.size, self.d, self.constant, self.dtype = size, d, constant, dtype

    def fill(self, pages: Iterator[np.ndarray]) -> Dense:
        # never the same memory twice: jax may hold on to what it was given
        filled, count = _zeros((self.size, self.d + self.constant), self.dtype), 0
        for X in pages:
            filled[count : count + len(X), : self.d] = X
            count += len(X)
        if self.constant:
            filled[:count, -1] = 1.0
        return Dense(filled, np.einsum("ij,ij->i", filled, filled))  # pyright: ignore


class _SparseShelf:
    """A chunk as sparse rows, always of the same shape."""

    def __init__(self, size: int, d: int, constant: bool, dtype, width: int, total: int):
        self.size, self.d, self.constant, self.dtype = size, d, constant, dtype
        self.width, self.total = width, total

    def fill(self, pages: Iterator[Any]) -> Any:
        parts = [with_constant(X) if self.constant else X for X in pages]
        ends = np.cumsum([0, *(X.indptr[-1] for X in parts)])
        indptr = np.concatenate([[0], *(X.indptr[1:] + end for X, end in zip(parts, ends))])
        indptr = np.append(indptr, np.full(self.size + 1 - len(indptr), ends[-1]))
        join = lambda name: np.concatenate([np.zeros(0, int), *(getattr(X, name) for X in parts)])
        arrays = (indptr, join("indices"), join("data"))
        d = self.d + self.constant
        return chunked(*arrays, d, self.dtype, self.width, self.total)


class Pages:
    """A source cut into ``count`` pages of ``page`` rows, ``per_chunk`` of them a chunk."""

    def __init__(self, source: Source, memory: float, constant: bool, dtype, scratch=None):
        self.source, self.constant, self.n = source, constant, source.n
        self.d, self.order = source.d + constant, None
        self._lay_out(memory / COPIES, np.dtype(dtype).itemsize)
        if scratch is not None:
            self.source = Copy(source, scratch, self.page, self.size, dtype)
            self.order = self.source.order
        # one look at everything: non-finite numbers are refused, and each page is remembered
        self.checksums = np.array(
            [self._first_look(k, dtype) for k in range(self.count)], np.uint32
        )

    def _lay_out(self, budget: float, itemsize: int) -> None:
        lengths = self.source.lengths
        stored = None if lengths is None else lengths + self.constant
        self.width = 1 if stored is None else best_width(width_costs(stored))
        slots = np.full(1, 1) if stored is None else -(-stored // self.width)
        self.slot_bytes = self.d * itemsize if stored is None else self.width * (itemsize + 4) + 4
        least = int(slots.max()) * self.slot_bytes * COPIES
        if not budget * COPIES >= least:
            raise ValueError(
                f"memory: expected at least {least} bytes, {COPIES} copies of the largest row of "
                f"{self.source.name}; got {budget * COPIES:g}"
            )
        self.mixed = int(np.clip(budget // PAGE, *MIXED))
        chunks = max(1, int(slots.mean() * self.n * self.slot_bytes / budget))
        while True:
            self._cut(min(chunks, self.n))
            if self._slots(slots) * self.slot_bytes <= budget:
                break
            chunks = max(chunks + 1, chunks * 21 // 20)
        self.total = self._slots(slots)

    def _cut(self, chunks: int) -> None:
        """Pages of one size such that the chunks are full but for less than a row a page."""
        page = max(1, -(-self.n // (chunks * self.mixed)))
        needed = -(-self.n // page)
        self.per_chunk = -(-needed // chunks)
        self.page = -(-self.n // (chunks * self.per_chunk))
        self.count = -(-self.n // self.page)
        self.size = self.page * self.per_chunk

    def _slots(self, slots: np.ndarray) -> int:
        """Of the largest chunk that any order of the pages can make; a dense row is one slot."""
        if len(slots) == 1:
            return self.size * int(slots[0])
        pages = np.add.reduceat(slots, np.arange(0, self.n, self.page))
        return max(1, int(np.sort(pages)[-self.per_chunk :].sum()))

    def __repr__(self) -> str:
        """What tells one set of rows from another: checkpoints look at it."""
        digest = zlib.crc32(self.checksums.tobytes())
        return f"Pages({self.n} x {self.d}, {self.page} rows, {digest:08x})"

    def range_of(self, page: int) -> tuple[int, int]:
        return page * self.page, min((page + 1) * self.page, self.n)

    def rows_of(self, group: np.ndarray) -> np.ndarray:
        """The examples that a chunk of these pages holds, in its order."""
        rows = np.concatenate([np.arange(*self.range_of(page)) for page in group])
        return rows if self.order is None else self.order[rows]

    def groups(self, order: np.ndarray | None = None) -> list[np.ndarray]:
        """The pages of each chunk, for pages in this order or in that of the file."""
        order = np.arange(self.count) if order is None else order
        return np.split(order, range(self.per_chunk, self.count, self.per_chunk))

    def _first_look(self, page: int, dtype) -> int:
        lo, hi = self.range_of(page)
        raw = self.source.raw(lo, hi)
        narrowed(self.source, self.source.rows(raw, lo, hi), lo, dtype)
        return zlib.crc32(raw)

    def _read(self, page: int) -> Any:
        lo, hi = self.range_of(page)
        raw = self.source.raw(lo, hi)
        if zlib.crc32(raw) != self.checksums[page]:
            place = self.source.place(lo, hi)
            raise Unreadable(f"{place}: not what was there when the problem was made")
        return self.source.rows(raw, lo, hi)

    def _shelf(self, dtype) -> Any:
        form = (self.size, self.source.d, self.constant, dtype)
        if self.source.lengths is None:
            return _DenseShelf(*form)
        return _SparseShelf(*form, self.width, self.total)

    def blank(self, dtype) -> Any:
        """A chunk of zeros."""
        return jax.tree.map(jnp.asarray, self._shelf(dtype).fill(iter(())))

    def each(self, groups: list[np.ndarray], dtype, work: Callable[[np.ndarray, Any], None]):
        """``work(examples, rows)`` for one chunk after the other, the next one being loaded."""
        shelf = self._shelf(dtype)
        load = lambda group: shelf.fill(self._read(page) for page in group)
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(load, groups[0])
            for group, following in zip(groups, [*groups[1:], None]):
                here = jax.tree.map(jnp.asarray, coming.result())
                coming = pool.submit(load, following) if following is not None else coming
                work(self.rows_of(group), here)
                del here  # before the one after it is loaded
