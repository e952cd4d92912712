"""What does each kind of structured solver ask for and prove, beside what the lecture says of it?

The slide "Optimization zoo" of the lecture on online solvers, measured on OCR words (chains,
float32; synthetic words without the data). Of every method: decodings and processor time an update
(in units of one decoding among many); the bytes of its state when it stopped, in vectors w; the gap
that its own points certify beside its true distance to P*, known from a longer run; and how much
further from P* it ends with a step constant five times too small or too large, where one has to be
chosen. A method runs until a certified 1 %, or until its passes are up. Cutting planes have more or
less patience with idle planes: their memory is tuned by it. Labels stand for the vectors w_i of
BCFW, of which the slide's algorithm keeps n.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxopt_svm as js
from experiments.budget import budget, each, enough
from experiments.common import Found, set_up
from experiments.figures import dress, new_figure
from experiments.structured_zoo import words
from jaxopt_svm.core import programs
from jaxopt_svm.core.loop import Loop
from jaxopt_svm.report import aligned

LAM, EPS = 0.1, 1e-2
FREE = np.array([1.0, 0.2, 0.04, 0.008, 0.0016])  # step constants that are tried
# the measurements in the words of the slide
PROVED = 0.05  # the relative gap that a certificate must close to
SMALL = 5.0  # vectors w
TUNABLE = 1.5  # times less memory with less patience
SENSITIVE = 2.0  # times further from P* when the constant is five times off
BATCH, ONLINE, DUAL = "batch", "primal online", "sequential dual"


class Words(NamedTuple):
    """update: after how many examples. step: whether its size has to be set."""

    update: str
    certificate: str
    memory: str
    step: str


SLIDE = {
    BATCH: Words("all", "yes", "tunable", "-"),
    ONLINE: Words("one", "no", "small", "sensitive"),
    DUAL: Words("one", "yes", "large", "computed"),
}


class Entry(NamedTuple):
    """make: the method for a step constant. free: whether there is one to choose."""

    kind: str
    make: Callable[[Any], Any]
    free: bool = False


def fixed(kind: str, method: Any) -> Entry:
    return Entry(kind, lambda _: method)


def free(make: Callable[[Any], Any]) -> Entry:
    return Entry(ONLINE, make, True)


ZOO = {
    "bmrm, patience 20": fixed(BATCH, js.BMRM(capacity=8)),
    "bmrm, patience 1": fixed(BATCH, js.BMRM(capacity=8, patience=1)),
    "oca, patience 20": fixed(BATCH, js.OCA(capacity=8)),
    "oca, patience 1": fixed(BATCH, js.OCA(capacity=8, patience=1)),
    "frank-wolfe": fixed(BATCH, js.FrankWolfe(capacity=8)),
    "sgd, 1/(lam t)": fixed(ONLINE, js.StructuredSGD(capacity=0)),
    "sgd, 1/(lam t), labels kept": fixed(ONLINE, js.StructuredSGD(capacity=8)),
    "sgd, c/(1 + c lam t)": free(lambda c: js.StructuredSGD(js.Bottou(c, 1 / LAM), capacity=0)),
    "sgd, c/sqrt(t)": free(lambda c: js.StructuredSGD(js.InverseSqrt(c), capacity=0)),
    "adagrad, batch 16": free(lambda c: js.structured_adagrad(c, batch=16)),
    "adam, batch 16": free(lambda c: js.structured_adam(c, batch=16)),
    "averaged perceptron": fixed(ONLINE, js.averaged_perceptron()),
    "bcfw": fixed(DUAL, js.BCFW(capacity=8)),
    "fasole": fixed(DUAL, js.FASOLE(capacity=8)),
    "sdm": fixed(DUAL, js.SDM(capacity=8)),
}
QUICK = ("frank-wolfe", "sgd, c/sqrt(t)", "fasole")  # the least to compile of each kind

DECODE = jax.jit(lambda problem, w: problem.oracles(w))


def processor_seconds(function: Callable[[], Any]) -> float:
    """Of one call: the work of others on the machine does not count."""
    started = time.process_time()
    jax.block_until_ready(function())
    return time.process_time() - started


def cost_of_an_update(loop: Loop, problem) -> float:
    """Processor time, in decodings, from where it stopped: late cutting planes are the dear ones.

    Six passes less one, of the program that has run, so that certificates cancel and nothing is
    compiled; beside n decodings, in turn, and the median of five rounds.
    """
    method, state, key = loop.method, loop.state, jax.random.key(0)
    run = lambda count: programs.advance(problem, method, state, loop.best, key, loop.r, count)
    decode, rounds = lambda: DECODE(problem, loop.best.w), []
    for _ in range(6):
        long, short, unit = (
            processor_seconds(lambda: run(6)),
            processor_seconds(lambda: run(1)),
            processor_seconds(decode),
        )
        rounds.append((long - short) / unit)
    updates = 5 * method.spent(problem).updates
    if hasattr(method, "counted"):
        ends = (method.counted(run(count)[0]).updates for count in (6, 1))
        updates = float(next(ends) - next(ends))
    return statistics.median(rounds[1:]) * problem.n / max(updates, 1.0)  # the first compiles


def begun(method: Any, problem) -> Loop:
    method.check(problem)
    return Loop(problem, method, jax.random.key(0), None)


def ends(entry: Entry, problem, passes: int) -> np.ndarray:
    """P after the passes with each of the step constants, which are leaves: one program."""
    found = []
    for c in FREE:
        loop = begun(entry.make(float(c)), problem)
        loop.advance(passes)
        found.append(float(loop.records[-1]["primal"][0]))
    return np.nan_to_num(np.array(found), nan=np.inf)


def measure(name: str, entry: Entry, problem, passes: int, few: int, seconds: float):
    """What one method needed, and P with the best step constant and with those beside it."""
    until, c, beside = budget().spent + seconds, None, None
    if entry.free:
        P = ends(entry, problem, few)
        k = int(np.argmin(P))
        c, beside = float(FREE[k]), (P[k], P[max(k - 1, 0) : k + 2].max())
    loop = begun(entry.make(c), problem)
    while loop.active and (budget().spent < until or loop.r < 2):
        loop.advance(loop.stretch(passes))
        loop.judge(EPS, 0.0, passes)
    calls, updates = (float(loop.records[-1][key][0]) for key in ("oracle_calls", "updates"))
    bytes_ = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(loop.state))
    best = loop.best
    row = {"method": name, "kind": entry.kind, "passes": loop.r, "c": c}
    row |= {"decodings": calls, "updates": updates, "decodings_an_update": calls / max(updates, 1)}
    row["time_an_update"] = cost_of_an_update(loop, problem)
    row["memory_in_w"] = bytes_ / (problem.d * problem.c.dtype.itemsize)
    row |= {"primal": float(best.primal_value), "dual": float(best.dual_value)}
    row["certified"] = (row["primal"] - row["dual"]) / row["primal"]
    return row, beside


def in_words(row: dict[str, Any], rows: list[dict[str, Any]], n: int) -> Words:
    """What was measured, as the slide would say it."""
    calls, worse, own = row["decodings_an_update"], row["worse_by"], row["memory_in_w"]
    update = "one" if calls < 2 else "all" if calls >= n else f"{calls:.0f}"
    certificate = "yes" if row["certified"] <= PROVED else "no"
    base, patient, _ = row["method"].partition(", patience")
    sizes = [r["memory_in_w"] for r in rows if r["method"].startswith(base)]
    memory = "small" if own <= SMALL else "large"
    if patient and max(sizes) >= TUNABLE * min(sizes):
        memory = "tunable"
    step = "computed" if row["kind"] == DUAL else "none to set"
    if worse is not None:
        step = "sensitive" if worse > SENSITIVE else "not sensitive"
    return Words(update, certificate, memory, step)


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    started, rows, beside, clock = time.perf_counter(), [], {}, budget()
    data, train, _, _ = words(100, 10) if quick else words(1000, 10)
    problem = train.with_lam(LAM)
    close = js.FASOLE(capacity=8) if quick else js.SDM()
    # quick: so few passes that no capacity grows, since each growth is a compilation
    passes, few = (6, 3) if quick else (400, 10)
    best = js.solve(problem, close, rtol=2e-4, max_passes=min(passes, 300))
    zoo = {name: ZOO[name] for name in QUICK} if quick else ZOO
    for k, (name, entry) in enumerate(each(zoo.items(), "", lambda pair: pair[0])):
        share = clock.left / (len(zoo) - k)
        row, beside[name] = measure(name, entry, problem, passes, few, share)
        rows.append(row)
    enough({row["kind"] for row in rows} == set(SLIDE) and any(beside.values()))
    level = float(best.certificate.dual)
    for row in rows:
        row["excess"] = row["primal"] / level - 1
        pair = beside[row["method"]]
        row["worse_by"] = None if pair is None else (pair[1] - level) / (pair[0] - level)
    for row in rows:
        found, said = in_words(row, rows, problem.n), SLIDE[row["kind"]]
        for field in Words._fields:
            row |= {f"{field}_slide": getattr(said, field), field: getattr(found, field)}
    facts = {"seconds": time.perf_counter() - started, "data": data, "lower bound of P*": level}
    title = f"{data}, lambda = {LAM:g}"
    return Found(rows, facts, describe(rows), told(rows, title), picture(rows, title))


def describe(rows: list[dict[str, Any]]) -> str:
    header = ["method", "update after (slide)", "decodings", "time", "certificate (slide)"]
    header += ["certified", "P +", "memory (slide)", "in w", "step (slide)", "worse by"]
    table = [header]
    for row in rows:
        said = {f: f"{row[f]} ({row[f'{f}_slide']})" for f in Words._fields}
        worse = "-" if row["worse_by"] is None else f"{row['worse_by']:.1f}"
        cost = [f"{row['decodings_an_update']:.1f}", f"{row['time_an_update']:.0f}"]
        proof = [said["certificate"], f"{row['certified']:.1e}", f"{row['excess']:.1e}"]
        memory = [said["memory"], f"{row['memory_in_w']:.0f}"]
        table.append([row["method"], said["update"], *cost, *proof, *memory, said["step"], worse])
    return aligned(table, (0, 1, 4, 7, 9))


def told(rows: list[dict[str, Any]], title: str) -> str:
    """Where the slide is right, and which methods part from it."""
    parts = []
    for field in Words._fields:
        said = [r for r in rows if r[f"{field}_slide"] != "-"]
        off: dict[str, list[str]] = {}
        for r in said:
            if r[field] != r[f"{field}_slide"]:
                off.setdefault(r[field], []).append(r["method"])
        right = len(said) - sum(map(len, off.values()))
        others = "; ".join(f"{word}: {' and '.join(names)}" for word, names in off.items())
        parts.append(f"{field} {right} of {len(said)}" + f" ({others})" * bool(others))
    memory = {kind: [r["memory_in_w"] for r in rows if r["kind"] == kind] for kind in SLIDE}
    spans = ", ".join(f"{kind} {min(x):.0f} to {max(x):.0f}" for kind, x in memory.items())
    worse = [r["worse_by"] for r in rows if r["worse_by"] is not None]
    sentence = (
        f"On {title}, the slide says of methods what is measured: {', '.join(parts)}. States are "
        f"as large as so many vectors w: {spans}. A step constant five times off ends "
        f"{min(worse):.1f} to {max(worse):.1f} times as far from P*."
    )
    at = {row["method"]: row for row in rows}
    for name in ("bmrm", "oca"):
        if {f"{name}, patience 1", f"{name}, patience 20"} <= set(at):
            less, more = at[f"{name}, patience 1"], at[f"{name}, patience 20"]
            ratio = less["memory_in_w"] / more["memory_in_w"]
            sentence += (
                f" With patience 1, not 20, {name} has {ratio:.2g} of the memory and "
                f"{less['decodings'] / more['decodings']:.2g} of the decodings."
            )
    return sentence


def picture(rows: list[dict[str, Any]], title: str):
    """A bar for each method, four measurements side by side."""
    figure = new_figure(figsize=(14, 0.36 * len(rows) + 1.9))
    axes = figure.subplots(1, 4, sharey=True)
    at, colours = np.arange(len(rows))[::-1], {kind: f"C{k}" for k, kind in enumerate(SLIDE)}
    colour = [colours[row["kind"]] for row in rows]
    values = lambda field: np.array([np.nan if r[field] is None else r[field] for r in rows], float)
    axes[0].barh(at, values("time_an_update"), color=colour, alpha=0.45)
    axes[0].plot(values("decodings_an_update"), at, "k|", ms=10, mew=2)
    axes[1].barh(at, values("memory_in_w"), color=colour, alpha=0.45)
    axes[2].barh(at, 100 * values("certified"), color=colour, alpha=0.45)
    axes[2].plot(100 * np.maximum(values("excess"), 1e-4), at, "k|", ms=10, mew=2)
    axes[3].barh(at, values("worse_by"), color=colour, alpha=0.45)
    for y, row in zip(at, rows):
        if row["worse_by"] is None:
            axes[3].text(1.03, y, "no constant to set", va="center", fontsize=8, color="0.4")
    labels = ["time of an update, in decodings", "size of the state, in vectors w"]
    labels += ["certified relative gap, %", "P - P*: constant 5 times off / best"]
    titles = ["cost (mark: decodings made)", "memory", "certificate (mark: P / P* - 1)", "step"]
    for ax, label, name in zip(axes, labels, titles):
        dress(ax, label, "", name, log="x", legend=False)
    axes[3].set_xlim(left=1)
    axes[3].set_xticks([1, 2, 3, 5, 10], ["1", "2", "3", "5", "10"])
    axes[3].minorticks_off()
    axes[0].set_yticks(at, [row["method"] for row in rows])
    for kind, one in colours.items():
        axes[0].barh(0, 0, color=one, alpha=0.45, label=f"{kind}; slide: {', '.join(SLIDE[kind])}")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    figure.suptitle(f"The optimisation zoo, {title}", fontsize=11)
    return figure
