"""The problem itself: closed forms, weights, intercepts, labels, prediction."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import pytest
import scipy.sparse as sp

import jaxopt_svm as js
from tests import toy

pytestmark = pytest.mark.usefixtures("quick_compilation")

# --- closed forms ---------------------------------------------------------------------------


def test_hinge_with_a_large_lam_is_the_mean():
    """For lam >= max_i <y_i x_i, mean(y x)> no margin is reached: w = mean(y x)/lam, gap 0."""
    X, y = toy.matrix()
    mean = (X * y[:, None]).mean(0)
    lam = 1.001 * (X * y[:, None] @ mean).max()
    p = js.make_erm(X, y, lam=lam)
    certificate = p.certificate(js.Point(jnp.asarray(mean / lam), jnp.asarray(y)))
    assert abs(float(certificate.gap)) <= float(certificate.floor)
    one = js.solve(p, rtol=1e-12)
    np.testing.assert_allclose(one.w, mean / lam, rtol=1e-10)


def test_ridge_has_its_closed_form():
    X, y = toy.matrix()
    t, c, lam = y + 0.3 * X[:, 0], toy.weights() / toy.weights().sum(), 0.07
    p = js.make_erm(X, t, loss=js.Squared(), lam=lam, weights=toy.weights())
    w = np.linalg.solve(X.T * c @ X + lam * np.eye(X.shape[1]), X.T * c @ t)
    one = js.solve(p, rtol=1e-14, max_passes=3000)
    np.testing.assert_allclose(one.w, w, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("loss", [js.Hinge(), js.Logistic(), js.SmoothHinge(0.3)])
def test_one_example(loss):
    """n = 1: one coordinate step is the answer."""
    p = js.make_erm(
        np.array([[3.0, 4.0], [0.0, 0.0]]), [1, -1], loss=loss, lam=0.5, weights=[1.0, 0.0]
    )
    one = js.solve(p, rtol=1e-12, max_passes=3)
    assert one.status in ("converged", "precision_floor")


def test_ridge_certificate_of_a_primal_point():
    """For smooth losses with l2, alpha from slopes gives gap = ||grad P||^2 / (2 lam)."""
    for name in ("squared", "logistic", "smooth_hinge"):
        p = toy.dense64(toy.LOSSES[name])
        w = jax.random.normal(jax.random.key(0), (toy.D,))
        g = p.grad(w)
        np.testing.assert_allclose(
            p.certificate(js.Point(w)).gap, jnp.vdot(g, g) / (2 * p.lam), rtol=1e-10
        )


@pytest.mark.parametrize("name", toy.LOSSES)
@pytest.mark.parametrize("net", [False, True])
def test_grad_is_the_derivative(name, net):
    regularizer = js.ElasticNet(0.3) if net else js.L2()
    p = toy.dense64(toy.LOSSES[name], regularizer=regularizer)
    w = jax.random.normal(jax.random.key(1), (toy.D,))
    np.testing.assert_allclose(p.grad(w), jax.grad(p.primal)(w), rtol=1e-9, atol=1e-12)


# --- weights --------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", toy.LOSSES)
def test_zero_weight_is_a_deleted_row_and_two_is_a_repeated_one(name, sparse):
    loss = toy.LOSSES[name]
    X, y = toy.matrix()
    y, count = toy.targets(y, loss), np.arange(toy.N) % 3
    make = sp.csr_matrix if sparse else np.asarray
    weighted = js.make_erm(make(X), y, loss=loss, lam=0.1, weights=count)
    index = np.repeat(np.arange(toy.N), count)
    repeated = js.make_erm(make(X[index]), y[index], loss=loss, lam=0.1)
    w = jax.random.normal(jax.random.key(2), (toy.D,))
    alpha = loss.clip(jax.random.normal(jax.random.key(3), (toy.N,)), weighted.y)
    mine = weighted.certificate(js.Point(w, alpha))
    theirs = repeated.certificate(js.Point(w, alpha[index]))
    for a, b in zip(mine, theirs):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    if sparse or name not in ("hinge", "logistic"):
        return  # the certificates agree everywhere; solving a few is enough
    solved = [js.solve(p, rtol=1e-11, max_passes=2000) for p in (weighted, repeated)]
    np.testing.assert_allclose(*(s.certificate.primal for s in solved), rtol=1e-10)


def test_C_is_lam_with_weights():
    X, y = toy.matrix()
    assert float(js.make_erm(X, y, C=2.0).lam) == pytest.approx(js.lam_from_C(2.0, toy.N))
    weighted = js.make_erm(X, y, C=2.0, weights=toy.weights())
    assert float(weighted.lam) == pytest.approx(1 / (2.0 * toy.weights().sum()))
    assert js.C_from_lam(js.lam_from_C(3.0, 7), 7) == pytest.approx(3.0)


# --- intercepts -----------------------------------------------------------------------------


def test_a_free_intercept_is_certified_and_found():
    """Shifted data: without the equality constraint the 'dual' would exceed P*."""
    X, y = toy.matrix()
    p = js.make_erm(X, y + 5.0, loss=js.Squared(), lam=0.1, intercept="free")
    one = js.solve(p, rtol=1e-8, max_passes=20000)
    assert one.method == "newton" and one.status == "converged"
    Xc, t = X - X.mean(0), y + 5.0
    w = np.linalg.solve(Xc.T @ Xc / toy.N + 0.1 * np.eye(toy.D), Xc.T @ (t - t.mean()) / toy.N)
    np.testing.assert_allclose(one.w[:-1], w, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(one.w[-1], t.mean() - X.mean(0) @ w, rtol=1e-4)


@pytest.mark.parametrize("name", toy.LOSSES)
def test_weak_duality_with_a_free_intercept(name):
    loss = toy.LOSSES[name]
    X, y = toy.matrix()
    p = js.make_erm(X, toy.targets(y, loss), loss=loss, lam=0.1, intercept="free")
    one = js.solve(p, max_passes=300, rtol=0.0)
    assert np.all(one.trace.gap >= -one.trace.floor)
    alpha = p.complete(js.Point(one.w)).dual
    assert abs(float(jnp.sum(p.c * alpha))) < 1e-12


def test_without_balancing_the_dual_would_be_too_high():
    """The equality constraint matters: the raw slopes give a 'bound' above P*."""
    X = toy.matrix()[0]
    p = js.make_erm(X, np.r_[np.ones(30), -np.ones(10)], lam=0.1, intercept="free")
    best = js.solve(p, max_passes=3000, rtol=0.0)
    raw = p.dual(-p.loss.slope(p.rows.matvec(jnp.zeros(toy.D + 1)), p.y))
    assert float(raw) > float(best.certificate.primal)


# --- input and labels -----------------------------------------------------------------------


@pytest.mark.parametrize("labels", [(-1, 1), (0, 1), ("cat", "dog"), (False, True), (3.5, 7.25)])
def test_labels_are_mapped_back(labels):
    X, y = toy.matrix()
    named = np.asarray(labels)[(y > 0).astype(int)]
    p = js.make_erm(X, named, lam=1e-2)
    one = js.solve(p)
    predicted = js.predict(p, one, X)
    assert predicted.dtype == named.dtype
    assert (predicted == named).mean() > 0.8


@pytest.mark.parametrize("intercept", ["none", "penalised", "free"])
def test_prediction_for_one_and_for_a_grid(intercept):
    X, y = toy.matrix()
    p = js.make_erm(X, y, lam=1e-2, intercept=intercept)
    grid = js.sweep(p, [1e-2, 1e-1], max_passes=5)
    scores = js.decision(p, grid, X)
    assert scores.shape == (2, toy.N) and js.predict(p, grid, X).shape == (2, toy.N)
    w = np.asarray(grid.w)
    b = np.zeros(2) if intercept == "none" else w[:, -1]
    np.testing.assert_allclose(scores, w[:, : toy.D] @ X.T + b[:, None], rtol=1e-12)
    np.testing.assert_allclose(js.decision(p, grid, sp.csr_matrix(X)), scores, rtol=1e-10)
    with pytest.raises(ValueError, match="expected 6 columns"):
        js.predict(p, grid, X[:, :4])


def test_every_kind_of_matrix_gives_the_same_problem():
    X, y = toy.matrix()
    point = js.Point(jnp.arange(toy.D, dtype=float))
    kinds = [X, jnp.asarray(X), X.tolist(), pd.DataFrame(X), sp.csr_matrix(X), sp.coo_array(X)]
    values = [float(js.make_erm(k, pd.Series(y)).certificate(point).gap) for k in kinds]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)
    integers = js.make_erm((X > 0).astype(int), y)
    assert integers.rows.X.dtype == jnp.float64


def test_long_rows_widen_nobody_and_lose_nothing():
    rng = np.random.default_rng(0)
    X = sp.random(200, 500, density=0.01, format="lil", rng=np.random.default_rng(0))
    X[17] = rng.normal(size=500)
    X[5] = 0.0
    p = js.make_erm(X, rng.choice([-1, 1], 200), intercept="penalised")
    assert p.rows.vals.size < 4 * X.nnz + 2000
    w = rng.normal(size=501)
    np.testing.assert_allclose(p.rows.matvec(jnp.asarray(w)), X @ w[:-1] + w[-1], rtol=1e-12)
    a = rng.normal(size=200)
    np.testing.assert_allclose(p.rows.rmatvec(jnp.asarray(a))[:-1], X.T @ a, atol=1e-12)
    np.testing.assert_allclose(
        p.rows.sqnorms, np.asarray(X.power(2).sum(1)).ravel() + 1, rtol=1e-12
    )
    assert int(p.rows.column_counts()[-1]) == 200
    stored = np.bincount(X.tocsr().indices, minlength=500)
    np.testing.assert_array_equal(p.rows.column_counts()[:-1], stored)


def test_a_matrix_without_any_stored_value():
    p = js.make_erm(sp.csr_matrix((4, 3)), [1, -1, 1, -1])
    one = js.solve(p)
    np.testing.assert_allclose(one.certificate.primal, 1.0)


def test_conversions_of_sgd_alpha_and_ridge_alpha():
    lam, kappa = js.lam_from_sgd_alpha(0.01, 0.15)
    assert js.sgd_alpha_from_lam(lam, kappa) == pytest.approx((0.01, 0.15))
    assert js.ridge_alpha_from_lam(js.lam_from_ridge_alpha(2.0, 50), 50) == pytest.approx(2.0)


# --- losses as functions --------------------------------------------------------------------


def test_a_network_trains_with_the_hinge():
    """The losses are plain jax functions: a two-layer network on a circle, by optax.adam."""
    key = jax.random.key(0)
    X = jax.random.normal(key, (200, 2))
    y = jnp.where(jnp.sum(X**2, axis=1) > 1.2, 1.0, -1.0)
    keys = jax.random.split(key)
    params = {
        "in": jax.random.normal(keys[0], (3, 16)),
        "out": 0.1 * jax.random.normal(keys[1], (16,)),
    }
    features = jnp.concatenate([X, jnp.ones((200, 1))], axis=1)

    def objective(params):
        scores = jax.nn.relu(features @ params["in"]) @ params["out"]
        return jnp.mean(js.Hinge().value(scores, y))

    tx = optax.adam(0.02)
    state = tx.init(params)

    @jax.jit
    def step(params, state):
        value, g = jax.value_and_grad(objective)(params)
        updates, state = tx.update(g, state)
        return optax.apply_updates(params, updates), state, value

    first = float(objective(params))
    with jax.numpy_dtype_promotion("standard"):
        for _ in range(300):
            params, state, value = step(params, state)
    assert float(value) < 0.2 * first


def test_averaging_weights_are_the_lectures():
    """PolynomialMean(nu) against the recursion mean <- (1 - rho) mean + rho w."""
    rule, w = js.PolynomialMean(3.0), jnp.arange(1.0, 4.0)
    mean, expected = rule.start(w), w
    for t in range(1, 30):
        iterate = jnp.sin(t * w)
        mean = rule.add(rule.turn(mean), iterate)
        rho = 4.0 / (t + 3.0)
        expected = (1 - rho) * expected + rho * iterate
        np.testing.assert_allclose(rule.value(mean, iterate), expected, rtol=1e-10)


def test_suffix_mean_covers_the_last_half_or_more():
    rule, zero = js.SuffixMean(), jnp.zeros(1)
    mean = rule.start(zero)
    for t in range(1, 200):
        mean = rule.add(rule.turn(mean), jnp.full(1, float(t)))
        first = 2 * float(rule.value(mean, zero)[0]) - t  # the mean of first..t
        assert 1 <= first <= t / 2 + 1
        assert t < 8 or first >= t / 4
