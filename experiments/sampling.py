r"""Do samplings gain what their ESO constants say?

SDCA with a smooth loss needs at most (1/theta) log(gap_0/(theta eps)) steps on average, with

    theta = min_i p_i lam gamma / (c_i v_i + lam gamma)

from the sampling's constants (p, v). So the constants predict what another sampling gains over
uniform serial visits: theta / theta_uniform. Measured: steps to a gap of eps = rtol P(w). Both
in steps; a step of tau-nice looks at tau examples, so a pass has n/tau of them.

Data: dense rows in ten features (every two rows meet); sparse rows whose features are shared
unevenly (a few by many rows, most by few); both with log-normal lengths. The same sparse rows
scaled to length one, where the optimal serial sampling is uniform. And 4,000 texts, if they are
here.
"""

import math
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxopt_svm as js
from experiments.budget import each, enough
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

COLOURS = {"dense": "#cc79a7", "sparse": "#0072b2", "sparse, even": "#d55e00"}
COLOURS |= {"newsgroups": "#009e73"}
SERIAL = ("uniform", "optimal")


class Size(NamedTuple):
    """How much to measure. hardness: mean L/(lam gamma n), how ill-conditioned the problems are."""

    n: int
    d: int
    taus: tuple[int, ...]
    seeds: int
    rtol: float
    more: bool  # all data sets
    hardness: float = 5.0
    max_passes: int = 2000


FULL = Size(n=2000, d=4000, taus=(4, 16, 64, 256), seeds=2, rtol=1e-3, more=True)
QUICK = Size(n=500, d=1000, taus=(16,), seeds=1, rtol=1e-3, more=False)


def with_lengths(X: np.ndarray, lengths) -> np.ndarray:
    return X * (lengths / np.maximum(np.linalg.norm(X, axis=1), 1e-12))[:, None]


def labels(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Signs of a linear score, a tenth of them wrong."""
    score = X @ rng.normal(size=X.shape[1])
    return np.where((score > 0) ^ (rng.random(len(X)) < 0.1), 1.0, -1.0)


def data_sets(size: Size) -> tuple[dict[str, tuple], list[str]]:
    rng, sp = np.random.default_rng(0), need("scipy.sparse", "the sparse rows")
    lengths = np.exp(0.5 * rng.normal(size=size.n))
    dense = with_lengths(rng.normal(size=(size.n, 10)), lengths)
    # feature j is in a row with a probability that falls like 1/j
    chance = np.minimum(0.5, 3.0 / np.arange(1, size.d + 1))
    sparse = rng.normal(size=(size.n, size.d)) * (rng.random((size.n, size.d)) < chance)
    y = labels(sparse, rng)
    found = {
        "dense": (dense, labels(dense, rng)),
        "sparse": (sp.csr_matrix(with_lengths(sparse, lengths)), y),
    }
    if not size.more:
        return found, []
    found["sparse, even"] = (sp.csr_matrix(with_lengths(sparse, 1.0)), y)
    try:
        text = load("newsgroups")
    except FileNotFoundError as error:
        return found, [f"skipped: {error}"]
    some = rng.permutation(len(text.y))[: 2 * size.n]
    return found | {"newsgroups": (text.X[some], text.y[some])}, []


def samplings(size: Size, dense: bool) -> dict[str, Any]:
    rule = js.EigenESO() if dense else js.SparseESO()
    nice = {f"{tau}-nice": js.Nice(tau, rule) for tau in size.taus}
    return {"uniform": js.Uniform(), "optimal": js.Optimal(), **nice}


def passes_to(solution, eps: float) -> float:
    """Passes until the gap is eps, log-linear between the records around it."""
    gap, passes = np.asarray(solution.trace.gap), np.asarray(solution.trace.passes)
    after = int(np.argmax(gap <= eps))
    if not gap[after] <= eps or after == 0:
        return math.nan
    a, b = np.log(gap[after - 1]), np.log(gap[after])
    share = (a - np.log(eps)) / (a - b)
    return float(passes[after - 1] + share * (passes[after] - passes[after - 1]))


def measure(name: str, X: Any, y: np.ndarray, size: Size) -> list[dict[str, Any]]:
    loss, n = js.SmoothHinge(1.0), X.shape[0]
    problem = js.make_erm(X.astype(np.float64), y, loss=loss)
    problem = problem.with_lam(problem.rows.sqnorms.mean() / (size.hardness * n))
    start = problem.certificate(problem.origin())
    # P* to two digits, so that eps is the same for every sampling
    rough = js.solve(problem, js.SDCA(), rtol=1e-2, max_passes=size.max_passes)
    eps = size.rtol * float(rough.certificate.primal)
    rows = []
    some = samplings(size, problem.rows.spans).items()
    for label, sampling in each(some, f"{name},", lambda pair: pair[0]):
        method = js.SDCA(sampling)
        theta = float(jax.jit(method.theta)(problem))
        steps_a_pass = n if sampling.serial else -(-n // sampling.tau)
        found = []
        for seed in range(size.seeds):
            options = {"rtol": 0.0, "atol": eps, "max_passes": size.max_passes}
            solution = js.solve(problem, method, key=jax.random.key(seed), **options)
            found.append(passes_to(solution, eps))
        passes = float(np.mean(found))
        rows.append(
            {
                "data": name,
                "sampling": label,
                "tau": 1 if sampling.serial else sampling.tau,
                "n": n,
                "lam": float(problem.lam),
                "eps": eps,
                "one_over_theta": 1.0 / theta,
                "bound_steps": math.log(float(start.gap) / (theta * eps)) / theta,
                "passes": passes,
                "steps": passes * steps_a_pass,
                "spread": float(np.ptp(found)) / passes,
            }
        )
    base = rows[0]
    for row in rows:
        row["gain"] = base["steps"] / row["steps"]
        row["share_of_bound"] = row["steps"] / row["bound_steps"]
        row["predicted_gain"] = base["one_over_theta"] / row["one_over_theta"]
    return rows


def describe(rows: list[dict[str, Any]]) -> str:
    header = "data,sampling,1/theta,bound on steps,steps,passes,gain,predicted gain".split(",")
    body = [
        [
            row["data"],
            row["sampling"],
            f"{row['one_over_theta']:.3g}",
            f"{row['bound_steps']:.3g}",
            f"{row['steps']:.3g}",
            f"{row['passes']:.1f}",
            f"{row['gain']:.2f}",
            f"{row['predicted_gain']:.2f}",
        ]
        for row in rows
    ]
    return aligned([header, *body], left=(0, 1))


def draw(rows: list[dict[str, Any]], size: Size) -> Any:
    """Left: steps against the bound. Right: what tau examples at once gain."""
    figure = new_figure(figsize=(9, 4.2))
    left, right = figure.subplots(1, 2)
    markers = {"uniform": "s", "optimal": "*"}
    for name in dict.fromkeys(row["data"] for row in rows):
        mine = [row for row in rows if row["data"] == name]
        for row in mine:
            marker = markers.get(row["sampling"], "o")
            width = 11 if marker == "*" else 6
            point = (row["bound_steps"], row["steps"])
            left.plot(*point, marker, color=COLOURS[name], markersize=width, alpha=0.85)
        nice = [row for row in mine if row["sampling"] != "optimal"]
        tau = [row["tau"] for row in nice]
        right.plot(tau, [row["gain"] for row in nice], "o-", color=COLOURS[name], label=name)
        predicted = [row["predicted_gain"] for row in nice]
        right.plot(tau, predicted, "--", color=COLOURS[name], linewidth=1.2)
    ends = [min(row["steps"] for row in rows), max(row["bound_steps"] for row in rows)]
    left.plot(ends, ends, color="0.6", linewidth=1, zorder=0)
    left.set_xlabel("bound: (1/theta) log(gap at 0 / (theta eps))")
    left.set_ylabel(f"measured steps to a relative gap of {size.rtol:g}")
    for marker, label in (("s", "uniform"), ("*", "optimal"), ("o", "tau-nice")):
        left.plot([], [], marker, color="0.4", linestyle="none", label=label)
    left.set_title("grey: equal to the bound", fontsize=9)
    left.legend(frameon=False, loc="upper left")
    largest = max(size.taus)
    right.plot([1, largest], [1, largest], color="0.6", linewidth=1, zorder=0)
    right.set_xlabel("tau: examples a step")
    right.set_ylabel("times fewer steps than uniform serial")
    right.set_title("solid: measured, dashed: theta / theta uniform, grey: tau", fontsize=9)
    right.legend(frameon=False, loc="upper left")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def main(quick: bool = False) -> Found:
    set_up()
    size = QUICK if quick else FULL
    sets, skipped = data_sets(size)
    rows = [row for name, (X, y) in sets.items() for row in measure(name, X, y, size)]
    at = {(row["data"], row["sampling"]): row for row in rows}
    top = f"{max(size.taus)}-nice"
    sets = {
        name: known for name, known in sets.items() if {(name, "optimal"), (name, top)} <= set(at)
    }
    enough({"dense", "sparse"} <= set(sets))
    facts: dict[str, Any] = {}
    for name in sets:
        for label in ("optimal", top):
            row = at[name, label]
            facts[f"gain of {label}, {name}"] = row["gain"]
            facts[f"predicted gain of {label}, {name}"] = row["predicted_gain"]
    facts["largest steps / bound"] = max(row["share_of_bound"] for row in rows)
    nice = [row for row in rows if row["sampling"] not in SERIAL]
    off = [row["gain"] / row["predicted_gain"] for row in nice]
    facts["smallest gain / predicted, tau-nice"] = min(off)
    facts["largest gain / predicted, tau-nice"] = max(off)
    gains = lambda row: f"{row['gain']:.2g} (predicted {row['predicted_gain']:.2g})"
    dense, sparse = at["dense", "optimal"], at["sparse", "optimal"]
    plain, most = at["sparse", "uniform"], at["sparse", top]
    sentence = (
        "Steps of uniform serial visits over those of the optimal serial sampling, uneven row "
        f"lengths: {gains(dense)} for dense rows in ten features, {gains(sparse)} for sparse ones, "
        f"where uniform visits need {plain['share_of_bound']:.1%} of their bound and optimal ones "
        f"{sparse['share_of_bound']:.1%}. {top} sets gain {gains(most)} "
        f"on the sparse rows; over all tau and data sets the gain is {min(off):.2g} to "
        f"{max(off):.2g} times the predicted one. No sampling takes more than "
        f"{facts['largest steps / bound']:.2g} of the steps of its bound."
    )
    lines = [f"{name}: {value:.3g}" for name, value in facts.items()]
    text = "\n".join([describe(rows), "", *lines, *skipped])
    return Found(rows, facts, text, sentence, draw(rows, size))
