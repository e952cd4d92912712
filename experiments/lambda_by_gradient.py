r"""Does descent on log lambda, with the implicit gradient, land where a grid does?

Breast cancer, half of it to train on and half to validate: the logistic loss on new rows, of a
logistic model, of a linear SVM and of a kernel SVM, as a function of log lambda (and log gamma). A
grid is swept, then Adam of optax walks from either end of it: every step solves tightly from the
last solution, takes js.validation_slope and moves. The hinge's curve has kinks, and a walk may end
in a local minimum of it; what is compared is the loss they end with. The kernel's grid has one
width, scikit-learn's gamma="scale", and its walks move the width too: they may end below the grid.
"""

import time
from typing import Any

import numpy as np
import optax

import jaxopt_svm as js
from experiments.budget import each
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.data import load
from jaxopt_svm.report import aligned

JUDGE = js.Logistic()
RTOL = 1e-9
COLOURS = {"logistic": "#0072b2", "hinge": "#d55e00", "kernel hinge": "#009e73"}


def split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    data = load("breast_cancer")
    order = np.random.default_rng(0).permutation(len(data.y))
    train, new = order[:284], order[284:]
    return data.X[train], data.y[train], data.X[new], data.y[new]


def tight(problem, start=None):
    """A solution whose slope can be trusted."""
    if isinstance(problem, js.KernelSVM):
        return js.solve(problem, js.ActiveSet(capacity=284), rtol=RTOL, max_passes=3000)
    method = js.SDCA() if problem.loss.smooth else js.InteriorPointLowRank()
    return js.solve(problem, method, rtol=RTOL, max_passes=20_000, start=start)


def walk(make, at: np.ndarray, new, steps: int, rate: float) -> list[np.ndarray]:
    """Adam on theta = (log lam) or (log lam, log gamma): rows (theta, loss, slope in log lam)."""
    adam = optax.adam(optax.cosine_decay_schedule(rate, steps))
    theta, found, start = np.asarray(at, float), [], None
    state = adam.init(theta)
    for _ in range(steps):
        problem = make(theta)
        solution = tight(problem, start)
        slope = js.validation_slope(problem, solution, *new, loss=JUDGE)
        start = solution if isinstance(problem, js.ERM) else None
        found.append(np.array([*theta, slope.value, slope.log_lam]))
        gradient = np.array([slope.log_lam])
        if len(theta) > 1:
            gradient = np.append(gradient, slope.kernel.gamma * np.exp(theta[1]))
        updates, state = adam.update(gradient, state, theta)
        theta = np.asarray(optax.apply_updates(theta, updates))
    return found


def main(*, quick: bool = False) -> Found:
    set_up()
    started = time.perf_counter()
    X, y, *new = split()
    count, steps, rate = (9, 25, 1.0) if quick else (41, 50, 0.8)
    lams = js.lam_grid(1e-5, 1e0, count)
    rows: list[dict[str, Any]] = []
    table = [["model", "from lambda", "ends at", "loss", "best of the grid", "its loss", "seconds"]]
    figure = new_figure(figsize=(8, 3.6))
    axes = figure.subplots()
    facts: dict[str, Any] = {}
    models = [name for name in COLOURS if not (quick and "kernel" in name)]
    for name in each(models):
        if name == "kernel hinge":
            width = js.scale_gamma(X)
            make = lambda t: js.make_kernel_svm(
                X, y, kernel=js.RBF(float(np.exp(t[1]))), lam=float(np.exp(t[0])), intercept="free"
            )
            extra = [np.log(width)]
        else:
            problem = js.make_erm(X, y, loss=js.Logistic() if name == "logistic" else js.Hinge())
            make = lambda t, problem=problem: problem.with_lam(float(np.exp(t[0])))
            extra = []
        curve = [
            js.validation_slope(p, tight(p), *new, loss=JUDGE).value
            for p in (make(np.array([np.log(lam), *extra])) for lam in lams)
        ]
        best = int(np.argmin(curve))
        colour = COLOURS[name]
        axes.plot(lams, curve, color=colour, marker="o", markersize=2.5, linewidth=1.0, label=name)
        rows += [{"model": name, "lam": a, "loss": b, "walk": ""} for a, b in zip(lams, curve)]
        for end in (0, -1):
            began = time.perf_counter()
            path = walk(make, np.array([np.log(lams[end]), *extra]), new, steps, rate)
            seconds = time.perf_counter() - began
            last = path[-1]
            axes.plot(np.exp(last[0]), last[-2], "*", color=colour, markersize=11, clip_on=False)
            axes.plot(
                np.exp([p[0] for p in path]), [p[-2] for p in path], ":", color=colour, alpha=0.6
            )
            rows += [
                {"model": name, "lam": np.exp(p[0]), "loss": p[-2], "slope": p[-1],
                 "gamma": np.exp(p[1]) if extra else "", "walk": f"from {lams[end]:g}"}
                for p in path
            ]  # fmt: skip
            cells = [f"{lams[end]:.0e}", f"{np.exp(last[0]):.2e}", f"{last[-2]:.4f}"]
            cells += [f"{lams[best]:.2e}", f"{curve[best]:.4f}", f"{seconds:.1f}"]
            table.append([name, *cells])
            facts[f"{name} from {lams[end]:g}: loss / the grid's best"] = last[-2] / curve[best]
    axes.set_xscale("log")
    axes.set(xlabel="lambda", ylabel="logistic loss on new rows", title="")
    axes.set_ylim(bottom=0, top=0.5)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    worst = max(facts.values())
    sentence = (
        f"From either end Adam on log lambda ends with a validation loss at most {worst:.3f} times "
        f"that of the best of {count} lambdas, in {steps} solves."
    )
    facts["seconds"] = time.perf_counter() - started
    return Found(rows, facts, aligned(table, left=(0,)), sentence, figure)
