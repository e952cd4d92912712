r"""How long does a certified path of squared hinge or logistic regression take, and how long loops
of the solvers people use?

16 lambdas, log-spaced 1e-6..1e-2, no intercept. Ours: ``js.sweep(problem, lams)`` in float32, every
lane certified at a relative gap of 1e-3; the certificates shown are recomputed in float64. Theirs,
in float64: LinearSVC(loss="squared_hinge", dual="auto"); LogisticRegression by lbfgs, by liblinear
and, on dense rows of at most 1000 features, by newton-cholesky; skglm (logistic, by L-BFGS: it has
no squared hinge) and cyanure, if they are installed: ``pip install skglm cyanure``, or the same
with ``--target`` a folder that is then named in PYTHONPATH. For every lambda the loosest tolerance
whose primal is within 1e-3 of the best known (ours at 1e-6 in float64, on texts 1e-5); only that
fit counts, 10 s a lambda and 2 minutes a solver and set at most. What is not reached counts at its
limit, and so does what was not tried when the two minutes were over; the table counts both.

Their time is the smaller of clock and processor, so that neither threads nor other work on the
machine are held against them; ours is by the clock. Their times are kept per machine in
results/peers.json, and ``--peers`` measures them anew; all of them take longer than the budget, so
give one (``--seconds 7200``), or run it again: what has been measured is kept.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import jax
import numpy as np

import jaxopt_svm as js
from experiments.bench_sweep import BEST, PEERS, RANGE, RTOL, WIDE, data, ours
from experiments.budget import OutOfTime, budget, each, enough
from experiments.common import Found, set_up
from experiments.figures import dress, new_figure
from experiments.peers import PEERS as SOLVERS
from experiments.peers import Fits, own_seconds, peer_path, remembered
from jaxopt_svm.report import aligned

COUNT, LIMIT, TOTAL = 16, 10.0, 120.0
SETS = ("covtype-100k", "a9a dense", "mnist", "newsgroups", "synthetic:20000:54")
SMALL = [("synthetic:2000:20", "logistic")]
LOSSES = {"squared_hinge": js.SquaredHinge(), "logistic": js.Logistic()}
QUICK_LIMITS = (1.0, 3.0)  # of a lambda, of a solver


@functools.cache
def best_known(name: str, loss: str) -> list[float]:
    """P at a relative gap of 1e-6 (texts: 1e-5), in float64, from a process of its own."""
    script = (
        "import sys, json; from experiments import bench_smooth as b;"
        "print(json.dumps(b.tight(*sys.argv[1:])))"
    )
    command = [sys.executable, "-c", script, name, loss]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def tight(name: str, loss: str) -> list[float]:
    set_up(x64=True)
    X, y = data(name)
    problem = js.make_erm(X.astype(np.float64), y, loss=LOSSES[loss])
    method = js.Relay((js.SDCA(), js.Newton()), (20,)) if name in WIDE else None
    rtol = 10 * BEST if name in WIDE else BEST
    solution = js.sweep(problem, js.lam_grid(*RANGE, COUNT), method, rtol=rtol, max_passes=3000)
    return np.asarray(solution.certificate.primal).tolist()


class Peers:
    """Times of the other packages, from the file or measured; ``said``: who is not here and why."""

    def __init__(self, store: pathlib.Path, anew: bool, limits: tuple[float, float]):
        self.store, self.anew, self.limits = store, anew, limits
        self.said: dict[str, None] = {}  # in order, each once

    def paths(self, name: str, loss: str) -> dict[str, list[dict[str, Any]]]:
        """For each solver that takes the problem a row for each lambda."""
        X, y = data(name)
        found = {}
        for solver, peer in SOLVERS.items():
            if not peer.takes(X, loss):
                continue
            fits = Fits(X.astype(np.float64), y, solver, loss)
            measure = functools.partial(self._measure, name, loss, fits)
            refresh = self.anew and peer.installed()
            try:
                found[solver] = remembered(
                    self.store, f"{name}, {loss}, {solver}", refresh, measure
                )
            except OutOfTime:
                continue  # the budget says it
            except ModuleNotFoundError as error:
                self.said[f"left out: {error}"] = None
            except RuntimeError as error:
                self.said[f"left out on {name}, {loss}: {error}"] = None
        return found

    def _measure(self, name: str, loss: str, fits: Fits) -> list[dict[str, Any]]:
        solver = fits.given[2]
        if not SOLVERS[solver].installed():
            raise ModuleNotFoundError(f"{solver} is not installed (pip install {solver})")
        if not budget().allows(f"{solver} on {name}, {loss}"):
            raise OutOfTime
        lams = js.lam_grid(*RANGE, COUNT)
        return peer_path(fits, lams, best_known(name, loss), RTOL, *self.limits)


def total_of(path: list[dict[str, Any]]) -> float:
    """Seconds of a loop: for each fit the smaller of clock and processor."""
    return sum(map(own_seconds, path))


def main(*, quick: bool = False, peers: bool = False) -> Found:
    set_up(x64=False, cache=False)  # as users run, and compile times are part of the question
    limits = QUICK_LIMITS if quick else (LIMIT, TOTAL)
    store = pathlib.Path(tempfile.mkdtemp()) / "peers.json" if quick else PEERS
    theirs = Peers(store, peers, limits)
    rows, skipped = [], []
    parts = SMALL if quick else [(name, loss) for name in SETS for loss in LOSSES]
    for name, loss in each(parts, label=", ".join):
        try:
            data(name)
        except FileNotFoundError as error:
            skipped.append(f"skipped: {error}")
            continue
        paths = theirs.paths(name, loss)
        own, _ = ours(name, LOSSES[loss], COUNT)
        rows.append({"data": name, "loss": loss, "solver": "ours"} | own)
        for solver, path in paths.items():
            seconds = total_of(path)
            row = {"data": name, "loss": loss, "solver": solver, "n": own["n"], "d": own["d"]}
            row |= {"seconds": seconds, "missed": sum(not p["reached"] for p in path)}
            row |= {"not_tried": sum(not p["tried"] for p in path)}
            row |= {"ratio": seconds / own["seconds"], "ratio_cold": seconds / own["seconds_cold"]}
            rows.append(row)
        jax.clear_caches()
    enough(any(row["solver"] != "ours" for row in rows))
    return told(rows, [*dict.fromkeys(skipped), *theirs.said])


def _mean(rows: list[dict[str, Any]], field: str) -> float:
    """The geometric one."""
    return float(np.exp(np.mean([np.log(row[field]) for row in rows])))


def told(rows: list[dict[str, Any]], notes: list[str]) -> Found:
    """The table, the sentence and the figure, from the rows alone."""
    mine = [row for row in rows if row["solver"] == "ours"]
    by = {(row["data"], row["loss"], row["solver"]): row for row in rows}
    solvers = [s for s in SOLVERS if any(row["solver"] == s for row in rows)]

    def shown(row: dict[str, Any] | None) -> str:
        if row is None:
            return "-"
        late = f"{row['missed']} missed" if row["missed"] else ""
        late += f", {row['not_tried']} of them not tried" if row["not_tried"] else ""
        return f"{row['seconds']:.2f}" + (f" ({late})" if late else "")

    body = [
        [
            own["data"],
            own["loss"],
            f"{own['seconds']:.2f}",
            f"{own['seconds_cold']:.1f}",
            f"{own['certified']}/{COUNT}",
            *(shown(by.get((own["data"], own["loss"], solver))) for solver in solvers),
        ]
        for own in mine
    ]
    header = ["data", "loss", "ours s", "cold s", "certified", *(f"{s} s" for s in solvers)]
    text = "\n".join([aligned([header, *body], left=(0, 1)), *notes])
    facts: dict[str, Any] = {"load per core": os.getloadavg()[0] / (os.cpu_count() or 1)}
    said = []
    for loss in LOSSES:
        best = []  # the fastest of them on each set
        for own in (row for row in mine if row["loss"] == loss):
            others = [by.get((own["data"], loss, solver)) for solver in solvers]
            others = [row for row in others if row is not None]
            if others:
                best.append(min(others, key=lambda row: row["seconds"]))
        if not best:
            continue
        mean = functools.partial(_mean, best)
        least = min(best, key=lambda row: row["ratio"])
        facts[f"{loss}, fastest of them / ours"] = mean("ratio")
        facts[f"{loss}, fastest of them / ours, cold"] = mean("ratio_cold")
        for solver in solvers:
            ratios = [
                np.log(r["ratio"]) for r in rows if (r["loss"], r["solver"]) == (loss, solver)
            ]
            if ratios:
                facts[f"{loss}, {solver} / ours"] = float(np.exp(np.mean(ratios)))
        said.append(
            f"{loss.replace('_', ' ')}: the fastest of the others takes {mean('ratio'):.2g} times "
            f"our seconds in the geometric mean over {len(best)} sets, {mean('ratio_cold'):.2g} "
            f"times with our compilation; the least is {least['ratio']:.2g} ({least['solver']} on "
            f"{least['data']})"
        )
    done, asked = sum(row["certified"] for row in mine), COUNT * len(mine)
    sentence = (
        f"A certified path of {COUNT} lambdas. {'; '.join(said)}. {done} of {asked} of our lanes "
        f"are certified at {RTOL:g} in float64; of the others' fits "
        f"{sum(row.get('missed', 0) for row in rows)} of {COUNT * (len(rows) - len(mine))} did not "
        f"get there in their limit and count at it."
    )
    return Found(rows, facts, text, sentence, draw(rows, solvers))


def draw(rows: list[dict[str, Any]], solvers: list[str]) -> Any:
    figure = new_figure(figsize=(10, 4.2))
    axes = figure.subplots(1, 2)
    for ax, loss in zip(axes, LOSSES):
        here = [row for row in rows if row["loss"] == loss]
        names = list(dict.fromkeys(row["data"] for row in here))[::-1]
        for k, solver in enumerate(solvers):
            for missed in (False, True):
                some = [r for r in here if r["solver"] == solver and bool(r["missed"]) == missed]
                points = [(row["ratio"], names.index(row["data"])) for row in some]
                style = {"color": f"C{k}", "fillstyle": "none" if missed else "full", "ls": ""}
                label = None if missed else solver
                ax.plot(*(zip(*points) if points else ([], [])), marker="o", label=label, **style)
        ax.axvline(1.0, color="0.5", lw=0.8)
        ax.set_yticks(range(len(names)), names)
        title = f"{loss.replace('_', ' ')}; hollow: some lambdas missed"
        dress(ax, "seconds of a loop / seconds of one sweep", "", title, log="x", legend=False)
    axes[-1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
