# pyright: reportArgumentType=false
"""Balls, populations, step rules and smoothing: what the contract does not cover."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.core.pytree import pytree
from tests import toy, toy_ball

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.fixture(scope="module")
def ball():
    return toy_ball.ball64(js.Hinge())


def test_a_ball_has_the_solution_of_its_lam(ball):
    """The other form of the same problem: the ball of radius ||w*(lam)|| has the same w."""
    erm = ball.penalised(0.2)
    ours = js.solve(erm, js.SDCA(), rtol=1e-10, max_passes=2000)
    other = js.solve(ball.with_lam(jnp.linalg.norm(ours.w)), rtol=1e-8, max_passes=2000)
    np.testing.assert_allclose(other.w, ours.w, atol=1e-4)
    assert other.method == "on_ball(sdca)", "what is chosen for a ball when none is named"


def test_a_sweep_over_radii_is_certified_and_monotone(ball):
    grid = js.sweep(ball, [0.1, 0.3, 1.0, 3.0], rtol=1e-5)
    assert set(grid.status) == {"converged"}
    assert np.all(np.diff(grid.certificate.primal) < 0), "a larger ball has a smaller risk"
    lengths = np.linalg.norm(grid.w, axis=1)
    assert np.all(lengths <= np.asarray(grid.lam) * (1 + 1e-3))
    exact = js.recertify(ball, grid)
    np.testing.assert_allclose(exact.gap, grid.certificate.gap, atol=1e-12)


def test_a_point_outside_is_read_as_its_projection(ball):
    far = js.Point(jnp.full(ball.d, 100.0), None)
    inside = js.Point(ball.project(far.w), None)
    assert ball.certificate(far) == ball.certificate(inside)
    np.testing.assert_allclose(jnp.linalg.norm(inside.w), ball.lam)


def test_labels_and_intercepts_survive():
    X, y = toy.matrix()
    names = np.where(y > 0, "yes", "no")
    problem = js.make_ball(X + 1.0, names, B=2.0, intercept="penalised")
    one = js.solve(problem, rtol=1e-3)
    assert set(js.predict(problem, one, X + 1.0)) <= {"yes", "no"}
    assert one.w.shape == (X.shape[1] + 1,)


def test_the_smooth_losses_close_fast_on_a_ball():
    problem = toy_ball.ball64(js.Logistic())
    one = js.solve(problem, js.Subgradient(), rtol=1e-6, max_passes=500)
    assert one.status == "converged"


@pytest.mark.parametrize("rule", [js.Horizon(2000.0), js.AnyTime(), js.LinearDecay(2000.0)])
def test_the_rules_of_the_ball_on_a_penalty(rule):
    """B = sqrt(P(0)/lam) holds the optimum, so the same theorems speak about lam ||w||^2."""
    problem = toy.dense64(js.Hinge())
    method = js.SGD(rule, js.Uniform(), project=True)
    averaged = js.Averaged(method, js.UniformMean())
    used = method if isinstance(rule, js.LinearDecay) else averaged
    best = js.solve(problem, rtol=1e-8).certificate.dual
    one = js.solve(problem, used, rtol=0.0, max_passes=50)
    assert one.trace.primal[-1] - best <= float(used.bound(problem, 2000))
    wide = float(problem.slope_bound() + problem.lam * problem.radius)
    np.testing.assert_allclose(method.gradient_bound(problem), wide)


def test_continuation_beats_every_fixed_mu():
    """A fixed mu stops at its own distance from the hinge; the continuation goes on."""
    problem = toy.dense64(js.Hinge())
    gaps = {mu: js.solve(problem, js.huber_agd(mu), rtol=0.0, max_passes=400) for mu in (0.3, None)}
    assert float(gaps[None].certificate.gap) < 0.1 * float(gaps[0.3].certificate.gap)


def test_three_errors_add_up_and_stay_within_their_bounds():
    population, m = toy_ball.population(np.float64), 400
    sample = population.sample(jax.random.key(1), m)
    parts = js.error_decomposition(population, sample, np.zeros(5), rtol=1e-2)
    assert abs(sum(parts) - float(population.risk_of(jnp.zeros(5))[0])) <= 1e-12
    assert -1e-2 <= parts.estimation <= 2 * float(population.lam * population.R) / np.sqrt(m)
    assert parts.approximation > 0 and parts.optimisation > 0


def test_a_generator_with_parameters_is_a_pytree():
    """Its numbers are leaves: another value does not compile again."""

    @pytree
    class Plane:
        w: jax.Array

        def __call__(self, key):
            x = jax.random.normal(key, (3,))
            return x, jnp.where(x @ self.w > 0, 1.0, -1.0)

    problem = js.make_population(Plane(jnp.array([1.0, 0.0, -1.0])), keep=50)
    assert any(leaf.shape == (3,) for leaf in jax.tree.leaves(problem.generator))
    one = js.solve(problem, js.one_pass_sgd(200.0, 100), rtol=0.0, max_passes=2)
    assert np.isfinite(one.certificate.gap)


def flat(key):
    return jax.random.normal(key, (3, 1)), 1.0


def two_signs(key):
    x = jax.random.normal(key, (3,))
    return x, jnp.where(x[0] > 0, 1.0, -1.0)


X, Y = toy.matrix()
BAD = {
    "B": (lambda: js.make_ball(X, Y, B=0.0), "B: expected positive"),
    "B nan": (lambda: js.make_ball(X, Y, B=np.nan), "B: expected positive"),
    "B grid": (lambda: js.make_ball(X, Y, B=[1.0, 2.0]), "B: expected one number"),
    "free": (lambda: js.make_ball(X, Y, intercept="free"), 'none that is "free"'),
    "mu": (lambda: js.solve(toy.dense64(js.Hinge()), js.huber_gd(0.0)), "mu: expected positive"),
    "mu negative": (lambda: js.solve(toy.dense64(js.Hinge()), js.huber_agd(-1.0)), "mu: expected"),
    "not a hinge": (lambda: js.solve(toy.dense64(js.Absolute()), js.huber_gd()), "smooths the hin"),
    "shapes": (lambda: js.make_population(flat), r"draw: expected x of shape \(d,\) .*\(3, 1\)"),
    "no pair": (lambda: js.make_population(lambda key: key), "draw: expected"),
    "not a function": (lambda: js.make_population(3.0), "draw: expected a function"),
    "labels": (
        lambda: js.make_population(lambda k: (two_signs(k)[0], 2.0 * two_signs(k)[1])),
        "draw: expected y to be -1 or .1",
    ),
    "R": (lambda: js.make_population(two_signs, R=-1.0), "R: expected positive"),
    "keep": (lambda: js.make_population(two_signs, keep=1), "keep: expected at least 2"),
    "examples": (
        lambda: js.solve(js.make_population(two_signs, keep=50), js.one_pass_sgd(9.0, 0)),
        "examples must be at least 1",
    ),
    "no population": (
        lambda: js.solve(toy_ball.ball64(js.Hinge()), js.one_pass_sgd()),
        "draws its examples from a population",
    ),
    "rule": (
        lambda: js.solve(toy_ball.ball64(js.Hinge()), js.SGD(js.InverseLam())),
        "a ball has no lam for the rule InverseLam",
    ),
    "sdca": (lambda: js.solve(toy_ball.ball64(js.Hinge()), js.SDCA()), "solves ERM problems"),
    "on ball": (lambda: js.solve(toy.dense64(js.Hinge()), js.OnBall()), "problems over a ball"),
    "features": (
        lambda: js.error_decomposition(
            js.make_population(two_signs, keep=50), toy_ball.ball64(js.Hinge()), np.zeros(3)
        ),
        "sample: expected 3 features; got 6",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_words(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()
