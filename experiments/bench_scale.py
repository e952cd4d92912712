r"""What do more devices, more processes and rows on disk cost, and what do they save?

Rows of Covertype are divided over K simulated devices of this machine (hydra: its features), and
passes to a certified relative gap are counted beside what the theory says of them,

    disdca   theta = min_i lam gamma / (n (c_i K L_i + lam gamma)), so passes grow like 1/theta
    hydra    passes grow like beta, from eigenvalues of the data
    newton   the same iterations, whoever adds up the matrix

Bytes are read off the compiled programs: what a device gives to all-reduces in a pass and its
certificate, against n, d and the number of lambdas. Then lambdas over devices, two processes with a
part of the rows each, and all rows on disk behind a buffer of 20 MB. Devices share two cores here:
passes and bytes mean what they say, seconds only show that nothing is lost.
"""

import json
import math
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxopt_svm as js
from experiments.budget import each, enough
from experiments.common import Found, new_figure, set_up
from experiments.figures import bound, dress
from experiments.scale_worker import ROUNDS
from jaxopt_svm.data import load
from jaxopt_svm.methods.coordinate.hydra import beta_terms
from jaxopt_svm.report import aligned

LAM, ASKED, MOST = 1e-5, 1e-3, 600
BUFFER = 20e6
BASE = {"n": 2000, "d": 16, "lambdas": 2}  # what bytes are compared with
METHODS = ("disdca", "hydra", "newton")
ROOT = pathlib.Path(__file__).parent.parent


def started(task: str, **given: Any) -> subprocess.Popen:
    """A worker with its own devices; its records come out as JSON."""
    command = [sys.executable, "-m", "experiments.scale_worker", json.dumps({"task": task} | given)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def records(worker: subprocess.Popen) -> list[dict[str, Any]]:
    out, err = worker.communicate(timeout=400)
    if worker.returncode:
        raise RuntimeError(f"a worker failed: {err.strip().splitlines()[-1:]}")
    return json.loads(out.splitlines()[-1])


def two_processes(**given: Any) -> list[dict[str, Any]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    both = [started("process", process=k, processes=2, port=port, **given) for k in range(2)]
    try:
        return records(both[0])
    finally:
        for worker in both:
            worker.kill()
            worker.wait()


def prepared(folder: pathlib.Path, quick: bool) -> tuple[str, np.ndarray, np.ndarray]:
    """All rows, and 200,000 of them, as files of float32; the name of the data, the some."""
    some = 6000 if quick else 200_000
    try:
        data = load("synthetic:9000:20" if quick else "covtype")
    except FileNotFoundError:
        data = load("synthetic:300000:54")
    X, y = np.ascontiguousarray(data.X, np.float32), data.y.astype(np.float32)
    np.save(folder / "all_X.npy", X)
    np.save(folder / "all_y.npy", y)
    few = np.random.default_rng(0).permutation(len(y))[:some]
    np.save(folder / "X.npy", X[few])
    np.save(folder / "y.npy", y[few])
    return data.name, X[few], y[few]


def predicted(X: np.ndarray, y: np.ndarray, lam: float, nodes: int) -> dict[str, float]:
    """By how much the theory lets passes grow from one node to ``nodes``."""
    problem = js.make_erm(X, y, loss=js.SmoothHinge(), lam=lam)
    L, n = float(problem.rows.sqnorms.max()), problem.n
    kappa = L / (n * lam * float(problem.loss.gamma))
    B = np.zeros((-(-X.shape[1] // nodes) * nodes, min(n, 20_000)), np.float32)
    B[: X.shape[1]] = X[: B.shape[1]].T
    beta = sum(float(term) for term in beta_terms(jnp.asarray(B), nodes, 1))
    return {"disdca": (1 + nodes * kappa) / (1 + kappa), "hydra": beta, "newton": 1.0}


def _powers(ax: Any, ticks: Any) -> None:
    """Ticks at these numbers and nowhere else."""
    ax.set_xticks(list(ticks), [str(k) for k in ticks])
    ax.minorticks_off()


def drawn(rows: list[dict[str, Any]], counts: tuple[int, ...]) -> Any:
    figure = new_figure(figsize=(12, 8))
    (nodes, size), (lanes, disk) = figure.subplots(2, 2)
    pick = lambda **wanted: [r for r in rows if all(r.get(k) == v for k, v in wanted.items())]
    for j, name in enumerate(METHODS):
        mine = [r for r in pick(kind="nodes", method=name) if math.isfinite(r["passes"])]
        if mine:
            at = [r["devices"] for r in mine]
            nodes.plot(at, [r["passes"] for r in mine], "o-", color=f"C{j}", label=name)
            theory = [mine[0]["passes"] * r["predicted"] / mine[0]["predicted"] for r in mine]
            bound(nodes, at, theory, "its theory" if j == 0 else None, f"C{j}")
    for r in pick(kind="processes"):
        nodes.plot(r["devices"], r["passes"], "s", color="0.2", label="disdca, 2 processes")
    dress(nodes, "devices (nodes)", f"passes to a relative gap {ASKED:g}", "passes")
    _powers(nodes, counts)
    for j, (axis, label) in enumerate((("n", "n"), ("d", "d"), ("lambdas", "lambdas"))):
        for name, line in (("disdca", "o-"), ("newton", "s--")):
            mine = pick(kind="bytes", method=name, varied=axis)
            if not mine:
                continue
            ratio = [r[axis] / mine[0][axis] for r in mine]
            y = [r["bytes_per_pass"] for r in mine]
            size.plot(ratio, y, line, color=f"C{j}", label=f"{name}, more {label}")
    dress(size, "times as many", "bytes a device gives in a pass", "exchange")
    _powers(size, sorted({round(r[r["varied"]] / BASE[r["varied"]]) for r in pick(kind="bytes")}))
    mine = pick(kind="lanes")
    if mine:
        at, first = [r["devices"] for r in mine], mine[0]
        for field, label in (
            ("seconds_per_pass", "clock"),
            ("processor_seconds_per_pass", "cores"),
        ):
            lanes.plot(at, [r[field] / first[field] for r in mine], "o-", label=label)
    title = f"{mine[0]['lambdas']} lambdas divided" if mine else ""
    dress(lanes, "devices", "seconds of a pass, one device = 1", title, log="x")
    _powers(lanes, counts)
    pairs = [*pick(kind="memory"), *pick(kind="streamed")]
    spots = np.arange(len(pairs))
    disk.bar(spots - 0.2, [r["resident_mb"] for r in pairs], 0.4, label="peak resident MB")
    disk.bar(spots + 0.2, [r["resident_before_mb"] for r in pairs], 0.4, label="MB before any data")
    names = [f"{r['kind']}\nlam {r['lam']:g}\n{r['passes']:.1f} passes" for r in pairs]
    disk.set_xticks(spots, names, fontsize=8)
    dress(disk, "", "MB", "rows on disk", log="")
    return figure


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    lam, counts = (1e-3, (1, 2)) if quick else (LAM, (1, 2, 4, 8))
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data, X, y = prepared(folder, quick)
        common = {"folder": name, "lam": lam, "rtol": ASKED}
        buffer, names = (1e5, METHODS[:1]) if quick else (BUFFER, METHODS)
        times = (1, 2) if quick else (1, 2, 4, 8)
        some = {"rows": 2000, "lambdas": 8} if quick else {"rows": 50_000, "lambdas": 32}

        def on_nodes(k: int):
            """Passes and bytes against the number of nodes."""
            theory = predicted(X, y, lam, k)
            found = records(started("methods", devices=k, names=names, most=MOST, **common))
            return [row | {"predicted": theory[row["method"]]} for row in found]

        def on_disk(part: tuple[float, float | None]):
            given = {"folder": name, "lam": part[0], "memory": part[1], "rtol": ASKED}
            return records(started("streamed", seeds=1 if quick else 3, **given))

        def by_size(axis: str):
            """Bytes against n, d or the number of lambdas."""
            cases = [[x * t if what == axis else x for what, x in BASE.items()] for t in times]
            found = records(started("sizes", devices=2 if quick else 4, cases=cases))
            return [row | {"varied": axis} for row in found]

        def by_lanes(k: int):
            given = {"devices": k, "folder": name, "repeats": 2 if quick else 15}
            return records(started("lanes_divided", **given, **some))

        parts: list[tuple[str, Any, Any]] = [(f"{k} nodes", on_nodes, k) for k in counts]
        for lam_ in (lam,) if quick else (10 * lam, lam):
            parts += [(f"rows at lam = {lam_:g}", on_disk, (lam_, m)) for m in (None, buffer)]
        parts += [(f"bytes against {axis}", by_size, axis) for axis in ("n", "d", "lambdas")]
        parts += [(f"lambdas on {k} devices", by_lanes, k) for k in counts]
        parts += [("two processes", lambda _: two_processes(most=MOST, **common), None)]
        for _, measure, part in each(parts, label=lambda part: part[0]):
            rows += measure(part)
    enough(any(row["kind"] == "nodes" for row in rows))
    return told(rows, data, counts, lam)


def told(rows: list[dict[str, Any]], data: str, counts: tuple[int, ...], lam: float) -> Found:
    """The table, the sentence and the figure, from the rows alone."""
    pick = lambda **wanted: [r for r in rows if all(r.get(k) == v for k, v in wanted.items())]
    shown = lambda x: f"{x:.0f}" if math.isfinite(x) else f"> {MOST}"
    table = [
        ["method", "devices", "rows each", "passes", "predicted x", "bytes a pass", "s a pass"]
    ]
    for r in [*pick(kind="nodes"), *pick(kind="processes")]:
        what = r["method"] + (" (processes)" if r["kind"] == "processes" else "")
        line = [what, str(r["devices"]), f"{r['rows_per_device']:,}", shown(r["passes"])]
        line += [f"{r['predicted']:.2f}" if "predicted" in r else "-"]
        table.append([*line, f"{r.get('bytes_per_pass', 0):,}", f"{r['seconds_per_pass']:.3f}"])
    facts: dict[str, Any] = {"data": data, "lam": lam, "cores": os.cpu_count()}
    said = []
    for name in METHODS:
        mine = pick(kind="nodes", method=name)
        if mine:
            passes = ", ".join(f"{r['devices']}: {shown(r['passes'])}" for r in mine)
            last = mine[-1]["predicted"] / mine[0]["predicted"]
            said.append(f"{name} {passes} (theory allows {last:.1f} times as many)")
            facts[f"{name}_passes"] = {r["devices"]: r["passes"] for r in mine}
    sentence = f"Passes to {ASKED:g} by devices on {data} at lambda = {lam:g}: {'; '.join(said)}."
    growth = {}
    for name in ("disdca", "newton"):
        for axis in ("n", "d", "lambdas"):
            mine = pick(kind="bytes", method=name, varied=axis)
            if len(mine) > 1:
                up = mine[-1]["bytes_per_pass"] / mine[0]["bytes_per_pass"]
                growth[f"{name}, {axis}"] = math.log(up) / math.log(mine[-1][axis] / mine[0][axis])
    facts["exponents"] = growth
    if growth:
        powers = ", ".join(f"{what}: {power:.2f}" for what, power in growth.items())
        sentence += f" Bytes a pass grow with the powers {powers}."
    lanes = pick(kind="lanes")
    if len(lanes) > 1:
        best = min(lanes, key=lambda r: r["seconds_per_pass"])
        speed = lanes[0]["seconds_per_pass"] / best["seconds_per_pass"]
        cost = lanes[-1]["processor_seconds_per_pass"] / lanes[0]["processor_seconds_per_pass"]
        facts |= {"lanes_speed": speed, "lanes_processor_cost": cost}
        silent = all(r["bytes_per_pass"] == 0 for r in lanes)
        # what others leave of the cores decides what the clock says
        had = max(r["processor_seconds_per_pass"] / r["seconds_per_pass"] for r in lanes)
        facts["lanes_cores_had"] = had
        sentence += (
            f" Lambdas over devices exchange {'nothing' if silent else 'something'}; with "
            f"{had:.1f} of {os.cpu_count()} cores to be had a pass is fastest with devices = "
            f"{best['devices']} ({speed:.2f} times one device), and takes {cost:.2f} times the "
            f"processor time of one on {lanes[-1]['devices']}."
        )
    for r in pick(kind="streamed"):
        (whole,) = pick(kind="memory", lam=r["lam"]) or [None]
        if whole is not None:
            ratio = r["passes"] / whole["passes"]
            facts[f"streamed_ratio_{r['lam']:g}"] = ratio
            sentence += (
                f" With its {r['n']:,} rows on disk at lambda = {r['lam']:g}: {r['passes']:.1f} "
                f"passes for {whole['passes']:.1f} in memory ({ratio:.2f}), and a peak of "
                f"{r['resident_mb'] - r['resident_before_mb']:.0f} MB for "
                f"{whole['resident_mb'] - whole['resident_before_mb']:.0f}, compiler included."
            )
    for r in pick(kind="processes"):
        sentence += f" Two processes: {shown(r['passes'])} passes of disdca."
    facts["rounds"] = ROUNDS
    return Found(rows, facts, aligned(table, (0,)), sentence, drawn(rows, counts))
