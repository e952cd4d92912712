r"""What does epsilon cost gradient descent and SGD as the number N of examples grows?

The lecture compares N d ln(1/eps) operations of gradient descent with d/eps of SGD. Measured in
decodings (one example looked at) until P - P* <= eps, at a fixed lambda, on single letters of OCR
words (digits where they are missing): gradient descent with step 1/L on the CRF, which is smooth;
SGD with step 1/(lam t) and the mean with nu = 3 on the CRF and on the structural SVM. Expected:
gradient descent pays N for each of a number of steps that does not depend on N; SGD does not see N.
"""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxopt_svm as js
from experiments.averaging import MEANS, follow
from experiments.budget import each
from experiments.common import Found, set_up
from experiments.figures import dress, new_figure
from jaxopt_svm.data import load_structured
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

LAM, EPSILONS, SEEDS = 0.02, (0.1, 0.03, 0.01), 3
NU = 1 + list(MEANS).index("nu = 3")


def letters(quick: bool) -> tuple[str, np.ndarray, np.ndarray, list[int]]:
    """Rows of length 1, labels, and the numbers of examples to try."""
    try:
        if quick:
            raise FileNotFoundError
        words = load_structured("ocr").train
        X = np.concatenate(words.X).astype(float)
        y = np.unique(np.concatenate(words.y), return_inverse=True)[1]
        name, sizes = "OCR letters", [400, 1600, 6400, 25_600]
    except FileNotFoundError:
        X, y = need("sklearn.datasets", "the digits").load_digits(return_X_y=True)
        name, sizes = "digits", [200, 800] if quick else [200, 400, 800, 1600]
    order = np.random.default_rng(0).permutation(len(y))
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return name, X[order], y[order], sizes


@jax.jit
def descend(problem, steps):
    """(len(steps),) P after each step of 1/L from 0; the softmax of rows of length 1 has L 1/2."""
    size = 1.0 / (problem.lam + 0.5)
    step = lambda w, _: (w - size * problem.grad(w), problem.primal(w))
    return lax.scan(step, jnp.zeros(problem.d), steps)[1]


def least(problem) -> float:
    """P* of a smooth problem, by L-BFGS."""
    both = jax.jit(lambda w: (problem.primal(w), problem.grad(w)))
    f = lambda w: tuple(np.asarray(x, float) for x in both(jnp.asarray(w)))
    options = {"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-9}
    optimize = need("scipy.optimize", "the optimum of the CRF")
    found = optimize.minimize(f, np.zeros(problem.d), jac=True, method="L-BFGS-B", options=options)
    return float(found.fun)


def first(cost: np.ndarray, excess: np.ndarray, eps: float) -> float:
    """Where a curve falls below eps for good, log-linear between the records around it."""
    above = np.flatnonzero(excess > eps)
    k = int(above[-1]) + 1 if above.size else 0
    if k >= len(cost):
        return np.inf
    if k == 0:
        return float(cost[0])
    a, b = np.log(excess[k - 1]), np.log(max(excess[k], 1e-12))
    share = (a - np.log(eps)) / (a - b)
    return float(cost[k - 1] * (cost[k] / cost[k - 1]) ** share)


def main(*, quick: bool = False) -> Found:
    set_up()
    started = time.perf_counter()
    name, X, y, sizes = letters(quick)
    classes = int(y.max()) + 1
    T, seeds = (4000, 2) if quick else (60_000, SEEDS)
    marks = np.unique(np.geomspace(50, T, 8 if quick else 24).astype(int))
    rows: list[dict[str, Any]] = []
    kinds = ("GD, CRF", "SGD, CRF", "SGD, SVM")
    for N in each(sizes, "N ="):
        hinge = js.make_multiclass(X[:N], y[:N], classes=classes, lam=LAM)
        smooth = js.crf(hinge)
        level = least(smooth)
        steps = 150 if quick else 600
        curves = {
            kinds[0]: (N * (1.0 + np.arange(steps)), descend(smooth, jnp.arange(steps)) - level)
        }
        best = js.solve(hinge, js.SDM(), rtol=1e-3, max_passes=100).certificate.dual
        for kind, problem, target in ((kinds[1], smooth, level), (kinds[2], hinge, float(best))):
            values = follow(problem, js.StructuredSGD(capacity=0), seeds, marks)
            curves[kind] = (marks.astype(float), values[:, :, NU].mean(1) - target)
        for kind, (cost, excess) in curves.items():
            for eps in EPSILONS:
                found = first(cost, np.asarray(excess), eps)
                rows.append({"data": name, "N": N, "method": kind, "eps": eps, "decodings": found})
    done = sorted({row["N"] for row in rows})
    at = {(r["method"], r["N"], r["eps"]): r["decodings"] for r in rows}
    figure = new_figure(figsize=(13, 4.4))
    axes = figure.subplots(1, len(EPSILONS), sharey=True)
    growth = {}
    for ax, eps in zip(axes, EPSILONS):
        for k, kind in enumerate(kinds):
            cost = np.array([at[kind, N, eps] for N in done])
            use = np.isfinite(cost)
            ax.plot(np.array(done)[use], cost[use], "o-", color=f"C{k}", label=kind)
            if use.sum() > 1:
                fit = np.polyfit(np.log(np.array(done)[use]), np.log(cost[use]), 1)[0]
                growth[kind, eps] = float(fit)
        dress(ax, "examples N", "decodings to P - P* <= eps", f"eps = {eps:g}")
    table = [["", *(f"N = {N:,}" for N in done), "grows like"]]
    show = lambda x: f"{x:,.0f}" if np.isfinite(x) else "more"
    for eps in EPSILONS:
        for kind in kinds:
            power = growth.get((kind, eps))
            line = [f"eps = {eps:g}: {kind}", *(show(at[kind, N, eps]) for N in done)]
            table.append([*line, "-" if power is None else f"N^{power:.2f}"])
    tell = lambda kind: ", ".join(
        f"N^{growth[kind, eps]:.2f}" for eps in EPSILONS if (kind, eps) in growth
    )
    sentence = (
        f"On {name}, for eps = {', '.join(f'{e:g}' for e in EPSILONS)} the decodings grow like "
        f"{tell(kinds[0])} for gradient descent on the CRF, {tell(kinds[1])} for SGD on it and "
        f"{tell(kinds[2])} for SGD on the SVM; at N = {done[-1]:,}, eps = {EPSILONS[-1]:g} that is "
        + " against ".join(show(at[kind, done[-1], EPSILONS[-1]]) for kind in kinds)
        + "."
    )
    facts = {"seconds": time.perf_counter() - started}
    return Found(rows, facts, aligned(table, (0,)), sentence, figure)
