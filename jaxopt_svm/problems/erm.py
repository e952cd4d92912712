r"""Regularised empirical risk minimisation with a linear model, and its certificate.

    P(w)     = lam g(w) + sum_i c_i phi(<x_i, w>, y_i),          c_i >= 0, sum_i c_i = 1
    abar     = (1/lam) sum_i c_i alpha_i x_i,                    w(alpha) = grad g*(abar)
    D(alpha) = -lam g*(abar) + sum_i c_i (-phi*(-alpha_i))

P(w) >= P* = D* >= D(alpha) for every w and every alpha in the domain. The gap splits into
terms that are all >= 0 (proofs_checks/split_identity.py):

    P - D = lam {g(w) + g*(abar) - <w, abar>}
            + sum_i c_i {phi_i(<x_i, w>) + phi_i*(-alpha_i) + alpha_i <x_i, w>}

With m outputs an example, w is (d, m), alpha and y are (n, m), and <x_i, w> = x_i' w is (m,); every
formula stands as it is, alpha_i <x_i, w> being a product of vectors.

Lecture "Empirical Risk Minimization", primal and dual problems.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh

from jaxopt_svm.core.lanes_behind import rows_added, rows_times
from jaxopt_svm.core.protocols import Certificate, Point, Sample
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.mesh.axes import LANES, ROWS, place
from jaxopt_svm.mesh.host import fetch
from jaxopt_svm.problems import lines
from jaxopt_svm.problems.rows import Dense
from jaxopt_svm.problems.split import Split

__all__ = ["ERM", "balanced"]

MANY = 40_000  # examples that are summed block after block; fewer are quicker compiled than that
EXAMPLES, CELLS = 8192, 1_600_000  # of a block, at most
UNIT = 256  # blocks are multiples of so many rows


def weighted(c, values):
    """c_i values_i, whatever axes follow that of the examples."""
    return c.reshape(-1, *(1,) * (values.ndim - 1)) * values


def balanced(c, alpha):
    """alpha with sum_i c_i alpha_i = 0, as a free intercept asks for.

    Every domain is star-shaped about 0, so the heavier sign is scaled down until the two
    balance, in each output by itself.
    """
    total = lambda part: jnp.sum(weighted(c, part), axis=0, keepdims=True)
    up, down = total(jnp.maximum(alpha, 0.0)), total(jnp.maximum(-alpha, 0.0))
    level, tiny = jnp.minimum(up, down), jnp.finfo(alpha.dtype).tiny
    share = jnp.where(alpha > 0, jnp.maximum(up, tiny), jnp.maximum(down, tiny))
    return alpha * (level / share)


@pytree
class ERM:
    """Data, loss, regulariser and lam. Make one with ``make_erm``."""

    rows: Any
    y: Array  # (n,) signs or targets, or (n, m): one-hot labels or targets of m outputs
    c: Array  # (n,) weights that sum to one
    lam: Array  # ()
    loss: Any
    regularizer: Any
    columns: Any = None  # X by features, for methods that visit them (problems/coordinates.py)
    labels: tuple | None = static(default=None)  # what -1 and +1, or the m outputs, were called
    intercept: str = static(default="none")  # the last row of w, unless "none"
    lanes: tuple[str, ...] = static(default=("lam",))  # fields with a leading axis in a batch
    mesh: Mesh | None = static(default=None)  # devices that share examples or lanes

    bounded = False  # w may be anything

    carried, between, scaled, terms = lines.carried, lines.between, lines.scaled, lines.terms

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    @property
    def d(self) -> int:
        return self.rows.shape[1]

    @property
    def divided(self) -> bool:
        """Whether nodes have different examples."""
        return isinstance(self.rows, Split)

    @property
    def strength(self):
        """Of the l2 term a method's step shrinks w by; 0 where a ball takes its place."""
        return self.lam

    @property
    def radius(self):
        """B with ||w*|| <= B for l2: lam ||w*||^2 <= sum_i c_i phi_i(0), so 1/sqrt(lam) for the
        hinge (proofs_checks/ball_duality.py)."""
        zero = jnp.zeros_like(self.y)
        return jnp.sqrt(jnp.sum(self.c * self.loss.value(zero, self.y)) / self.lam)

    def slope_bound(self):
        """R with ||n c_i phi'_i x_i|| <= R for every i, for losses with |phi'| <= 1."""
        return jnp.max(self.n * self.c * jnp.sqrt(self.rows.sqnorms))

    def weighted(self, values):
        """c_i values_i, whatever axes follow that of the examples."""
        return weighted(self.c, values)

    def with_lam(self, lam) -> "ERM":
        return dataclasses.replace(self, lam=jnp.asarray(lam, self.c.dtype))

    def placed(self) -> "ERM":
        """y, c and lam where the mesh wants them; the rows are there already."""
        lane = lambda name: (LANES,) if name in self.lanes and jnp.ndim(self.lam) else ()
        at = {name: (*lane(name), ROWS) for name in ("y", "c")} | {"lam": lane("lam")}
        moved = {name: place(getattr(self, name), self.mesh, *axes) for name, axes in at.items()}
        return dataclasses.replace(self, **moved)

    def identity(self) -> Any:
        """What a checkpoint knows the problem by, on whatever nodes and devices it is: rows of zero
        weight at the end, which fill nodes up, do not count."""
        y, c, lam = fetch((self.y, self.c, self.lam))
        lead = {name: int(name in self.lanes and lam.ndim > 0) for name in ("y", "c")}
        used = np.flatnonzero(np.any(np.atleast_2d(c) > 0, axis=0))
        own = (slice(used[-1] + 1),) if used.size else (slice(None),)
        y, c = y[(slice(None),) * lead["y"] + own], c[(slice(None),) * lead["c"] + own]
        facts = (self.d, self.labels, self.intercept, self.lanes)
        digest = fetch(jax.jit(lambda rows: rows.digest())(self.rows))
        return str(facts), (digest, y, c, lam, self.loss, self.regularizer)

    def origin(self) -> Point:
        """w = 0 and alpha = 0: feasible for every loss and every lam."""
        w = jnp.zeros((self.d, *self.y.shape[1:]), self.c.dtype)
        return Point(w, jnp.zeros(self.y.shape, self.c.dtype))

    def abar(self, alpha):
        """(1/lam) sum_i c_i alpha_i x_i."""
        return self.rows.rmatvec(self.weighted(alpha)) / self.lam

    def w_of(self, alpha):
        """The primal point that a dual point stands for."""
        return self.regularizer.link(self.abar(alpha))

    def primal(self, w):
        w = jnp.asarray(w)
        z = self.rows.matvec(w)
        return self.lam * self.regularizer.value(w) + jnp.sum(self.c * self.loss.value(z, self.y))

    def dual(self, alpha):
        conj = jnp.sum(self.c * self.loss.neg_conj(alpha, self.y))
        return conj - self.lam * self.regularizer.conj(self.abar(alpha))

    def grad(self, w):
        """A subgradient of P at w."""
        slope = self.loss.slope(self.rows.matvec(w), self.y)
        return self.lam * self.regularizer.grad(w) + self.rows.rmatvec(self.weighted(slope))

    def sample_grad(self, w, sample: Sample):
        """A stochastic subgradient of P at w, (n/k) sum over the k examples of a sample."""
        index, mask = sample
        y, c = self.y.at[index].get(mode="clip"), self.c.at[index].get(mode="clip")
        count = jnp.asarray(index.shape[0], w.dtype)
        if mask is not None:
            c, count = jnp.where(mask, c, 0.0), jnp.sum(mask).astype(w.dtype)
        slope = self.loss.slope(self.rows.dot(index, w), y)
        slope = c.reshape(-1, *(1,) * (slope.ndim - 1)) * slope
        start = self.lam * self.regularizer.grad(w)
        return self.rows.add(start, index, slope * (self.n / count))

    def complete(self, point: Point) -> Point:
        """alpha from the point, or alpha_i = -slope_i(w); clipped and balanced to be feasible. A
        point without w gets the best multiple of w(alpha)."""
        alpha = point.dual
        if alpha is None:
            alpha = -self.loss.slope(self.rows.matvec(point.w), self.y)
        alpha = self._feasible(alpha)
        return Point(self.scaled(self.w_of(alpha)) if point.w is None else point.w, alpha)

    def _feasible(self, alpha) -> Array:
        alpha = self.loss.clip(alpha, self.y)
        return balanced(self.c, alpha) if self.regularizer.free else alpha

    def products(self, w):
        """X w; for sparse rows in a batch one product of all lanes. Not for derivatives."""
        return rows_times(self.rows, w)

    def sums(self, w, alpha) -> "Sums":
        """What a certificate adds up over the examples, two products with X.

        Dense rows go block after block: both products read a block of X from the cache, and nothing
        as long as n is made for a lane (100,000 x 54, 32 lanes: 7 ms for 22).
        """
        given = (self.rows, self.y, self.c, alpha)
        here = self.rows.shape[0]  # n counts rows that are elsewhere too, where this is a chunk
        if not isinstance(self.rows, Dense) or here <= MANY:
            return self._sums(w, *given)
        size = max(UNIT, min(EXAMPLES, CELLS // self.d // UNIT * UNIT))

        def part(k):
            first = jnp.minimum(k * size, here - size)
            rows, y, c, alpha = (
                jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, first, size), x) for x in given
            )
            new = first + jnp.arange(size, dtype=first.dtype) >= k * size  # the last one overlaps
            return self._sums(w, rows, y, jnp.where(new, c, 0.0), alpha)

        add = lambda k, total: jax.tree.map(jnp.add, total, part(k))
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(part, 0))
        return lax.fori_loop(0, -(-here // size), add, nothing)

    def _sums(self, w, rows, y, c, alpha) -> "Sums":
        """Over some of the examples."""
        u = rows_added(rows, weighted(c, alpha))
        return self._added_up(rows_times(rows, w), u, rows, y, c, alpha)

    def _added_up(self, z, u, rows, y, c, alpha) -> "Sums":
        losses, conjugates = self.loss.value(z, y), self.loss.neg_conj(alpha, y)
        # rounding: the summed terms, a target that is large beside its residual, and the
        # products with rows, whose error is at most their length times that of the vector
        terms = jnp.abs(conjugates) + _length(alpha * y)
        lengths = c * jnp.sqrt(rows.sqnorms)
        # products with weights: in a batch they take a third of the time of sums
        return Sums(
            losses=c @ losses,
            conjugates=c @ conjugates,
            u=u,
            terms=c @ jnp.abs(losses) + c @ terms,
            slope_lengths=lengths @ _length(self.loss.slope(z, y)),
            alpha_lengths=lengths @ _length(alpha),
        )

    def certificate_of(self, w, sums: "Sums") -> Certificate:
        """P, D, their difference and its rounding bound from the sums over the examples."""
        abar = sums.u / self.lam
        penalty, conj = self.lam * self.regularizer.value(w), self.lam * self.regularizer.conj(abar)
        primal, dual = penalty + sums.losses, sums.conjugates - conj
        in_z = sums.slope_lengths * jnp.linalg.norm(w)
        in_u = sums.alpha_lengths * jnp.linalg.norm(self.regularizer.link(abar))
        floor = jnp.finfo(primal.dtype).eps * (penalty + conj + sums.terms + in_z + in_u)
        return Certificate(primal, dual, primal - dual, floor)

    def certificate(self, point: Point) -> Certificate:
        """Valid for any w and any alpha.

        w(alpha) is rebuilt here, so drift in a method's running sum cannot fake a small gap.
        floor is the first-order rounding bound: eps times the absolute values of what is summed.
        """
        return self.assessed(point)[1]

    def assessed(self, point: Point) -> tuple[Point, Certificate]:
        """The point made whole, and its certificate: two products with X in all."""
        if point.w is not None:
            w, alpha = self.complete(point)
            return Point(w, alpha), self.certificate_of(w, self.sums(w, alpha))
        alpha = self._feasible(point.dual)
        u = rows_added(self.rows, self.weighted(alpha))
        w = self.regularizer.link(u / self.lam)
        z = self.products(w)
        t = lines.best_multiple(self, w, z)
        sums = self._added_up(t * z, u, self.rows, self.y, self.c, alpha)
        return Point(t * w, alpha), self.certificate_of(t * w, sums)


def _length(values):
    """(n,) the size of each example's values: an absolute value, or a norm over outputs."""
    return jnp.abs(values) if values.ndim == 1 else jnp.linalg.norm(values, axis=-1)


class Sums(NamedTuple):
    """Sums over examples: they add up over any partition of the rows."""

    losses: Array
    conjugates: Array
    u: Array  # (d,) or (d, m), sum_i c_i alpha_i x_i
    terms: Array
    slope_lengths: Array
    alpha_lengths: Array
