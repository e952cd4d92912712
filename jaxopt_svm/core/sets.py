r"""Random sets of examples beyond tau-nice, with closed-form ESO constants.

omega_j examples have feature j; sums and counts below run over those examples only.

    independent    P_ij = p_i p_j          v_i = sum_j (1 + (omega_j - 1) mean_j(p)) x_ij^2
    bucket         p_i p_j across groups,  v_i = sum_j (1 + (groups_j - 1) mean_j(share)) x_ij^2
                   0 inside
    partition      q_l inside block l,     v_i = sum_j |block of i that has j| x_ij^2
                   0 across
    distributed    tau(tau - 1)/(s(s - 1)) v_i = sum_j (1 + (omega_j - 1) a
                   on a node of s,                 + (nodes_j - 1)(omega_j/nodes_j)(b - a)) x_ij^2
                   (tau/s)^2 across        a = (tau - 1)/(s - 1),  b = tau/s

groups_j and nodes_j count the groups that have feature j, and a group's share of j is the chance
that its pick has it. Why: let u_i = h_i x_ij. For bucket, with a_g = sum of p_i u_i over group g,

    E(sum_S u_i)^2 = sum p_i u_i^2 - sum_g a_g^2 + (sum_g a_g)^2,
    sum_g a_g^2 >= (sum_g a_g)^2 / groups_j,   (sum_g a_g)^2 <= (sum p_i)(sum p_i u_i^2),

and mean_j(share) = (sum p_i)/groups_j. Independent sets are groups of one that may also pick
nobody, and the same two lines hold. Distributed is Hydra^2's bound, with the same first line
inside a node. Tight when the shares are equal (independent: when the p_i are).
Lecture "Empirical Risk Minimization" (Richtarik), samplings and ESO; Qu & Richtarik,
arXiv:1412.8063; Fercoq, Qu, Richtarik & Takac, arXiv:1405.5300. Checked in proofs_checks/eso.py.

A draw costs what the set costs, whatever n is. Sets of random size are padded at the end with
index n and mask False.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.sampling import choose, distinct

__all__ = ["Bucket", "Distributed", "Independent", "Partition"]


class Sets:
    """Several different examples at once."""

    serial = False
    unique = True


@pytree
class Independent(Sets):
    """Every example joins the set by its own coin: i with probability p_i. Make with ``of``.

    top, mean: the largest and the mean p_i; they fix how long a step is and how many make a pass.
    Candidates come in geometric gaps at rate ``top`` and stay with probability p_i/top. A step
    has room for mean + 8 standard deviations + 8 candidates, or for all n if that is less; more
    come with probability below 1e-12, and the set then lacks its last examples.
    """

    p: Array  # () or (n,)
    top: float = static()
    mean: float = static()

    @classmethod
    def of(cls, p: Any) -> "Independent":
        """p: one probability for all, or one for each."""
        host = np.asarray(p, np.float64)
        if host.ndim > 1 or host.size == 0:
            raise ValueError(f"Independent: p must be a number or have shape (n,); {host.shape}")
        if not ((host > 0) & (host <= 1)).all():
            bad = host[~((host > 0) & (host <= 1))].flat[0]
            raise ValueError(
                f"Independent: every p_i must lie in (0, 1], or example i is never seen; got {bad}"
            )
        return cls(jnp.asarray(p, float), top=float(host.max()), mean=float(host.mean()))

    def check(self, problem) -> None:
        if self.p.shape not in ((), (problem.n,)):
            raise ValueError(
                f"Independent: p must be a number or have shape ({problem.n},); got {self.p.shape}"
            )
        low, high = float(jnp.min(self.p)), float(jnp.max(self.p))
        if not (low > 0 and high <= self.top * (1 + 1e-6) and self.top <= 1):
            raise ValueError(
                f"Independent: every p_i must lie in (0, top] with top = {self.top} <= 1; "
                f"got {low} to {high}"
            )

    def _each(self, problem) -> Array:
        return jnp.broadcast_to(self.p.astype(problem.rows.sqnorms.dtype), (problem.n,))

    def capacity(self, n: int) -> int:
        """Candidates a step has room for."""
        spread = math.sqrt(n * self.top * (1 - self.top))
        return min(n, math.ceil(n * self.top + 8 * spread) + 8)

    def constants(self, problem):
        rows, p = problem.rows, self._each(problem)
        omega = jnp.maximum(rows.column_counts(), 1).astype(p.dtype)
        return p, rows.weighted_sqnorms(1.0 + (omega - 1.0) * (rows.column_sums(p) / omega))

    def pair_probabilities(self, problem):
        p = self._each(problem)
        return jnp.where(jnp.eye(problem.n, dtype=bool), p[:, None], p[:, None] * p[None, :])

    def draw(self, problem, key: Array, size: int) -> Sample:
        del size
        n, dtype = problem.n, problem.rows.sqnorms.dtype
        shape = (math.ceil(1.0 / self.mean), self.capacity(n))
        jumps, coins = jax.random.split(key)
        # Prob(gap > k) = (1 - top)^k
        rate = -math.log1p(-self.top) if self.top < 1 else math.inf
        gaps = jnp.minimum(jnp.floor(jax.random.exponential(jumps, shape, dtype) / rate), n)
        # sums that stop at n cannot overflow
        add = lambda a, b: jnp.minimum(a + b, n + 1)
        index = lax.associative_scan(add, gaps.astype(jnp.int32) + 1, axis=1) - 1
        if self.p.ndim == 0:
            return Sample(index, index < n)
        chance = self._each(problem).at[index].get(mode="fill", fill_value=0.0) / self.top
        stays = jax.random.uniform(coins, shape, dtype) < chance
        place = jnp.where(stays, jnp.cumsum(stays, axis=1, dtype=jnp.int32) - 1, shape[1])
        line = jnp.arange(shape[0], dtype=jnp.int32)[:, None]
        index = jnp.full(shape, n, jnp.int32).at[line, place].set(index, mode="drop")
        return Sample(index, index < n)


def make_groups(name: str, groups: Sequence[Sequence[int]]) -> Array:
    """(groups, longest) from lists of examples, padded with -1."""
    if len(groups) == 0 or any(len(g) == 0 for g in groups):
        raise ValueError(f"{name}: expected at least one group, and no empty group")
    table = np.full((len(groups), max(map(len, groups))), -1, np.int32)
    for line, group in zip(table, groups):
        line[: len(group)] = np.asarray(group, np.int32)
    return jnp.asarray(table)


@pytree
class Grouped(Sets):
    """The examples in groups that do not overlap: (groups, longest), -1 is padding, at the end."""

    groups: Array

    def check(self, problem) -> None:
        name, n, groups = type(self).__name__, problem.n, np.asarray(self.groups)
        if groups.ndim != 2 or groups.dtype.kind != "i":
            raise ValueError(f"{name}: groups must be a table of integers, one line a group")
        used = groups >= 0
        if not used[:, 0].all() or (used[:, 1:] & ~used[:, :-1]).any():
            raise ValueError(f"{name}: groups must not be empty, with padding (-1) at the end")
        if groups.max() >= n:
            raise ValueError(f"{name}: there is no example {groups.max()}; n = {n}")
        times = np.bincount(groups[used], minlength=n)
        if times.max() > 1:
            raise ValueError(f"{name}: example {times.argmax()} is in more than one group")
        if times.min() == 0:
            raise ValueError(
                f"{name}: example {times.argmin()} is in no group, so it would never be seen"
            )

    def _table(self, n: int) -> Array:
        """Padding as index n, which no array has."""
        return jnp.where(self.groups < 0, n, self.groups)

    def _sizes(self) -> Array:
        return jnp.sum((self.groups >= 0).astype(jnp.int32), axis=1, dtype=jnp.int32)

    def _group_of(self, n: int) -> Array:
        """(n,) the group of each example."""
        lines = jnp.arange(self.groups.shape[0], dtype=jnp.int32)[:, None]
        lines = jnp.broadcast_to(lines, self.groups.shape)
        return jnp.zeros(n, jnp.int32).at[self._table(n)].set(lines, mode="drop")


@pytree
class Bucket(Grouped):
    """One example from each group, evenly inside the group. Make with ``of`` from lists.

    With groups that share no feature v_i = L_i: as safe as one example at a time.
    """

    @classmethod
    def of(cls, groups: Sequence[Sequence[int]]) -> "Bucket":
        return cls(make_groups("Bucket", groups))

    def constants(self, problem):
        rows, n = problem.rows, problem.n
        group = self._group_of(n)
        p = (1.0 / self._sizes().astype(rows.sqnorms.dtype))[group]
        touched = jnp.maximum(rows.groups_touched(group, self.groups.shape[0]), 1).astype(p.dtype)
        return p, rows.weighted_sqnorms(1.0 + (touched - 1.0) * (rows.column_sums(p) / touched))

    def pair_probabilities(self, problem):
        group = self._group_of(problem.n)
        p = (1.0 / self._sizes().astype(problem.rows.sqnorms.dtype))[group]
        across = jnp.where(group[:, None] == group[None, :], 0.0, p[:, None] * p[None, :])
        return jnp.where(jnp.eye(problem.n, dtype=bool), p[:, None], across)

    def draw(self, problem, key: Array, size: int) -> Sample:
        del size
        count = self.groups.shape[0]
        shape = (-(-problem.n // count), count)
        pick = jax.random.randint(key, shape, 0, self._sizes()[None, :], jnp.int32)
        line = jnp.arange(count, dtype=jnp.int32)[None, :]
        return Sample(self.groups.astype(jnp.int32)[line, pick])


@pytree
class Partition(Grouped):
    """One whole group at a time, group l with probability q_l. Make with ``of`` from lists.

    q: (groups,) probabilities; None is even. A pass draws as many groups as there are.
    """

    q: Array | None = None

    @classmethod
    def of(cls, groups: Sequence[Sequence[int]], q: Any = None) -> "Partition":
        return cls(make_groups("Partition", groups), None if q is None else jnp.asarray(q, float))

    def check(self, problem) -> None:
        super().check(problem)
        if self.q is None:
            return
        count = self.groups.shape[0]
        if self.q.shape != (count,):
            raise ValueError(f"Partition: q must have shape ({count},); got {self.q.shape}")
        if not bool(jnp.all(self.q > 0)):
            raise ValueError("Partition: every q_l must be positive, or group l is never seen")
        total = float(jnp.sum(self.q))
        if abs(total - 1.0) > 1e-4:
            raise ValueError(f"Partition: q must sum to 1; it sums to {total:.6g}")

    def _chances(self, dtype) -> Array:
        count = self.groups.shape[0]
        return jnp.full(count, 1.0 / count, dtype) if self.q is None else self.q.astype(dtype)

    def constants(self, problem):
        rows, group = problem.rows, self._group_of(problem.n)
        dtype = rows.sqnorms.dtype
        together = rows.group_counts(group, self.groups.shape[0]).astype(dtype)
        return self._chances(dtype)[group], rows.entry_sqnorms(together)

    def pair_probabilities(self, problem):
        group = self._group_of(problem.n)
        p = self._chances(problem.rows.sqnorms.dtype)[group]
        return jnp.where(group[:, None] == group[None, :], p[:, None], 0.0)

    def draw(self, problem, key: Array, size: int) -> Sample:
        del size
        n, count = problem.n, self.groups.shape[0]
        index = self._table(n).astype(jnp.int32)
        if self.q is None:
            lines = jax.random.randint(key, (count,), 0, count, jnp.int32)
        else:
            lines = choose(self.q, key, count)
        return Sample(index[lines], index[lines] < n)


@pytree
class Distributed(Sets):
    """Examples split evenly over nodes, in order; every node takes its own tau-nice set."""

    nodes: int = static()
    tau: int = static()

    def check(self, problem) -> None:
        n, nodes = problem.n, self.nodes
        if nodes < 1 or n % nodes:
            raise ValueError(
                f"Distributed: n = {n} examples do not split evenly over {nodes} nodes; "
                "drop a few examples, or choose a number of nodes that divides n"
            )
        if not 1 <= self.tau <= n // nodes:
            raise ValueError(
                f"Distributed: tau must lie between 1 and n/nodes = {n // nodes}; got {self.tau}"
            )

    def _node_of(self, problem) -> Array:
        each = problem.n // self.nodes
        return jnp.arange(problem.n, dtype=jnp.int32) // each

    def constants(self, problem):
        rows, s = problem.rows, problem.n // self.nodes
        dtype = rows.sqnorms.dtype
        a, b = (self.tau - 1) / max(1, s - 1), self.tau / s
        omega = jnp.maximum(rows.column_counts(), 1).astype(dtype)
        nodes = jnp.maximum(rows.groups_touched(self._node_of(problem), self.nodes), 1)
        nodes = nodes.astype(dtype)
        inside, across = (omega - 1.0) * a, (nodes - 1.0) * (omega / nodes) * (b - a)
        return jnp.full_like(rows.sqnorms, b), rows.weighted_sqnorms(1.0 + inside + across)

    def pair_probabilities(self, problem):
        tau, s, node = self.tau, problem.n // self.nodes, self._node_of(problem)
        near = tau * (tau - 1) / max(1, s * (s - 1))
        P = jnp.where(node[:, None] == node[None, :], near, (tau / s) ** 2)
        P = jnp.where(jnp.eye(problem.n, dtype=bool), tau / s, P)
        return P.astype(problem.rows.sqnorms.dtype)

    def draw(self, problem, key: Array, size: int) -> Sample:
        del size
        s = problem.n // self.nodes
        steps = -(-s // self.tau)
        own = distinct(key, steps * self.nodes, s, self.tau).reshape(steps, self.nodes, self.tau)
        first = (jnp.arange(self.nodes, dtype=jnp.int32) * s)[None, :, None]
        return Sample((own + first).reshape(steps, self.nodes * self.tau))
