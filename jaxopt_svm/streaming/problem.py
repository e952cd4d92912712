r"""The problem of streaming: an ERM whose rows are on disk, and its certificate summed by chunks.

    P(w)     = lam g(w) + sum over chunks of sum_{i in chunk} c_i phi(<x_i, w>, y_i)
    D(alpha) = -lam g*(abar) + sum over chunks ...,     abar = (1/lam) sum over chunks ...

A chunk is an ERM of fixed shape (problems/erm.py), so one program serves all of them; places of
the last chunk that no row takes have weight 0. In memory: y, c and what the method keeps of an
example, n numbers each. On disk: X.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.lanes import over_lanes
from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.streaming.pages import Pages

__all__ = ["Chunk", "Streamed", "gathered", "scattered"]


@pytree
class Chunk(ERM):
    """Some rows of a larger problem: c and n are those of the whole."""

    total: int = static(default=0)

    @property
    def n(self) -> int:
        return self.total

    def alone(self) -> "Chunk":
        """As if there were no other rows: for drawing examples from it."""
        return dataclasses.replace(self, total=self.rows.shape[0])


def gathered(tree: Any, places: np.ndarray, axis: int) -> Any:
    """The slots of some examples in tables on the host; the lanes, if any, come first."""
    return jax.tree.map(lambda t: np.asarray(t).take(places, axis), tree)


def scattered(tree: Any, rows: np.ndarray, slots: Any, axis: int) -> None:
    """Slots of a chunk back into the tables, in place; what is behind the rows is padding."""
    lanes = (slice(None),) * axis

    def put(table, new):
        table[(*lanes, rows)] = np.asarray(new)[(*lanes, slice(len(rows)))]

    jax.tree.map(put, tree, slots)


@jax.jit
def _completed(chunk: Chunk, point: Point):
    def one(chunk, point):
        w, alpha = chunk.complete(point)
        return alpha, chunk.sums(w, alpha)

    return over_lanes(one, chunk, 0)(chunk, point)


@jax.jit
def _concluded(chunk: Chunk, w, sums) -> Certificate:
    one = lambda chunk, w, sums: chunk.certificate_of(w, sums)
    return over_lanes(one, chunk, 0, 0)(chunk, w, sums)


@pytree
class Streamed:
    """Data on disk, loss, regulariser and lam. Make one with ``make_streamed``."""

    y: np.ndarray  # (n,) or (n, m)
    c: np.ndarray  # (n,)
    lam: Array  # () or (lanes,)
    loss: Any
    regularizer: Any
    pages: Pages = static()
    labels: tuple | None = static(default=None)
    intercept: str = static(default="none")

    lanes = ("lam",)
    bounded = False

    @property
    def n(self) -> int:
        return self.pages.n

    @property
    def d(self) -> int:
        return self.pages.d

    @property
    def runs(self):
        """How passes are made: by chunks, in place of core/programs.py."""
        from jaxopt_svm.streaming import passes

        return passes

    @property
    def lane_axis(self) -> int:
        """Where the examples are in a table: behind the lanes, if there are any."""
        return int(np.ndim(self.lam) > 0)

    def with_lam(self, lam) -> "Streamed":
        return dataclasses.replace(self, lam=jnp.asarray(lam, self.c.dtype))

    def lane_bytes(self) -> int:
        """What a lane takes beside the rows: its table, the best dual point and work on them."""
        numbers = 4 * self.y.size + 12 * self.pages.size + 4 * self.d
        return numbers * self.c.dtype.itemsize

    def origin(self) -> Point:
        w = jnp.zeros((self.d, *self.y.shape[1:]), self.c.dtype)
        return Point(w, jnp.zeros(self.y.shape, self.c.dtype))

    def _chunk(self, rows: Any, y, c) -> Chunk:
        return Chunk(
            rows=rows,
            y=jnp.asarray(y),
            c=jnp.asarray(c),
            lam=self.lam,
            loss=self.loss,
            regularizer=self.regularizer,
            labels=self.labels,
            intercept=self.intercept,
            total=self.n,
        )

    def blank(self) -> Chunk:
        """A chunk without examples."""
        zeros = self.pages.blank(self.c.dtype)
        first = np.zeros(self.pages.size, int)
        return self._chunk(zeros, self.y[first], np.zeros(self.pages.size, self.c.dtype))

    def each(
        self,
        work: Callable[[Chunk, np.ndarray, np.ndarray], None],
        order: np.ndarray | None = None,
    ) -> None:
        """``work(chunk, rows, places)`` for all chunks, pages in this order.

        rows: the examples in it. places: the same, padded to its size with the first of them.
        """

        def given(rows, matrix):
            places = np.pad(rows, (0, self.pages.size - len(rows)), constant_values=rows[0])
            c = np.where(np.arange(len(places)) < len(rows), self.c[places], 0.0)
            work(self._chunk(matrix, self.y[places], c), rows, places)

        self.pages.each(self.pages.groups(order), self.c.dtype, given)

    def certified(self, claim: Callable[[Chunk, np.ndarray], Point]) -> tuple[Point, Certificate]:
        """One pass: each chunk's claim (w, and alpha of its places), completed and summed up."""
        w, dual, total = None, None, None

        def add(chunk, rows, places):
            nonlocal w, dual, total
            point = claim(chunk, places)
            alpha, sums = _completed(chunk, point)
            if dual is None:
                shape = (*alpha.shape[: self.lane_axis], *self.y.shape)
                w, dual = point.w, np.zeros(shape, alpha.dtype)
            scattered(dual, rows, alpha, self.lane_axis)
            total = sums if total is None else jax.tree.map(jnp.add, total, sums)

        self.each(add)
        certificate = jax.tree.map(
            np.asarray, _concluded(self._chunk(None, self.y[:0], self.c[:0]), w, total)
        )
        return Point(np.asarray(w), dual), certificate

    def _claimed(self, point: Point) -> tuple[Point, Certificate]:
        def claim(chunk, places):
            return Point(jnp.asarray(point.w), gathered(point.dual, places, self.lane_axis))

        return self.certified(claim)

    def complete(self, point: Point) -> Point:
        """alpha from the point, or alpha_i = -slope_i(w); clipped to be feasible."""
        return self._claimed(point)[0]

    def certificate(self, point: Point) -> Certificate:
        """Valid for any w and any alpha; with lanes, one for each."""
        return self._claimed(point)[1]

    def errors(self, w) -> np.ndarray:
        """On the rows themselves: the share of wrong labels, or the root mean squared error."""
        total, columns = 0.0, jnp.moveaxis(jnp.asarray(w), self.lane_axis, 0)

        def add(chunk, rows, places):
            nonlocal total
            z = np.asarray(chunk.rows.matvec(columns))[: len(rows)]
            y = self.y[rows].reshape(-1, *(1,) * (z.ndim - 1))
            wrong = (z - y) ** 2 if self.labels is None else (z >= 0) != (y > 0)
            total = total + wrong.sum(axis=0, dtype=np.float64)

        self.each(add)
        mean = np.asarray(total) / self.n
        return np.sqrt(mean) if self.labels is None else mean

    def primal(self, w) -> Any:
        return self.certificate(Point(w)).primal
