# pyright: reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false
"""Gaussian processes, kernel ridge and Bayes, against scikit-learn and against themselves."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

import jaxopt_svm as js
from jaxopt_svm.problems.kernels import Kernel

pytestmark = pytest.mark.usefixtures("quick_compilation")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=30)
NEW = RNG.normal(size=(9, 2))
LINE = np.linspace(-2, 2, 5)


@pytest.fixture(scope="module")
def gp():
    return js.make_gp(X, Y, kernel=js.RBF(0.5), noise=0.1)


def test_regression_is_scikit_learns(gp):
    peer = GaussianProcessRegressor(sk.RBF(1.0), alpha=0.1, optimizer=None).fit(X, Y)
    mean, sd = peer.predict(NEW, return_std=True)
    np.testing.assert_allclose(gp.mean(NEW), mean, atol=1e-10)
    np.testing.assert_allclose(gp.variance(NEW), sd**2, atol=1e-10)
    np.testing.assert_allclose(gp.log_evidence(), peer.log_marginal_likelihood_value_, atol=1e-9)


def test_kernel_ridge_is_scikit_learns():
    ours = js.kernel_ridge(X, Y, kernel=js.RBF(0.5), alpha=0.3)
    peer = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5).fit(X, Y)
    np.testing.assert_allclose(ours.predict(NEW), peer.predict(NEW), atol=1e-10)


def test_evidence_is_differentiable_in_every_parameter(gp):
    """Against central differences, in the width, the scale and the noise."""

    def evidence(p):
        return js.log_evidence(p[0] * js.RBF(p[1]), p[2], gp.X, gp.y)

    at, step = jnp.array([1.2, 0.5, 0.1]), 1e-5
    slope = jax.grad(evidence)(at)
    for k in range(3):
        move = step * jnp.eye(3)[k]
        rise = (evidence(at + move) - evidence(at - move)) / (2 * step)
        np.testing.assert_allclose(slope[k], rise, rtol=1e-6)


def test_fit_finds_the_width_of_scikit_learn():
    start = js.make_gp(X, Y, kernel=js.RBF(0.5), noise=0.1)
    found = js.fit_gp(start, steps=150, noise=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = GaussianProcessRegressor(sk.RBF(1.0), alpha=0.1).fit(X, Y)
    best = peer.log_marginal_likelihood_value_
    assert float(found.gp.log_evidence()) >= best - 1e-4
    assert np.max(found.evidence) <= float(found.gp.log_evidence()) + 1e-9
    np.testing.assert_allclose(found.gp.kernel.gamma, 0.5 / peer.kernel_.length_scale**2, rtol=1e-2)
    assert float(found.gp.noise) == float(start.noise)


def test_points_on_a_line_and_float32():
    gp = js.make_gp(LINE.astype(np.float32), np.sin(LINE), kernel=js.RBF(np.float32(1.0)))
    assert gp.mean(LINE).dtype == np.float32
    np.testing.assert_allclose(gp.mean(LINE), np.sin(LINE), atol=1e-3)
    draws = gp.sample(LINE, jax.random.key(0), 3)
    assert draws.shape == (3, 5) and bool(jnp.all(jnp.isfinite(draws)))


def test_samples_of_a_rank_three_kernel_are_parabolas():
    grid = np.linspace(-2, 2, 40)
    for h in np.asarray(js.prior_sample(js.Polynomial(), grid, jax.random.key(1), 5)):
        fit = np.polyval(np.polyfit(grid, h, 2), grid)
        np.testing.assert_allclose(h, fit, atol=1e-5)


def test_a_grid_of_widths_is_one_program(gp):
    widths = jnp.array([0.1, 0.5, 2.0])
    together = jax.vmap(lambda g: js.log_evidence(js.RBF(g), 0.1, gp.X, gp.y))(widths)
    for k, g in enumerate(widths):
        one = js.make_gp(X, Y, kernel=js.RBF(float(g)), noise=0.1).log_evidence()
        np.testing.assert_allclose(together[k], one, rtol=1e-10)


@pytest.fixture(scope="module")
def classifier():
    labels = np.where(Y > 0, "warm", "cold")
    return js.make_gp_classifier(X, labels, kernel=4.0 * js.RBF(0.5)), labels


def test_classifier_is_scikit_learns(classifier):
    """The same Laplace approximation; its average over h uses five error functions (2e-4)."""
    ours, labels = classifier
    kernel = sk.ConstantKernel(4.0, "fixed") * sk.RBF(1.0, "fixed")
    peer = GaussianProcessClassifier(kernel, optimizer=None).fit(X, labels)
    evidence = peer.log_marginal_likelihood_value_
    np.testing.assert_allclose(ours.log_evidence(), evidence, atol=1e-7)
    np.testing.assert_allclose(ours.probability(NEW), peer.predict_proba(NEW)[:, 1], atol=1e-3)
    assert list(ours.predict(NEW)) == list(peer.predict(NEW))


def test_the_mode_is_certified(classifier):
    ours, _ = classifier
    certificate = ours.certificate()
    assert abs(float(certificate.gap)) <= 1e-12
    away = np.abs(np.asarray(ours.probability(NEW)) - 0.5)
    assert np.all(away <= np.abs(np.asarray(ours.map_probability(NEW)) - 0.5))


def test_logistic_map_is_scikit_learns_with_c_the_prior_variance():
    x, y = np.array([1.0, 2.0, -1.5, 0.5]), np.array([1.0, 1.0, -1.0, -1.0])
    posterior = js.logistic_posterior(x, y, variance=4.0)
    peer = LogisticRegression(C=4.0, fit_intercept=False, tol=1e-10).fit(x[:, None], y)
    np.testing.assert_allclose(posterior.mode, peer.coef_[0, 0], atol=1e-5)
    np.testing.assert_allclose(posterior.mean, 1.5323, atol=1e-4)
    np.testing.assert_allclose(posterior.predict(10.0), [0.9430], atol=1e-4)


class NotAKernel(Kernel):
    """Symmetric, and not positive definite."""

    def __call__(self, x, z):
        return jnp.sum((x - z) ** 2)


FIVE = np.arange(5.0)
BAD = {
    "rank": (
        lambda: js.make_gp(FIVE, FIVE, kernel=js.Polynomial()),
        "noise: without noise K must have full rank, and it has rank 3 of 5 .* jitter",
    ),
    "twice the same point": (
        lambda: js.make_gp(np.r_[FIVE, 1.0], np.r_[FIVE, 1.0], kernel=js.RBF(1.0)),
        "rank 5 of 6",
    ),
    "indefinite": (
        lambda: js.make_gp(FIVE, FIVE, kernel=NotAKernel(), noise=0.1),
        "kernel: not positive definite on X: eigenvalues from -",
    ),
    "indefinite classifier": (
        lambda: js.make_gp_classifier(FIVE, [0, 1, 0, 1, 1], kernel=NotAKernel()),
        "kernel: not positive definite",
    ),
    "kernel": (lambda: js.make_gp(FIVE, FIVE, kernel="rbf"), "kernel: expected a kernel"),
    "width": (lambda: js.make_gp(FIVE, FIVE, kernel=js.RBF(-1.0)), "RBF.gamma: expected positive"),
    "noise": (lambda: js.make_gp(FIVE, FIVE, kernel=js.RBF(), noise=-1.0), "noise: expected pos"),
    "y": (lambda: js.make_gp(FIVE, FIVE[1:], kernel=js.RBF()), "y: expected 5 numbers"),
    "nan": (lambda: js.make_gp(FIVE * np.nan, FIVE, kernel=js.RBF()), "X: expected finite"),
    "columns": (lambda: js.make_gp(X, Y, kernel=js.RBF(), noise=1.0).mean(FIVE), "expected 2 col"),
    "alpha": (lambda: js.kernel_ridge(X, Y, kernel=js.RBF(), alpha=0.0), "alpha: expected pos"),
    "signs": (lambda: js.logistic_posterior(FIVE, FIVE), "y: expected signs"),
    "variance": (lambda: js.logistic_posterior(FIVE, FIVE, variance=0.0), "variance: expected pos"),
    "steps": (lambda: js.fit_gp(js.make_gp(X, Y, kernel=js.RBF(), noise=1.0), steps=0), "steps: "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_words(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()
