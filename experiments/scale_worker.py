"""One measurement of bench_scale in a process of its own: the number of devices is set at start.

    python -m experiments.scale_worker '{"task": "methods", "devices": 4, ...}'

prints a JSON list of flat records. Every function below is a task, named in the first argument.
"""

import json
import math
import pathlib
import re
import resource
import sys
import time
from typing import Any

import jax
import numpy as np

import jaxopt_svm as js
from experiments.common import compiled_passes, rounds, set_up
from jaxopt_svm.core import lanes, programs

KINDS = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
COLLECTIVE = re.compile(rf"= (?P<shapes>.*?) ({KINDS})[-a-z]*\(")
CALLED = re.compile(r"(?:body|condition|calls|to_apply)=%?([\w.\-]+)")
BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
TRIPS = re.compile(r'known_trip_count[^}]*?"n":"(\d+)"')
ROUNDS = 10  # exchanges a pass of DisDCA, whatever n is


def bytes_exchanged(text: str) -> int:
    """Bytes that a device gives to collectives in one run of a compiled program, loops of known
    length multiplied out; a loop whose length depends on the data counts once."""
    own, calls, name, entry = {}, {}, "", ""
    for line in text.splitlines():
        if line.rstrip().endswith("{") and "->" in line:
            name = re.sub(r"^(ENTRY )?%?", "", line.strip()).split(" ")[0].split("(")[0]
            entry = name if line.startswith("ENTRY") else entry
            own[name], calls[name] = 0, []
        elif name:
            if found := COLLECTIVE.search(line):
                own[name] += sum(
                    map(_shape_bytes, re.findall(r"(\w+)\[([\d,]*)\]", found["shapes"]))
                )
            trips = int(found[1]) if (found := TRIPS.search(line)) else 1
            inside = CALLED.findall(line)
            for group in BRANCHES.findall(line):
                inside += [part.strip().lstrip("%") for part in group.split(",")]
            calls[name] += [(callee, trips) for callee in inside]

    def total(name: str) -> int:
        return own.get(name, 0) + sum(k * total(callee) for callee, k in calls.get(name, []))

    return total(entry)


def _shape_bytes(shape: tuple[str, str]) -> int:
    kind, sizes = shape
    bits = int(found[0]) if (found := re.findall(r"\d+$", kind)) else 8
    return bits // 8 * math.prod(int(size) for size in sizes.split(",") if size)


def exchanged(problem: Any, method: Any) -> int:
    """Bytes a device gives in a pass and its certificate; alone it has nobody to give them to."""
    if jax.device_count() == 1:
        return 0
    problem = lanes.placed(problem, lanes.first_slots(problem))
    state, best, _ = programs.begin(problem, method, None)
    parts = programs.lowered(problem, method, state, best)
    return sum(bytes_exchanged(part.compile().as_text() or "") for part in parts)


def disdca(n: int, nodes: int) -> js.DisDCA:
    return js.DisDCA(local=max(1, -(-n // nodes // ROUNDS)))


def _solved(problem: Any, method: Any, rtol: float, most: int) -> dict[str, Any]:
    """Passes to the gap, and seconds of a pass after the first, which compiles."""
    one = js.solve(problem, method, rtol=rtol, max_passes=most)
    seconds, passes = np.asarray(one.trace.seconds), np.asarray(one.trace.passes)
    later = slice(1, None) if len(passes) > 2 else slice(0, None)
    per_pass = np.ptp(seconds[later]) / max(1.0, np.ptp(passes[later]))
    done = str(one.status) == "converged"
    found = {"passes": float(one.passes) if done else math.inf, "seconds_per_pass": float(per_pass)}
    return found | {"relative_gap": float(one.relative_gap)}


def methods(devices: int, folder: str, lam: float, rtol: float, names: list[str], most: int):
    """Passes, bytes and seconds of each method with the rows (hydra: the features) divided."""
    X, y = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")
    n, d = X.shape
    rows = jax.make_mesh((devices,), ("rows",))
    loss = js.SmoothHinge()
    for name in names:
        if name == "hydra":
            method = js.hydra(devices, beta=True, mesh=jax.make_mesh((devices,), ("devices",)))
            problem = js.prepare(js.make_erm(X, y, loss=loss, lam=lam), method)
            share = (n, -(-d // devices))
        else:
            method = disdca(n, devices) if name == "disdca" else js.Newton()
            problem = js.make_erm(X, y, loss=loss, lam=lam, mesh=rows)
            share = (-(-n // devices), d)
        row = {"kind": "nodes", "method": name, "devices": devices, "n": n, "d": d, "lambdas": 1}
        row |= {"rows_per_device": share[0], "columns_per_device": share[1]}
        row |= {"bytes_per_pass": exchanged(problem, method)}
        yield row | _solved(problem, method, rtol, most)


def sizes(devices: int, cases: list[tuple[int, int, int]]):
    """Bytes a pass against n, d and the number of lambdas; programs are compiled, not run far."""
    mesh = jax.make_mesh((devices,), ("rows",))
    rng = np.random.default_rng(0)
    for n, d, k in cases:
        X = rng.normal(size=(n, d)).astype(np.float32)
        problem = js.make_erm(X, np.sign(X[:, 0]), loss=js.SmoothHinge(), mesh=mesh)
        problem = problem.with_lam(np.geomspace(1e-3, 1.0, k)) if k > 1 else problem
        for name, method in (("disdca", disdca(n, devices)), ("newton", js.Newton())):
            row = {"kind": "bytes", "method": name, "devices": devices, "n": n, "d": d}
            yield row | {"lambdas": k, "bytes_per_pass": exchanged(problem, method)}


def lanes_divided(devices: int, folder: str, rows: int, lambdas: int, repeats: int):
    """Seconds of a pass of a sweep whose lambdas are divided."""
    X, y = np.load(f"{folder}/X.npy")[:rows], np.load(f"{folder}/y.npy")[:rows]
    mesh = None if devices == 1 else jax.make_mesh((devices,), ("lanes",))
    problem = js.make_erm(X, y, mesh=mesh).with_lam(js.lam_grid(1e-4, 1e-1, lambdas))
    problem = lanes.placed(problem, lanes.first_slots(problem))
    call, _ = compiled_passes(problem, js.SDCA(), 2)
    own = time.process_time()
    (times,) = rounds([call], repeats)
    own = (time.process_time() - own) / (2 * repeats + 2)  # two passes a call, one call to warm up
    row = {"kind": "lanes", "method": "sdca", "devices": devices, "n": rows, "lambdas": lambdas}
    row |= {"bytes_per_pass": exchanged(problem, js.SDCA()), "seconds_per_pass": min(times) / 2}
    yield row | {"processor_seconds_per_pass": own}


def process(
    process: int, processes: int, port: int, folder: str, lam: float, rtol: float, most: int
):
    """One of several processes, each with one device and its own part of the rows."""
    js.start_processes(f"127.0.0.1:{port}", processes, process)
    X, y = np.load(f"{folder}/X.npy", mmap_mode="r"), np.load(f"{folder}/y.npy")
    n = len(y)
    part = slice(process * n // processes, (process + 1) * n // processes)
    mesh = jax.make_mesh((processes,), ("rows",))
    problem = js.make_erm(np.asarray(X[part]), y[part], loss=js.SmoothHinge(), lam=lam, mesh=mesh)
    method = disdca(problem.n, processes)
    row = {"kind": "processes", "method": "disdca", "devices": processes, "n": n, "d": X.shape[1]}
    row |= {"lambdas": 1, "rows_per_device": -(-n // processes)}
    row |= {"bytes_per_pass": exchanged(problem, method)}
    yield row | _solved(problem, method, rtol, most)


def streamed(folder: str, memory: float | None, lam: float, rtol: float, seeds: int):
    """Passes and peak memory with the rows on disk, or in memory; the mean over a few keys."""
    jax.block_until_ready(jax.numpy.zeros(1))
    before = resident()
    names = f"{folder}/all_X.npy", f"{folder}/all_y.npy"
    if memory is None:
        problem = js.make_erm(*map(np.load, names), lam=lam)
    else:
        problem = js.make_streamed(*names, memory=memory, scratch=folder, lam=lam)
    found = []
    for seed in range(seeds):
        key = jax.random.key(seed)
        found.append(js.solve(problem, js.SDCA(), rtol=rtol, max_passes=400, key=key))
    row = {"kind": "memory" if memory is None else "streamed", "method": "sdca", "n": problem.n}
    row |= {"d": problem.d, "lam": lam, "passes": float(np.mean([one.passes for one in found]))}
    row |= {"converged": all(str(one.status) == "converged" for one in found)}
    yield row | {"resident_mb": resident(), "resident_before_mb": before}


def resident() -> float:
    """Most MB this program had in memory; getrusage would add what its parent had at the start."""
    try:
        status = pathlib.Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) / 1024


TASKS = {f.__name__: f for f in (methods, sizes, lanes_divided, process, streamed)}


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    task = given.pop("task")
    jax.config.update("jax_num_cpu_devices", given.get("devices", 1))
    set_up(x64=False)
    print(json.dumps(list(TASKS[task](**given))))
