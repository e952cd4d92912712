"""Finite sums: what the contract does not say of them, and the estimators for optax loops."""

import functools
import textwrap
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.sparse as sp
from jax import lax

import jaxopt_svm as js
from jaxopt_svm import gradient_estimators as estimators
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.finite_sum.lengths import Geometric
from tests import toy

SMOOTH = toy.LOSSES["smooth_hinge"]


pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.mark.parametrize("name", ["sag", "saga", "svrg", "s2gd", "ms2gd", "s2cd", "dfsdca", "miso"])
def test_the_hinge_is_refused_in_words(name):
    problem = toy.dense64(js.Hinge())
    with pytest.raises(ValueError, match=r"needs a smooth loss.*SmoothHinge\(mu\).*SDCA"):
        js.solve(problem, name)


@pytest.mark.parametrize("name", ["saga", "svrg", "s2cd", "dfsdca", "finito"])
def test_the_elastic_net_is_refused_in_words(name):
    problem = toy.dense64(SMOOTH, regularizer=js.ElasticNet(0.1))
    with pytest.raises(ValueError, match="needs the l2 regulariser"):
        js.solve(problem, name)


@pytest.mark.parametrize(
    "method, words",
    [
        (js.SVRG(m=0), "m must be at least 1"),
        (js.S2CD(m=0), "m must be at least 1"),
        (js.MS2GD(b=0), "b must lie between 1 and n = 40"),
        (js.SAGA(sampling=js.Optimal()), r"use Uniform\(\) or Shuffled\(\)"),
    ],
)
def test_bad_parameters_are_named(method, words):
    with pytest.raises(ValueError, match=words):
        js.solve(toy.dense64(SMOOTH), method)


@functools.partial(jax.jit, static_argnames="passes")
def _states(method, problem, passes=2):
    return js.run(problem, method, passes=passes, every=passes)[0]


@functools.partial(jax.jit, static_argnames="passes")
def _gap(problem, method, passes):
    return js.run(problem, method, passes=passes, every=passes)[1].gap[-1]


@pytest.mark.parametrize("make", [js.SAG, js.SAGA], ids=["sag", "saga"])
@pytest.mark.parametrize("sampling", [js.Shuffled(), js.Uniform()], ids=["shuffled", "uniform"])
def test_blocks_do_not_change_the_iterates(make, sampling):
    """With repeats too: an example of an i.i.d. block sees the slope its twin left."""
    problem = toy.dense64(toy.LOSSES["logistic"])
    one, many = (_states(make(sampling=sampling, block=b), problem) for b in (1, 16))
    np.testing.assert_allclose(one.vectors[0], many.vectors[0], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(one.tables[0], many.tables[0], rtol=1e-10, atol=1e-13)


def test_blocks_do_not_change_an_epoch():
    problem = toy.dense64(toy.LOSSES["logistic"])
    one, many = (_states(js.SVRG(block=b, m=70), problem) for b in (1, 16))
    np.testing.assert_allclose(one.x, many.x, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("method", [js.SAGA(), js.SAG(), js.DfSDCA()], ids=["saga", "sag", "df"])
def test_running_sums_stay_what_they_stand_for(method):
    """g is the gradient of the table; dfSDCA's w is abar(alpha)."""
    problem = toy.dense64(SMOOTH)
    state = _states(method, problem, passes=30)
    table, sums = state.tables[0], state.vectors[-1]
    rebuilt = problem.rows.rmatvec(problem.c * table)
    rebuilt = rebuilt / problem.lam if isinstance(method, js.DfSDCA) else rebuilt
    np.testing.assert_allclose(sums, rebuilt, rtol=1e-10, atol=1e-13)


def test_sag_draws_with_replacement_for_a_reason():
    """One feature that all examples share: shuffled passes make SAG swing, even steps do not."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.5, 1.0, -1.0)
    problem = js.make_erm(np.ones((300, 1)), y, loss=toy.LOSSES["logistic"], lam=1 / 300)
    assert _gap(problem, js.SAG(), 20) < 1e-6
    assert _gap(problem, js.SAG(sampling=js.Shuffled()), 20) > 1e-3
    assert _gap(problem, js.SAGA(), 20) < 1e-6


def test_several_outputs():
    """Softmax by SAGA and dfSDCA, certified, dense and sparse alike."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.7)
    y = np.argmax(X @ rng.normal(size=(5, 3)), axis=1)
    for rows in (X, sp.csr_matrix(X)):
        problem = js.make_erm(rows, y, loss=js.Softmax(), lam=0.1)
        for method in (js.SAGA(), js.DfSDCA()):
            assert _gap(problem, method, 200) < 1e-7


def test_geometric_lengths_follow_their_law():
    problem, m, h = toy.dense64(SMOOTH), 6, 2.0
    law = Geometric(0.2)
    keys = jax.random.split(jax.random.key(3), 40_000)
    t = np.asarray(jax.vmap(lambda k: law.draw(problem, k, m, h))(keys))
    seen = np.bincount(t, minlength=m + 1)[1:] / len(t)
    np.testing.assert_allclose(seen, law.weights(problem, m, h), atol=0.01)
    assert t.min() >= 1 and t.max() == m
    uniform = np.asarray(jax.vmap(lambda k: Geometric(0.0).draw(problem, k, m, h))(keys))
    np.testing.assert_allclose(np.bincount(uniform, minlength=7)[1:] / len(t), 1 / 6, atol=0.01)


def test_pick_follows_the_squares_of_a_row():
    X = np.array([[3.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.5, 4.0, 1.0], np.zeros(10)])
    u = jnp.linspace(0.0, 1.0, 20_001)[:-1]
    for given in (X, sp.csr_matrix(X)):
        rows = js.make_erm(given, [1, -1]).rows
        j, x = jax.vmap(rows.row(0).pick)(u)
        seen = np.bincount(np.asarray(j), minlength=10) / len(u)
        np.testing.assert_allclose(seen, X[0] ** 2 / np.sum(X[0] ** 2), atol=1e-3)
        np.testing.assert_array_equal(x, X[0][np.asarray(j)])
        assert rows.row(1).pick(jnp.asarray(0.5))[1] == 0.0


def test_full_batches_of_ms2gd_are_proximal_gradient_steps():
    problem = toy.dense64(SMOOTH, regularizer=js.ElasticNet(0.1))
    method = js.MS2GD(b=problem.n, m=3)
    state = method.init(problem)
    epoch = jax.tree.map(lambda x: x[0], method.draw(problem, jax.random.key(0)))
    new = method.step(problem, state, epoch._replace(length=jnp.asarray(3)))
    w, h = problem.origin().w, state.h
    for _ in range(3):
        slopes = problem.loss.slope(problem.rows.matvec(w), problem.y)
        data = problem.rows.rmatvec(problem.c * slopes)
        w = problem.regularizer.prox(w - h * data, h * problem.lam)
    np.testing.assert_allclose(new.x, w, rtol=1e-10)


# --- estimators for optax loops --------------------------------------------------------------


def multiclass():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 4))
    y = np.argmax(X @ rng.normal(size=(4, 3)) + 0.5 * rng.normal(size=(90, 3)), axis=1)
    return js.make_erm(X, y, loss=js.Softmax(), lam=0.05)


TX = optax.chain(
    optax.add_decayed_weights(0.05), optax.sgd(optax.exponential_decay(0.3, 1000, 0.7))
)


@functools.partial(jax.jit, static_argnames=("estimator", "tx"))
def fit(problem, estimator, tx):
    """The certified gap after a user's own loop: optax on estimated gradients."""

    def step(carry, key):
        w, memory, opt = carry
        index = jax.random.randint(key, (4,), 0, problem.n)
        gradient, memory = estimator.estimate(w, memory, index)
        with jax.numpy_dtype_promotion("standard"):
            updates, opt = tx.update(gradient, opt, w)
        return (optax.apply_updates(w, updates), memory, opt), None

    w = problem.origin().w
    keys = jax.random.split(jax.random.key(0), 3000)
    w = lax.scan(step, (w, estimator.init(w), tx.init(w)), keys)[0][0]
    return problem.certificate(js.Point(w)).gap


@pytest.mark.parametrize("kind", ["sag", "saga", "svrg"])
def test_an_optax_loop_with_memory_solves_multinomial_regression(kind):
    problem = multiclass()
    terms = estimators.linear_terms(problem)
    estimator = {
        "sag": estimators.sag(terms),
        "saga": estimators.saga(terms),
        "svrg": estimators.svrg(terms, every=45),
    }[kind]
    assert fit(problem, estimator, TX) < 1e-6


def test_plain_stochastic_gradients_with_the_same_steps_do_not_get_there():
    problem = multiclass()
    terms = estimators.linear_terms(problem)
    plain = estimators.Estimator(
        lambda w: (), lambda w, s, i: (terms.pull(i, terms.slope(w, i)) / i.shape[0], s)
    )
    assert fit(problem, plain, TX) > 1e-5


def test_the_example_in_the_documentation_runs():
    text = estimators.__doc__ or ""
    code = textwrap.dedent(text[text.index("    problem = ") : text.index('Lecture "')])
    problem = multiclass()
    names: dict[str, Any] = {"js": js, "jax": jax, "optax": optax}
    names |= {"X": np.asarray(problem.rows.toarray()), "labels": np.argmax(problem.y, axis=1)}
    with jax.numpy_dtype_promotion("standard"):
        exec(code, names)
    assert names["gap"] < 1e-6


@functools.partial(jax.jit, static_argnames="estimator")
def two_estimates(estimator, w, index):
    _, memory = estimator.estimate(w, estimator.init(0 * w), index)
    gradient, memory = estimator.estimate(2 * w, memory, index[::-1])
    return gradient, memory.mean


def test_estimators_agree_for_linear_and_general_terms():
    """The same gradients, whether numbers or whole gradients are remembered; repeats included."""
    problem = multiclass()
    X = problem.rows.toarray()

    def loss(w, example):
        x, y, c = example
        return problem.n * c * problem.loss.value(jnp.tensordot(x, w, 1), y)

    general = estimators.example_terms(loss, (X, problem.y, problem.c))
    index = jnp.asarray([3, 7, 3, 11], jnp.int32)
    w = jnp.asarray(np.random.default_rng(0).normal(size=problem.origin().w.shape))
    for make in (estimators.sag, estimators.saga, lambda t: estimators.svrg(t, 2)):
        found = []
        for terms in (estimators.linear_terms(problem), general):
            found.append(two_estimates(make(terms), w, index))
        np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-12)


def test_saga_remembers_repeats_once():
    problem = multiclass()
    estimator = estimators.saga(estimators.linear_terms(problem))
    w = problem.origin().w + 0.3
    _, memory = estimator.estimate(w, estimator.init(0 * w), jnp.asarray([5, 5, 5], jnp.int32))
    rebuilt = problem.rows.rmatvec(problem.weighted(memory.slopes))
    np.testing.assert_allclose(memory.mean, rebuilt, rtol=1e-10, atol=1e-13)


def test_one_visit_of_saga_is_the_estimator_with_one_example():
    problem = toy.dense64(SMOOTH)
    method = js.SAGA(0.1, js.Uniform(), block=1)
    state = method.init(problem)
    estimator = estimators.saga(estimators.linear_terms(problem))
    memory, w = estimator.init(problem.origin().w), problem.origin().w
    for i in (4, 9, 4):
        index = jnp.asarray([i], jnp.int32)
        state = method.step(problem, state, Sample(index))
        gradient, memory = estimator.estimate(w, memory, index)
        w = w - 0.1 * (gradient + problem.lam * w)
        np.testing.assert_allclose(state.vectors[0], w, rtol=1e-10, atol=1e-14)
