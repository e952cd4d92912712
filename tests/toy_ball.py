"""Rows of the table for problems over a ball, populations and kernel counts."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

import jaxopt_svm as js
from tests import toy

RADIUS = 0.7


def ball64(loss) -> js.Ball:
    """float64, dense, weighted, with an all-zero row."""
    X, y = toy.matrix()
    return js.make_ball(X, toy.targets(y, loss), loss=loss, B=RADIUS, weights=toy.weights())


def ball32(loss) -> js.Ball:
    """float32, sparse."""
    X, y = toy.matrix()
    X = sp.csr_matrix(X.astype(np.float32))
    return js.make_ball(X, toy.targets(y, loss), loss=loss, B=RADIUS)


def balls(loss) -> dict:
    return {
        "dense64": functools.partial(ball64, loss),
        "padded32": functools.partial(ball32, loss),
    }


def draw(key, dtype):
    """Noisy labels of a plane through the unit sphere of five dimensions."""
    at, noise = jax.random.split(key)
    x = jax.random.normal(at, (5,), dtype)
    x = x / jnp.sqrt(jnp.sum(x * x))
    y = jnp.where(x[0] + 0.2 * jax.random.normal(noise, (), dtype) > 0, 1.0, -1.0)
    return x, y.astype(dtype)


def population(dtype) -> js.Population:
    return js.make_population(functools.partial(draw, dtype=dtype), B=RADIUS, keep=400)


POPULATIONS = {
    "dense64": functools.partial(population, np.float64),
    "padded32": functools.partial(population, np.float32),
}


def kernel(dtype) -> js.KernelSVM:
    X, y = toy.matrix()
    weights = toy.weights() if dtype == np.float64 else None
    return js.make_kernel_svm(
        X.astype(dtype), y, kernel=30.0 * js.RBF(0.3), lam=toy.LAM, weights=weights
    )


KERNELS = {
    "dense64": functools.partial(kernel, np.float64),
    "padded32": functools.partial(kernel, np.float32),
}


def table() -> list[toy.Case]:
    hinge, referee = js.Hinge(), js.ball_sdca()

    def row(id, method, passes, gap, names=()):
        given = {"problems": balls(hinge), "referee": referee, "names": names}
        return toy.Case(id, method, None, passes, gap, **given)

    decay = js.SGD(js.LinearDecay(8000.0), js.Uniform())
    return [
        row("ball-sdca", js.ball_sdca(), 200, 1e-6, names=("ball_sdca",)),
        row("ball-descent", js.subgradient_descent(), 200, 0.1, names=("subgradient_descent",)),
        row("ball-sgd", js.projected_sgd(8000.0), 200, 5e-2, names=("projected_sgd",)),
        row("ball-batch", js.minibatch_sgd(8), 200, 0.1, names=("minibatch_sgd",)),
        row("ball-decay", decay, 200, 5e-2),
        toy.Case(
            "one-pass",
            js.one_pass_sgd(2000.0, examples=100),
            None,
            20,
            0.5,
            names=("one_pass_sgd",),
            problems=POPULATIONS,
            referee=referee,
        ),
        toy.Case(
            "kernel-pegasos",
            js.KernelPegasos(js.Shuffled()),
            None,
            200,
            5e-2,
            names=("kernel_pegasos",),
            problems=KERNELS,
            referee=js.BoxSDCA(),
        ),
        toy.Case("huber-agd", js.huber_agd(), hinge, 300, 1e-3, names=("huber_agd",)),
        toy.Case("huber-gd", js.huber_gd(0.1), hinge, 300, 5e-2, names=("huber_gd",)),
    ]
