r"""DisDCA: SDCA on K nodes that hold a part of the examples each.

In a round every node draws m of its own examples. With the same abar at the start,

    basic      all m K steps from abar, curvature m K c_i L_i / lam
    practical  on each node one after the other, curvature K c_i L_i / lam, the node's own copy of
               abar moving by K c_i (change of alpha_i)/lam x_i; then the changes are added

Both are safe: the first by the trivial ESO of m K examples, the second because K times the block
diagonal of X X' bounds X X' (adding with sigma' = K). With K = 1 the practical form is SDCA.

Lecture "Empirical Risk Minimization" (Richtarik), DisDCA.
Yang, NIPS 2013; Ma et al., ICML 2015, arXiv:1502.03508 (CoCoA+).

Nodes are an array axis: the same code runs on one device or, sharded, on many.
"""

import jax
import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example, gather, parallel_step, visit_block
from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.shuffle import shuffle
from jaxopt_svm.methods.refusals import needs_erm, refuse_free_intercept
from jaxopt_svm.problems.erm import ERM

__all__ = ["DisDCA"]


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
    """State: vectors (abar,), tables (alpha,). Cost of a round: nodes x local rows.

    Node k holds the examples i = k, k + nodes, k + 2 nodes, ...
    """

    nodes: int = static(default=4)
    local: int = static(default=8)
    practical: bool = static(default=True)

    bound_on = "gap"

    def check(self, problem) -> None:
        needs_erm(self, problem)
        refuse_free_intercept(self, problem)
        if not 1 <= self.nodes <= problem.n:
            raise ValueError(
                f"DisDCA: nodes must lie between 1 and n = {problem.n}; got {self.nodes}"
            )
        if self.local < 1:
            raise ValueError(f"DisDCA: local must be at least 1; got {self.local}")

    def init(self, problem: ERM, start: Point | None = None) -> At:
        alpha = problem.complete(problem.origin() if start is None else start).dual
        return At(vectors=(problem.abar(alpha),), tables=(alpha,))

    def draw(self, problem: ERM, key) -> Sample:
        """(rounds, nodes, local): each node goes through its own examples in a random order."""
        n, K, m = problem.n, self.nodes, self.local
        held = -(-n // K)
        rounds = -(-held // m)

        def order(key, k):
            index = shuffle(key, held) * K + k
            # a node with one example less sends its gap, and the padding, to the end
            gap = jnp.argmax(index >= n)
            swapped = index.at[gap].set(index[-1]).at[-1].set(index[gap])
            index = jnp.where(jnp.any(index >= n), swapped, index)
            return jnp.pad(index, (0, rounds * m - held), constant_values=n)

        nodes = jnp.arange(K, dtype=jnp.int32)
        index = jnp.minimum(jax.vmap(order)(jax.random.split(key, K), nodes), n)
        index = index.reshape(K, rounds, m).swapaxes(0, 1)
        return Sample(index, index < n)

    def visit(self, problem: ERM, example: Example, at: At, factor: int, spread: int) -> At:
        """A step at ``factor`` times the curvature; abar moves ``spread`` times as far."""
        (abar,), (alpha,), (row, y, c) = at.vectors, at.tables, example
        z = row.dot(abar, problem.regularizer.link)
        q = factor * c * row.sqnorm / problem.lam
        new = problem.loss.dual_step(z, alpha, y, q)
        return At((row.add(abar, spread * c * (new - alpha) / problem.lam),), (new,))

    def step(self, problem: ERM, state: At, sample: Sample) -> At:
        K, m = self.nodes, self.local
        if not self.practical:
            flat = jax.tree.map(lambda x: x.reshape(-1), sample)
            basic = lambda p, e, at: self.visit(p, e, at, m * K, 1)
            through = None if problem.regularizer.linear else problem.regularizer.link
            return parallel_step(basic, problem, state, flat, through=through)
        local = lambda p, e, at: self.visit(p, e, at, K, K)
        facts = {"unique": True, "linear": problem.regularizer.linear, "scales": False}

        def node(index, mask):
            slots = gather(problem, state, index)
            one = Sample(index, mask)
            (abar,), (alpha,), _ = visit_block(
                local, problem, one, state.vectors, (), slots, **facts
            )
            return (abar - state.vectors[0]) / K, alpha

        change, alpha = jax.vmap(node)(sample.index, sample.mask)
        table = state.tables[0].at[sample.index].set(alpha, mode="drop")
        return At((state.vectors[0] + change.sum(0),), (table,))

    def point(self, problem: ERM, state: At) -> Point:
        return Point(problem.regularizer.link(state.vectors[0]), state.tables[0])

    def spent(self, problem: ERM) -> Spent:
        held = -(-problem.n // self.nodes)
        rounds = -(-held // self.local)
        return Spent(work=1.0, oracle_calls=0.0, updates=float(rounds))

    def bound(self, problem: ERM, t) -> None:
        del problem, t
