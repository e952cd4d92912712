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

from jaxopt_svm.oracles.selection import largest_index

__all__ = ["Move", "Quadratic", "pair_move", "solve_pairs", "violation"]


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


def pair_move(
    row_of: Callable, quadratic: Quadratic, beta, v, *, second_order: bool, among=None
) -> Move:
    """The next pair and how far it moves: nothing if m <= M."""
    diagonal, lo, hi = quadratic
    up, low = beta < hi, beta > lo
    if among is not None:
        up, low = up & among, low & among
    i, m = largest_index(jnp.where(up, v, -jnp.inf))
    row_i = row_of(i)
    # a_ij of two equal points is zero up to rounding: the box then stops the move
    eps = 4 * jnp.finfo(v.dtype).eps
    a = jnp.maximum(diagonal[i] + diagonal - 2.0 * row_i, eps * (diagonal[i] + diagonal))
    below = low & (v < m)
    gain = (m - v) ** 2 / a if second_order else m - v
    j, _ = largest_index(jnp.where(below, gain, -1.0))
    tiny = jnp.finfo(v.dtype).tiny
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
    and a pair on a few hundred numbers costs less alone (5 us) than its share of a batch (10 us).
    """
    return _solve_pairs(K, quadratic, beta, v, jnp.asarray(count, jnp.int32), stop)


@sequential_vmap
def _solve_pairs(K, quadratic: Quadratic, beta, v, count, stop):
    def going(carry):
        _, _, done, more = carry
        return more & (done < count)

    def pair(carry):
        beta, v, done, _ = carry
        move = pair_move(lambda i: K[i], quadratic, beta, v, second_order=True)
        beta, v = move.put(beta), move.lower(v)
        m, M = violation(quadratic, beta, v)
        return beta, v, done + 1, m - M > stop

    m, M = violation(quadratic, beta, v)
    start = (beta, v, jnp.zeros((), jnp.int32), m - M > stop)
    beta, _, done, _ = lax.while_loop(going, pair, start)
    return beta, done
