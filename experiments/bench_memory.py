r"""How much memory does a sweep with memory= take?

32 lambdas, each sweep in a process of its own, a few passes and no more (every lane goes through
both legs of its relay; nothing is solved). Peaks are of the resident size, above what the process
had after importing jax and before any data. The promise is

    peak of the sweep <= 3 (data + budget),      data: the bytes of the problem's arrays

and the stricter 3 data + budget stands beside it. The process reads its arrays from a file as they
are: what a loader of texts leaves behind is not the sweep's. Three things in a peak are not lanes
and are measured apart: making the problem (before the sweep), what compiling the programs takes
(the same groups on 200 rows), and what the C library's allocator keeps of what was freed (the same
sweep with MALLOC_MMAP_THRESHOLD_ at 1 MB, where it gives every large array back). The answer itself
is a dual point for each lambda, which no budget makes smaller.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

import jaxopt_svm as js
from experiments.budget import each, enough
from experiments.common import Found, set_up
from experiments.figures import dress, new_figure
from experiments.scale_worker import resident
from jaxopt_svm.core import registry
from jaxopt_svm.core.footprint import bytes_of
from jaxopt_svm.core.groups import lanes_within
from jaxopt_svm.core.relay import legs_of
from jaxopt_svm.data import load
from jaxopt_svm.report import aligned

COUNT, RANGE, TIMES = 32, (1e-6, 1e-2), 3
LOSSES = {"hinge": js.Hinge(), "logistic": js.Logistic()}
CASES = [("covtype", "hinge", budget) for budget in (100.0, 300.0, 1000.0)]
CASES += [("newsgroups", loss, budget) for loss in LOSSES for budget in (50.0, 200.0)]
SMALL = [("synthetic:20000:20", "hinge", 100.0)]
FEW = 200  # rows with which a sweep is its programs and little else
RESET = pathlib.Path("/proc/self/clear_refs")  # writing 5 starts the peak anew
LARGE = {"MALLOC_MMAP_THRESHOLD_": "1000000"}  # bytes above which freed memory goes back at once
ROOT = pathlib.Path(__file__).parent.parent
MB = 1e6


def peak() -> float:
    """Most MB that were resident since the last call, where the system can tell; else so far."""
    most = resident() * 2**20 / MB
    if RESET.exists():
        RESET.write_text("5")
    return most


def passes_of(method: Any) -> int:
    """So many that the last leg takes two."""
    return max(legs_of(method)[1], default=0) + 2


def stored(name: str, folder: pathlib.Path) -> pathlib.Path:
    """A data set as arrays in files, for the children."""
    place = folder / name.replace(":", "_")
    if not place.exists():
        data = load(name)
        place.mkdir()
        np.save(place / "y.npy", data.y)
        X = data.X.astype(np.float32)
        sp.save_npz(place / "X.npz", X) if sp.issparse(X) else np.save(place / "X.npy", X)
    return place


def measured(
    name: str, loss: str, budget: float, place: str, rows: int | None, lanes: int
) -> dict[str, Any]:
    """The child: a sweep, or one in groups of ``lanes`` lanes on some ``rows`` rows."""
    set_up(x64=False, cache=False)  # a program from the disk would not be compiled
    jax.block_until_ready(jnp.zeros(1) + 1)
    before = peak()
    files = pathlib.Path(place)
    sparse = files / "X.npz"
    X = sp.load_npz(sparse) if sparse.exists() else np.load(files / "X.npy")
    y = np.load(files / "y.npy")
    if rows is not None:  # from all over: the first ones may have one label
        some = slice(None, None, max(1, len(y) // rows))
        X, y = X[some].copy(), y[some]
    problem = js.make_erm(X, y, loss=LOSSES[loss])
    del X, y
    made = peak() - before
    problem, method = registry.choose(problem)
    alone = js.Relay(legs_of(method)[0], getattr(method, "passes", ()), lanes=lanes or None)
    grouped = method if rows is None else alone
    options = {"rtol": 1e-12, "max_passes": passes_of(method)}
    options |= {"memory": budget * MB} if rows is None else {}
    peak()
    solution = js.sweep(problem, js.lam_grid(*RANGE, COUNT), grouped, **options)
    sweep = peak() - before
    js.recertify(problem, solution)
    own = getattr(method, "lanes", None) or COUNT
    return {
        "data": name,
        "loss": loss,
        "n": problem.n,
        "d": problem.d,
        "budget_mb": budget,
        "lanes": min(lanes_within(problem, method, budget * MB), own),
        "legs": max(len(str(m).split(" > ")) for m in solution.method),
        "data_mb": bytes_of(problem) / MB,
        "answer_mb": bytes_of((solution.w, solution.dual)) / MB,
        "before_mb": before,
        "made_mb": made,
        "sweep_mb": sweep,
        "recertified_mb": peak() - before,
    }


def child(
    case: tuple[str, str, float],
    place: pathlib.Path,
    rows: int | None = None,
    lanes: int = 0,
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    """``measured`` in a process of its own."""
    script = (
        "import json, sys; from experiments import bench_memory as b;"
        "print(json.dumps(b.measured(*json.loads(sys.argv[1]))))"
    )
    command = [sys.executable, "-c", script, json.dumps([*case, str(place), rows, lanes])]
    options = {
        "cwd": ROOT,
        "env": os.environ | (environment or {}),
        "capture_output": True,
        "text": True,
    }
    done = subprocess.run(command, **options)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        raise RuntimeError(f"a sweep failed: {last}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main(*, quick: bool = False) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        return found_in(pathlib.Path(folder), quick)


def found_in(folder: pathlib.Path, quick: bool) -> Found:
    """Every case, its data in ``folder``."""
    rows: list[dict[str, Any]] = []
    skipped: dict[str, None] = {}
    shown = lambda case: f"{case[0]} {case[1]} {case[2]:g} MB"
    for case in each(SMALL if quick else CASES, label=shown):
        try:
            rows.append(child(case, stored(case[0], folder)))
        except FileNotFoundError as error:
            skipped[f"skipped: {error}"] = None
    enough(bool(rows))
    for row in rows:
        row["limit_mb"] = TIMES * (row["data_mb"] + row["budget_mb"])
        row["strict_mb"] = TIMES * row["data_mb"] + row["budget_mb"]
        row["kept"] = row["sweep_mb"] <= row["limit_mb"]
        row["kept_strictly"] = row["sweep_mb"] <= row["strict_mb"]
    case_of = lambda row: (row["data"], row["loss"], row["budget_mb"])
    at = lambda row: stored(row["data"], folder)
    for row in each(rows, "programs alone,", lambda row: shown(case_of(row))):
        row["programs_mb"] = child(case_of(row), at(row), FEW, row["lanes"])["sweep_mb"]
    for row in each(
        [] if quick else rows, "freed memory given back,", lambda row: shown(case_of(row))
    ):
        row["given_back_mb"] = child(case_of(row), at(row), environment=LARGE)["sweep_mb"]
    return told(rows, list(skipped))


def told(rows: list[dict[str, Any]], notes: list[str]) -> Found:
    """The table, the sentence and the figure, from the rows alone."""
    fields = {
        "data": "data_mb",
        "budget": "budget_mb",
        "made": "made_mb",
        "sweep": "sweep_mb",
        "recertified": "recertified_mb",
        "3 (data + budget)": "limit_mb",
        "3 data + budget": "strict_mb",
        "programs": "programs_mb",
        "freed given back": "given_back_mb",
        "answer": "answer_mb",
    }
    number = lambda row, field: f"{row[field]:.0f}" if field in row else "-"
    body = [
        [row["data"], row["loss"], str(row["lanes"]), *(number(row, f) for f in fields.values())]
        for row in rows
    ]
    header = ["peaks in MB", "loss", "lanes at once", *fields]
    text = "\n".join([aligned([header, *body], left=(0, 1)), *notes])
    worst = max(rows, key=lambda row: row["sweep_mb"] / (row["data_mb"] + row["budget_mb"]))
    times = worst["sweep_mb"] / (worst["data_mb"] + worst["budget_mb"])
    facts = {
        "kept": sum(row["kept"] for row in rows),
        "kept strictly": sum(row["kept_strictly"] for row in rows),
        "most, of data + budget": times,
        "both legs ran": all(row["legs"] == 2 for row in rows if row["loss"] == "hinge"),
    }
    sentence = (
        f"The peak of a sweep stays within {TIMES} (data + budget) in {facts['kept']} of "
        f"{len(rows)} cases, and within {TIMES} data + budget in {facts['kept strictly']}; the "
        f"most is {times:.1f} times data + budget ({worst['data']}, {worst['loss']}, "
        f"{worst['budget_mb']:g} MB: {worst['sweep_mb']:.0f} MB with {worst['data_mb']:.0f} MB of "
        f"data)"
    )
    if "programs_mb" in worst:
        sentence += f", where compiling alone takes {worst['programs_mb']:.0f} MB"
    kept_back = worst["sweep_mb"] - worst.get("given_back_mb", worst["sweep_mb"])
    if kept_back >= 1:
        sentence += f" and {kept_back:.0f} MB are freed memory that the allocator keeps"
    return Found(rows, facts, text, sentence + ".", draw(rows))


def draw(rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(figsize=(9, 0.5 * len(rows) + 2))
    ax = figure.subplots()
    at = np.arange(len(rows))[::-1]
    bars = {"sweep_mb": "peak of the sweep", "given_back_mb": "the same, freed memory given back"}
    bars |= {"programs_mb": "its programs on 200 rows", "data_mb": "data"}
    for k, (field, label) in enumerate(bars.items()):
        ax.barh(
            at, [row.get(field, 0.0) for row in rows], 0.8 - 0.2 * k, color=f"C{k}", label=label
        )
    for j, (field, label) in enumerate(
        (("limit_mb", "3 (data + budget)"), ("strict_mb", "3 data + budget"))
    ):
        ax.plot([row[field] for row in rows], at, "|D"[j], color="0.2", ms=12 - 7 * j, label=label)
    names = [f"{row['data']}, {row['loss']}, {row['budget_mb']:g} MB" for row in rows]
    ax.set_yticks(at, names)
    dress(ax, "MB above an empty process", "", f"{COUNT} lambdas, within a budget", log="")
    return figure
