r"""Pairs: the smallest move that keeps sum beta = 0, and what it is chosen by.

    min  1/2 beta' K beta - y' beta,     lo <= beta <= hi,    sum beta = 0,     v = y - K beta

    up  = {beta_i < hi_i},    m = max over up of v        (beta_i can grow, at gain v_i)
    low = {beta_i > lo_i},    M = min over low of v       (beta_i can fall, at gain -v_i)

beta is optimal exactly if m <= M, and then any b in [m, M] is an intercept. A pair (i, j), i in up,
j in low, v_i > v_j, moves beta_i up and beta_j down by

    t = min{ (v_i - v_j) / a_ij,  hi_i - beta_i,  beta_j - lo_j },     a_ij = K_ii + K_jj - 2 K_ij

and gains (v_i - v_j)^2 / (2 a_ij) unless a bound stops it. i is the one with the largest v. j is
the one with the smallest v (first order), or the one that promises the largest gain (second order).

In the textbook's letters v = -y*g, beta = y*alpha. Platt 1999; Keerthi et al. 2001; Fan, Chen &
Lin, JMLR 6 (2005). Checked in proofs_checks/smo_progress.py and certificate_lemma.py.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import sequential_vmap

from jaxopt_svm.oracles.selection import largest_gain, largest_index

__all__ = ["Move", "Quadratic", "first_of", "gap_of", "pair_move", "solve_pairs", "violation"]


class Quadratic(NamedTuple):
    """What a pair is chosen and moved by: the diagonal of K and the bounds."""

    diagonal: Array
    lo: Array
    hi: Array


class Move(NamedTuple):
    """beta_i and beta_j move by di and dj to ``to_i`` and ``to_j``; rows i and j of K, for v.

    A bound is landed on exactly, by setting it: beta + (hi - beta) need not be hi, and who can move
    is decided by equality.
    """

    i: Array
    j: Array
    to_i: Array
    to_j: Array
    di: Array
    dj: Array
    row_i: Array
    row_j: Array

    def put(self, beta):
        return beta.at[self.i].set(self.to_i).at[self.j].set(self.to_j)

    def lower(self, v):
        return v - self.di * self.row_i - self.dj * self.row_j


def violation(quadratic: Quadratic, beta, v, among=None) -> tuple[Array, Array]:
    """(m, M): beta is optimal exactly if m <= M. ``among``: a mask of indices that count."""
    up, low = beta < quadratic.hi, beta > quadratic.lo
    if among is not None:
        up, low = up & among, low & among
    return jnp.max(jnp.where(up, v, -jnp.inf)), jnp.min(jnp.where(low, v, jnp.inf))


def gap_of(quadratic: Quadratic, beta, v) -> Array:
    """The duality gap with b = (m + M)/2, from v alone, O(n); nothing if m <= M.

    An example contributes (hi - beta) [v - b]_+ + (beta - lo) [b - v]_+. In units of the QP: of
    P - D it is 1/lam times. Checked in proofs_checks/certificate_lemma.py.
    """
    m, M = violation(quadratic, beta, v)
    b = jnp.where(m > M, (m + M) / 2, 0.0)
    over = (quadratic.hi - beta) * jnp.maximum(v - b, 0.0)
    under = (beta - quadratic.lo) * jnp.maximum(b - v, 0.0)
    return jnp.where(m > M, jnp.sum(over + under), 0.0)


def first_of(quadratic: Quadratic, beta, v, among=None) -> tuple[Array, Array]:
    """(i, m): who can grow at the largest gain."""
    up = beta < quadratic.hi
    return largest_index(jnp.where(up if among is None else up & among, v, -jnp.inf))


def pair_move(
    row_of: Callable, quadratic: Quadratic, beta, v, first, *, second_order: bool, among=None
) -> Move:
    """The pair of ``first`` = (i, m) and its partner, and how far it moves: nothing if m <= M."""
    (diagonal, lo, hi), (i, m) = quadratic, first
    low = beta > lo if among is None else (beta > lo) & among
    row_i = row_of(i)
    # a_ij of two equal points is zero up to rounding: the box then stops the move
    eps = 4 * jnp.finfo(v.dtype).eps
    a = jnp.maximum(diagonal[i] + diagonal - 2.0 * row_i, eps * (diagonal[i] + diagonal))
    below = low & (v < m)
    tiny = jnp.finfo(v.dtype).tiny
    gain = (m - v) ** 2 / jnp.maximum(a, tiny) if second_order else m - v
    j = largest_gain(jnp.where(below, gain, 0.0))
    room_i, room_j = hi[i] - beta[i], beta[j] - lo[j]
    t = jnp.minimum((m - v[j]) / jnp.maximum(a[j], tiny), jnp.minimum(room_i, room_j))
    moves = below[j]
    to_i = jnp.where(t >= room_i, hi[i], beta[i] + t)
    to_j = jnp.where(t >= room_j, lo[j], beta[j] - t)
    # nobody moves: i and j may then be one index, whose value must stay
    to_i, to_j = jnp.where(moves, to_i, beta[i]), jnp.where(moves, to_j, beta[j])
    return Move(i, j, to_i, to_j, to_i - beta[i], to_j - beta[j], row_i, row_of(j))


def solve_pairs(K, quadratic: Quadratic, beta, v, *, count: int, stop) -> tuple[Array, Array]:
    """Second-order pairs on a small dense K until m - M <= stop, at most ``count`` of them.

    Returns beta and the number of pairs. In a batch lane after lane: each ends when it is done,
    and a pair on a few hundred numbers costs less alone (2 us) than its share of a batch (10 us).
    """
    return _solve_pairs(K, quadratic, beta, v, jnp.asarray(count, jnp.int32), stop)


class _Pairs(NamedTuple):
    beta: Array
    v: Array
    first: tuple  # (i, m), which is also the first half of the next pair
    M: Array
    done: Array


@sequential_vmap
def _solve_pairs(K, quadratic: Quadratic, beta, v, count, stop):
    def look(beta, v, done) -> _Pairs:
        M = jnp.min(jnp.where(beta > quadratic.lo, v, jnp.inf))
        return _Pairs(beta, v, first_of(quadratic, beta, v), M, done)

    def going(at: _Pairs):
        return (at.first[1] - at.M > stop) & (at.done < count)

    def pair(at: _Pairs) -> _Pairs:
        row_of = lambda i: K[i]
        move = pair_move(row_of, quadratic, at.beta, at.v, at.first, second_order=True)
        return look(move.put(at.beta), move.lower(at.v), at.done + 1)

    end = lax.while_loop(going, pair, look(beta, v, jnp.zeros((), jnp.int32)))
    return end.beta, end.done
