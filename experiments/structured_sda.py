"""Which sequential dual method reaches a certified 1 % soonest, on chains and on trees?

BCFW, its average, Frank-Wolfe, FASOLE and SDM on OCR words (chains, 4,004 parameters) and on
tagging UD English dependency trees (a stand-in for LANDMARK, 314,024 sparse parameters), a grid of
lambdas as lanes of one sweep, float32, Hamming loss. Beside the objective and its certificate: the
error on the test part, and on OCR that of a model which reads every letter by itself.
"""

import itertools
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxopt_svm as js
from experiments.budget import budget, each
from experiments.common import CompileClock, Found, new_figure, set_up
from jaxopt_svm.core.loop import Loop, next_record
from jaxopt_svm.data import load_structured
from jaxopt_svm.report import aligned

ASKED = 1e-2
METHODS = {
    "bcfw": js.BCFW(),
    "bcfw, averaged": js.BCFW(average=True),
    "frank_wolfe": js.FrankWolfe(),
    "fasole": js.FASOLE(),
    "sdm": js.SDM(),
}
QUICK = {name: METHODS[name] for name in ("bcfw", "fasole")}


class Task(NamedTuple):
    """A problem, its test part, the lambdas and the seconds each method gets."""

    name: str
    problem: Any
    test: Any
    lams: tuple[float, ...]
    seconds: float


def synthetic(n: int) -> Any:
    """Noisy words: chains of 6 letters of 10 features, 5 labels; a train and a test part."""
    rng = np.random.default_rng(0)
    prototypes, table = rng.normal(size=(5, 10)), rng.dirichlet(0.3 * np.ones(5), size=5)

    def part(count):
        y = [[int(rng.integers(5))] for _ in range(count)]
        for word in y:
            while len(word) < 6:
                word.append(int(rng.choice(5, p=table[word[-1]])))
        X = [prototypes[word] + 1.5 * rng.normal(size=(6, 10)) for word in y]
        return [x.astype(np.float32) for x in X], [np.array(word) for word in y]

    return part(n), part(n)


def tasks(quick: bool) -> Iterator[Task]:
    if quick:
        (X, y), test = synthetic(200)
        problem = js.make_chain(X, y, classes=5)
        yield Task("synthetic chains", problem, (*test, None), (1e-1, 1e-2), 6.0)
        return
    for name in ("ocr", "ud-ewt"):
        try:
            data = load_structured(name)
        except FileNotFoundError:
            continue
        train, test = data.train, data.test
        if train.parents is None:
            problem = js.make_chain(train.X, train.y, classes=data.classes)
            yield Task("OCR, chains", problem, test, (1.0, 1e-1, 3e-2, 1e-2), 40.0)
        else:
            problem = js.make_tree(train.X, train.y, train.parents, classes=data.classes)
            yield Task("UD-EWT, trees", problem, test, (1.0, 1e-1, 3e-2), 40.0)


def test_error(task: Task, w) -> np.ndarray:
    """Share of wrong labels on the test part, for each lane of w."""
    X, y, parents = task.test
    found = js.decode(task.problem, w, X, parents)
    wrong = np.concatenate(
        [labels != np.asarray(truth)[None] for labels, truth in zip(found, y)], 1
    )
    return wrong.mean(1)


def follow(task: Task, name: str, method: Any, clock: CompileClock) -> Iterator[dict[str, Any]]:
    """A record for each lambda and certificate until all are done or time is up.

    Seconds are without compilation and without the test errors.
    """
    lams = np.asarray(task.lams)
    method.check(task.problem)
    loop = Loop(task.problem.with_lam(lams), method, jax.random.key(0), None)
    aside, started = -clock.seconds, time.perf_counter()
    while loop.active:
        row, lanes = loop.records[-1], loop.lanes[: loop.active]
        began, compiled = time.perf_counter(), clock.seconds
        seconds = began - started - aside - compiled
        errors = test_error(task, loop.best.w[: loop.active])
        for k, lane in enumerate(lanes):
            yield {
                "task": task.name,
                "method": name,
                "lam": lams[lane],
                "passes": loop.r,
                "oracle_calls": row["oracle_calls"][lane],
                "updates": row["updates"][lane],
                "seconds": seconds,
                "primal": row["primal"][lane],
                "dual": row["dual"][lane],
                "relative_gap": row["gap"][lane] / row["primal"][lane],
                "test_error": errors[k],
            }
        aside += time.perf_counter() - began - (clock.seconds - compiled)
        loop.judge(ASKED, 0.0, 10_000)
        if seconds > task.seconds or budget().left < 0:
            return
        if loop.active:
            loop.advance(next_record(loop.r))


def letters_alone(task: Task) -> float | None:
    """The smallest test error over the lambdas of a model without transitions (OCR only)."""
    if not task.name.startswith("OCR"):
        return None
    data = load_structured("ocr")
    X, y = np.concatenate(data.train.X), np.concatenate(data.train.y)
    problem = js.make_multiclass(X, y, classes=data.classes)
    found = js.sweep(problem, task.lams, js.FASOLE(), rtol=5e-2, max_passes=40)
    labels = js.decode(problem, found, np.concatenate(data.test.X))
    return float((labels != np.concatenate(data.test.y)[None]).mean(1).min())


def picture(rows: list[dict[str, Any]], names: list[str]):
    """A line of panels for each task: gap against calls and seconds, and the test error."""
    shown = list(dict.fromkeys(row["task"] for row in rows))
    figure = new_figure(figsize=(15, 4 * len(shown)))
    axes = figure.subplots(len(shown), 4, squeeze=False)
    for i, task in enumerate(shown):
        lams = sorted({row["lam"] for row in rows if row["task"] == task}, reverse=True)
        panels = (
            (lams[0], "oracle_calls", "relative_gap"),
            (lams[-1], "oracle_calls", "relative_gap"),
            (lams[-1], "seconds", "relative_gap"),
            (lams[-1], "oracle_calls", "test_error"),
        )
        for ax, (lam, x, y) in zip(axes[i], panels):
            for k, name in enumerate(names):
                line = [r for r in rows if (r["task"], r["method"], r["lam"]) == (task, name, lam)]
                line = [r for r in line if r["oracle_calls"] > 0]
                ax.plot([r[x] for r in line], [r[y] for r in line], f"C{k}.-", label=name, ms=3)
            ax.set_xscale("log")
            ax.tick_params(axis="x", which="minor", labelbottom=False)
            if y == "relative_gap":
                ax.set_yscale("log")
                ax.axhline(ASKED, color="grey", lw=0.8, ls=":")
            unit = {
                "oracle_calls": "decodings",
                "seconds": "seconds without compilation, all lambdas at once",
            }[x]
            ax.set(title=f"{task}, lambda = {lam:g}", xlabel=unit, ylabel=y.replace("_", " "))
            ax.grid(alpha=0.3)
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure


def first(rows: list[dict[str, Any]], task: str, name: str, lam: float) -> dict[str, Any] | None:
    """The first record within the gap asked for."""
    line = [r for r in rows if (r["task"], r["method"], r["lam"]) == (task, name, lam)]
    return next((r for r in line if r["relative_gap"] <= ASKED), None)


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    methods = QUICK if quick else METHODS
    clock = CompileClock()
    rows, text, sentences, facts = [], [], [], {}
    for task in tasks(quick):
        ran = []
        for name, method in each(methods.items(), f"{task.name}:", lambda pair: pair[0]):
            rows += follow(task, name, method, clock)
            ran.append(name)
        lines = []
        for name, lam in itertools.product(ran, task.lams):
            hit = first(rows, task.name, name, lam)
            own = [r for r in rows if (r["task"], r["method"], r["lam"]) == (task.name, name, lam)]
            last = own[-1] if hit is None else hit
            lines.append(
                {
                    "method": name,
                    "lambda": f"{lam:g}",
                    "decodings to 1 %": "not reached"
                    if hit is None
                    else f"{hit['oracle_calls']:,.0f}",
                    "seconds": f"{last['seconds']:.1f}",
                    "relative gap": f"{last['relative_gap']:.1e}",
                    "objective": f"{last['primal']:.4f}",
                    "test error": f"{last['test_error']:.4f}",
                }
            )
        table = [list(lines[0]), *(list(line.values()) for line in lines)]
        text.append(f"{task.name}\n{aligned(table, left=(0,))}")
        lam = task.lams[-1]
        calls = {n: first(rows, task.name, n, lam) for n in ran}
        reached = {n: r["oracle_calls"] for n, r in calls.items() if r is not None}
        chain = min(r["test_error"] for r in rows if r["task"] == task.name)
        facts[task.name] = {"decodings": reached, "best_test_error": float(chain)}
        best = min(reached, key=lambda n: reached[n]) if reached else None
        sentences.append(
            f"on {task.name} at lambda = {lam:g} no method reached 1 % in time"
            if best is None
            else f"on {task.name} at lambda = {lam:g} {best} needs fewest decodings to a certified "
            f"1 %, {reached[best]:,.0f}"
        )
        alone = letters_alone(task)
        if alone is not None:
            facts[task.name]["letters_alone"] = alone
            better = "below" if chain < alone else "not below"
            sentences.append(
                f"its test error, {chain:.4f}, is {better} the {alone:.4f} of letters read alone"
            )
    if not rows:
        raise FileNotFoundError("neither OCR nor UD-EWT is here; --quick needs no data")
    sentence = "; ".join(sentences)
    sentence = sentence[0].upper() + sentence[1:] + "."
    return Found(rows, facts, "\n\n".join(text), sentence, picture(rows, list(methods)))
