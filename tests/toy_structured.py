"""Structured problems with nothing special about them, and the rows of their methods."""

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import scipy.sparse as sp

import jaxopt_svm as js
from tests.toy import LAM, Case, weights

N, F, K, LONGEST = 24, 4, 3, 4


def sequences(seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Sequences of 1 to 4 tokens, labels that depend on their neighbours, one token all zero."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(1 + i % LONGEST, F)) for i in range(N)]
    X[-1][0] = 0.0
    W = rng.normal(size=(F, K))
    y = [(x @ W + 0.5 * np.roll(x @ W, 1, axis=0)).argmax(1) for x in X]
    return X, y


def parents(X) -> list[np.ndarray]:
    """A tree on each sequence: node v hangs below node (v - 1) // 2."""
    return [np.r_[-1, (np.arange(1, x.shape[0]) - 1) // 2] for x in X]


def make(kind: str, sparse: bool, **options: Any) -> js.Structured:
    """float64, dense and weighted, or float32 and sparse."""
    X, y = sequences()
    options = {"lam": LAM, "classes": K, **options}
    if not sparse:
        options = {"weights": weights(N), **options}
    as_given = (lambda x: sp.csr_matrix(x.astype(np.float32))) if sparse else (lambda x: x)
    if kind == "multiclass":
        first = as_given(np.stack([x[0] for x in X]))
        return js.make_multiclass(first, np.array([labels[0] for labels in y]), **options)
    X = [as_given(x) for x in X]
    if kind == "chain":
        return js.make_chain(X, y, **options)
    return js.make_tree(X, y, parents(X), **options)


def fixtures(kind: str, **options: Any) -> dict[str, Any]:
    return {
        "dense64": functools.partial(make, kind, False, **options),
        "padded32": functools.partial(make, kind, True, **options),
    }


MULTICLASS, CHAIN, TREE = (fixtures(kind) for kind in ("multiclass", "chain", "tree"))


def turned(problems: dict[str, Any], turn) -> dict[str, Any]:
    """The same problems with another surrogate."""
    return {name: (lambda make=make: turn(make())) for name, make in problems.items()}


CRF, POSLEARN = turned(CHAIN, js.crf), turned(CHAIN, js.poslearn)
SLACK = turned(MULTICLASS, js.slack_rescaling)
_ADAM = optax.adam(lambda t: 0.3 / jnp.sqrt(1.0 + t))
_CRF_REFEREE = js.FromOptax(_ADAM, batch=None)


def row(id, method, problems, passes, gap, *names) -> Case:
    referee = js.FASOLE()
    return Case(
        id, method, None, passes, gap, names=names, problems=problems, referee=referee, picks=True
    )


def table() -> list[Case]:
    batch = js.StructuredSGD(js.InverseSqrt(0.5), batch=4, project=True)
    perceptron, averaged = js.StructuredPerceptron(), js.averaged_perceptron()
    gap_sampled = js.BCFW(sampling=js.GapProportional())
    return [
        row("sda", js.SDA(), MULTICLASS, 100, 1e-2, "sda"),
        row("sda-maximal-gain", js.SDA(rule=js.MaximalGain()), MULTICLASS, 200, 1e-6),
        row("bcfw", js.BCFW(), CHAIN, 200, 1e-2, "bcfw"),
        row("bcfw-gaps", gap_sampled, MULTICLASS, 200, 1e-2),
        row("bcfw-averaged", js.BCFW(average=True, block=4), MULTICLASS, 200, 1e-2),
        row("frank-wolfe", js.FrankWolfe(), TREE, 200, 1e-2, "frank_wolfe"),
        row("fasole", js.FASOLE(), CHAIN, 800, 1e-6, "fasole"),
        row("sdm", js.SDM(), TREE, 100, 1e-6, "sdm"),
        row("bmrm", js.BMRM(), MULTICLASS, 20, 1e-3, "bmrm"),
        row("oca", js.OCA(), MULTICLASS, 10, 1e-3, "oca"),
        row("structured-sgd", js.StructuredSGD(), CHAIN, 60, 1e-1, "structured_sgd"),
        row("structured-sgd-batch", batch, MULTICLASS, 100, 1e-1),
        row("perceptron", perceptron, MULTICLASS, 20, 1.0, "structured_perceptron"),
        row("averaged-perceptron", averaged, MULTICLASS, 20, 1.0, "averaged_perceptron"),
        row("adagrad", js.structured_adagrad(), MULTICLASS, 100, 0.5, "structured_adagrad"),
        row("rmsprop", js.structured_rmsprop(), MULTICLASS, 100, 0.2, "structured_rmsprop"),
        row("adam", js.structured_adam(), MULTICLASS, 100, 0.2, "structured_adam"),
        row("crf", js.FromOptax(_ADAM, batch=None), CRF, 200, 1e-6)._replace(referee=_CRF_REFEREE),
        row("poslearn-fasole", js.FASOLE(), POSLEARN, 100, 1e-3),
        row("slack-fasole", js.FASOLE(), SLACK, 200, 1e-4),
        row("sdm-steepest", js.SDM(pair=js.Steepest()), MULTICLASS, 100, 1e-6),
    ]
