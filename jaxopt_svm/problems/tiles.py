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

__all__ = ["Tiled", "Tiles", "evenly_tiled", "make_tiled"]

SIZE = 32  # rows of a tile
WIDTH = 8  # values of a chunk
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
        return GATHERED * self.tiles.cols.size / self.shape[0]

    def rmatvec(self, a):
        def add(u, part):
            tile, index = part
            return tile.added(u, a.at[index].get(mode="fill", fill_value=0)), None

        u = jnp.zeros((self.d, *a.shape[1:]), a.dtype)
        return lax.scan(add, u, (self.tiles, self.index))[0]

    def take(self, index) -> Tile:
        """The tile whose rows these are."""
        return jax.tree.map(lambda x: x[self.place[index[0]]], self.tiles)


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
    n, d = rows.shape
    owner, cols, vals = entries_of(rows)
    X = sp.csr_matrix((vals, (owner, cols)), shape=(n, d))
    chunks = -(-np.diff(X.indptr) // WIDTH)
    members = _packed(chunks, SIZE)
    most = max(int(chunks[tile].sum()) for tile in members)
    size = max(map(len, members))
    made = [_tile(X[tile], size, most) for tile in members]
    tiles = jax.tree.map(lambda *parts: jnp.asarray(np.stack(parts)), *made)
    index = np.full((len(members), size), n, np.int32)
    place = np.zeros(n, np.int32)
    for k, tile in enumerate(members):
        index[k, : len(tile)], place[tile] = tile, k
    own = {f.name: getattr(rows, f.name) for f in dataclasses.fields(rows)}
    return Tiled(**own, index=jnp.asarray(index), place=jnp.asarray(place), tiles=tiles)


def _packed(lengths: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows of each tile: from the longest down, each to the tile that holds the least and has
    fewer than ``size`` rows; then in a random order."""
    n, rng = len(lengths), np.random.default_rng(0)
    tiles: list[list[int]] = [[] for _ in range(-(-n // size))]
    least = [(0, k) for k in range(len(tiles))]  # a heap of (chunks, tile)
    mixed = rng.permutation(n)
    for i in mixed[np.argsort(-lengths[mixed], kind="stable")].tolist():
        held, k = heapq.heappop(least)
        tiles[k].append(i)
        if len(tiles[k]) < size:
            heapq.heappush(least, (held + int(lengths[i]), k))
    return [rng.permutation(tile) for tile in tiles]


def _tile(X: Any, size: int, chunks: int) -> Tile:
    """numpy arrays: the rows of a tile, padded to so many rows and chunks."""
    lengths = np.diff(X.indptr)
    each = -(-lengths // WIDTH)
    first = np.concatenate([[0], np.cumsum(each)])[:-1]
    slot = np.arange(X.nnz) + np.repeat(first * WIDTH - X.indptr[:-1], lengths)
    cols, vals = np.zeros(chunks * WIDTH, np.int32), np.zeros(chunks * WIDTH, X.dtype)
    cols[slot], vals[slot] = X.indices, X.data
    owner = np.full(chunks, size - 1, np.int32)
    owner[: each.sum()] = np.repeat(np.arange(len(each)), each)
    products = np.zeros((size, size), X.dtype)
    products[: X.shape[0], : X.shape[0]] = (X @ X.T).toarray()
    return Tile(cols.reshape(-1, WIDTH), vals.reshape(-1, WIDTH), owner, products)
