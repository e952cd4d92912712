r"""An ERM problem as a coordinate method sees it: F(x) = f(B x) + sum_j psi_j(x_j).

                  ``Features()``: the primal            ``Examples()``: the dual, as -D
    x             w, a coordinate is a feature          alpha, a coordinate is an example
    image         B w,  B = Diag(c)^{1/2} X             abar = (1/lam) sum_i c_i alpha_i x_i
    f             sum_i c_i phi_i(image_i/sqrt(c_i))    lam g*(abar)
    psi_j(t)      lam g_j(t)                            c_j phi_j*(-t)
    slope of f    <B e_j, f'(image)>                    c_j <x_j, link(abar)>
    curvature     v_j / gamma                           c_j^2 v_j / lam

v are the ESO constants of a sampling for the rows of the view (column j of B, or x_j). A step with
``factor`` times the curvature is a prox of g or a dual step of phi, both in closed form:

    x_j+ = argmin_t  slope t + (factor curvature/2)(t - x_j)^2 + psi_j(t)

The modulus of strong convexity of psi_j is lam, or c_j gamma; over it the curvature is
c_j v_j/(lam gamma) in both views (c = 1 for features), so samplings and rates serve either.

A view is what samplings and blocks take for a problem: it has rows, n, c, lam and loss. Columns
are made on the host, once, by ``with_columns``; they are a second copy of the data.
Lecture "Empirical Risk Minimization" (Richtarik): is the difficulty in n or in d?
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.losses import Squared
from jaxopt_svm.problems.rows import transposed
from jaxopt_svm.problems.split import Split, split_rows
from jaxopt_svm.problems.vector_losses import MultiSquared

__all__ = ["DEVICES", "Examples", "Features", "FeaturesOnNodes", "with_columns"]

DEVICES = "devices"


@pytree
class Columns:
    """rows: column j of B = Diag(c)^{1/2} X as row j. root: (n,) sqrt(c)."""

    rows: Any
    root: Array


def with_columns(problem: ERM) -> ERM:
    """The same problem, its columns beside its rows. Call it again after changing rows or c."""
    if isinstance(problem.rows, Split):
        raise ValueError(
            "it visits features, and this problem's examples are divided over nodes; make "
            "the problem without mesh= and give the mesh to the method: js.hydra(4, mesh=mesh)"
        )
    root = np.sqrt(np.asarray(problem.c))
    columns = Columns(transposed(problem.rows, root), jnp.asarray(root))
    return dataclasses.replace(problem, columns=columns)


class _NoColumns:
    """Knows the shape of the columns to come; asked for more, it says how to make them."""

    def __init__(self, spans: bool, shape: tuple[int, int]):
        self.spans, self.shape = spans, shape

    def __getattr__(self, name):
        raise ValueError(
            "Features: the problem has no columns; js.solve, js.sweep and js.path make them, "
            "before js.run call problem = js.prepare(problem, method)"
        )


class View:
    """What both views say of their problem."""

    problem: ERM

    @property
    def lam(self) -> Array:
        return self.problem.lam

    @property
    def loss(self) -> Any:
        return self.problem.loss


@pytree
class FeatureView(View):
    """The primal by features. nodes: over how many nodes the columns are split, if they are.

    With nodes there may be more coordinates than d, zero columns at the end.
    """

    problem: ERM
    nodes: int | None = static(default=None)

    y = ()  # a coordinate step needs no data of its own

    @property
    def rows(self) -> Any:
        columns, nodes = self.problem.columns, self.nodes
        if columns is not None and nodes == getattr(columns.rows, "nodes", None):
            return columns.rows
        each = 1 if nodes is None else nodes
        n, d = self.problem.rows.shape
        return _NoColumns(self.problem.rows.spans, (-(-d // each) * each, n))

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    @property
    def c(self) -> Array:
        return jnp.ones(self.n, self.lam.dtype)

    @property
    def linear(self) -> bool:
        """f' is linear in the image, which starts at -sqrt(c) y (static)."""
        return isinstance(self.loss, Squared | MultiSquared)

    @property
    def given(self) -> tuple:
        """What ``bend`` needs beside the image, entry by entry."""
        return () if self.linear else (self.problem.y, self.problem.columns.root)

    def bend(self, image, *given):
        """f'(image), entry by entry, up to ``partial``."""
        if self.linear:
            return image
        y, root = given
        root = root.reshape(root.shape + (1,) * (image.ndim - root.ndim))
        # an example of weight 0 has no entry in B: its image is 0, and so is its slope
        z = image / jnp.where(root > 0, root, 1.0)
        return root * self.loss.slope(z, y)

    def partial(self, product):
        return product / self.loss.gamma if self.linear else product

    def start(self, point: Point) -> Array:
        w = jnp.asarray(point.w)
        return jnp.pad(w, ((0, self.n - self.problem.d), *((0, 0),) * (w.ndim - 1)))

    def image(self, x) -> Array:
        image = self.rows.rmatvec(x)
        if not self.linear:
            return image
        y, root = self.problem.y, self.problem.columns.root
        return image - root.reshape(-1, *(1,) * (y.ndim - 1)) * y

    def coordinate(self, x, slope, y, c, v, factor=1.0):
        del y, c
        # a feature nobody has: the best psi_j alone can do is 0 (and a tiny q would not do for
        # a guard: the compiler turns a/gamma/q into a/(gamma q), which underflows)
        held = v > 0
        q = jnp.where(held, factor * v / self.loss.gamma, 1.0)
        return jnp.where(held, self.problem.regularizer.prox(x - slope / q, self.lam / q), 0.0)

    def gain(self, c, change):
        """The multiple of its row that a change of a coordinate adds to the image."""
        del c
        return change

    def point(self, x, image) -> Point:
        del image
        return Point(x[: self.problem.d])


@pytree
class ExampleView(View):
    """The dual by examples."""

    problem: ERM

    given = ()

    @property
    def rows(self) -> Any:
        return self.problem.rows

    @property
    def n(self) -> int:
        return self.problem.n

    @property
    def y(self) -> Array:
        return self.problem.y

    @property
    def c(self) -> Array:
        return self.problem.c

    @property
    def linear(self) -> bool:
        return self.problem.regularizer.linear

    def bend(self, image):
        return self.problem.regularizer.link(image)

    def partial(self, product):
        return product

    def start(self, point: Point) -> Array:
        return self.problem.complete(point).dual

    def image(self, x) -> Array:
        return self.problem.abar(x)

    def coordinate(self, x, slope, y, c, v, factor=1.0):
        return self.loss.dual_step(slope, x, y, factor * c * v / self.lam)

    def gain(self, c, change):
        return c * change / self.lam

    def point(self, x, image) -> Point:
        return Point(self.problem.regularizer.link(image), x)


@pytree
class Features:
    """Coordinates of w. Needs a smooth loss; one visit costs one column."""

    smooth = True
    bound_on = "primal"

    def prepare(self, problem: ERM) -> ERM:
        ready = problem.columns is not None and not isinstance(problem.columns.rows, Split)
        return problem if ready else with_columns(problem)

    def of(self, problem: ERM) -> FeatureView:
        return FeatureView(problem)


@pytree
class Examples:
    """Coordinates of alpha. Any loss; one visit costs one row."""

    smooth = False
    bound_on = "dual"

    def prepare(self, problem: ERM) -> ERM:
        return problem

    def of(self, problem: ERM) -> ExampleView:
        return ExampleView(problem)


@pytree
class FeaturesOnNodes:
    """Features over nodes; a node keeps its columns and its part of w, all keep the image.

    mesh: None runs the nodes as an array axis on one device. With a mesh of one axis, whose
      size divides ``nodes``, every device runs its own nodes, and the image is all they exchange.
    """

    nodes: int = static()
    mesh: Mesh | None = static(default=None)

    smooth = True
    bound_on = "primal"

    def devices(self) -> Mesh:
        """The mesh, its axis under our name and left to the compiler outside the node's step."""
        assert self.mesh is not None
        return Mesh(self.mesh.devices, (DEVICES,))

    def prepare(self, problem: ERM) -> ERM:
        columns = problem.columns
        if columns is not None and self.nodes == getattr(columns.rows, "nodes", None):
            return problem
        problem = with_columns(problem)
        rows = split_rows(problem.columns.rows, self.nodes)
        if self.mesh is None:
            rows = jax.tree.map(jnp.asarray, rows)
        else:
            rows = jax.device_put(rows, NamedSharding(self.devices(), PartitionSpec(DEVICES)))
        return dataclasses.replace(problem, columns=Columns(rows, problem.columns.root))

    def of(self, problem: ERM) -> FeatureView:
        return FeatureView(problem, self.nodes)
