r"""Is the method chosen for you close to the best one you could have named?

``js.sweep(problem, lams)`` with nothing said beside every single method that takes the problem, 16
lambdas from 1e-6 to 1e-2, to a certified relative gap of 1e-3 in float32. Seconds of the best run
after the first, so compiled before: of one run, or of up to four where they are short. A method
that has not certified all lanes within its passes is marked and counts as slower than any other.
The rules are ``jaxopt_svm/choice.py``; the aim is 1.5 times the best.
"""

import time
from typing import Any

import jax
import numpy as np

import jaxopt_svm as js
from experiments.budget import budget, each
from experiments.common import Found, set_up
from experiments.figures import dress, new_figure
from jaxopt_svm.data import load
from jaxopt_svm.report import aligned

RTOL, COUNT, RANGE = 1e-3, 16, (1e-6, 1e-2)
SHORT = 3.0  # seconds: runs that take less are repeated
SETS = (
    ("synthetic:20000:54", "hinge"),
    ("covtype-100k", "hinge"),
    ("a9a", "hinge"),
    ("mushrooms", "hinge"),
    ("mnist-10k", "hinge"),
    ("a9a", "logistic"),
    ("synthetic:20000:54", "squared_hinge"),
    ("newsgroups", "hinge"),
)
SMALL = (("digits", "hinge"), ("breast_cancer", "logistic"))
LOSSES = {"hinge": js.Hinge(), "logistic": js.Logistic(), "squared_hinge": js.SquaredHinge()}
METHODS = {
    "chosen": (None, 1000),
    "sdca": (js.SDCA(), 100),
    "shrinking_sdca": (js.shrinking_sdca(), 60),
    "alm_newton": (js.ALMNewton(), 100),
    "newton": (js.Newton(), 60),
    "lbfgs": (js.LBFGS(), 200),
}


def problem_of(name: str, loss: str) -> js.ERM:
    data = load(name)
    y = np.asarray(data.y)
    y = np.where(y == y[0], 1.0, -1.0) if len(np.unique(y)) > 2 else y  # one class against the rest
    return js.make_erm(data.X.astype(np.float32), y, loss=LOSSES[loss])


def measure(problem: js.ERM, method: Any, passes: int) -> dict[str, Any] | None:
    """Seconds and how many lanes are done; None if the method refuses the problem."""
    lams = js.lam_grid(*RANGE, COUNT)
    try:
        if method is not None:
            method.check(problem)
    except ValueError:
        return None
    times: list[tuple[float, float]] = []
    while len(times) < 2 or (len(times) < 5 and sum(s for s, _ in times[1:]) < SHORT):
        began, own = time.perf_counter(), time.process_time()
        solution = js.sweep(problem, lams, method, rtol=RTOL, max_passes=passes)
        times.append((time.perf_counter() - began, time.process_time() - own))
    seconds, processor = min(times[1:])
    done = int((solution.relative_gap <= RTOL).sum())
    return {"seconds": seconds, "processor": processor, "done": done}


def main(quick: bool = False) -> Found:
    set_up(x64=False)
    rows, skipped, ratios = [], [], {}
    for name, loss in each(SMALL if quick else SETS, label=" ".join):
        try:
            problem = problem_of(name, loss)
        except FileNotFoundError as error:
            skipped.append(f"skipped: {error}")
            continue
        here = []
        for label, (method, passes) in METHODS.items():
            if label != "chosen" and not budget().allows(f"{label} on {name}"):
                continue
            found = measure(problem, method, passes)
            if found is not None:
                here.append({"data": name, "loss": loss, "method": label, **found})
        jax.clear_caches()
        rows += here
        times = {r["method"]: r["seconds"] for r in here if r["done"] == COUNT}
        singles = {m: s for m, s in times.items() if m != "chosen"}
        if singles and "chosen" in times:
            best = min(singles, key=lambda m: singles[m])
            ratios[f"{name}, {loss}"] = (times["chosen"] / singles[best], best)
    body = [
        [r["data"], r["loss"], r["method"], f"{r['seconds']:.2f}", f"{r['done']}/{COUNT}"]
        for r in rows
    ]
    text = aligned([["data", "loss", "method", "seconds", "certified"], *body], left=(0, 1, 2))
    facts = {f"chosen / best ({best}), {name}": r for name, (r, best) in ratios.items()}
    worst = max(ratios, key=lambda name: ratios[name][0])
    sentence = (
        f"The chosen method takes at most {ratios[worst][0]:.2f} times the best single one "
        f"({worst}: {ratios[worst][1]}) and at best {min(r for r, _ in ratios.values()):.2f} "
        f"times, over {len(ratios)} problems."
    )
    return Found(rows, facts, "\n".join([text, *skipped]), sentence, draw(rows))


def draw(rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(figsize=(8, 4))
    ax = figure.subplots()
    names = list(dict.fromkeys(f"{r['data']}, {r['loss']}" for r in rows))[::-1]
    for k, label in enumerate(METHODS):
        mine = [r for r in rows if r["method"] == label]
        if not mine:
            continue
        at = lambda r: names.index(f"{r['data']}, {r['loss']}")
        done = [(r["seconds"], at(r)) for r in mine if r["done"] == COUNT]
        late = [(r["seconds"], at(r)) for r in mine if r["done"] < COUNT]
        marker = {"marker": "D" if label == "chosen" else "o", "ls": "", "color": f"C{k}"}
        ax.plot(*(zip(*done) if done else ([], [])), label=label, **marker)
        ax.plot(*(zip(*late) if late else ([], [])), fillstyle="none", **marker)
    ax.set_yticks(range(len(names)), names)
    dress(ax, f"seconds for {COUNT} lambdas; hollow: not all certified", "", log="x")
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
