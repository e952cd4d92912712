"""Several outputs an example: multinomial logistic regression and multi-target least squares."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge

import jaxopt_svm as js
from tests import toy

NAMES = np.array(["ape", "bee", "cat"])
K = len(NAMES)
LAM = 0.05


pytestmark = pytest.mark.usefixtures("quick_compilation")


def labels(X: np.ndarray, k: int = K, seed: int = 3) -> np.ndarray:
    """k noisy linear classes, all of them present."""
    rng = np.random.default_rng(seed)
    scores = X @ rng.normal(size=(X.shape[1], k)) + 0.5 * rng.normal(size=(len(X), k))
    return np.r_[np.arange(k), scores.argmax(1)[k:]]


def targets(X: np.ndarray, m: int = K) -> np.ndarray:
    rng = np.random.default_rng(4)
    return X @ rng.normal(size=(X.shape[1], m)) + 0.3 * rng.normal(size=(len(X), m)) + 0.2


def problem(name: str, make=np.asarray, dtype: Any = np.float64, **options) -> js.ERM:
    X, _ = toy.matrix()
    options = {"lam": LAM, **options}
    if name == "softmax":
        y, loss = NAMES[labels(X)], js.Softmax()
    else:
        y, loss = targets(X), js.MultiSquared(0.7)
    return js.make_erm(make(X.astype(dtype)), y, loss=loss, **options)


BOTH = pytest.mark.parametrize("name", ["softmax", "multi_squared"])
LAYOUT = pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])


# --- referees -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_multinomial_logistic_regression(weighted):
    """sklearn: 1/2 ||W||^2 + C sum_i phi_i with C = 1/(lam n), no intercept."""
    X, _ = toy.matrix(200, 8)
    y, lam = labels(X, 4), 0.01
    weights = np.ones(200) if not weighted else 1.0 + np.arange(200) % 3
    p = js.make_erm(X, y, loss=js.Softmax(), lam=lam, weights=weights)
    one = js.solve(p, rtol=0.0, atol=1e-7)
    assert one.status == "converged" and float(one.certificate.gap) <= 1e-7
    C = js.C_from_lam(lam, weights.sum())
    other = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10000)
    theirs = float(p.primal(other.fit(X, y, sample_weight=weights).coef_.T))
    np.testing.assert_allclose(float(one.certificate.primal), theirs, rtol=1e-6)
    assert float(one.certificate.dual) <= theirs + 1e-12
    np.testing.assert_array_equal(js.predict(p, one, X), other.predict(X))


def test_multi_target_ridge():
    X, _ = toy.matrix()
    T, mu = targets(X), 0.7
    p = js.make_erm(X, T, loss=js.MultiSquared(mu), lam=LAM)
    one = js.solve(p, rtol=0.0, atol=1e-12)
    alpha = js.ridge_alpha_from_lam(LAM, len(X), mu)
    other = Ridge(alpha=alpha, fit_intercept=False).fit(X, T)
    np.testing.assert_allclose(one.w, other.coef_.T, atol=1e-5)
    np.testing.assert_allclose(one.certificate.primal, p.primal(other.coef_.T), rtol=1e-10)
    np.testing.assert_allclose(js.predict(p, one, X), other.predict(X), atol=1e-5)


def test_free_intercept_of_multi_target_ridge():
    X, _ = toy.matrix()
    T = targets(X) + np.array([5.0, -3.0, 0.0])[None, :]
    p = js.make_erm(X, T, loss=js.MultiSquared(), lam=LAM, intercept="free")
    other = Ridge(alpha=LAM * len(X), tol=1e-12).fit(X, T)
    w = jnp.asarray(np.vstack([other.coef_.T, other.intercept_[None, :]]))
    certificate = p.certificate(js.Point(w))
    assert abs(float(certificate.gap)) <= 1e-10
    alpha = p.complete(js.Point(jnp.zeros_like(w))).dual
    np.testing.assert_allclose(p.c @ alpha, 0.0, atol=1e-12)


def test_one_output_is_the_scalar_loss():
    X, _ = toy.matrix()
    t = targets(X, 1)
    many = js.make_erm(X, t, loss=js.MultiSquared(0.7), lam=LAM, weights=toy.weights())
    one = js.make_erm(X, t[:, 0], loss=js.Squared(0.7), lam=LAM, weights=toy.weights())
    state, trace = js.run(many, js.SDCA(), passes=5)
    other, reference = js.run(one, js.SDCA(), passes=5)
    np.testing.assert_allclose(state.vectors[0][:, 0], other.vectors[0], rtol=1e-10, atol=1e-13)
    for field in ("primal", "dual", "floor"):
        np.testing.assert_allclose(getattr(trace, field), getattr(reference, field), rtol=1e-10)


def test_two_classes_are_logistic_with_twice_the_lam():
    """W = (-v/2, v/2) is optimal by symmetry: phi = log(1 + exp(-y <x, v>)) and
    lam/2 ||W||^2 = (lam/2)/2 ||v||^2, so Softmax at lam is Logistic at lam/2."""
    X, y = toy.matrix()
    soft = js.solve(js.make_erm(X, y, loss=js.Softmax(), lam=LAM), rtol=0.0, atol=1e-11)
    p = js.make_erm(X, y, loss=js.Logistic(), lam=LAM / 2)
    plain = js.solve(p, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(soft.certificate.primal, plain.certificate.primal, atol=2e-11)
    np.testing.assert_allclose(soft.w[:, 1] - soft.w[:, 0], plain.w, atol=1e-4)
    np.testing.assert_allclose(soft.w.sum(1), 0.0, atol=1e-12)


# --- SDCA, unchanged ------------------------------------------------------------------------

SAMPLINGS = {"shuffled": js.Shuffled(), "uniform": js.Uniform(), "nice": js.Nice(4)}


CASES = [*(("softmax", s) for s in SAMPLINGS), ("multi_squared", "uniform")]


@LAYOUT
@pytest.mark.parametrize("name, sampling", CASES)
def test_sdca_reaches_a_small_gap(name, make, sampling):
    p = problem(name, make, weights=toy.weights())
    method = js.SDCA(SAMPLINGS[sampling])
    trace = jax.jit(lambda p: js.run(p, method, passes=150, every=150)[1])(p)
    assert -trace.floor[-1] <= trace.gap[-1] <= 1e-8


@pytest.mark.parametrize("name, sampling", CASES)
def test_blocks_and_layouts_agree(name, sampling):
    def after(make, block):
        p = problem(name, make, weights=toy.weights())
        method = js.SDCA(SAMPLINGS[sampling], block=block)
        return jax.jit(lambda p: js.run(p, method, passes=3, every=3)[0])(p)

    reference = after(np.asarray, 1)
    for make, block in ((np.asarray, 32), (sp.csr_matrix, 4)):
        other = after(make, block)
        np.testing.assert_allclose(other.vectors[0], reference.vectors[0], atol=1e-10)
        np.testing.assert_allclose(other.tables[0], reference.tables[0], atol=1e-10)


@BOTH
def test_elastic_net_and_penalised_intercept(name):
    p = problem(name, regularizer=js.ElasticNet(1.0), intercept="penalised")
    one = js.solve(p, rtol=0.0, atol=1e-8)
    assert one.status == "converged" and one.w.shape == (toy.D + 1, K)
    assert (np.asarray(one.w) == 0).any()


@pytest.mark.parametrize(
    "name, make",
    [("softmax", np.asarray), ("softmax", sp.csr_matrix), ("multi_squared", np.asarray)],
    ids=["softmax", "softmax-sparse", "multi_squared"],
)
def test_sweep_is_a_loop(name, make):
    p, lams = problem(name, make), np.array([0.3, 0.1, 0.01])
    grid = js.sweep(p, lams, js.SDCA(), rtol=0.0, max_passes=3)
    for k, lam in enumerate(lams):
        one = js.solve(p.with_lam(lam), js.SDCA(), rtol=0.0, max_passes=3)
        np.testing.assert_allclose(grid.w[k], one.w, atol=1e-10)
        np.testing.assert_allclose(grid.dual[k], one.dual, atol=1e-10)
        np.testing.assert_allclose(grid.certificate.gap[k], one.certificate.gap, atol=1e-10)


# --- the certificate ------------------------------------------------------------------------


@BOTH
def test_grad_is_the_derivative_and_gives_the_certificate(name):
    p = problem(name, weights=toy.weights())
    w = jax.random.normal(jax.random.key(0), (toy.D, K))
    g, same = jax.jit(p.grad)(w), jax.jit(jax.grad(p.primal))(w)
    np.testing.assert_allclose(g, same, rtol=1e-9, atol=1e-12)
    gap = jax.jit(p.certificate)(js.Point(w)).gap
    np.testing.assert_allclose(gap, jnp.sum(g * g) / (2 * p.lam))


@BOTH
def test_any_dual_array_is_made_feasible(name):
    p = problem(name)
    certify = jax.jit(p.certificate)
    for scale in (1e-3, 1.0, 1e3):
        alpha = scale * jax.random.normal(jax.random.key(1), (toy.N, K))
        certificate = certify(js.Point(jnp.zeros((toy.D, K)), alpha))
        assert float(certificate.gap) >= -float(certificate.floor)


@BOTH
@LAYOUT
@pytest.mark.parametrize("lam", [1.0, 1e-3])
def test_float32_gap_is_honest_and_recertified(name, make, lam):
    p = problem(name, make, np.float32, lam=lam)
    one = js.solve(p, rtol=1e-9, max_passes=200)
    gap, floor = float(one.certificate.gap), float(one.certificate.floor)
    assert one.w.dtype == np.float32 and gap >= -floor
    wide = js.recertify(p, one)
    assert wide.primal.dtype == np.float64
    assert -float(wide.floor) <= float(wide.gap) <= gap + 2 * floor


@BOTH
def test_recertify_a_sweep(name):
    p = problem(name)
    grid = js.sweep(p, np.array([0.3, 0.1]), rtol=0.0, max_passes=1)
    wide = js.recertify(p, grid)
    assert wide.gap.shape == (2,)
    np.testing.assert_allclose(wide.gap, grid.certificate.gap, atol=1e-13)


# --- losses ---------------------------------------------------------------------------------


def test_clip_is_optax_projection():
    rng = np.random.default_rng(5)
    y = jnp.eye(4)[rng.integers(0, 4, 50)]
    a = y - jnp.asarray(2.0 * rng.normal(size=(50, 4)))
    with jax.numpy_dtype_promotion("standard"):
        p = jax.vmap(optax.projections.projection_simplex)(y - a)
    np.testing.assert_allclose(js.Softmax().clip(a, y), y - p, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [2, 5, 300])
def test_dual_step_solves_its_equation_at_any_curvature(dtype, m):
    """-x = phi'(z + q (x - a)), which rounding of x reaches up to eps (1 + |z| + q)."""
    rng, count = np.random.default_rng(m), 300
    y = np.eye(m)[rng.integers(0, m, count)]
    z = rng.normal(size=(count, m)) * 10.0 ** rng.uniform(-2, 2, (count, 1))
    old = rng.dirichlet(np.full(m, 0.3), count)
    old[:100] = np.eye(m)[rng.integers(0, m, 100)]
    q = np.where(rng.random(count) < 0.1, 0.0, 10.0 ** rng.uniform(-6, 8, count))
    z, a, y, q = (jnp.asarray(v, dtype) for v in (z, y - old, y, q))
    x = js.Softmax().dual_step(z, a, y, q)
    assert x.dtype == dtype and bool(jnp.all((y - x >= 0) & jnp.isfinite(x)))
    z, a, y, q, x = (np.asarray(v, np.float64) for v in (z, a, y, q, x))
    wanted = -js.Softmax().slope(jnp.asarray(z + q[:, None] * (x - a)), jnp.asarray(y))
    width = np.finfo(dtype).eps * (1.0 + np.abs(z).max(1) + q)
    assert np.all(np.abs(np.asarray(wanted) - x).max(1) <= 4 * width)


def test_softmax_keeps_the_digits_of_small_losses():
    z, y = jnp.array([40.0, 0.0, 1.0]), jnp.array([1.0, 0.0, 0.0])
    expected = np.exp(-40.0) + np.exp(-39.0)
    loss = js.Softmax()
    np.testing.assert_allclose(loss.value(z, y), expected, rtol=1e-12)
    np.testing.assert_allclose(loss.slope(z, y), [-expected, *np.exp([-40.0, -39.0])], rtol=1e-12)
    np.testing.assert_allclose(loss.clip(-loss.slope(z, y), y)[0], expected, rtol=1e-12)


# --- prediction -----------------------------------------------------------------------------


@LAYOUT
def test_predict_labels_and_scores(make):
    X, _ = toy.matrix()
    ws = np.random.default_rng(6).normal(size=(2, toy.D + 1, K))
    one: Any = js.Point(ws[0])
    grid: Any = js.Point(ws)
    for name in ("softmax", "multi_squared"):
        p = problem(name, make, intercept="penalised")
        assert p.labels == (tuple(NAMES) if name == "softmax" else None)
        scores = np.einsum("nd,ldm->lnm", X, ws[:, :-1]) + ws[:, -1:]
        np.testing.assert_allclose(js.decision(p, one, make(X)), scores[0], atol=1e-12)
        np.testing.assert_allclose(js.decision(p, grid, make(X)), scores, atol=1e-12)
        if name == "softmax":
            np.testing.assert_array_equal(js.predict(p, one, X), NAMES[scores[0].argmax(-1)])
            np.testing.assert_array_equal(js.predict(p, grid, X), NAMES[scores.argmax(-1)])
        else:
            np.testing.assert_allclose(js.predict(p, grid, X), scores, atol=1e-12)
        with pytest.raises(ValueError, match=f"X: expected {toy.D} columns"):
            js.predict(p, one, X[:, :3])


@pytest.mark.parametrize(
    "method",
    [js.Subgradient(), js.pegasos(project=True), js.FromOptax(optax.sgd(0.1), batch=7)],
    ids=["subgradient", "pegasos", "optax"],
)
def test_primal_methods_take_several_outputs(method):
    """One step each against jax.grad, and a gap that is a certificate."""
    rng = np.random.default_rng(0)
    p = js.make_erm(rng.normal(size=(30, 4)), np.arange(30) % 3, loss=js.Softmax(), lam=0.1)
    one = js.solve(p, method, rtol=0.0, max_passes=30)
    assert np.all(one.trace.gap >= -one.trace.floor)
    assert one.certificate.gap < 0.3 * one.trace.gap[0]


def test_apcg_refuses_several_outputs_in_words():
    rng = np.random.default_rng(0)
    p = js.make_erm(rng.normal(size=(30, 4)), np.arange(30) % 3, loss=js.Softmax())
    with pytest.raises(ValueError, match="one output; for Softmax use SDCA"):
        js.solve(p, js.APCG())
