r"""What does a certified sweep over lambda give in the seconds that LinearSVC would take?

``js.sweep(problem, lams)`` with nothing else said, hinge loss, all lambdas at once, on a9a,
Covertype, MNIST (even against odd) and OCR words as chains; digits and breast cancer with --quick.
Above: the certified relative gap of every lambda against seconds, compilation included. Below: how
far above the best lower bound each answer is, for the sweep, for LinearSVC stopped when its fits
have used the same seconds in all (max_iter raised in steps of four, float64), and for LinearSVC as
it comes (max_iter = 1000). LinearSVC has no certificate: its distance is measured with ours. On a9a
the question is also whether its answer at lambda = 1e-6 is above its own answer at 1e-5, which no
solution is: P* falls with lambda.
"""

import time
import warnings
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxopt_svm as js
from experiments.budget import budget, each
from experiments.common import Found, set_up
from experiments.figures import dress, grey_line, new_figure
from jaxopt_svm.data import load, load_structured
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

RTOL = 1e-3
ITERATIONS = (1, 4, 16, 64, 256, 1000)


class Task(NamedTuple):
    """X, y: for LinearSVC; None where it has nothing to say."""

    name: str
    problem: Any
    lams: np.ndarray
    X: Any = None
    y: Any = None


def task(name: str) -> Task | None:
    """One data set, or None if it is not here."""
    try:
        if name == "OCR":
            words = load_structured("ocr")
            made = js.make_chain(words.train.X, words.train.y, classes=words.classes)
            return Task(f"OCR, {made.n:,} words", made, np.geomspace(1.0, 1e-2, 5))
        data = load(name)
    except FileNotFoundError:
        return None
    made, X = js.make_erm(data.X.astype(np.float32), data.y), data.X
    if hasattr(X, "indices"):  # LinearSVC takes 32-bit indices only
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return Task(f"{name}, n = {made.n:,}", made, np.geomspace(1e-2, 1e-6, 9), X, data.y)


def objective(t: Task, w, lam: float) -> float:
    """P in float64, by numpy: what is compared must not depend on either solver's precision."""
    z = t.y * np.asarray(t.X @ np.asarray(w, float)).ravel()
    return float(np.maximum(0.0, 1.0 - z).mean() + lam / 2 * np.sum(np.asarray(w, float) ** 2))


def linear_svc(t: Task, lam: float, iterations: int) -> tuple[float, float]:
    """Seconds and objective of one fit."""
    svm = need("sklearn.svm", "the comparison with LinearSVC")
    options = {"loss": "hinge", "fit_intercept": False, "random_state": 0}
    model = svm.LinearSVC(C=1 / (lam * t.problem.n), max_iter=iterations, **options)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged is the question
        model.fit(t.X, t.y)
    return time.perf_counter() - started, objective(t, model.coef_.ravel(), lam)


def same_seconds(t: Task, lam: float, seconds: float) -> tuple[float, float]:
    """Its best answer within ``seconds``, however it is stopped; and the one with 1000 rounds."""
    best, last, spent = np.inf, np.nan, 0.0
    for iterations in ITERATIONS:
        took, last = linear_svc(t, lam, iterations)
        if took <= seconds:
            best = min(best, last)
        spent += took
        if spent > max(4 * seconds, 30.0) or budget().left < 0:
            return best, last if iterations == ITERATIONS[-1] else np.nan
    return best, last


def measure(t: Task) -> tuple[list[dict[str, Any]], Any, float]:
    """A record for each lambda, the sweep, and its seconds."""
    started = time.perf_counter()
    grid = js.sweep(t.problem, t.lams, rtol=RTOL, max_passes=300)
    jax.block_until_ready(grid.w)
    seconds = time.perf_counter() - started
    rows = []
    for k, lam in enumerate(t.lams):
        dual, primal = float(grid.certificate.dual[k]), float(grid.certificate.primal[k])
        row = {"data": t.name, "lam": lam, "seconds": seconds, "status": str(grid.status[k])}
        row |= {"method": str(np.broadcast_to(grid.method, len(t.lams))[k]), "primal": primal}
        row |= {"dual": dual, "relative_gap": (primal - dual) / primal}
        if t.X is not None:
            same, usual = same_seconds(t, lam, seconds / len(t.lams))
            row |= {"svc_same_seconds": same, "svc_1000": usual}
        rows.append(row)
    return rows, grid, seconds


def draw(rows, sweeps) -> Any:
    names = list(sweeps)
    figure = new_figure(figsize=(4.2 * len(names), 7.5))
    axes = figure.subplots(2, len(names), squeeze=False)
    shade = need("matplotlib", "drawing").colormaps["viridis"]
    for j, name in enumerate(names):
        grid, mine = sweeps[name], [r for r in rows if r["data"] == name]
        above, below = axes[:, j]
        for k, lam in enumerate(np.asarray(grid.lam)):
            relative = np.asarray(grid.trace.gap[k]) / np.abs(np.asarray(grid.trace.primal[k]))
            at = np.maximum(np.asarray(grid.trace.seconds[k]), 1e-3)
            label = f"{lam:.0e}" if k in (0, len(mine) - 1) else None
            colour = shade(0.88 * k / max(1, len(mine) - 1))
            above.plot(at, np.maximum(relative, 1e-8), color=colour, lw=1.3, label=label)
        grey_line(above, RTOL)
        dress(above, "seconds, all lambdas together", "certified relative gap", name)
        if above.get_legend():
            above.legend(title="lambda", frameon=False, fontsize=8)
        lams = [r["lam"] for r in mine]
        series = {"sweep": ("primal", "o-"), "LinearSVC, same seconds": ("svc_same_seconds", "s--")}
        series["LinearSVC, 1000 rounds"] = ("svc_1000", "^:")
        for k, (label, (field, style)) in enumerate(series.items()):
            if field in mine[0]:
                excess = [max(r[field] / r["dual"] - 1, 1e-8) for r in mine]
                below.plot(lams, excess, style, color=f"C{k}", ms=5, label=label)
        grey_line(below, RTOL)
        dress(below, "lambda", "P / best lower bound - 1", "")
    return figure


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    started, rows, sweeps, missing = time.perf_counter(), [], {}, []
    names = ["digits", "breast_cancer"] if quick else ["a9a", "mnist", "OCR", "covtype"]
    for name in each(names, "sweep of"):
        t = task(name)
        if t is None:
            missing.append(name)
            continue
        mine, grid, _ = measure(t)
        rows += mine
        sweeps[t.name] = grid
    if not rows:
        raise FileNotFoundError(
            "none of a9a, covtype, mnist and OCR is here; `python -m jaxopt_svm data` says where "
            "to get them, and --quick needs none"
        )
    table = [["data", "lambda", "P", "relative gap", "LinearSVC, same s", "LinearSVC, 1000", "s"]]
    show = lambda value: "-" if value is None or not np.isfinite(value) else f"{value:.6g}"
    for r in rows:
        line = [r["data"], f"{r['lam']:.0e}", f"{r['primal']:.6g}", f"{r['relative_gap']:.1e}"]
        svc = [show(r.get("svc_same_seconds")), show(r.get("svc_1000"))]
        table.append([*line, *svc, f"{r['seconds']:.1f}"])
    told = []
    for name in sweeps:
        mine = [r for r in rows if r["data"] == name]
        done = sum(r["relative_gap"] <= 1.01 * RTOL for r in mine)
        part = f"{name}: {done} of {len(mine)} lambdas certified to {RTOL:g} "
        part += f"in {mine[0]['seconds']:.0f} s"
        peers = [r for r in mine if "svc_same_seconds" in r]
        if peers:
            close = sum(r["svc_same_seconds"] <= (1 + RTOL) * r["dual"] / (1 - RTOL) for r in peers)
            part += f" (LinearSVC in the same seconds: {close})"
        told.append(part)
    sentence = "; ".join(told) + "."
    at = {round(np.log10(r["lam"])): r for r in rows if r["data"].startswith("a9a")}
    if -6 in at and np.isfinite(at[-6].get("svc_1000", np.nan)):
        verdict = "above" if at[-6]["svc_1000"] > at[-5]["svc_1000"] else "not above"
        sentence += (
            f" On a9a LinearSVC's objective with 1000 rounds is {at[-6]['svc_1000']:.4f} at 1e-6, "
            f"{verdict} its own {at[-5]['svc_1000']:.4f} at 1e-5; the sweep proves "
            f"{at[-6]['dual']:.4f} <= P* <= {at[-6]['primal']:.4f}."
        )
    if missing:
        sentence += f" Not here: {', '.join(missing)}."
    facts = {"seconds": time.perf_counter() - started, "missing": missing}
    return Found(rows, facts, aligned(table, (0,)), sentence, draw(rows, sweeps))
