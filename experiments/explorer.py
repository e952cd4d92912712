"""What does one certified sweep over lambda give: which gap, objective, error, support vectors?

Breast cancer, a quarter held out, hinge, 33 lambdas from 1e-5 to 10 in one batched program,
float64, each to a relative gap of 1e-4. The report lets a reader drag lambda over these rows.
"""

import time
from typing import Any

import jax
import numpy as np

import jaxopt_svm as js
from experiments.common import Found, set_up
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.html import sweep_rows
from jaxopt_svm.plots import sweep_figure
from jaxopt_svm.report import aligned, lanes

RTOL, RANGE, COUNT, SHARE = 1e-4, (1e-5, 1e1), 33, 0.25


def main(*, quick: bool = False) -> Found:
    set_up()
    data = load("breast_cancer")
    split = need("sklearn.model_selection", "the held-out rows").train_test_split
    X, X_out, y, y_out = split(data.X, data.y, test_size=SHARE, random_state=0, stratify=data.y)
    problem = js.make_erm(X.astype(np.float64), y)
    grid = js.lam_grid(*RANGE, 9 if quick else COUNT)
    began = time.perf_counter()
    solution = js.sweep(problem, grid, rtol=RTOL, key=jax.random.key(0))
    seconds = time.perf_counter() - began
    wrong = lambda X, y: np.mean(js.predict(problem, solution, X) != y, axis=1)
    train, held_out = wrong(X, y), wrong(X_out.astype(np.float64), y_out)
    found = lanes(solution, train, held_out)
    rows: list[dict[str, Any]] = sweep_rows(solution, found)
    best = min(found, key=lambda lane: (lane["held_out_error"], -lane["lam"]))
    done = sum(lane["status"] == js.Status.CONVERGED for lane in found)
    sentence = (
        f"{done} of {len(found)} lambdas are certified to a relative gap of {RTOL:g}; the held-out "
        f"error is least, {best['held_out_error']:.3f}, at lambda = {best['lam']:.2g} with "
        f"{best['support_vectors']} support vectors of {len(y)} examples, and "
        f"{min(lane['support_vectors'] for lane in found)} is the fewest anywhere."
    )
    header = ["lambda", "relative gap", "held-out error", "support vectors"]
    body = [
        [f"{lane['lam']:.3g}", f"{lane['relative_gap']:.1e}", f"{lane['held_out_error']:.4f}"]
        + [str(lane["support_vectors"])]
        for lane in found
    ]
    figure = sweep_figure(
        solution, title=data.name, rtol=RTOL, train=train, held_out=held_out,
        error="share of wrong labels",
    )  # fmt: skip
    return Found(rows, {"seconds": seconds}, aligned([header, *body]), sentence, figure)
