"""The k largest of many numbers, the largest gain, and the best intercept, against sorting; what
Newton steps choose rows and lengths by."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.methods.second_order.curvature import gathered
from jaxopt_svm.oracles.line_search import crossing
from jaxopt_svm.oracles.selection import SMALL, largest, largest_gain, running_count
from jaxopt_svm.problems.rows import make_dense
from tests.toy_kernel import points

N = SMALL + 137  # below SMALL it sorts
RNG = np.random.default_rng(0)
PLAIN = RNG.normal(size=N)
CASES = {
    "distinct": PLAIN,
    "ties": np.round(PLAIN) + 0.0,  # no -0.0, which top_k tells from 0.0
    "all equal": np.full(N, 3.0),
    "few finite": np.where(RNG.random(N) < 0.1, PLAIN, -np.inf),
    "none finite": np.full(N, -np.inf),
    "one is far": np.where(np.arange(N) == 5, 1e12, PLAIN),
}


@pytest.mark.parametrize("k", [1, 64, N - 1])
@pytest.mark.parametrize("name", CASES)
def test_the_k_largest_are_those_of_a_sort(name, k):
    values = jnp.asarray(CASES[name])
    top, index = jax.jit(largest, static_argnums=1)(values, k)
    expected, where = jax.lax.top_k(values, k)
    np.testing.assert_array_equal(top, expected)
    np.testing.assert_array_equal(index, where)


@pytest.mark.parametrize(("dtype", "share"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_the_largest_gain_is_one_up_to_the_bits_it_gives_up(dtype, share):
    for seed in range(5):
        gains = np.random.default_rng(seed).exponential(size=N).astype(dtype)
        assert gains[int(largest_gain(jnp.asarray(gains)))] >= gains.max() * (1 - share)
    assert int(largest_gain(jnp.asarray(np.eye(1, N, 7)[0].astype(dtype)))) == 7


@pytest.mark.parametrize("digits", [1, 12])
def test_no_breakpoint_is_a_better_intercept(digits):
    """The hinge in b is piecewise linear: its minimum is at a breakpoint y_i - score_i."""
    problem = js.make_kernel_svm(*points(), kernel="linear", lam=0.1, intercept="free")
    y, c = np.asarray(problem.y), np.asarray(problem.c)
    for scale in (0.0, 1.0, 30.0):
        scores = np.round(scale * np.random.default_rng(1).normal(size=len(y)), digits)
        hinge = lambda b, s=scores: np.sum(c * np.maximum(0.0, 1.0 - y * (s + b)))
        mine = hinge(float(problem.best_intercept(jnp.asarray(scores))))
        assert mine <= min(hinge(b) for b in y - scores) + 1e-12


def test_a_running_count_is_a_cumsum():
    rng = np.random.default_rng(0)
    for n in (1, 63, 64, 65, 4096, 10_000):
        mask = rng.random(n) < 0.3
        np.testing.assert_array_equal(running_count(jnp.asarray(mask)), np.cumsum(mask))


def test_a_crossing_is_found_on_straight_and_bent_slopes():
    """A tenth of the first slope is close enough; a slope that stays negative is walked to 1."""
    slopes = {
        "straight": lambda t, a: t - a,
        "bent": lambda t, a: jnp.where(t < a, 0.1 * (t - a), 2.0 * (t - a)),
        "curved": lambda t, a: t**3 - a**3,
    }
    places = jnp.asarray([0.2, 0.3, 0.77, 1.0])
    for name, slope in slopes.items():
        first = jax.vmap(lambda a, slope=slope: slope(jnp.zeros(()), a))(places)
        found = jax.vmap(lambda a, f, slope=slope: crossing(lambda t: slope(t, a), f))(
            places, first
        )
        left = jnp.abs(jax.vmap(slope)(found, places))
        assert bool(jnp.all(left <= 0.1 * jnp.abs(first))), name
    assert float(crossing(lambda t: t - 2.0, jnp.asarray(-2.0))) == 1.0


def test_a_crossing_among_kinks_very_near_to_zero():
    """As where a Newton direction is far too long: eight rounds left 45 % of these untouched."""
    rng = np.random.default_rng(0)
    kinks, steep = 10.0 ** rng.uniform(-12, 0, (200, 8)), 10.0 ** rng.uniform(-6, 6, (200, 8))
    first = -(10.0 ** rng.uniform(-8, 0, 200))

    def left(kinks, steep, first):
        slope = lambda t: first + jnp.sum(steep * jnp.maximum(t - kinks, 0.0))
        t = crossing(slope, first)
        return jnp.where((t == 1) & (slope(1.0) < 0), 0.0, jnp.abs(slope(t) / first))

    assert np.mean(np.asarray(jax.vmap(left)(kinks, steep, first)) > 0.1) < 0.15


def test_curvature_is_taken_over_the_rows_that_have_some():
    rng = np.random.default_rng(0)
    X, h = rng.normal(size=(1000, 7)), np.maximum(rng.normal(size=1000), 0.0)
    rows = make_dense(X)
    whole = gathered(rows, jnp.asarray(h), 1000)
    np.testing.assert_allclose(whole.H, X.T @ (h[:, None] * X), rtol=1e-10)
    assert float(whole.share) == np.mean(h > 0)
    some = gathered(rows, jnp.asarray(h), 100)  # every fifth or sixth of them stands for all
    active = np.flatnonzero(h > 0)
    stride = -(-len(active) // 100)
    taken = active[stride - 1 :: stride]
    scale = h.sum() / h[taken].sum()
    wanted = scale * X[taken].T @ (h[taken, None] * X[taken])
    np.testing.assert_allclose(some.H, wanted, rtol=1e-10)
    batch = jax.vmap(lambda h: gathered(rows, h, 1000).H)(jnp.asarray(np.stack([h, 0.0 * h])))
    np.testing.assert_allclose(batch[0], whole.H, rtol=1e-12)
    np.testing.assert_array_equal(batch[1], 0.0)
