r"""DisDCA: SDCA on K nodes that hold a part of the examples each.

In a round every node draws m of its own examples. With the same abar at the start,

    basic      all m K steps from abar, curvature m K c_i L_i / lam
    practical  on each node one after the other, curvature K c_i L_i / lam, the node's own copy of
               abar moving by K c_i (change of alpha_i)/lam x_i; then the changes are added

Both are safe: the first by the trivial ESO of m K examples, the second because K times the block
diagonal of X X' bounds X X' (adding with sigma' = K). With K = 1 the practical form is SDCA.

Lecture "Empirical Risk Minimization" (Richtarik), DisDCA.
Yang, NIPS 2013; Ma et al., ICML 2015, arXiv:1502.03508 (CoCoA+).

Nodes are an array axis on one device; rows that are divided over devices stay where they are, and
the changes of abar, d numbers a round, are all that is exchanged.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.blocks import At, Example, Slots, visit_block
from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.shuffle import shuffle
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.refusals import needs_erm, refuse_free_intercept
from jaxopt_svm.problems.erm import ERM, weighted
from jaxopt_svm.problems.split import Split

__all__ = ["DisDCA"]

DEFAULT_NODES = 4


@register(
    Info(
        name="disdca",
        family="dual",
        problems="ERM, any loss, l2 or elastic net",
        certificate="its own dual point",
        lecture="Empirical Risk Minimization: DisDCA",
        reference="Yang 2013; Ma et al. 2015, arXiv:1502.03508",
    )
)
@pytree
class DisDCA:
    """State: vectors (abar,), tables (alpha by nodes). Cost of a round: nodes x local rows.

    nodes: K; node k holds the examples k s, ..., (k + 1) s - 1, s = ceil(n/K). None takes those
      that the problem's rows are divided over (``make_erm(..., mesh=)``), or 4.
    local: m, the examples of a node in a round; nodes exchange d numbers a round, so rows on
      several devices want many.
    block: visits of a node done together; the iterates do not depend on it, only the speed does.
    """

    nodes: int | None = static(default=None)
    local: int = static(default=8)
    practical: bool = static(default=True)
    block: int = static(default=BLOCK)

    bound_on = "gap"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        refuse_free_intercept(self, problem)
        if not 1 <= self._nodes(problem) <= problem.n:
            raise ValueError(
                f"DisDCA: nodes must lie between 1 and n = {problem.n}; got {self.nodes}"
            )
        if isinstance(problem.rows, Split) and self._nodes(problem) != problem.rows.nodes:
            raise ValueError(
                f"DisDCA: nodes = {self.nodes}, and the rows are divided over "
                f"{problem.rows.nodes}; leave it None, or make_erm(..., nodes={self.nodes})"
            )
        for name, value in (("local", self.local), ("block", self.block)):
            if value < 1:
                raise ValueError(f"DisDCA: {name} must be at least 1; got {value}")

    def _nodes(self, problem: ERM) -> int:
        held = problem.rows.nodes if isinstance(problem.rows, Split) else DEFAULT_NODES
        return held if self.nodes is None else self.nodes

    def _shape(self, problem: ERM) -> tuple[int, int, int, int]:
        """Nodes K, examples of a node, blocks of a round and rounds of a pass."""
        K = self._nodes(problem)
        held = -(-problem.n // K)
        most = min(self.local, held)
        blocks = -(-most // min(self.block, most))
        return K, held, blocks, -(-held // most)

    def init(self, problem: ERM, start: Point | None = None) -> At:
        alpha = problem.complete(problem.origin() if start is None else start).dual
        K, held, *_ = self._shape(problem)
        more = ((0, K * held - problem.n), *((0, 0),) * (alpha.ndim - 1))
        table = jnp.pad(alpha, more).reshape(K, held, *alpha.shape[1:])
        return At(vectors=(problem.abar(alpha),), tables=(table,))

    def draw(self, problem: ERM, key) -> Array:
        """(rounds, nodes, blocks, size): every node's own examples, by their places on the node,
        in a random order; the place ``held`` is padding and comes last."""
        K, held, blocks, rounds = self._shape(problem)
        most = min(self.local, held)
        size = -(-most // blocks)

        def order(key):
            places = jnp.pad(shuffle(key, held), (0, rounds * most - held), constant_values=held)
            more = ((0, 0), (0, blocks * size - most))
            places = jnp.pad(places.reshape(rounds, most), more, constant_values=held)
            return places.reshape(rounds, blocks, size)

        keys = jax.random.split(key, K)
        if isinstance(problem.rows, Split):
            drawn = problem.rows.each(lambda rows, key: order(key), (keys,))
        else:
            drawn = jax.vmap(order)(keys)
        return drawn.swapaxes(0, 1)

    def visit(self, problem: ERM, example: Example, at: At, K: int) -> At:
        """A step at K times the curvature; the node's own abar moves K times as far."""
        (abar,), (alpha,), (row, y, c) = at.vectors, at.tables, example
        z = row.dot(abar, problem.regularizer.link)
        new = problem.loss.dual_step(z, alpha, y, K * c * row.sqnorm / problem.lam)
        return At((row.add(abar, K * c * (new - alpha) / problem.lam),), (new,))

    def serial(self, problem: ERM, slots: Slots, sample: Sample, abar, K: int):
        """Practical: (the node's abar after these visits, their new alpha)."""
        visit = lambda p, e, at: self.visit(p, e, at, K)
        facts = {"unique": True, "linear": problem.regularizer.linear, "scales": False}
        (new,), (alpha,), _ = visit_block(visit, problem, sample, (abar,), (), slots, **facts)
        return new, alpha

    def together(self, problem: ERM, slots: Slots, sample: Sample, abar, factor: int):
        """Basic: (the changes of abar added up, new alpha), all from the same abar."""
        rows, ((alpha,), c) = problem.rows, (slots.tables, slots.c)
        z = rows.dot(sample.index, abar, problem.regularizer.link)
        q = factor * c * rows.sqnorms.at[sample.index].get(mode="clip") / problem.lam
        new = jax.vmap(problem.loss.dual_step)(z, alpha, slots.y, q)
        change = weighted(c / problem.lam, new - alpha)
        return rows.add(jnp.zeros_like(abar), sample.index, change), new

    def round(self, problem: ERM, alpha, places, first, abar, K: int):
        """The round of a node whose examples are ``first``, ... of ``problem``: its alpha, and
        its change of abar."""

        def slots_of(alpha, places):
            index, held = first + places, places < alpha.shape[0]
            take = lambda t, at: t.at[at].get(mode="clip")
            # padding, and what the last node lacks of the others' number, weighs nothing
            c = jnp.where(held & (index < problem.n), take(problem.c, index), 0.0)
            return Slots(take(problem.y, index), c, (take(alpha, places),), ()), Sample(index)

        if not self.practical:
            places = places.reshape(-1)
            slots, sample = slots_of(alpha, places)
            change, new = self.together(problem, slots, sample, abar, K * self.local)
            return alpha.at[places].set(new, mode="drop"), change

        def block(carry, places):
            own, alpha = carry
            own, new = self.serial(problem, *slots_of(alpha, places), own, K)
            return (own, alpha.at[places].set(new, mode="drop")), None

        (own, alpha), _ = lax.scan(block, (abar, alpha), places)
        return alpha, (own - abar) / K

    def step(self, problem: ERM, state: At, places) -> At:
        (abar,), (table,), (K, held, *_) = state.vectors, state.tables, self._shape(problem)
        rows = problem.rows
        if isinstance(rows, Split):
            light = dataclasses.replace(problem, rows=None, y=None, c=None, columns=None)

            def node(rows, y, c, alpha, places, light, abar):
                part = dataclasses.replace(light, rows=rows, y=y, c=c)
                return self.round(part, alpha, places, 0, abar, K)

            own = (*rows.by_node((problem.y, problem.c)), table, places)
            table, change = rows.each_and_sum(node, own, (light, abar))
        else:
            firsts = held * jnp.arange(K, dtype=jnp.int32)
            stretch = lambda alpha, places, k: self.round(problem, alpha, places, k, abar, K)
            table, changes = jax.vmap(stretch)(table, places, firsts)
            change = changes.sum(0)
        return At((abar + change,), (table,))

    def point(self, problem: ERM, state: At) -> Point:
        table = state.tables[0]
        alpha = table.reshape(-1, *table.shape[2:])[: problem.n]
        return Point(problem.regularizer.link(state.vectors[0]), alpha)

    def spent(self, problem: ERM) -> Spent:
        return Spent(work=1.0, oracle_calls=0.0, updates=float(self._shape(problem)[-1]))

    def bound(self, problem: ERM, t) -> None:
        del problem, t
