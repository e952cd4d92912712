r"""How long does a certified path of 32 lambdas take, and how long a loop of LinearSVC?

32 lambdas, log-spaced 1e-6..1e-2, hinge, no intercept. Ours: ``js.sweep(problem, lams)`` in
float32, every lane certified at a relative gap of 1e-3; the certificates shown are recomputed in
float64. LinearSVC(loss="hinge", dual=True): for every lambda the loosest tol of 1e-1..1e-4 whose
primal is within 1e-3 of the best known (ours at 1e-6, on texts 1e-4); only that fit counts, 20 s a
lambda and 15 minutes a set at most, and what is not reached counts at its limit. Its time is the
smaller of clock and processor, so that neither threads that wait nor other work on the machine are
held against it; ours is by the clock. Its times are kept per machine in results/peers.json;
``--peers`` measures them anew.

Where ours goes is measured once more with every program waited for. Tracing and XLA are what all
threads spent in the first call: programs are compiled beside the passes, and beside each other, so
it may be more than cold less warm.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import jax
import numpy as np

import jaxopt_svm as js
from experiments.common import CompileClock, Found, set_up
from experiments.figures import dress, new_figure
from experiments.peers import Fits, own_seconds, peer_path, remembered
from jaxopt_svm.core import programs
from jaxopt_svm.data import load
from jaxopt_svm.report import aligned

RTOL, BEST, COUNT, RANGE = 1e-3, 1e-6, 32, (1e-6, 1e-2)
LIMIT, TOTAL = 20.0, 900.0
SETS = ("covtype-100k", "a9a", "a9a dense", "mnist", "newsgroups", "synthetic:20000:54")
WIDE = ("newsgroups",)  # first-order methods would take long to 1e-6
PARTS = ("first_leg", "later_legs", "certificates", "rest")
COLD = ("tracing", "xla")
AIMS = {"dense": 2.0, "sparse": 1.0, "mean": 10.0, "mean_cold": 5.0}
SMALL = ("synthetic:5000:54", "digits")
PEERS = pathlib.Path("results/peers.json")


def data(name: str) -> tuple[Any, np.ndarray]:
    dense = name.endswith(" dense")
    found = load(name.removesuffix(" dense"))
    X = found.X.toarray() if dense else found.X
    if hasattr(X, "indices"):  # LinearSVC takes 32-bit indices only
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, found.y


def best_known(name: str) -> list[float]:
    """P at a relative gap of 1e-6 (texts: 1e-4), in float64, from a process of its own."""
    script = (
        "import sys, json, numpy as np; from experiments import bench_sweep as b;"
        "print(json.dumps(b.tight(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, name], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def tight(name: str) -> list[float]:
    set_up(x64=True)
    X, y = data(name)
    problem = js.make_erm(X.astype(np.float64), y)
    rtol = 100 * BEST if name in WIDE else BEST
    solution = js.sweep(problem, js.lam_grid(*RANGE, COUNT), rtol=rtol, max_passes=3000)
    return np.asarray(solution.certificate.primal).tolist()


def measured(name: str) -> list[dict[str, Any]]:
    X, y = data(name)
    fits, lams = Fits(X.astype(np.float64), y), js.lam_grid(*RANGE, COUNT)
    return peer_path(fits, lams, best_known(name), RTOL, LIMIT, TOTAL)


def ours(name: str, loss: Any, count: int) -> tuple[dict[str, Any], js.Solution]:
    """Seconds of the first sweep, compiling, and of the faster of two more."""
    X, y = data(name)
    problem = js.make_erm(X.astype(np.float32), y, loss=loss)
    lams = js.lam_grid(*RANGE, count)
    clock, times, processor, cold = CompileClock(), [], [], (0.0, 0.0)
    for k in range(3):
        wall, own = time.perf_counter(), time.process_time()
        solution = js.sweep(problem, lams, rtol=RTOL)
        times.append(time.perf_counter() - wall)
        processor.append(time.process_time() - own)
        cold = (clock.seconds - clock.xla, clock.xla) if k == 0 else cold
    spent = where_time_goes(lambda: js.sweep(problem, lams, rtol=RTOL))
    gap = js.recertify(problem, solution)
    relative = gap.gap / np.abs(gap.primal)
    legs = np.array([len(str(m).split(" > ")) for m in solution.method])
    row = {
        "data": name,
        "n": problem.n,
        "d": problem.d,
        "sparse": hasattr(X, "indptr"),
        "seconds": min(times[1:]),
        "seconds_cold": times[0],
        "processor": min(processor[1:]),
        "tracing_seconds": cold[0],
        "xla_seconds": cold[1],
        "largest_relative_gap": float(relative.max()),
        "certified": int((relative <= RTOL).sum()),
        "lanes_on_the_second_leg": int((legs > 1).sum()),
        "passes": int(solution.passes.max()),
        **spent,
    }
    return row, solution


def where_time_goes(sweep: Callable[[], Any]) -> dict[str, float]:
    """Seconds of one more sweep in its programs: the passes of the first leg and of those after it,
    certificates, and the rest (starts, packing, the host). Each program is waited for."""
    seconds: dict[str, float] = dict.fromkeys(("first_leg", "later_legs", "certificates"), 0.0)
    legs: list[Any] = []

    def clocked(name: str, function: Callable) -> Callable:
        def run(*arguments):
            began = time.perf_counter()
            found = jax.block_until_ready(function(*arguments))
            seconds[name] += time.perf_counter() - began
            return found

        return run

    program, certifier = programs.program, programs.certifier

    def of_leg(method):
        legs.append(method) if not legs else None
        return clocked("first_leg" if method is legs[0] else "later_legs", program(method))

    certificates = lambda problem: clocked("certificates", certifier(problem))
    with mock.patch.multiple(programs, program=of_leg, certifier=certificates):
        began = time.perf_counter()
        sweep()
        whole = time.perf_counter() - began
    rest = whole - sum(seconds.values())
    return {f"{name}_seconds": value for name, value in (*seconds.items(), ("rest", rest))}


def seconds_of(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{part}_seconds" for part in parts)


def where_cold_goes(rows: list[dict[str, Any]]) -> str:
    total = lambda part: sum(row[f"{part}_seconds"] for row in rows)
    warm, cold = (sum(row[field] for row in rows) for field in ("seconds", "seconds_cold"))
    made = total("tracing") + total("xla")
    return (
        f"{1 - warm / cold:.0%} of the first calls is waiting for programs; making them takes "
        f"{made / len(rows):.1f} s of all threads a set, {total('xla') / made:.0%} of it XLA"
    )


def aimed(facts: dict[str, float], rows: list[dict[str, Any]]) -> str:
    """What was aimed at and missed, and what the time goes to there."""
    said = []
    for name, aim in (("geometric mean", "mean"), ("geometric mean, cold", "mean_cold")):
        if facts[name] < AIMS[aim]:
            said.append(f"the {name} is {facts[name]:.2g}, the aim {AIMS[aim]:g}")
    if facts["geometric mean, cold"] < AIMS["mean_cold"]:
        said[-1] += f" ({where_cold_goes(rows)})"
    for row in rows:
        if row["ratio"] >= AIMS["sparse" if row["sparse"] else "dense"]:
            continue
        part = max(PARTS, key=lambda part: row[f"{part}_seconds"])
        share = row[f"{part}_seconds"] / row["seconds"]
        where = f"{share:.0%} of its time is {part.replace('_', ' ')}"
        said.append(f"{row['data']} is at {row['ratio']:.2g}: {where}")
    return f"Missed: {'; '.join(said)}." if said else "All aims are met."


def draw(rows, peer: dict[str, list[dict[str, Any]]]):
    figure = new_figure(figsize=(9, 4.2))
    left, right = figure.subplots(1, 2)
    names = [row["data"] for row in rows][::-1]
    at = {name: k for k, name in enumerate(names)}
    for field, label, marker in (("ratio", "compiled before", "D"), ("ratio_cold", "cold", "o")):
        points = [(row[field], at[row["data"]]) for row in rows]
        left.plot(*zip(*points), marker, label=label)
    left.axvline(1.0, color="0.5", lw=0.8)
    left.set_yticks(range(len(names)), names)
    dress(left, "seconds of LinearSVC / seconds of one sweep", "", "32 lambdas", log="x")
    for name, found in peer.items():
        lams = [p["lam"] for p in found]
        right.plot(lams, [own_seconds(p) for p in found], "-", lw=1.2, label=name)
        late = [(p["lam"], own_seconds(p)) for p in found if not p["reached"]]
        if late:
            right.plot(*zip(*late), "x", color="0.2", ms=4)
    dress(right, "lambda", "seconds of one LinearSVC fit", "x: 1e-3 not reached in the limit")
    return figure


def main(*, quick: bool = False, peers: bool = False) -> Found:
    set_up(x64=False, cache=False)  # as users run, and compile times are part of the question
    names = SMALL if quick else SETS
    store = pathlib.Path(tempfile.mkdtemp()) / "peers.json" if quick else PEERS
    rows, theirs, skipped = [], {}, []
    for name in names:
        try:
            data(name)
        except FileNotFoundError as error:
            skipped.append(f"skipped: {error}")
            continue
        theirs[name] = remembered(store, name, peers, lambda name=name: measured(name))
        row, _ = ours(name, js.Hinge(), COUNT)
        total = sum(map(own_seconds, theirs[name]))
        row |= {"peer_seconds": total, "peer_missed": sum(not p["reached"] for p in theirs[name])}
        row |= {"ratio": total / row["seconds"], "ratio_cold": total / row["seconds_cold"]}
        rows.append(row)
        jax.clear_caches()
    mean = lambda field: float(np.exp(np.mean([np.log(row[field]) for row in rows])))
    facts = {"geometric mean": mean("ratio"), "geometric mean, cold": mean("ratio_cold")}
    facts |= {"load per core": os.getloadavg()[0] / (os.cpu_count() or 1)}
    header = (
        "data,ours s,cold s,LinearSVC s,of 32 missed,ratio,cold,certified,"
        "first leg,later legs,certificates,rest,tracing,XLA"
    )
    body = [
        [
            row["data"],
            f"{row['seconds']:.2f}",
            f"{row['seconds_cold']:.1f}",
            f"{row['peer_seconds']:.1f}",
            str(row["peer_missed"]),
            f"{row['ratio']:.1f}",
            f"{row['ratio_cold']:.1f}",
            f"{row['certified']}/{COUNT}",
            *(f"{row[field]:.2f}" for field in seconds_of((*PARTS, *COLD))),
        ]
        for row in rows
    ]
    text = "\n".join([aligned([header.split(","), *body], left=(0,)), *skipped])
    least = min(rows, key=lambda row: row["ratio"])
    sentence = (
        f"Over {len(rows)} sets a certified path of {COUNT} lambdas is "
        f"{facts['geometric mean']:.1f} times faster than a loop of LinearSVC in the geometric "
        f"mean, {facts['geometric mean, cold']:.2g} times with compilation; the least is "
        f"{least['ratio']:.2g} on {least['data']}. {sum(row['certified'] for row in rows)} of "
        f"{COUNT * len(rows)} lanes are certified at {RTOL:g} in float64. {aimed(facts, rows)}"
    )
    return Found(rows, facts, text, sentence, draw(rows, theirs))
