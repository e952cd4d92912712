r"""How long do 96 kernel SVMs take together, beside a loop of SVC? And a low-rank interior point,
beside LinearSVC?

Part 1. 16 values of C (0.01 to 1000) times 6 one-vs-rest classes of satimage, RBF with
gamma="scale", free intercept, one Gram matrix, to a certified relative gap of 1e-3: as one batch of
96 lanes; as a path over C of 6 lanes, where each C starts from the coefficients of the last; and
from coarse to fine, every fourth C at once, then those between, each from the nearest smaller C.
SVC is given the largest of five tolerances at which all its objectives are within 1e-3 of ours
too. Part 2. Covertype-100k, linear, lam from 1e-2 to 1e-6, to a certified 1e-3. Seconds of the
processor (both cores counted) and of the clock, after compilation.
"""

import os
import time
import warnings
from typing import Any

import jax
import numpy as np
from jax import lax

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.core.lanes import certify, over_lanes, take_lanes
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.methods.kernel.decomposition import working_set
from jaxopt_svm.methods.kernel.signed import begin, quadratic_of, solve_block
from jaxopt_svm.report import aligned

RTOL = 1e-3
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # SVC's
LAMS = np.geomspace(1e-2, 1e-6, 5)
METHOD = js.Decomposition()
PAIRS = 5000  # timed to know what one costs


def timed(call) -> tuple[Any, dict[str, float]]:
    cpu, clock = time.process_time(), time.perf_counter()
    found = call()
    return found, {
        "cpu_seconds": time.process_time() - cpu,
        "seconds": time.perf_counter() - clock,
    }


def satimage(rows: int | None) -> tuple[str, np.ndarray, np.ndarray]:
    """The real set, or a stand-in that says so."""
    try:
        data = load("satimage")
        X, y = np.asarray(data.X), np.asarray(data.y)
        some = np.random.default_rng(0).permutation(len(y))[:rows]
        return "satimage", X[some], y[some]
    except FileNotFoundError:
        rng = np.random.default_rng(0)
        n = rows or 4435
        centres, y = rng.normal(size=(6, 36)), rng.integers(0, 6, n)
        return "six Gaussians for satimage", centres[y] + 1.5 * rng.normal(size=(n, 36)), y


def solve(problem, y, Cs, start=None) -> Any:
    lanes = js.one_vs_rest(problem, y, js.lam_from_C(np.asarray(Cs), problem.n))
    return js.solve(lanes, METHOD, rtol=RTOL, max_passes=2000, start=start)


def batch(problem, y, Cs) -> list[Any]:
    return [solve(problem, y, Cs)]


def path(problem, y, Cs) -> list[Any]:
    return by_levels(problem, y, Cs, [[k] for k in range(len(Cs))])


def refined(problem, y, Cs) -> list[Any]:
    every = range(len(Cs))
    return by_levels(problem, y, Cs, [every[::4], every[2::4], every[1::2]])


def by_levels(problem, y, Cs, levels) -> list[Any]:
    """One batch a level, each C from the nearest smaller one that is known."""
    found, known, classes = [], {}, len(np.unique(y))
    for level in levels:
        one = solve(problem, y, [Cs[j] for j in level], start_from(known, Cs, level, classes))
        # lanes have their classes outside, their C inside
        w, dual = (np.asarray(x).reshape(classes, len(level), -1) for x in (one.w, one.dual))
        known |= {j: js.Point(w[:, i], dual[:, i]) for i, j in enumerate(level)}
        found.append(one)
    return found


def start_from(known: dict[int, Any], Cs, level, classes: int) -> Any:
    """beta of the nearest smaller C stays, so alpha shrinks as C grows."""
    if not known:
        return None
    pairs = [(max(k for k in known if k < j), j) for j in level]
    lanes = [(c, k, j) for c in range(classes) for k, j in pairs]
    w = np.stack([known[k].w[c] for c, k, _ in lanes])
    return js.Point(w, np.stack([known[k].dual[c] * (Cs[k] / Cs[j]) for c, k, j in lanes]))


def counts(found: list[Any], n: int) -> dict[str, float]:
    """What was done in all lanes together."""
    last = lambda x: float(np.nanmax(x, axis=1).sum())
    return {
        "pairs": sum(last(one.trace.updates) for one in found),
        "working sets": sum(last(one.trace.work) for one in found) * n / min(METHOD.q, n),
        "records": float(sum(np.isfinite(one.trace.primal).sum() for one in found)),
    }


def unit_costs(problem, y) -> dict[str, float]:
    """Processor seconds of a pair, of what a working set costs beside its pairs, of a record."""
    one = take_lanes(js.one_vs_rest(problem, y, js.lam_from_C(np.array([1.0]), problem.n)), 0)
    quadratic, count = quadratic_of(one), 40

    def pairs(problem, beta, v):
        B, counts = working_set(quadratic, beta, v, METHOD.size(problem))
        # no violation is small enough: as many pairs as asked for
        return solve_block(problem, beta, v, B, counts, most=PAIRS, stop=-1.0)

    def sets(problem, beta, v):
        def one(_, carry):
            beta, v = carry
            B, counts = working_set(quadratic, beta, v, METHOD.size(problem))
            return solve_block(problem, beta, v, B, counts, most=1, stop=0.0)[:2]

        return lax.fori_loop(0, count, one, (beta, v))

    def spent(function, *arguments) -> float:
        compiled = jax.jit(function).lower(*arguments).compile()
        run = lambda: jax.block_until_ready(compiled(*arguments))
        run()
        return min(timed(run)[1]["cpu_seconds"] for _ in range(3))

    start = begin(one, None)
    a_set = spent(sets, one, *start) / count
    lanes = js.one_vs_rest(problem, y, js.lam_from_C(np.logspace(-2, 3, 16), problem.n))
    state = jax.jit(over_lanes(METHOD.init, lanes))(lanes)
    record = spent(over_lanes(lambda p, s: certify(p, METHOD, s), lanes, 0), lanes, state)
    return {
        "pairs": (spent(pairs, one, *start) - a_set) / PAIRS,
        "working sets": a_set,
        "records": record / lanes.lam.shape[0],
    }


WAYS = (
    ("all lanes in one batch", batch),
    ("path over C, a lane a class", path),
    ("coarse to fine", refined),
)


def svc_loop(X, y, Cs, gamma, tol) -> dict[tuple, Any]:
    SVC = need("sklearn.svm", "the comparison with SVC").SVC
    classes = np.unique(y)
    fit = lambda C, k: SVC(C=C, gamma=gamma, tol=tol, cache_size=1000).fit(X, y == k)
    return {(j, C): fit(C, k) for j, k in enumerate(classes) for C in Cs}


def objectives(problem, y, Cs, models) -> np.ndarray:
    """(lanes,) P of SVC's coefficients with the best intercept, lanes as in the batch."""
    lanes = js.one_vs_rest(problem, y, js.lam_from_C(Cs, problem.n))
    values = []
    for lane, ((_, C), model) in enumerate(models.items()):
        del C
        beta = np.zeros(problem.n)
        beta[model.support_] = model.dual_coef_[0]
        one = take_lanes(lanes, lane)
        scores = one.rows.times(beta)
        values.append(float(one.primal(np.append(beta, one.best_intercept(scores)))))
    return np.array(values)


def kernel_part(quick: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    name, X, y = satimage(600 if quick else None)
    Cs = np.logspace(-2, 3, 4 if quick else 16)
    gamma = js.scale_gamma(X)
    problem, made = timed(
        lambda: js.make_kernel_svm(X, y == y[0], kernel=js.RBF(gamma), intercept="free")
    )
    rows = [{"solver": "Gram matrix", "data": name, **made}]
    costs = unit_costs(problem, y)
    for label, run in WAYS:
        _, cold = timed(lambda run=run: run(problem, y, Cs))
        found, warm = timed(lambda run=run: run(problem, y, Cs))
        worst = max(float(np.max(one.relative_gap)) for one in found)
        more = {"first_seconds": cold["seconds"], "worst_relative_gap": worst}
        done = counts(found, len(y))
        more |= done | {f"seconds in {what}": done[what] * costs[what] for what in costs}
        rows.append({"solver": label, "data": name, **warm, **more})
    lower = np.asarray(batch(problem, y, Cs)[0].certificate.dual)
    good = None
    for tol in TOLERANCES:
        models, spent = timed(lambda tol=tol: svc_loop(X, y, Cs, gamma, tol))
        worst = float(np.max(objectives(problem, y, Cs, models) / lower - 1.0))
        row = {"solver": f"SVC loop, tol={tol:g}", "data": name, **spent}
        rows.append({**row, "worst_relative_gap": worst})
        if worst <= RTOL:
            good = rows[-1]
            break
    facts: dict[str, Any] = {"lanes": len(lower), "n": len(y)}
    facts |= {f"microseconds of one of the {what}": 1e6 * costs[what] for what in costs}
    good = rows[-1] if good is None else good  # else the best it can do: the sentence says so
    facts["worst relative gap of SVC"] = good["worst_relative_gap"]
    for row in rows[1 : 1 + len(WAYS)]:
        for field in ("cpu_seconds", "seconds"):
            facts[f"SVC / {row['solver']}, {field}"] = good[field] / row[field]
    return rows, facts


def linear_part(quick: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    try:
        data = load("covtype-100k")
        name, X, y = "covtype-100k", np.asarray(data.X, np.float64), np.asarray(data.y)
    except FileNotFoundError:
        data = load("synthetic:100000:54")
        name, X, y = "synthetic for covtype-100k", np.asarray(data.X), np.asarray(data.y)
    if quick:
        X, y = X[:5000], y[:5000]
    problem, rows = js.make_erm(X, y), []
    method = js.InteriorPointLowRank()
    js.solve(problem.with_lam(LAMS[0]), method, rtol=RTOL)  # compile
    for lam in LAMS:
        one, spent = timed(lambda lam=lam: js.solve(problem.with_lam(lam), method, rtol=RTOL))
        rows.append(
            {
                "solver": "interior point, low rank",
                "data": name,
                "lam": float(lam),
                "iterations": float(one.passes),
                "worst_relative_gap": float(one.relative_gap),
                "primal": float(one.certificate.primal),
                **spent,
            }
        )
    last = rows[-1]
    LinearSVC = need("sklearn.svm", "the comparison with LinearSVC").LinearSVC
    lam = float(LAMS[-1])
    model = LinearSVC(C=1 / (lam * len(y)), loss="hinge", fit_intercept=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged is what is measured
        _, spent = timed(lambda: model.fit(X, y))
    theirs = float(problem.with_lam(lam).primal(model.coef_[0]))
    above = theirs / (last["primal"] - last["worst_relative_gap"] * last["primal"]) - 1.0
    rows.append({"solver": "LinearSVC", "data": name, "lam": lam, "primal": theirs, **spent})
    rows[-1]["worst_relative_gap"] = above
    facts = {
        "most iterations of the interior point": max(r["iterations"] for r in rows[:-1]),
        "LinearSVC / interior point at the smallest lam, cpu_seconds": spent["cpu_seconds"]
        / last["cpu_seconds"],
        "LinearSVC / interior point at the smallest lam, seconds": spent["seconds"]
        / last["seconds"],
    }
    return rows, facts


def where_time_goes(rows: list[dict[str, Any]]) -> str:
    """Of each way to solve the lanes: how often, and the processor seconds by unit cost."""
    parts = ("pairs", "working sets", "records")
    header = ["of which", *(f"{part} (s)" for part in parts), "the rest (s)"]
    body = []
    for row in (r for r in rows if "pairs" in r):
        seconds = [row[f"seconds in {part}"] for part in parts]
        cells = [f"{row[part]:.0f} ({s:.2f})" for part, s in zip(parts, seconds)]
        body.append([row["solver"], *cells, f"{row['cpu_seconds'] - sum(seconds):.2f}"])
    return aligned([header, *body], left=(0,))


def describe(rows: list[dict[str, Any]]) -> str:
    header = ["solver", "data", "lam", "iterations", "cpu s", "s", "relative gap"]
    show = lambda row, field, form: format(row[field], form) if field in row else "-"
    body = [
        [
            row["solver"],
            row["data"],
            show(row, "lam", ".0e"),
            show(row, "iterations", ".0f"),
            show(row, "cpu_seconds", ".2f"),
            show(row, "seconds", ".2f"),
            show(row, "worst_relative_gap", ".1e"),
        ]
        for row in rows
    ]
    return aligned([header, *body], left=(0, 1))


def draw(rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(figsize=(8, 4))
    axes = figure.subplots()
    labels = [
        row["solver"] + (f", lam = {row['lam']:.0e}" if "lam" in row else "") for row in rows
    ][::-1]
    for field, marker, colour in (("cpu_seconds", "o", "#0072b2"), ("seconds", "|", "#d55e00")):
        axes.plot(
            [row[field] for row in rows][::-1],
            range(len(rows)),
            marker,
            color=colour,
            label=field.replace("_", " "),
            markersize=9,
            linestyle="none",
        )
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("seconds to a relative gap of 1e-3, after compilation")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper center", ncols=2)
    return figure


def main(quick: bool = False) -> Found:
    set_up(cache=False)
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    kernel_rows, kernel_facts = kernel_part(quick)
    linear_rows, linear_facts = linear_part(quick)
    rows = [*kernel_rows, *linear_rows]
    facts = {"load per core at the start": busy, **kernel_facts, **linear_facts}
    one, other, third = (v for k, v in kernel_facts.items() if "cpu" in k)  # in the order of WAYS
    ratio = linear_facts["LinearSVC / interior point at the smallest lam, cpu_seconds"]
    sentence = (
        f"A loop of {kernel_facts['lanes']} SVC fits, all within "
        f"{kernel_facts['worst relative gap of SVC']:.1e} of the optimum, takes {one:.2g} times "
        f"the processor time of one batch, {other:.2g} times that of a path over C and "
        f"{third:.2g} times that of going from coarse to fine; LinearSVC takes "
        f"{ratio:.2g} times that of the low-rank interior point at lam = {LAMS[-1]:.0e}, "
        f"which needs {linear_facts['most iterations of the interior point']:.0f} iterations."
    )
    lines = [f"{name}: {value:.3g}" for name, value in facts.items()]
    text = "\n".join([describe(rows), "", where_time_goes(rows), "", *lines])
    return Found(rows, facts, text, sentence, draw(rows))
