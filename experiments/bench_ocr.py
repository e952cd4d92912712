"""How fast is BCFW on OCR, for one lambda and for sixteen, and who reaches 1 % soonest?

Seconds per pass of BCFW on the 5,512 words (passes only: no certificates, no compilation), its
decodings per second, seconds to a certified relative gap of 1 % for BCFW, FASOLE and SDM, and how a
pass grows with the number of words and with their length. float32. Words of the same shape are
made up where the data set is missing, and the report says so.
"""

import time
from typing import Any

import numpy as np

import jaxopt_svm as js
from experiments.common import Found, compiled_passes, median_ratio, new_figure, rounds, set_up
from jaxopt_svm.data import load_structured
from jaxopt_svm.report import aligned

LANES = 16
LAMS = np.geomspace(1e-1, 1e-3, LANES)
ASKED, LAM = 1e-2, 1e-2
RACERS = {"bcfw": js.BCFW(), "fasole": js.FASOLE(), "sdm": js.SDM()}


def made_up(n: int, length: int | None, seed: int = 0) -> tuple[list, list]:
    """n words of 128 pixels and 26 letters; 3 to 14 letters long unless ``length`` is given."""
    rng = np.random.default_rng(seed)
    prototypes = (rng.random((26, 128)) < 0.3).astype(np.float32)
    sizes = rng.integers(3, 15, n) if length is None else np.full(n, length)
    y = [rng.integers(0, 26, size) for size in sizes]
    flip = lambda word: rng.random((len(word), 128)) < 0.15
    X = [np.abs(prototypes[word] - flip(word)).astype(np.float32) for word in y]
    return X, y


def words(quick: bool) -> tuple[str, list, list]:
    if quick:
        return "400 made-up words", *made_up(400, None)
    try:
        data = load_structured("ocr")
    except FileNotFoundError:
        return "5,512 made-up words", *made_up(5512, None)
    order = {letter: k for k, letter in enumerate(data.classes)}
    codes = [np.array([order[letter] for letter in word]) for word in data.train.y]
    return "OCR, 5,512 words", data.train.X, codes


def chain(X, y):
    return js.make_chain(X, y, classes=26, lam=LAM)


def timed(problems: list[Any], passes: int, repeats: int) -> tuple[list[list[float]], list[float]]:
    """Seconds a pass of BCFW on each problem in each round, and seconds to compile."""
    made = [compiled_passes(problem, js.BCFW(), passes) for problem in problems]
    times = rounds([run for run, _ in made], repeats)
    return [[t / passes for t in own] for own in times], [seconds for _, seconds in made]


def race(problem, quick: bool) -> list[dict[str, Any]]:
    """Seconds and decodings to 1 %, the second time: without compilation."""
    rows = []
    for name, method in RACERS.items():
        for _ in range(2):
            began = time.perf_counter()
            found = js.solve(problem, method, rtol=ASKED, max_passes=30 if quick else 400)
            seconds = time.perf_counter() - began
        row = {"what": f"{name} to 1 %", "lanes": 1, "seconds": seconds}
        row |= {"status": str(found.status), "passes": int(found.passes)}
        row["decodings"] = float(found.trace.oracle_calls[-1])
        row["relative_gap"] = float(found.relative_gap)
        rows.append(row)
    return rows


def main(*, quick: bool = False) -> Found:
    set_up(x64=False, cache=False)
    name, X, y = words(quick)
    problem, n, repeats = chain(X, y), len(X), 2 if quick else 5
    (one, grid), compile_seconds = timed([problem, problem.with_lam(LAMS)], 1, repeats)
    pass_1, pass_16 = float(np.median(one)), float(np.median(grid)) / LANES
    rows = [
        {"what": "bcfw pass", "lanes": 1, "seconds": pass_1, "decodings": n},
        {"what": "bcfw pass", "lanes": LANES, "seconds": LANES * pass_16, "decodings": LANES * n},
    ]
    rows += race(problem, quick)
    # growth: made-up words, so that only one thing changes
    small = 100 if quick else 1000
    shapes = {"words": (small, 8), "4 x words": (4 * small, 8), "2 x length": (small, 16)}
    times, _ = timed([chain(*made_up(*shape)) for shape in shapes.values()], 1, repeats)
    growth = {
        "growth_4n": median_ratio(times[1], times[0]),
        "growth_2T": median_ratio(times[2], times[0]),
    }
    rows += [
        {"what": f"bcfw pass, {k}", "lanes": 1, "seconds": float(np.median(t))}
        for k, t in zip(shapes, times)
    ]
    facts = {
        "data": name,
        "seconds_per_pass_1": pass_1,
        "seconds_per_pass_per_lambda_16": pass_16,
        "decodings_per_second_1": n / pass_1,
        "decodings_per_second_16": n / pass_16,
        "compile_seconds": compile_seconds,
        **growth,
        **{row["what"].split()[0] + "_seconds_to_1_percent": row["seconds"] for row in rows[2:5]},
    }
    show = lambda v: f"{v:.3g}" if isinstance(v, float) else str(v)
    text = aligned([[key, show(value)] for key, value in facts.items()], left=(0, 1))
    done = [row for row in rows[2:5] if row["status"] == "converged"]
    fastest = min(done, key=lambda row: row["seconds"]) if done else None
    race_won = (
        "nobody reaches a certified 1 %"
        if fastest is None
        else f"{fastest['what'].split()[0]} is first at a certified 1 % (lambda = {LAM:g}), after "
        f"{fastest['seconds']:.1f} s"
    )
    sentence = (
        f"{name}: a pass of BCFW takes {pass_1:.2f} s for one lambda and {pass_16:.2f} s per "
        f"lambda for {LANES} at once; {race_won}; four times the words take "
        f"{growth['growth_4n']:.1f} times as long, words twice as long {growth['growth_2T']:.1f}."
    )
    figure = new_figure(figsize=(9, 3.5))
    left, right = figure.subplots(1, 2)
    left.bar(["1 lambda", f"{LANES} lambdas"], [pass_1, pass_16], color=["C0", "C1"])
    left.set(ylabel="seconds per pass and lambda", title=name)
    right.bar(list(RACERS), [row["seconds"] for row in rows[2:5]], color="C2")
    right.set(ylabel="seconds", title=f"to a certified 1 %, lambda = {LAM:g}")
    return Found(rows, facts, text, sentence, figure)
