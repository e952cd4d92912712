"""How well do the perceptron, the SVM and the CRF chunk sentences with the same features?

CoNLL-2000: 22 chunk labels, words and tags in a window of five, sparse, 2.2 million parameters.
Perceptron; structured SVM and CRF by the same SGD with steps 1/(lam (t + t0)). Of each the last
iterate and the uniform mean of all, and lambda chosen for each of these by F1 on held-out training
sentences. F1 counts whole chunks: type, start and end. "Surely": in 97.5 % of resampled test sets.
"""

import dataclasses
import itertools
import time
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxopt_svm as js
from experiments.budget import each, enough
from experiments.common import Found, set_up
from experiments.figures import dress, new_figure
from jaxopt_svm.core.lanes import one_pass
from jaxopt_svm.data import load_structured
from jaxopt_svm.report import aligned

LAMS = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
MIDDLE = 3e-5  # the grid is run from here outwards, in case the time is up
HELD_OUT = 936
RESAMPLES = 2000
KINDS = {"last": False, "mean": True}  # iterate -> the field ``average`` of a method


def chunks(labels) -> set[tuple[str, int, int]]:
    """(type, start, end) of every chunk; an I- that continues nothing starts one."""
    found, start, kind = set(), 0, None
    for t, label in enumerate([*labels, "O"]):
        prefix, _, own = str(label).partition("-")
        if kind is not None and (prefix != "I" or own != kind):
            found.add((kind, start, t))
            kind = None
        if prefix != "O" and kind is None:
            start, kind = t, own
    return found


def counts(truth, found) -> np.ndarray:
    """(sentences, 3): chunks that are right, that there are, that were said."""
    pairs = [(chunks(a), chunks(b)) for a, b in zip(truth, found, strict=True)]
    return np.array([(len(a & b), len(a), len(b)) for a, b in pairs])


def f1(counted: np.ndarray) -> np.ndarray:
    """Of all chunks together; the last two axes are sentences and what ``counts`` gives."""
    right, real, said = np.moveaxis(counted.sum(-2), -1, 0)
    return 2 * right / np.maximum(real + said, 1)


def surely_better(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether F1 of a is above that of b in 97.5 % of resampled sets of test sentences."""
    n, rng = len(a), np.random.default_rng(0)
    times = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES)
    above = f1((times @ a)[:, None]) > f1((times @ b)[:, None])  # paired: the same sentences
    return bool(above.mean() >= 0.975)


class Sets(NamedTuple):
    train: Any
    held_out: Any
    test: Any
    problem: Any


def sets(quick: bool) -> Sets:
    data = load_structured("conll2000")
    n, m, k = (300, 100, 100) if quick else (len(data.train.X) - HELD_OUT, HELD_OUT, None)
    part = lambda p, a, b: type(p)(p.X[a:b], p.y[a:b])
    train, held_out = part(data.train, 0, n), part(data.train, n, n + m)
    problem = js.make_chain(train.X, train.y, classes=data.classes)
    return Sets(train, held_out, part(data.test, 0, k), problem)


ONE_PASS = jax.jit(one_pass)


def fit(problem, method, passes: int):
    """The last w and the mean after each pass, and the seconds of all passes so far."""
    state, seconds = method.init(problem), 0.0
    for r in range(passes):
        started = time.perf_counter()
        state = jax.block_until_ready(ONE_PASS(problem, method, state, jax.random.key(0), r))
        seconds += time.perf_counter() - started
        points = {k: dataclasses.replace(method, average=flag) for k, flag in KINDS.items()}
        yield r + 1, {k: m.point(problem, state).w for k, m in points.items()}, seconds


def follow(name, data: Sets, problem, method, passes, lam) -> list[tuple[dict, Any]]:
    """Rows with the w they are about: after each pass the last iterate and the mean of all."""
    found = []
    for r, ws, seconds in fit(problem, method, passes):
        for kind, w in ws.items():
            row = {"method": name, "iterate": kind, "lam": lam, "passes": r, "seconds": seconds}
            said = js.decode(problem, w, data.held_out.X)
            found.append((row | {"held_out": float(f1(counts(data.held_out.y, said)))}, w))
    return found


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    data = sets(quick)
    problem, passes = data.problem, 2 if quick else 6
    lams = LAMS[1:3] if quick else LAMS
    outwards = sorted(lams, key=lambda lam: abs(np.log(lam / MIDDLE)))
    # the same SGD for both; t0 makes its first step about as long as a perceptron's
    sgd = lambda lam: js.StructuredSGD(js.InverseLam(1.0 / lam), capacity=0, average=True)
    runs: list[tuple[str, Any, Any, float | None]] = [
        ("perceptron", problem, js.averaged_perceptron(), None)
    ]
    losses = {"SVM": problem, "CRF": js.crf(problem)}
    for lam, (name, made) in itertools.product(outwards, losses.items()):
        runs.append((name, made.with_lam(lam), sgd(lam), lam))
    rows, best = [], {}
    for name, made, method, lam in each(runs, "", lambda run: f"{run[0]} at lambda {run[3]}"):
        found = follow(name, data, made, method, passes, lam)
        rows += [row for row, _ in found]
        for row, w in found[-len(KINDS) :]:  # after the last pass
            key = (name, row["iterate"])
            if key not in best or row["held_out"] > best[key][0]["held_out"]:
                best[key] = (row, w)
    enough(all((name, "mean") in best for name in losses))
    rows.sort(key=lambda r: (r["method"], -(r["lam"] or 0)))  # by lambda, not as they were run
    lams = sorted({row["lam"] for row in rows} - {None}, reverse=True)
    tested = {}
    for key, (row, w) in best.items():
        tested[key] = counts(data.test.y, js.decode(problem, w, data.test.X))
        rows.append(row | {"test": float(f1(tested[key]))})
    chosen = [row for row in rows if "test" in row]
    table = [["method", "iterate", "lambda", "held-out F1", "test F1", "seconds"]]
    for row in chosen:
        lam = "-" if row["lam"] is None else f"{row['lam']:g}"
        scores = [f"{row['held_out']:.4f}", f"{row['test']:.4f}", f"{row['seconds']:.0f}"]
        table.append([row["method"], row["iterate"], lam, *scores])
    facts = {"f1": {f"{row['method']}, {row['iterate']}": row["test"] for row in chosen}}
    sentence = told(tested, chosen, lams, passes)
    return Found(rows, facts, aligned(table, (0, 1)), sentence, picture(rows))


def told(tested, chosen, lams, passes: int) -> str:
    """The ranking of the means, with a word for differences that another test set might turn."""
    score = {key: 100 * float(f1(one)) for key, one in tested.items()}
    order = sorted({name for name, _ in score}, key=lambda name: -score[name, "mean"])
    words = f"{order[0]} {score[order[0], 'mean']:.2f}"
    for above, name in itertools.pairwise(order):
        sure = surely_better(tested[above, "mean"], tested[name, "mean"])
        words += f", {'surely' if sure else 'not surely'} ahead of {name} {score[name, 'mean']:.2f}"
    gains = (f"{name} {score[name, 'mean'] - score[name, 'last']:+.2f}" for name in order)
    at_end = [f"{r['method']} ({r['iterate']})" for r in chosen if r["lam"] in (lams[0], lams[-1])]
    return (
        f"Chunking F1 on {len(tested[order[0], 'mean']):,} test sentences, the same features, "
        f"{passes} passes, means of the iterates: {words}. Averaging is worth {', '.join(gains)}."
        + (f" Lambda at an end of the grid: {', '.join(at_end)}." if at_end else "")
    )


def picture(rows):
    figure = new_figure(figsize=(10, 4.2))
    left, right = figure.subplots(1, 2)
    chosen = [r for r in rows if "test" in r]
    names = list(dict.fromkeys(r["method"] for r in rows))
    for row in chosen:
        key = ("method", "iterate", "lam")
        mine = [r for r in rows if all(r[k] == row[k] for k in key) and "test" not in r]
        look = {"color": f"C{names.index(row['method'])}", "marker": "o", "ms": 4}
        look["ls"] = "-" if row["iterate"] == "mean" else ":"
        label = f"{row['method']}, {row['iterate']}: test {100 * row['test']:.2f}"
        left.plot([r["passes"] for r in mine], [100 * r["held_out"] for r in mine], **look)
        end = max(r["passes"] for r in rows)
        grid = [
            r for r in rows
            if (r["method"], r["iterate"], r["passes"]) == (row["method"], row["iterate"], end)
            and "test" not in r
        ]  # fmt: skip
        if row["lam"] is None:
            right.axhline(100 * grid[0]["held_out"], color=look["color"], ls=look["ls"])
            right.plot([], [], label=label, **look)
        else:
            values = [100 * r["held_out"] for r in grid]
            right.plot([r["lam"] for r in grid], values, label=label, **look)
    dress(left, "passes", "chunk F1 on held-out sentences, %", "at the lambda chosen", log="")
    dress(right, "lambda", "", "after the last pass", log="x", legend=False)
    left.set_xticks(sorted({r["passes"] for r in rows}))
    figure.suptitle("CoNLL-2000 chunking")
    figure.legend(fontsize=8, loc="outside lower center", ncols=3)
    return figure
