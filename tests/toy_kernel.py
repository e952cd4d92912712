"""Rows of the table for kernel machines, and the fixtures of this family.

The points hold every awkward case: a zero point, two equal points with one label and two with
different labels, an example without weight.
"""

import functools
from typing import Any

import numpy as np

import jaxopt_svm as js
from tests.toy import LAM, Case, matrix, weights


def points(dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    X, y = matrix()
    X[5], X[7] = X[4], X[6]
    y[5], y[7] = y[4], -y[6]
    return X.astype(dtype), y


def kernel64(kernel, **options: Any) -> js.KernelSVM:
    """float64, weighted."""
    X, y = points()
    return js.make_kernel_svm(X, y, kernel=kernel, lam=LAM, weights=weights(), **options)


def kernel32(kernel, **options: Any) -> js.KernelSVM:
    """float32, from a Gram matrix."""
    X, y = points(np.float32)
    K = kernel.matrix(X, X)
    return js.make_kernel_svm(K, y, kernel="precomputed", lam=LAM, **options)


def fixtures(kernel: Any, **options: Any) -> dict:
    return {
        "dense64": functools.partial(kernel64, kernel, **options),
        "padded32": functools.partial(kernel32, kernel, **options),
    }


def erm64() -> js.ERM:
    X, y = points()
    return js.make_erm(X, y, lam=LAM, weights=weights(), intercept="free")


def erm32() -> js.ERM:
    X, y = points(np.float32)
    return js.make_erm(X, y, lam=LAM, intercept="penalised")


def table() -> list[Case]:
    free, none = fixtures(js.RBF(0.3), intercept="free"), fixtures(js.Polynomial(0.2, 1.0))
    linear = {"dense64": erm64, "padded32": erm32}

    def row(id, method, passes, gap, problems, names=()):
        return Case(id, method, None, passes, gap, names=names, problems=problems, picks=True)

    active = js.ActiveSet(capacity=64, pivots=4)
    logistic = fixtures(js.RBF(0.3), loss=js.Logistic())
    return [
        row("smo", js.SMO(), 120, 1e-9, free, ("smo",)),
        row("shrinking-mask", js.ShrinkingSMO(every=8), 80, 1e-8, free, ("shrinking_smo",)),
        row("decomposition", js.Decomposition(q=8, rounds=1), 120, 1e-9, free, ("decomposition",)),
        row("active-set", active, 60, 1e-12, free, ("active_set",)),
        row("box-sdca", js.BoxSDCA(), 400, 1e-6, none, ("box_sdca",)),
        row("kernel-logistic", js.BoxSDCA(), 60, 1e-9, logistic),
        row("interior-point", js.InteriorPoint(), 20, 1e-9, free, ("interior_point",)),
        row(
            "interior-point-lowrank",
            js.InteriorPointLowRank(),
            20,
            1e-9,
            linear,
            ("interior_point_lowrank",),
        ),
        row("svm-perf", js.SVMPerf(capacity=128), 60, 1e-6, linear, ("svm_perf",)),
    ]
