"""Kernels: the fast forms are the definition, all are positive semidefinite, bad ones refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ExpSineSquared
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

import jaxopt_svm as js
from jaxopt_svm.problems.kernels import Kernel

KERNELS = {
    "linear": js.Linear(),
    "rbf": js.RBF(0.7),
    "polynomial": js.Polynomial(0.5, 1.0, degree=3),
    "periodic": js.Periodic(0.8, 1.3),
    "sum": js.RBF(0.7) + js.Linear(),
    "product": js.RBF(0.2) * js.Periodic(),
    "scaled": 2.5 * js.RBF(0.7) + 1.0,
    "nested": (js.Linear() + 0.5) * (0.3 * js.RBF(0.1) + js.Periodic(2.0, 0.5)),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)


def points(dtype: type = np.float64):
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 3)).astype(dtype), rng.normal(size=(7, 3)).astype(dtype)


@every_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fast_forms_are_the_vmapped_definition(name, dtype):
    kernel, (X, Z) = KERNELS[name], points(dtype)
    fast, diagonal = kernel.matrix(X, Z), kernel.diagonal(X)
    slow = jax.vmap(lambda x: jax.vmap(lambda z: kernel(x, z))(jnp.asarray(Z)))(jnp.asarray(X))
    assert fast.dtype == slow.dtype == diagonal.dtype == dtype
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(fast, slow, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(Kernel.matrix(kernel, X, Z), slow, rtol=tolerance)
    np.testing.assert_allclose(diagonal, jnp.diag(kernel.matrix(X, X)), rtol=tolerance)
    np.testing.assert_allclose(diagonal, Kernel.diagonal(kernel, X), rtol=tolerance)


@every_kernel
def test_kernels_are_symmetric_and_positive_semidefinite(name):
    X = np.concatenate(points())
    K = np.asarray(KERNELS[name].matrix(X, X))
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K)


def test_numbers_on_a_line_are_points():
    t = np.linspace(0.0, 2.0, 5)
    for kernel in KERNELS.values():
        np.testing.assert_array_equal(kernel.matrix(t, t), kernel.matrix(t[:, None], t[:, None]))
        np.testing.assert_allclose(kernel(t[1], t[3]), kernel.matrix(t, t)[1, 3], rtol=1e-12)


def test_against_scikit_learn():
    X, Z = points()
    np.testing.assert_allclose(js.Linear().matrix(X, Z), linear_kernel(X, Z), rtol=1e-12)
    np.testing.assert_allclose(js.RBF(0.3).matrix(X, Z), rbf_kernel(X, Z, gamma=0.3), rtol=1e-12)
    cubic = polynomial_kernel(X, Z, degree=3, gamma=0.4, coef0=2)
    np.testing.assert_allclose(js.Polynomial(0.4, 2.0, 3).matrix(X, Z), cubic, rtol=1e-12)
    t = X[:, :1]  # scikit-learn's form has a norm inside the sine: one coordinate only
    periodic = ExpSineSquared(length_scale=np.sqrt(2.0), periodicity=np.pi)(t, t)
    np.testing.assert_allclose(js.Periodic().matrix(t, t), periodic, rtol=1e-12)
    model = SVC(gamma="scale").fit(X, np.arange(9) % 2)
    np.testing.assert_allclose(js.scale_gamma(X), model._gamma, rtol=1e-12)


def test_a_width_can_be_vmapped_and_differentiated():
    X, Z = points()
    widths = jnp.asarray([0.1, 1.0, 3.0])
    stacked = jax.vmap(lambda g: js.RBF(g).matrix(X, Z))(widths)
    for width, K in zip(widths, stacked):
        np.testing.assert_allclose(K, js.RBF(float(width)).matrix(X, Z), rtol=1e-12)
    total = lambda g: jnp.sum(js.RBF(g).matrix(X, X))
    slope = (total(0.5 + 1e-6) - total(0.5 - 1e-6)) / 2e-6
    np.testing.assert_allclose(jax.grad(total)(0.5), slope, rtol=1e-6)


def test_far_from_the_origin_rbf_keeps_its_digits():
    X, Z = points(np.float32)
    near = js.RBF(0.7).matrix(X, Z)
    np.testing.assert_allclose(js.RBF(0.7).matrix(X + 64.0, Z + 64.0), near, rtol=1e-4, atol=1e-6)


BAD = {
    "RBF.gamma": js.RBF(0.0),
    "Polynomial.gamma": js.Polynomial(-1.0),
    "Polynomial.offset": js.Polynomial(1.0, -0.5),
    "Polynomial.degree": js.Polynomial(degree=0),
    "Periodic.frequency": js.Periodic(1.0, np.nan),
    "Scaled.scale": -2.0 * js.Linear(),
    "ConstantKernel.value": js.Linear() + -1.0,
}


@pytest.mark.parametrize("name", BAD)
def test_parameters_that_make_no_kernel_are_refused_by_name(name):
    for kernel in (BAD[name], BAD[name] + js.Linear(), js.Linear() * BAD[name]):
        with pytest.raises(ValueError, match=name):
            kernel.check()
    for kernel in KERNELS.values():
        kernel.check()


def test_only_kernels_and_numbers_combine():
    with pytest.raises(TypeError):
        _ = js.Linear() + "rbf"
    with pytest.raises(TypeError):
        _ = js.RBF() * np.ones(3)
