"""The k largest of many numbers, the largest gain, and the best intercept, against sorting."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.oracles.selection import SMALL, largest, largest_gain
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
