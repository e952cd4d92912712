r"""Log-losses on structures: the conditional random field, and the bridge from it to the SVM.

    P(w) = lam/2 ||w||^2 + sum_i c_i tau log sum_y exp([rho l(y_i, y) + <w, Psi_i(y)>]/tau)

rho = 0, tau = 1 is the CRF, rho = tau = 1 softmax-margin, rho = 1, tau -> 0 the structured hinge:
    max <= tau logsumexp <= max + tau log |Y|                       proofs_checks/softmax_margin.py

P is smooth; its gradient is lam w + sum_i c_i E_p[Psi_i], p_i proportional to exp of the bracket.
A dual point is a parameter vector v: mu_i the means of mu(y) under p_i(v), entropy included,

    w(v) = (1/lam) sum_i c_i [psi(x_i, y_i) - psi(x_i, mu_i)]
    D(v) = -lam/2 ||w(v)||^2 + sum_i c_i [tau log Z_i(v) - <theta_i(v), mu_i>],  theta potentials

a distribution whatever v is, so nothing has to be made feasible, and d numbers where the marginals
of OCR would take 202 MB. D(v) <= P* for every v, every lam, and D(w*) = P*.

Lafferty, McCallum & Pereira, ICML 2001; Gimpel & Smith, NAACL 2010 (softmax-margin).
Lecture "Stochastic Gradient Descent for Structures" (Srikumar), CRF beside the structural SVM.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.problems.structured.model import inner
from jaxopt_svm.problems.structured.problem import Example, Structured

__all__ = ["Softened", "crf", "softmax_margin"]


@pytree
class Softened(Structured):
    """Make one with ``crf`` or ``softmax_margin``. tau: temperature. rho: weight of the loss."""

    tau: Any = 1.0
    rho: Any = 0.0

    hinge = False

    def means(self, theta, example: Example) -> tuple[Array, Any]:
        """(tau log Z, mu) of one example: one forward and one backward pass."""
        x, loss = example.x, self.model.loss(example.x, example.y)
        scores = jax.tree.map(lambda a, b: (a + self.rho * b) / self.tau, theta, loss)
        total, mu = jax.value_and_grad(self.model.log_partition)(scores, x)
        return self.tau * total, mu

    def value(self, w, example: Example) -> Array:
        theta = self.model.potentials(w, example.x)
        return self.means(theta, example)[0] - self.model.score(theta, example.x, example.y)

    def slope(self, theta, example: Example):
        """mu_i - mu(y_i), and no label."""
        mu = self.means(theta, example)[1]
        truth = self.model.statistics(example.x, example.y)
        return jax.tree.map(jnp.subtract, mu, truth), jnp.zeros((), self.y.dtype)

    def primal(self, w) -> Array:
        w = jnp.asarray(w)
        each = jax.vmap(self.value, (None, 0))
        total, _ = self._over_blocks(lambda me, block, _: (block.c @ each(w, block), ()))
        return self.lam / 2 * (w @ w) + total

    def rebuild(self, dual) -> Array:
        """lam w(v)."""

        def visit(me, block, _):
            del me
            one = lambda e: self.slope(self.model.potentials(dual, e.x), e)[0]
            return self.lift(block, jax.vmap(one)(block)), ()

        return -self._over_blocks(visit)[0]

    def grad(self, w) -> Array:
        return self.lam * w - self.rebuild(w)

    def gaps(self, w, dual):
        raise TypeError("gaps: a log-loss has no labels with mass; use certificate")

    def oracles(self, w):
        raise TypeError("oracles: a log-loss is no maximum over labels; use means")

    def limits(self):
        """The slope is a mean of Psi_i: Dm bounds it too; the loss at 0 is tau log |Y| or more."""
        limits = super().limits()
        return None if limits is None else limits._replace(loss=self.primal(self.origin().w))

    def check_dual(self, dual) -> None:
        if dual is not None and np.shape(dual)[-1:] != (self.d,):
            raise ValueError(f"start: expected a dual vector of {self.d} numbers")

    def origin(self) -> Point:
        zero = jnp.zeros(self.d, self.c.dtype)
        return Point(zero, zero)

    def complete(self, point: Point) -> Point:
        """v from the point, numbers only; without one, v = w."""
        v = point.w if point.dual is None else point.dual
        return Point(point.w, jnp.where(jnp.isfinite(v), v, 0))

    def certificate(self, point: Point) -> Certificate:
        """P and D recomputed from the point alone; floor is the first-order rounding bound."""
        w, v = self.complete(point)
        model = self.model

        def one(example):
            x, truth = example.x, model.statistics(example.x, example.y)
            here, there = (model.potentials(a, x) for a in (w, v))
            total, mu_w = self.means(here, example)
            score = model.score(here, x, example.y)
            total_v, mu = self.means(there, example)
            inside = inner(there, mu)
            away, moved = (jax.tree.map(jnp.subtract, truth, m) for m in (mu, mu_w))
            terms = sum(map(jnp.abs, (total, score, total_v, inside)))
            lengths = (jnp.sqrt(model.sqnorm(x, m)) for m in (moved, away))
            return away, (total - score, total_v - inside, terms, *lengths)

        def visit(me, block, _):
            del me
            away, numbers = jax.vmap(one)(block)
            return (self.lift(block, away), [jnp.sum(block.c * a) for a in numbers]), ()

        (u, (lost, entropy, terms, at_w, at_v)), _ = self._over_blocks(visit)
        penalty, conj = self.lam / 2 * (w @ w), u @ u / (2 * self.lam)
        primal, bound = penalty + lost, entropy - conj
        size_u = jnp.linalg.norm(u) / self.lam
        products = at_w * jnp.linalg.norm(w) + at_v * (size_u + jnp.linalg.norm(v))
        floor = jnp.finfo(primal.dtype).eps * (penalty + conj + terms + products)
        return Certificate(primal, bound, primal - bound, floor)


def _soften(problem: Structured, tau: float, rho: float, name: str) -> Softened:
    if not isinstance(problem, Structured) or not hasattr(problem.model, "log_partition"):
        raise ValueError(
            f"{name}: expected a multiclass, chain or tree problem with margin rescaling; got "
            f"{type(getattr(problem, 'model', problem)).__name__}"
        )
    for word, value in (("tau", tau), ("rho", rho)):
        if not (np.isfinite(value) and value >= 0) or (word == "tau" and value == 0):
            wanted = "a positive number" if word == "tau" else "a number >= 0"
            raise ValueError(f"{word}: expected {wanted}; got {value!r}")
    if problem.mesh is not None:
        raise ValueError(f"{name}: not on a mesh; make the structured problem without mesh=")
    fields = {f.name: getattr(problem, f.name) for f in dataclasses.fields(Structured)}
    as_leaf = lambda a: jnp.asarray(a, problem.c.dtype)
    return Softened(**fields, tau=as_leaf(tau), rho=as_leaf(rho))


def crf(problem: Structured) -> Softened:
    """The same data with the log-loss of a conditional random field."""
    return _soften(problem, 1.0, 0.0, "crf")


def softmax_margin(problem: Structured, tau: float = 1.0, rho: float = 1.0) -> Softened:
    """The same data with tau logsumexp([rho l + <w, Psi>]/tau): from the CRF to the SVM."""
    return _soften(problem, tau, rho, "softmax_margin")
