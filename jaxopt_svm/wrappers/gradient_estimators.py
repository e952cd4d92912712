r"""Gradient estimators with memory, for your own optax loop.

    F(params) = (1/n) sum_i f_i(params)

An estimator turns the indices of a mini-batch into an estimate of grad F whose variance vanishes at
the optimum, so that a constant or slowly falling step converges. It is a pair of pure functions,
like an optax transformation:

    state = estimator.init(params)                                   one pass over the data
    gradient, state = estimator.estimate(params, state, index)       index: (b,) integers
    updates, opt = tx.update(gradient, opt, params)                  any optax transformation

    saga   f_i' of the batch, minus what was remembered of it, plus the remembered mean; unbiased
    sag    the remembered mean, after the batch was remembered anew; biased, less noisy
    svrg   f_i' of the batch, minus f_i' at a snapshot, plus the snapshot's full gradient

What is remembered of f_i is what ``terms.slope`` returns. For a linear model that is a number (or
one for each output); for any other model a gradient, that is n times the size of params.

Multinomial logistic regression by SAGA with an optax schedule, certified at the end:

    problem = js.make_erm(X, labels, loss=js.Softmax(), lam=0.05)
    memory = js.gradient_estimators.saga(js.gradient_estimators.linear_terms(problem))
    rate = optax.exponential_decay(0.3, 1000, 0.7)
    tx = optax.chain(optax.add_decayed_weights(0.05), optax.sgd(rate))  # the penalty, the step

    def step(carry, key):
        w, state, opt = carry
        index = jax.random.randint(key, (8,), 0, problem.n)
        gradient, state = memory.estimate(w, state, index)
        updates, opt = tx.update(gradient, opt, w)
        return (optax.apply_updates(w, updates), state, opt), None

    w, keys = problem.origin().w, jax.random.split(jax.random.key(0), 2000)
    (w, _, _), _ = jax.lax.scan(step, (w, memory.init(w), tx.init(w)), keys)
    gap = problem.certificate(js.Point(w)).gap

Lecture "Empirical Risk Minimization" (Richtarik), SAG, SAGA, SVRG; the methods ``js.SAG`` and so
on are the same ideas, visit by visit, with certificates.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxopt_svm.problems.erm import ERM

__all__ = ["Estimator", "Terms", "example_terms", "linear_terms", "sag", "saga", "svrg"]


class Terms(NamedTuple):
    """n functions f_i. slope(params, index): (b, ...), what to remember of f_i', i in index;
    pull(index, slopes): sum over the batch of the gradients those stand for, shaped like params.
    """

    n: int
    slope: Callable[[Any, Array], Any]
    pull: Callable[[Array, Any], Any]


class Estimator(NamedTuple):
    """init(params) -> state; estimate(params, state, index) -> (gradient, state)."""

    init: Callable[[Any], Any]
    estimate: Callable[[Any, Any, Array], tuple[Any, Any]]


def linear_terms(problem: ERM) -> Terms:
    """f_i(w) = n c_i phi(<x_i, w>, y_i): the data part of P, n numbers to remember."""

    def slope(w, index):
        return problem.loss.slope(problem.rows.dot(index, w), problem.y[index])

    def pull(index, s):
        weight = problem.n * problem.c[index]
        scaled = weight.reshape(-1, *(1,) * (s.ndim - 1)) * s
        return problem.rows.add(jnp.zeros_like(problem.origin().w), index, scaled)

    return Terms(problem.n, slope, pull)


def example_terms(loss: Callable[[Any, Any], Array], data: Any) -> Terms:
    """f_i(params) = loss(params, data_i), data a pytree of arrays with n as their first axis."""
    gradients = jax.vmap(jax.grad(loss), (None, 0))

    def slope(params, index):
        return gradients(params, jax.tree.map(lambda x: x[index], data))

    def pull(index, slopes):
        del index
        return jax.tree.map(lambda s: jnp.sum(s, axis=0), slopes)

    return Terms(jax.tree.leaves(data)[0].shape[0], slope, pull)


def _plus(a, b, scale: float):
    return jax.tree.map(lambda x, y: x + scale * y, a, b)


def _full(terms: Terms, params):
    """All slopes, and the mean of their gradients."""
    every = jnp.arange(terms.n, dtype=jnp.int32)
    slopes = terms.slope(params, every)
    return slopes, jax.tree.map(lambda g: g / terms.n, terms.pull(every, slopes))


class Remembered(NamedTuple):
    """slopes: (n, ...), one entry a term. mean: the gradient they make."""

    slopes: Any
    mean: Any


def _remember(terms: Terms, params, state: Remembered, index):
    """How the batch's slopes changed, and the memory with the new ones."""
    new = terms.slope(params, index)
    change = jax.tree.map(lambda a, table: a - table[index], new, state.slopes)
    # an index that comes twice is remembered once
    twins = jnp.tril(index[:, None] == index[None, :], -1)
    first = ~jnp.any(twins, axis=1)
    once = lambda x: jnp.where(first.reshape(-1, *(1,) * (x.ndim - 1)), x, 0.0)
    mean = _plus(state.mean, terms.pull(index, jax.tree.map(once, change)), 1.0 / terms.n)
    slopes = jax.tree.map(lambda table, a: table.at[index].set(a), state.slopes, new)
    return change, Remembered(slopes, mean)


def saga(terms: Terms) -> Estimator:
    """Unbiased: E[gradient] = grad F(params) for uniform indices. Cost: one batch of slopes."""

    def estimate(params, state: Remembered, index):
        change, new = _remember(terms, params, state, index)
        gradient = _plus(state.mean, terms.pull(index, change), 1.0 / index.shape[0])
        return gradient, new

    return Estimator(lambda params: Remembered(*_full(terms, params)), estimate)


def sag(terms: Terms) -> Estimator:
    """The mean of everything remembered. Cost: one batch of slopes."""

    def estimate(params, state: Remembered, index):
        _, new = _remember(terms, params, state, index)
        return new.mean, new

    return Estimator(lambda params: Remembered(*_full(terms, params)), estimate)


class Snapshot(NamedTuple):
    """params: where the full gradient ``mean`` was taken. left: estimates until the next one."""

    params: Any
    mean: Any
    left: Array


def svrg(terms: Terms, every: int) -> Estimator:
    """A full gradient before each ``every`` estimates. Cost: two batches of slopes; no memory."""
    if every < 1:
        raise ValueError(f"svrg: every must be at least 1; got {every}")

    def snapshot(params):
        return Snapshot(params, _full(terms, params)[1], jnp.asarray(every, jnp.int32))

    def estimate(params, state: Snapshot, index):
        state = lax.cond(state.left > 0, lambda: state, lambda: snapshot(params))
        here, there = terms.slope(params, index), terms.slope(state.params, index)
        change = jax.tree.map(jnp.subtract, here, there)
        gradient = _plus(state.mean, terms.pull(index, change), 1.0 / index.shape[0])
        return gradient, state._replace(left=state.left - 1)

    return Estimator(snapshot, estimate)
