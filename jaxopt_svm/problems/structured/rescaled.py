r"""Slack rescaling and PosLearn as structured hinges of their own: every solver runs on them as is.

    slack rescaling  max_y' l(y_i, y') (1 + <w, Psi_i(y')>),  Psi_i(y) = psi(x_i, y) - psi(x_i, y_i)
        is a margin rescaled hinge with features l Psi_i in place of Psi_i: statistics
        mu~(y') = (l [mu(y') - mu(y_i)], l), which are 0 on the truth
    PosLearn  sum_t max over y' with y'_t wrong of L_t(y'_t) [1 + <w, Psi_i(y')>]_+
        has a slack for each node t. A label is one labelling for each node (T of them), each wrong
        at its node or the truth; mu~ adds up L_t (mu(y^t) - mu(y_i), 1) over t

Both need the truth to know their features, so it is part of x. A dual point of PosLearn has T
labels for one: n slots T T bytes. Decoding: O(T^2 K^2) for slack rescaling of chains (by number
of errors, oracles/slack.py); for PosLearn two passes of messages give all max-marginals, and
O(T^2 K) more their labellings.

Lecture "Online solvers for convex risk minimization" (Franc), other surrogates.
Tsochantaridis et al., JMLR 2005; Sarawagi & Gupta, ICML 2008. proofs_checks/surrogates.py
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.oracles.slack import decode_rescaled
from jaxopt_svm.problems.structured.chain import Chain
from jaxopt_svm.problems.structured.model import Model
from jaxopt_svm.problems.structured.multiclass import Multiclass
from jaxopt_svm.problems.structured.nodes import Nodes
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["PosLearn", "SlackRescaled", "poslearn", "slack_rescaling"]


@pytree
class WithTruth:
    """One example and its label."""

    x: Any
    y: Array


class Scaled(NamedTuple):
    """part: shaped like the statistics of the model below. margin: what multiplies the 1."""

    part: Any
    margin: Any


def _scale(a, tree):
    return jax.tree.map(lambda m: a * m, tree)


@pytree
class Rescaled(Model):
    """What the two share: w as the model below has it, and the margin as a statistic."""

    base: Any

    @property
    def size(self) -> int:
        return self.base.size

    @property
    def K(self) -> int:
        return self.base.K

    def parts(self, w):
        return self.base.parts(w)

    def plain(self, x, y):
        del y
        return self.base, x.x, x.y

    def potentials(self, w, x):
        return Scaled(self.base.potentials(w, x.x), 0 * w[0])

    def loss(self, x, y):
        del y
        shape = jax.eval_shape(self.base.statistics, x.x, x.y)
        none = jax.tree.map(lambda m: jnp.zeros(m.shape, m.dtype), shape)
        return Scaled(none, jnp.ones((), jax.tree.leaves(none)[0].dtype))

    def features(self, x, mu):
        return self.base.features(x.x, mu.part)

    def add(self, w, x, mu):
        return self.base.add(w, x.x, mu.part)

    def sqnorm(self, x, mu):
        return self.base.sqnorm(x.x, mu.part)

    def pull(self, x, mu):
        return Scaled(self.base.pull(x.x, mu.part), jnp.zeros_like(mu.margin))

    def _away(self, x, label):
        """mu(label) - mu(truth) of the model below."""
        found, truth = (self.base.statistics(x.x, y) for y in (label, x.y))
        return jax.tree.map(jnp.subtract, found, truth)


@pytree
class SlackRescaled(Rescaled):
    """x: WithTruth. Labels as the model below has them."""

    def _loss_of(self, x, label):
        return self.base.score(self.base.loss(x.x, x.y), x.x, label)

    def statistics(self, x, label):
        lost = self._loss_of(x, label)
        return Scaled(_scale(lost, self._away(x, label)), lost)

    def score(self, theta, x, label):
        rise = self.base.score(theta.part, x.x, label) - self.base.score(theta.part, x.x, x.y)
        return self._loss_of(x, label) * (theta.margin + rise)

    def decode(self, theta, x):
        base, part = self.base, theta.part
        if isinstance(base, Multiclass):
            values = base.cost[x.y] * (theta.margin + part - part[x.y])
            return jnp.max(values), lax.argmax(values, 0, jnp.int32)
        value, label = decode_rescaled(part.node, part.edge, x.x.mask, x.y, theta.margin)
        lengths = jnp.sum(x.x.mask.astype(value.dtype)) if base.per_length else 1
        return value / lengths, label

    def limits(self, x):
        feature, loss = self.base.limits(x.x)
        return feature * loss, loss


@pytree
class PosLearn(Rescaled):
    """x: WithTruth. y: (T, T) integers, row t the labelling for node t."""

    def _costs(self, x):
        """(T, K) L_t(a): 0 for the truth and at padding."""
        return self.base.loss(x.x, x.y).node

    def statistics(self, x, label):
        label = self.base._valid(label)
        T = label.shape[0]
        lost = self._costs(x)[jnp.arange(T), jnp.diagonal(label)]  # (T,)
        mean = self.base.mix(x.x, label, lost)
        truth = self.base.statistics(x.x, x.y)
        total = jnp.sum(lost)
        return Scaled(jax.tree.map(lambda a, b: a - total * b, mean, truth), total)

    def decode(self, theta, x):
        base, inner, part = self.base, x.x, theta.part
        costs, truth = self._costs(x), base.score(part, inner, x.y)
        found = base.given(part, inner)
        value = jnp.where(costs > 0, costs * (theta.margin + found.whole - truth), 0)
        wanted = lax.argmax(value, 1, jnp.int32)  # (T,)
        slack = jnp.max(value, axis=1)
        labels = base.labels_given(found, part, inner, wanted)
        labels = jnp.where((slack > 0)[:, None], labels, x.y.astype(labels.dtype)[None])
        return jnp.sum(slack), labels

    def limits(self, x):
        """All nodes wrong at once: the L_t add up to the loss of the model below."""
        feature, loss = self.base.limits(x.x)
        return feature * loss, loss


def _margin_rescaled(problem: Structured, kinds, name: str) -> None:
    model = getattr(problem, "model", None)
    if not isinstance(problem, Structured) or not isinstance(model, kinds):
        words = " or ".join(kind.__name__.lower() for kind in kinds)
        raise ValueError(f"{name}: expected a {words} problem; got a {type(model).__name__} model")


def slack_rescaling(problem: Structured) -> Structured:
    """The same data with slack rescaling: chains with Hamming's loss, multiclass with any cost."""
    _margin_rescaled(problem, (Multiclass, Chain), "slack_rescaling")
    base = problem.model
    if isinstance(base, Chain) and not np.array_equal(base.cost, 1 - np.eye(base.K)):
        raise ValueError("slack_rescaling: on chains errors are counted; leave cost out")
    x = WithTruth(problem.x, problem.y)
    return dataclasses.replace(problem, model=SlackRescaled(base), x=x)


def poslearn(problem: Structured) -> Structured:
    """The same data with a slack for each node (PosLearn); chains and trees, any cost."""
    _margin_rescaled(problem, (Nodes,), "poslearn")
    T = problem.y.shape[1]
    y = jnp.broadcast_to(problem.y[:, None], (problem.n, T, T))
    x = WithTruth(problem.x, problem.y)
    return dataclasses.replace(problem, model=PosLearn(problem.model), x=x, y=y)
