r"""The pattern of sequential dual ascent: decode, look at an example's labels, move its mass.

    alpha_i = sum_k masses_ik [labels_ik]
    w = (1/lam) sum_i c_i [psi(x_i, y_i) - psi(x_i, alpha_i)]

A visit of example i
    1. is given a label u decoded with the losses added, and finds it a slot
    2. scores the labels in the slots at the w of the moment: s_k = H_i(labels_k; w) + constant
    3. has G_i = max_k s_k - sum_k masses_k s_k, and stops here unless G_i > eps
    4. moves mass between the slots                                             (``move``)
    5. adds (c_i/lam) psi(x_i, alpha_i - alpha_i+) to w
A step holds a block of examples. They are decoded together at the w before the block (one batched
call, many times cheaper than one by one) and then visited one after the other, each with all the
earlier moves in w. block=1 is the lecture's algorithm to the letter; in larger blocks u is as fresh
as the block, while scores, gaps, line searches and so every gain in D are exact. A pass that
updates nothing leaves w alone, so its decodings are exact for any block.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.core.protocols import Sample, Spent
from jaxopt_svm.methods.structured.label_cache import LabelCache, LabelState, find_slot
from jaxopt_svm.problems.structured.mixture import Mixture
from jaxopt_svm.problems.structured.problem import Example, Structured

__all__ = ["BLOCK", "Given", "LabelVisits", "Moved", "Slots", "Turn"]

BLOCK = 32
BLOCKS = 16  # a pass has at least this many, so that a block's labels are fresh enough


class Turn(NamedTuple):
    """What a step is given: a sample, whether to decode, and whether to rebuild w first."""

    sample: Sample
    ask: Array
    fresh: Array


class Given(NamedTuple):
    """What a visit is given: a label, slots not to be used, whether the label was decoded for it,
    whether the visit counts, and k, the number of visits before it."""

    label: Array
    taken: Array
    asked: Array
    counts: Array
    k: Array


class Slots(NamedTuple):
    """An example as ``move`` sees it.

    scores, masses: (S,). labels: (S, ...). known: (S,) slots that count, u's among them. u: slot of
    the best known label. gap: G_i. k: visits so far.
    """

    scores: Array
    masses: Array
    labels: Array
    known: Array
    u: Array
    gap: Array
    k: Array


class Moved(NamedTuple):
    """masses: (S,) the new ones. labels, change: alpha - alpha+, as labels and what they lose."""

    masses: Array
    labels: Array
    change: Array


class LabelVisits(LabelCache):
    """Base of BCFW, FASOLE and SDM: they differ in ``move`` and in when they decode.

    Fields: sampling, eps, block, capacity. ``turns``: steps over the examples a pass, of which the
    first decodes and the others work with the labels at hand.
    """

    sampling: Any
    eps: Any
    block: int
    capacity: int

    def move(self, problem, example: Example, at: Slots) -> Moved:
        raise TypeError(f"{type(self).__name__} must define move")

    def turns(self) -> int:
        return 1

    def needs(self, problem, at: Slots):
        """What must exceed eps for a move: G_i."""
        del problem
        return at.gap

    # what one method may carry along (averages): the default is nothing

    def kept(self, extra, index) -> Any:
        """(B, S) slots that must not be given away although their mass is 0, or False."""
        del extra, index
        return False

    def along(self, extra, w, counts) -> Any:
        """``extra`` after a visit; only its small parts may change here."""
        del w, counts
        return extra

    def after(self, extra, before, index, masses, counts) -> Any:
        """``extra`` after a block, its tables too. masses: (B, S) those each visit found."""
        del before, index, masses, counts
        return extra

    # the protocol

    @property
    def settles(self) -> bool:
        """A pass without an update has seen every example with weight at one w: G_i <= eps."""
        return self.sampling.unique

    def check(self, problem) -> None:
        super().check(problem)
        self.sampling.check(problem)
        if self.block < 1:
            raise ValueError(f"block: expected at least 1; got {self.block}")

    def gaps(self, problem) -> Any:
        """Kept for samplings that aim by them."""
        return jnp.ones_like(problem.c) if hasattr(self.sampling, "aim") else ()

    def block_size(self, problem) -> int:
        return max(1, min(self.block, problem.n // BLOCKS))

    def draw(self, problem, key: Array) -> Turn:
        size = self.block_size(problem)
        keys = [jax.random.fold_in(key, k) for k in range(self.turns())]
        drawn = [self.sampling.draw(problem, k, size) for k in keys]
        sample = jax.tree.map(lambda *parts: jnp.concatenate(parts), *drawn)
        steps = jax.tree.leaves(sample)[0].shape[0]
        at = jnp.arange(steps)
        return Turn(sample, ask=at < steps // self.turns(), fresh=at == 0)

    def aim(self, problem, state: LabelState, turn: Turn) -> Turn:
        if not hasattr(self.sampling, "aim"):
            return turn
        return turn._replace(sample=self.sampling.aim(problem, state.gaps, turn.sample))

    def spent(self, problem) -> Spent:
        return Spent(work=self.turns(), oracle_calls=problem.n, updates=problem.n * self.turns())

    def step(self, problem: Structured, state: LabelState, turn: Turn) -> LabelState:
        (index, mask), size = turn.sample, turn.sample.index.shape[0]
        # rounding gathers in a running sum: start every pass from w(alpha)
        rebuilt = lambda: problem.rebuild(Mixture(state.labels, state.masses)) / problem.lam
        w = lax.cond(turn.fresh, rebuilt, lambda: state.w)
        block = problem.take(index)
        get = lambda table: table.at[index].get(mode="clip")
        labels, masses = get(state.labels), get(state.masses)
        decoded = lambda: jax.vmap(problem.oracle, (None, 0))(w, block).label
        if self.turns() == 1:
            found = decoded()
        else:  # without a decoding a visit is given a label it has already
            found = lax.cond(turn.ask, decoded, lambda: labels[:, 0])
        counts = jnp.ones(size, bool) if mask is None else mask
        taken = jnp.broadcast_to(self.kept(state.extra, index), masses.shape)
        k = state.visits + jnp.arange(size, dtype=jnp.int32)
        given = Given(found, taken, counts & turn.ask, counts, k)
        # an example that comes twice in a block sees its earlier moves
        twins = None if self.sampling.unique else index[:, None] == index[None, :]

        def body(carry, xs):
            (w, cache, extra), (j, example, own, given) = carry, xs
            if twins is not None:
                own = jax.tree.map(lambda a: a[j], cache)
            w, new, said = self.visit(problem, example, w, own, given)
            if twins is not None:
                here = twins[j]
                pick = lambda a, b: jnp.where(here.reshape(-1, *(1,) * a.ndim), a, b)
                cache = jax.tree.map(pick, new, cache)
            return (w, cache, self.along(extra, w, given.counts)), (new, own[1], said)

        start = (w, (labels, masses), state.extra)
        xs = (jnp.arange(size), block, (labels, masses), given)
        (w, cache, extra), (new, old, (moved, gaps, full)) = lax.scan(body, start, xs)
        labels, masses = new if twins is None else cache
        put = lambda table, rows: table.at[index].set(rows, mode="drop")
        visited = jnp.sum(counts, dtype=jnp.int32)
        return LabelState(
            w=w,
            labels=put(state.labels, labels),
            masses=put(state.masses, masses),
            gaps=() if isinstance(state.gaps, tuple) else put(state.gaps, gaps),
            visits=state.visits + visited,
            calls=state.calls + jnp.where(turn.ask, visited, 0),
            updates=state.updates + jnp.sum(moved, dtype=jnp.int32),
            full=state.full | jnp.any(full),
            extra=self.after(extra, state.extra, index, old, counts),
        )

    def visit(self, problem, example: Example, w, own: tuple, given: Given) -> tuple:
        """One example, as at the top of this file: w, (labels, masses), (moved, gap, full)."""
        (labels, masses), (label, taken, asked, counts, k) = own, given
        model = problem.model
        # 1. a slot for the label
        slot, room = find_slot(labels, masses, taken, label)
        labels = labels.at[slot].set(jnp.where(room & asked, label, labels[slot]))
        # 2. scores at the w of the moment
        theta = problem.potentials(w, example)
        scores = jax.vmap(model.score, (None, None, 0))(theta, example.x, labels)
        known = (masses > 0) | ((jnp.arange(masses.shape[0]) == slot) & room)
        # 3. the gap; of labels with equal scores the one with more mass
        best = jnp.where(known, scores, -jnp.inf)
        most = jnp.max(best)
        u = jnp.argmax(jnp.where(best == most, 1 + masses, 0))
        gap = jnp.maximum(most - masses @ scores, 0)
        at = Slots(scores, masses, labels, known, u, gap, k)
        # 4. and 5. (an example of weight 0 is not there: it would move, gain nothing, never settle)
        moves = (self.needs(problem, at) > self.eps) & counts & (gap > 0) & (example.c > 0)
        moved = self.move(problem, example, at)
        change = jnp.where(moves, moved.change, 0) * (example.c / problem.lam)
        w = model.add(w, example.x, model.mix(example.x, moved.labels, change))
        masses = jnp.where(moves, moved.masses, masses)
        return w, (labels, masses), (moves, gap, asked & ~room)
