r"""Sparse rows in tiles: fixed blocks whose Gram matrices are formed once, and visits by tiles.

Visits of a sparse row cost little arithmetic and much dispatch: its values come in a loop of its
own. In a block they need one product with the block's rows before, its Gram matrix, and one
product after (core/blocks.py); but the Gram matrix of sparse rows costs more than the visits. So
the blocks are made once, on the host, with their Gram matrices: a pass takes the tiles in a fresh
random order, and all passes and lanes share them.

    a tile      at most B rows, long and short ones, so that all tiles hold about as many values
    a visit     2 x values of the row, in two gathers for the whole tile, and B numbers

The rows of a tile always follow each other in the same order; on texts that costs no passes.
"""

import dataclasses
import heapq
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jax import Array, lax

from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.core.shuffle import shuffle
from jaxopt_svm.problems.rows import Padded, entries_of

__all__ = ["Listed", "Tiled", "Tiles", "evenly_tiled", "listed", "make_tiled", "with_list"]

SIZE = 32  # rows of a tile
WIDTH = 8  # values of a chunk
TOGETHER = 16  # tiles whose Gram matrices are formed in one product
GATHERED = 2.5  # a number that is gathered and scattered with its tile, in those of a dense row


@pytree
class Tile:
    """The rows of one tile: their values in chunks, each chunk of one row."""

    cols: Any  # (chunks, width)
    vals: Any
    owner: Any  # (chunks,) place of the row in the tile
    products: Any  # (B, B)

    def gram(self):
        return self.products

    def matvec(self, w):
        seen = w.at[self.cols].get(mode="promise_in_bounds")
        parts = jnp.einsum("kj,kj...->k...", self.vals, seen)
        size = self.products.shape[0]
        return jax.ops.segment_sum(parts, self.owner, size, indices_are_sorted=True)

    def added(self, w, c):
        """w + X'c, in place."""
        spread = c.at[self.owner].get(mode="promise_in_bounds")
        values = jnp.einsum("kj,k...->kj...", self.vals, spread)
        return w.at[self.cols].add(values, mode="promise_in_bounds")


@pytree
class Tiled(Padded):
    """Padded rows, and the same rows in tiles."""

    index: Any  # (tiles, B) which rows; n where the last tiles are short
    place: Any  # (n,) the tile of each row
    tiles: Tile  # all of them, with a leading axis

    @property
    def row_numbers(self) -> float:
        numbers = self.index.shape[0] * self.tiles.cols[0].size
        return GATHERED * numbers / self.shape[0]

    def rmatvec(self, a):
        def add(k, u):
            return self.tile(k).added(u, a.at[self.index[k]].get(mode="fill", fill_value=0))

        u = jnp.zeros((self.d, *a.shape[1:]), a.dtype)
        return lax.fori_loop(0, self.index.shape[0], add, u)

    def tile(self, k) -> Tile:
        return jax.tree.map(lambda x: x[k], self.tiles)

    def take(self, index) -> Tile:
        """The tile whose rows these are."""
        return self.tile(self.place[index[0]])


@pytree
class Listed(Tiled):
    """Tiles of all rows, and after them tiles that some rows have a second time: a short list."""

    list_index: Any  # (tiles of the list, B)
    list_place: Any  # (n,)
    count: Any  # () how many of its tiles the list fills

    def take(self, index) -> Tile:
        whole, k = self.place[index[0]], self.index.shape[0]
        same = jnp.all(index == self.index[whole])
        return self.tile(jnp.where(same, whole, k + self.list_place[index[0]]))


@pytree
class Tiles(Shuffled):
    """Sparse rows by tiles, every tile once a pass, in a fresh random order."""

    tiles = True

    def check(self, problem) -> None:
        if not isinstance(getattr(problem, "rows", None), Padded):
            raise ValueError("Tiles: visits sparse rows; for others use Shuffled()")

    def prepare(self, problem) -> Any:
        if isinstance(problem.rows, Tiled):
            return problem
        return dataclasses.replace(problem, rows=make_tiled(problem.rows))

    def draw(self, problem, key: Array, size: int) -> Sample:
        del size
        if not isinstance(problem.rows, Tiled):
            raise ValueError("Tiles: before js.run call problem = js.prepare(problem, method)")
        index, n = problem.rows.index, problem.n
        drawn = index[shuffle(key, index.shape[0])]
        return Sample(drawn, None if index.size == n else drawn < n)


def evenly_tiled(rows: Padded) -> bool:
    """Whether tiles pay: no row is longer than a tile."""
    lengths = np.diff(np.asarray(rows.start))
    return bool(lengths.max() <= SIZE * lengths.mean())


def make_tiled(rows: Padded) -> Tiled:
    """Tiles on the host, all with about as many values."""
    X, chunks = _by_rows(rows)
    members = _packed(chunks, -(-rows.shape[0] // SIZE), SIZE, int(chunks.sum()))
    most = max(int(chunks[tile].sum()) for tile in members)
    made = _made(X, members, len(members), max(map(len, members)), most)
    return Tiled(**_fields(rows), **dict(zip(("index", "place", "tiles"), made)))


def with_list(rows: Tiled) -> Listed:
    """The same with room for a list of half as many tiles, empty so far."""
    index, place, more = _made(*_by_rows(rows)[:1], [], -(-rows.index.shape[0] // 2), *_room(rows))
    tiles = jax.tree.map(lambda x, y: jnp.concatenate([x, y]), rows.tiles, more)
    own = _fields(rows) | {"tiles": tiles}
    return Listed(**own, list_index=index, list_place=place, count=jnp.int32(0))


def listed(rows: Listed, wanted: np.ndarray) -> Listed:
    """The same with these rows on the list, as far as there is room; no shape changes."""
    X, chunks = _by_rows(rows)
    (size, most), room = _room(rows), rows.list_index.shape[0]
    held = chunks[wanted]
    count = max(-(-len(wanted) // size), math.ceil(1.02 * held.sum() / most))
    members = [wanted[tile] for tile in _packed(held, min(count, room), size, most)]
    index, place, made = _made(X, members, room, size, most)
    k = rows.index.shape[0]
    tiles = jax.tree.map(lambda x, y: jnp.concatenate([x[:k], y]), rows.tiles, made)
    new = {"tiles": tiles, "list_index": index, "list_place": place}
    return dataclasses.replace(rows, **new, count=jnp.int32(len(members)))


def _by_rows(rows: Padded) -> tuple[Any, np.ndarray]:
    """X by rows, and how many chunks of a tile each row takes."""
    owner, cols, vals = entries_of(rows)
    X = sp.csr_matrix((vals, (owner, cols)), shape=rows.shape)
    return X, -(-np.diff(X.indptr) // WIDTH)


def _fields(rows: Any) -> dict[str, Any]:
    return {f.name: getattr(rows, f.name) for f in dataclasses.fields(rows)}


def _room(rows: Tiled) -> tuple[int, int]:
    """Rows and chunks of a tile."""
    return rows.index.shape[1], rows.tiles.cols.shape[1]


def _packed(lengths: np.ndarray, count: int, size: int, most: int) -> list[np.ndarray]:
    """The rows of each tile: from the longest down, each to the tile that holds the least and has
    fewer than ``size`` rows; then in a random order. A row that fits nowhere is left out."""
    rng = np.random.default_rng(0)
    tiles: list[list[int]] = [[] for _ in range(count)]
    least = [(0, k) for k in range(count)]  # a heap of (chunks, tile)
    mixed = rng.permutation(len(lengths))
    for i in mixed[np.argsort(-lengths[mixed], kind="stable")].tolist():
        if not least or least[0][0] + int(lengths[i]) > most:
            continue
        held, k = heapq.heappop(least)
        tiles[k].append(i)
        if len(tiles[k]) < size:
            heapq.heappush(least, (held + int(lengths[i]), k))
    return [rng.permutation(np.array(tile, int)) for tile in tiles]


def _made(X: Any, members: list[np.ndarray], count: int, size: int, most: int) -> Any:
    """index, place and tiles: ``count`` with so many rows and chunks, the last ones empty."""
    index, place = np.full((count, size), X.shape[0], np.int32), np.zeros(X.shape[0], np.int32)
    for k, tile in enumerate(members):
        index[k, : len(tile)], place[tile] = tile, k
    whose, at = np.nonzero(index < X.shape[0])  # tile and place in it, of one row after the other
    X = X[index[whose, at]]
    lengths = np.diff(X.indptr)
    each = -(-lengths // WIDTH)
    before = np.cumsum(each) - each
    first = before - before[np.searchsorted(whose, whose)] + whose * most  # chunk of each row
    slot = np.arange(X.nnz) + np.repeat(first * WIDTH - X.indptr[:-1], lengths)
    shape = (count, most, WIDTH)
    cols, vals = np.zeros(shape, np.int32), np.zeros(shape, X.dtype)
    cols.flat[slot], vals.flat[slot] = X.indices, X.data
    owner = np.full((count, most), size - 1, np.int32)
    owner.flat[np.arange(each.sum()) + np.repeat(first - before, each)] = np.repeat(at, each)
    tiles = Tile(cols, vals, owner, _products(X, whose, at, count, size))
    return jax.tree.map(jnp.asarray, (index, place, tiles))


def _products(X: Any, whose: np.ndarray, at: np.ndarray, count: int, size: int) -> np.ndarray:
    """(count, size, size): X X' within each tile. Several tiles at once, each with columns of its
    own: a product of small sparse matrices is mostly the call."""
    found, d = np.zeros((count, size, size), X.dtype), X.shape[1]
    for k in range(0, count, TOGETHER):
        a, b = np.searchsorted(whose, (k, k + TOGETHER))
        some, mine = X[a:b], whose[a:b] - k
        own = np.repeat(mine * d, np.diff(some.indptr)) + some.indices
        parts = (some.data, own, some.indptr)
        some = sp.csr_matrix(parts, shape=(b - a, TOGETHER * d))
        pairs = (some @ some.T).tocoo()
        found[k + mine[pairs.row], at[a:b][pairs.row], at[a:b][pairs.col]] = pairs.data
    return found
