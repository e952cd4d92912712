r"""The pattern of the coordinate family: a slope of f through an image, a move, its row added.

    F(x) = f(B x) + sum_j psi_j(x_j)                      (problems/coordinates.py: two views)

A method keeps one or more tables of coordinates and the image of each under B. A visit of
coordinate j
    1. takes the slope of f at a blend of the images                  (``blend``)
    2. says how far entry j of every table moves                      (``move``)
    3. adds the same multiples of row j to the images
and after a step its scalars go on (``after``). Three ways to run it:

    serial samplings    one visit after the other; in exact blocks where f' is linear
    sets                all slopes from the same images, one product; then the moves together
    sets on nodes       the same on every node's own columns; the changes of the images are
                        added over nodes, which is all that nodes exchange
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.sharding import PartitionSpec

from jaxopt_svm.core.blocks import At, Example, serial_step
from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.sets import Distributed
from jaxopt_svm.core.visits import SPARSE
from jaxopt_svm.methods.refusals import needs_erm, needs_smooth, refuse_free_intercept
from jaxopt_svm.problems.coordinates import DEVICES, FeaturesOnNodes

__all__ = ["CoordinateVisits"]

NODES = "nodes"


class CoordinateVisits:
    """Base of CoordinateDescent and Alpha. State: vectors (images), tables, constants, scalars."""

    sampling: Any
    on: Any
    block: int

    def blend(self, images: tuple, scalars):
        """The image at which the slope is taken, entry by entry."""
        raise TypeError(f"{type(self).__name__} must define blend")

    def move(self, view, example: Example, slope, entries: tuple, constants, scalars) -> tuple:
        """How far this coordinate's entry of every table moves."""
        raise TypeError(f"{type(self).__name__} must define move")

    def after(self, scalars):
        return scalars

    # --- what every method of the family says the same way -----------------------------------

    @property
    def bound_on(self) -> str:
        return self.on.bound_on

    def check(self, problem) -> None:
        name = type(self).__name__
        needs_erm(self, problem)
        refuse_free_intercept(self, problem)
        if self.on.smooth:
            needs_smooth(self, problem)
        if isinstance(self.on, FeaturesOnNodes):
            nodes, sampling, mesh = self.on.nodes, self.sampling, self.on.mesh
            if nodes < 1:
                raise ValueError(f"{name}: nodes must be at least 1; got {nodes}")
            if not isinstance(sampling, Distributed) or sampling.nodes != nodes:
                raise ValueError(f"{name}: features on {nodes} nodes need Distributed({nodes}, ..)")
            if mesh is not None and (len(mesh.axis_names) != 1 or nodes % mesh.size):
                raise ValueError(
                    f"{name}: expected a mesh of one axis whose size divides nodes = {nodes}"
                )
        self.sampling.check(self.on.of(problem))

    def prepare(self, problem):
        return self.on.prepare(problem)

    def draw(self, problem, key: Array) -> Sample:
        view = self.on.of(problem)
        block = self.block if view.rows.spans or self.block == 1 else SPARSE * self.block
        return self.sampling.draw(view, key, min(block, view.n))

    def updates(self, problem) -> float:
        """Steps of the algorithm a pass: visits, or sets."""
        if self.sampling.serial:
            return float(self.on.of(problem).n)
        sets = jax.eval_shape(self.draw, problem, jax.random.key(0)).index
        return float(sets.shape[0])

    def spent(self, problem) -> Spent:
        """A pass visits as many coordinates as there are: every stored value once."""
        return Spent(work=1.0, oracle_calls=0.0, updates=self.updates(problem))

    def start(self, problem, start: Point | None) -> tuple[Any, Array]:
        """The view and x to start from."""
        view = self.on.of(problem)
        return view, view.start(problem.origin() if start is None else start)

    # --- three ways to run a step ---------------------------------------------------------------

    def visit(self, view, example: Example, at: At) -> At:
        images, row = at.vectors, example.row
        k = len(images)
        if view.linear:
            product = row.dot(self.blend(images, at.scalars))
        else:
            through = lambda *seen: view.bend(self.blend(seen[:k], at.scalars), *seen[k:])
            product = row.dot((*images, *view.given), through)
        slope = view.partial(product)
        moves = self.move(view, example, slope, at.tables, at.constants, at.scalars)
        images = tuple(row.add(v, view.gain(example.c, m)) for v, m in zip(images, moves))
        tables = tuple(t + m for t, m in zip(at.tables, moves))
        return At(images, tables, self.after(at.scalars), at.constants)

    def step(self, problem, state: At, sample: Sample) -> At:
        view = self.on.of(problem)
        if self.sampling.serial:
            facts = {"unique": self.sampling.unique, "linear": view.linear, "scales": False}
            return serial_step(self.visit, view, state, sample, **facts)
        if isinstance(self.on, FeaturesOnNodes):
            tables, images = self._on_nodes(view, state, sample)
        else:
            held = (view.y, view.c, state.tables, state.constants)
            given = (view, view.rows, view.given, held, state.vectors)
            tables, images = self._together(*given, state.vectors, state.scalars, sample)
        return At(images, tables, self.after(state.scalars), state.constants)

    def _together(self, view, rows, given, held, images, base, scalars, sample):
        """The moves of a set, all from ``images``; their rows are added to ``base``."""
        (index, mask), k = sample, len(images)
        through = lambda *seen: view.bend(self.blend(seen[:k], scalars), *seen[k:])
        slopes = view.partial(rows.dot(index, (*images, *given), through))
        take = lambda t: t.at[index].get(mode="clip")
        y, c, entries, constants = jax.tree.map(take, held)

        def one(slope, sqnorm, y, c, entries, constants, counts):
            example = Example(_Length(sqnorm), y, c)
            moves = self.move(view, example, slope, entries, constants, scalars)
            moves = moves if counts is None else tuple(jnp.where(counts, m, 0.0) for m in moves)
            return moves, tuple(view.gain(c, m) for m in moves)

        moves, gains = jax.vmap(one)(slopes, take(rows.sqnorms), y, c, entries, constants, mask)
        tables = tuple(t.at[index].add(m, mode="drop") for t, m in zip(held[2], moves))
        return tables, tuple(rows.add(v, index, g) for v, g in zip(base, gains))

    def _on_nodes(self, view, state: At, sample: Sample):
        nodes, mesh = self.on.nodes, self.on.mesh
        size = view.n // nodes
        over = lambda t: t.reshape(nodes, -1, *t.shape[1:])
        local = over(sample.index) - size * jnp.arange(nodes, dtype=jnp.int32)[:, None]
        axes = (NODES,) if mesh is None else (NODES, DEVICES)
        # a node is sent all but the data: that it has
        light = dataclasses.replace(view.problem, rows=None, columns=None)
        shared = (dataclasses.replace(view, problem=light), view.given, state.vectors)

        def node(rows, tables, constants, index, shared, scalars):
            view, given, images = shared
            held, zero = ((), (), tables, constants), tuple(map(jnp.zeros_like, images))
            common = (images, zero, scalars, Sample(index))
            tables, changes = self._together(view, rows, given, held, *common)
            changes = lax.psum(changes, axes)
            return tables, tuple(v + change for v, change in zip(images, changes))

        run = jax.vmap(node, (0, 0, 0, 0, None, None), (0, None), axis_name=NODES)
        if mesh is not None:
            own, all_of_it, mesh = PartitionSpec(DEVICES), PartitionSpec(), self.on.devices()
            specs = (own, own, own, own, all_of_it, all_of_it)
            out = (own, all_of_it)
            run = jax.shard_map(run, mesh=mesh, in_specs=specs, out_specs=out, check_vma=False)
        tables, constants = jax.tree.map(over, (state.tables, state.constants))
        tables, images = run(view.rows.parts, tables, constants, local, shared, state.scalars)
        return tuple(t.reshape(view.n, *t.shape[2:]) for t in tables), images


class _Length:
    """All a move needs of its row."""

    def __init__(self, sqnorm):
        self.sqnorm = sqnorm
