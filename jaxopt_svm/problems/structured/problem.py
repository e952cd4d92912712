r"""Regularised structured hinge loss, and its certificate.

    H_i(y; w) = l(y_i, y) + <w, psi(x_i, y) - psi(x_i, y_i)>
    P(w)      = lam/2 ||w||^2 + sum_i c_i max_y H_i(y; w),                c_i >= 0, sum_i c_i = 1
    w(mu)     = (1/lam) sum_i c_i [psi(x_i, y_i) - psi(x_i, mu_i)]
    D(mu)     = -lam/2 ||w(mu)||^2 + sum_i c_i l(y_i, mu_i)

mu_i is the mean of mu(y) over a distribution alpha_i on the labels of example i; psi and l are
linear in it. P(w) >= P* = D* >= D(mu), and with w = w(mu) the gap is a sum of terms >= 0:

    P - D = sum_i c_i G_i,    G_i = max_y H_i(y; w) - <alpha_i, H_i(.; w)>

A dual point does not depend on lam. It is a ``Mixture`` (labels and masses, any model), or the
marginals of models that can ``repair`` them. Both are made feasible here before anything is
computed, and w(mu) and the loss are rebuilt from them: D is a lower bound whatever a method claims.

Lecture "Online solvers for convex risk minimization" (Franc); Tsochantaridis et al. 2005.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.sharding import Mesh, PartitionSpec

from jaxopt_svm.core.protocols import Certificate, Point, Sample
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.mesh.axes import LANES, ROWS, on_axis, place, size
from jaxopt_svm.problems.structured.mixture import Mixture, feasible
from jaxopt_svm.problems.structured.model import inner

__all__ = ["Example", "Limits", "Oracle", "Structured"]

BLOCK = 32  # examples; their arrays stay in cache (all at once: 2 to 3 times slower)


class Example(NamedTuple):
    """One example, or with a leading axis a block of them."""

    x: Any
    y: Array
    c: Array


class Oracle(NamedTuple):
    """The answer of loss-augmented decoding: H_i(label; w) = value >= 0 and the label."""

    value: Array
    label: Array


class Limits(NamedTuple):
    """feature: Dm >= ||psi(x_i, y) - psi(x_i, y_i)||. loss: l_max >= l(y_i, y)."""

    feature: Array
    loss: Array


@pytree
class Structured:
    """Examples, a model and lam. Make one with ``make_chain`` and its like."""

    model: Any
    x: Any  # pytree, leading axis n
    y: Array  # (n, ...) the true labels
    c: Array  # (n,) weights that sum to one
    lam: Array  # ()
    labels: tuple | None = static(default=None)  # what labels 0, 1, ... were called
    bias: bool = static(default=False)  # the last feature is an appended constant
    lanes: tuple[str, ...] = static(default=("lam",))  # fields with a leading axis in a batch
    mesh: Mesh | None = static(default=None)  # devices that share examples or lanes

    hinge = True  # the loss of an example is a maximum over labels

    bounded = False  # w may be anything

    @property
    def strength(self) -> Array:
        """Of the l2 term."""
        return self.lam

    @property
    def n(self) -> int:
        return self.c.shape[0]

    @property
    def divided(self) -> bool:
        """Whether devices have different examples."""
        return self.mesh is not None and ROWS in self.mesh.axis_names

    def placed(self) -> "Structured":
        """lam where the mesh wants it; the examples are there already."""
        axes = (LANES,) if jnp.ndim(self.lam) else ()
        return dataclasses.replace(self, lam=place(self.lam, self.mesh, *axes))

    @property
    def d(self) -> int:
        return self.model.size

    def with_lam(self, lam) -> "Structured":
        return dataclasses.replace(self, lam=jnp.asarray(lam, self.c.dtype))

    def take(self, index) -> Example:
        """An example, or the examples of a block; an index beyond n repeats the last (mask it)."""
        if self.divided:
            raise ValueError(
                f"it visits single examples, and these are divided over {size(self.mesh, ROWS)} "
                "devices; use FrankWolfe, BMRM, OCA or Subgradient, which decode all of them, or "
                "StructuredSGD, whose batches are shared out"
            )
        get = lambda a: a.at[index].get(mode="clip")
        return Example(*jax.tree.map(get, (self.x, self.y, self.c)))

    def batch(self, index) -> Example:
        """``take`` for a step that works on a batch together: divided examples travel to all
        devices, as many bytes as the batch has."""
        if not self.divided:
            return self.take(index)

        def own(examples, index):
            held = examples.c.shape[0]
            place = jnp.minimum(index, self.n - 1) - lax.axis_index(ROWS) * held

            def get(a):
                here = ((place >= 0) & (place < held)).reshape(-1, *(1,) * (a.ndim - 1))
                found = jnp.where(here, a.at[place].get(mode="clip"), jnp.zeros((), a.dtype))
                flag = a.dtype == jnp.bool_  # flags have no sum
                return lax.psum(found.astype(jnp.int32) if flag else found, ROWS).astype(a.dtype)

            return jax.tree.map(get, examples)

        common = PartitionSpec()
        run = on_axis(own, self.mesh, ROWS, (PartitionSpec(ROWS), common), common)
        return run(Example(self.x, self.y, self.c), index)

    def shared_out(self, work, block: Example, *shared):
        """work(problem, example, *shared) for a batch; if examples are divided each device has its
        part of it, and a problem without examples."""

        def run(block, problem, *shared):
            return jax.vmap(lambda example: work(problem, example, *shared))(block)

        if not self.divided or block.c.shape[0] % size(self.mesh, ROWS):
            return run(block, self, *shared)
        light = dataclasses.replace(self, x=None, y=None, c=None)
        own, common = PartitionSpec(ROWS), PartitionSpec()
        specs = (own, common, *(common for _ in shared))
        return on_axis(run, self.mesh, ROWS, specs, own)(block, light, *shared)

    # one example

    def potentials(self, w, example: Example):
        """theta + loss: H_i(y) = <it, mu(y) - mu(y_i)>."""
        theta = self.model.potentials(w, example.x)
        return jax.tree.map(jnp.add, theta, self.model.loss(example.x, example.y))

    def oracle(self, w, example: Example) -> Oracle:
        """max_y H_i(y; w), one decoding."""
        scores = self.potentials(w, example)
        best, label = self.model.decode(scores, example.x)
        truth = self.model.score(scores, example.x, example.y)
        return Oracle(best - truth, label.astype(example.y.dtype))

    def slope(self, theta, example: Example):
        """The slope of one example's loss in theta, mu(u) - mu(y_i), and u = argmax_y H_i."""
        scores = jax.tree.map(jnp.add, theta, self.model.loss(example.x, example.y))
        label = self.model.decode(scores, example.x)[1]
        found, truth = (self.model.statistics(example.x, y) for y in (label, example.y))
        return jax.tree.map(jnp.subtract, found, truth), label.astype(example.y.dtype)

    def statistics(self, example: Example, dual):
        """mu_i of one example's share of a feasible dual point."""
        if isinstance(dual, Mixture):
            return self.model.mix(example.x, dual.labels, dual.masses)
        return self.model.summary(example.x, dual)

    def difference(self, example: Example, dual):
        """mu(y_i) - mu_i: what w(mu) adds up."""
        truth = self.model.statistics(example.x, example.y)
        return jax.tree.map(jnp.subtract, truth, self.statistics(example, dual))

    # all examples, in blocks

    def _over_blocks(self, visit, dual=None, *shared):
        """visit(problem without examples, block, its dual, *shared) -> (sums, each): sums added up
        over blocks, and over devices; each stacked (n, ...).

        The last block is filled up with examples of weight 0.
        """
        light = dataclasses.replace(self, x=None, y=None, c=None)

        def run(own, dual, light, *shared):
            n = own.c.shape[0]
            size = min(n, BLOCK)
            index = jnp.arange(-(-n // size) * size, dtype=jnp.int32).reshape(-1, size)

            def one(index):
                block, its = jax.tree.map(lambda a: a.at[index].get(mode="clip"), (own, dual))
                block = block._replace(c=jnp.where(index < n, block.c, 0))
                return visit(light, block, its, *shared)

            def step(total, index):
                sums, each = one(index)
                return jax.tree.map(jnp.add, total, sums), each

            shapes, _ = jax.eval_shape(one, index[0])
            zero = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)
            sums, each = lax.scan(step, zero, index)
            sums = lax.psum(sums, ROWS) if self.divided else sums
            return sums, jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:])[:n], each)

        own, common = PartitionSpec(ROWS), PartitionSpec()
        specs = (own, own, common, *(common for _ in shared))
        given = (Example(self.x, self.y, self.c), dual, light, *shared)
        return on_axis(run, self.mesh, ROWS, specs, (common, own))(*given)

    def lift(self, block: Example, mu) -> Array:
        """sum_i c_i psi(x_i, mu_i) over a block: the transpose of its potentials."""
        mu = jax.tree.map(lambda m: m * block.c.reshape(-1, *(1,) * (m.ndim - 1)), mu)
        potentials = lambda w: jax.vmap(self.model.potentials, (None, 0))(w, block.x)
        w = jax.ShapeDtypeStruct((self.d,), self.lam.dtype)
        return jax.linear_transpose(potentials, w)(mu)[0]

    def oracles(self, w) -> Oracle:
        """All n decodings."""
        visit = lambda me, block, _, w: ((), jax.vmap(me.oracle, (None, 0))(w, block))
        return self._over_blocks(visit, None, w)[1]

    def rebuild(self, dual) -> Array:
        """sum_i c_i [psi(x_i, y_i) - psi(x_i, mu_i)] = lam w(mu), from a feasible dual point."""
        visit = lambda me, block, dual: (me.lift(block, jax.vmap(me.difference)(block, dual)), ())
        return self._over_blocks(visit, dual)[0]

    def lost(self, dual) -> Array:
        """L = sum_i c_i l(y_i, mu_i), from a feasible dual point."""

        def visit(me, block, dual):
            each = lambda e, dual: inner(me.model.loss(e.x, e.y), me.statistics(e, dual))
            return jnp.sum(block.c * jax.vmap(each)(block, dual)), ()

        return self._over_blocks(visit, dual)[0]

    def w_of(self, dual) -> Array:
        """The primal point that a dual point stands for."""
        return self.rebuild(self.complete(Point(None, dual)).dual) / self.lam

    def primal(self, w) -> Array:
        w = jnp.asarray(w)
        return self.lam / 2 * (w @ w) + jnp.sum(self.c * self.oracles(w).value)

    def dual(self, dual) -> Array:
        return self.certificate(Point(jnp.zeros(self.d, self.c.dtype), dual)).dual

    def grad(self, w) -> Array:
        """A subgradient of P at w."""
        return self.lam * w - self.rebuild(_single(self.oracles(w).label, self.c.dtype))

    def loss_grad(self, w, sample: Sample) -> Array:
        """(1/k) sum_{i in S} n c_i [psi(x_i, u_i) - psi(x_i, y_i)] over a sample of k examples;
        its mean over uniform samples is a subgradient of P - lam/2 ||w||^2."""
        index, mask = sample
        block = self.take(index)
        count = jnp.asarray(index.shape[0], self.c.dtype)
        c = block.c
        if mask is not None:
            c, count = jnp.where(mask, c, 0), jnp.sum(mask).astype(c.dtype)
        slope = lambda example: self.slope(self.model.potentials(w, example.x), example)[0]
        block = block._replace(c=c * (self.n / count))
        return self.lift(block, jax.vmap(slope)(block))

    def sample_grad(self, w, sample: Sample) -> Array:
        """A stochastic subgradient of P at w."""
        return self.lam * w + self.loss_grad(w, sample)

    def risk(self, w) -> Array:
        """sum_i c_i l(y_i, h(x_i; w)): the task loss of predicting, without the margin."""

        def visit(me, block, _, w):
            def one(example):
                model, x, y = me.model.plain(example.x, example.y)
                label = model.decode(model.potentials(w, x), x)[1]
                return model.score(model.loss(x, y), x, label)

            return block.c @ jax.vmap(one)(block), ()

        return self._over_blocks(visit, None, w)[0]

    def gaps(self, w, dual) -> Array:
        """(n,) G_i at any w; sum_i c_i G_i is the gap when w = w(mu)."""
        dual = self.complete(Point(w, dual)).dual

        def visit(me, block, dual, w):
            def one(example, dual):
                scores = me.potentials(w, example)
                best, _ = me.model.decode(scores, example.x)
                return best - inner(scores, me.statistics(example, dual))

            return (), jax.vmap(one)(block, dual)

        return self._over_blocks(visit, dual, w)[1]

    def limits(self) -> Limits | None:
        """Dm and l_max over all examples, or None for a model that does not know them."""
        if not hasattr(self.model, "limits"):
            return None
        each = jax.vmap(self.model.limits)(self.x)
        return Limits(*(jnp.max(values) for values in each))

    def check_dual(self, dual) -> None:
        """Of a start: labels and masses of n examples, or marginals."""
        if isinstance(dual, Mixture) and self.n not in dual.masses.shape[:2]:
            raise ValueError(
                f"start: expected labels of {self.n} examples; got {dual.masses.shape[-2]}"
            )

    # the contract of problems

    def origin(self) -> Point:
        """w = 0 and all mass on the truth: feasible for every lam."""
        return Point(jnp.zeros(self.d, self.c.dtype), _single(self.y, self.c.dtype))

    def complete(self, point: Point) -> Point:
        """The dual point made feasible; without one, all mass on the labels decoded at w."""
        dual = point.dual
        if dual is None:
            dual = _single(self.oracles(point.w).label, self.c.dtype)
        elif isinstance(dual, Mixture):
            dual = feasible(dual)
        else:
            dual = jax.vmap(self.model.repair)(self.x, dual)
        return Point(point.w, dual)

    def certificate(self, point: Point) -> Certificate:
        """P and D recomputed from the point alone; floor is the first-order rounding bound.

        Masses sum to one, and marginals agree, only to rounding: eps times the absolute values of
        what they multiply, which floor has in it.
        """
        w, dual = self.complete(point)

        def one(me, w, example, dual):
            found = me.oracle(w, example)
            away = me.difference(example, dual)
            lost = -inner(me.model.loss(example.x, example.y), away)
            # lengths of the features that rounding multiplies: of the decoded label and of mu
            truth, other = (me.model.statistics(example.x, y) for y in (example.y, found.label))
            moved = jax.tree.map(jnp.subtract, truth, other)
            lengths = (jnp.sqrt(me.model.sqnorm(example.x, mu)) for mu in (moved, away))
            return away, (found.value, lost, jnp.abs(found.value) + jnp.abs(lost), *lengths)

        def visit(me, block, dual, w):
            away, numbers = jax.vmap(one, (None, None, 0, 0))(me, w, block, dual)
            return (me.lift(block, away), [jnp.sum(block.c * x) for x in numbers]), ()

        (u, (hinge, lost, terms, of_label, of_mu)), _ = self._over_blocks(visit, dual, w)
        penalty, conj = self.lam / 2 * (w @ w), u @ u / (2 * self.lam)
        primal, bound = penalty + hinge, lost - conj
        products = of_label * jnp.linalg.norm(w) + of_mu * jnp.linalg.norm(u) / self.lam
        floor = jnp.finfo(primal.dtype).eps * (penalty + conj + terms + products)
        return Certificate(primal, bound, primal - bound, floor)


def _single(labels, dtype) -> Mixture:
    """One label an example, with mass one."""
    return Mixture(labels[:, None], jnp.ones((labels.shape[0], 1), dtype))
