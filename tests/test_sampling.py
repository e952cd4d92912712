"""Samplings draw what they say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.core.shuffle import shuffle
from tests import toy


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 17, 40, 97, 1000, 1023])
def test_shuffle_is_a_bijection(n):
    for seed in range(5):
        order = np.asarray(shuffle(jax.random.key(seed), n))
        assert order.dtype == np.int32
        np.testing.assert_array_equal(np.sort(order), np.arange(n))


def test_shuffle_is_even_at_every_place_and_for_every_pair_of_places():
    n, draws = 12, 20000
    orders = np.asarray(
        jax.vmap(lambda k: shuffle(k, n))(jax.random.split(jax.random.key(0), draws))
    )
    for place in (0, 5, 11):
        share = np.bincount(orders[:, place], minlength=n) / draws
        assert abs(share - 1 / n).max() < 5 * np.sqrt(1 / n / draws)
    ordered = (orders[:, 0] < orders[:, 1]).mean()
    assert abs(ordered - 0.5) < 0.02


@pytest.mark.parametrize("size", [1, 7, 40, 64])
def test_a_shuffled_pass_visits_every_example_once(size):
    p = toy.dense64(js.Hinge())
    index, mask = js.Shuffled().draw(p, jax.random.key(1), size)
    seen = np.asarray(index).ravel() if mask is None else np.asarray(index[mask])
    np.testing.assert_array_equal(np.sort(seen), np.arange(toy.N))
    first = np.asarray(js.Shuffled().draw(p, jax.random.key(1), 1).index).ravel()
    np.testing.assert_array_equal(seen, first)


def test_independent_draws_follow_their_probabilities():
    p = toy.dense64(js.SmoothHinge(0.5))
    for sampling in (js.Uniform(), js.Optimal(), js.Importance(jnp.arange(1.0, 41.0) / 820.0)):
        keys = jax.random.split(jax.random.key(2), 500)
        index = jax.vmap(lambda k, s=sampling: s.draw(p, k, 8).index)(keys)
        share = np.bincount(np.asarray(index).ravel(), minlength=toy.N) / index.size
        np.testing.assert_allclose(share, sampling.constants(p)[0], atol=6e-3)


def test_nice_sets_are_sets_and_even():
    p, tau = toy.dense64(js.Hinge()), 6
    keys = jax.random.split(jax.random.key(4), 400)
    sets = np.asarray(jax.vmap(lambda k: js.Nice(tau).draw(p, k, 0).index)(keys)).reshape(-1, tau)
    assert all(len(set(s)) == tau for s in sets)
    assert sets.min() >= 0 and sets.max() < toy.N
    member = np.zeros((len(sets), toy.N))
    np.put_along_axis(member, sets, 1.0, axis=1)
    together = member.T @ member / len(sets)
    n = toy.N
    np.testing.assert_allclose(np.diag(together), tau / n, atol=0.03)
    pairs = together[~np.eye(n, dtype=bool)]
    np.testing.assert_allclose(pairs.mean(), tau * (tau - 1) / (n * (n - 1)), rtol=1e-9)
    assert abs(pairs - tau * (tau - 1) / (n * (n - 1))).max() < 0.02


def test_eigenvalue_constants_are_never_below_the_exact_ones():
    p = toy.dense64(js.Hinge())
    X = np.asarray(p.rows.X)
    norms = np.maximum(np.linalg.norm(X, axis=1), 1e-300)
    s = np.linalg.svd(X / norms[:, None], compute_uv=False)[0] ** 2
    v = np.asarray(js.Nice(5, eigen=True).constants(p)[1])
    exact = norms**2 * (1 + (s - 1) * 4 / 39)
    assert np.all(v >= exact) and np.allclose(v, exact, rtol=1e-10, atol=1e-200)


@pytest.mark.parametrize(
    "sampling, message",
    [
        (js.Nice(0), "tau must lie between 1 and n = 40"),
        (js.Nice(41), "tau must lie between 1 and n = 40"),
        (js.Importance(jnp.ones(3) / 3), "p must have shape"),
        (js.Importance(jnp.ones(40) / 20), "must sum to 1"),
        (js.Importance(jnp.r_[0.0, jnp.ones(39) / 39]), "every p_i must be positive"),
    ],
)
def test_samplings_refuse(sampling, message):
    with pytest.raises(ValueError, match=message):
        js.solve(toy.dense64(js.Hinge()), js.SDCA(sampling))


def test_the_eigenvalue_form_refuses_sparse_rows():
    with pytest.raises(ValueError, match="dense rows"):
        js.solve(toy.padded32(js.Hinge()), js.SDCA(js.Nice(4, eigen=True)))
