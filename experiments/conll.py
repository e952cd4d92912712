"""How well do the perceptron, the SVM and the CRF chunk sentences with the same features?

CoNLL-2000: 22 chunk labels, words and tags in a window of five, sparse, 2.2 million parameters.
Averaged perceptron; structured SVM and CRF by the same SGD with steps 1/(lam (t + t0)), lambda
chosen by F1 on held-out training sentences. F1 counts whole chunks: type, start and end.
"""

import time
from typing import Any, NamedTuple

import jax

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.core.lanes import one_pass
from jaxopt_svm.data import load_structured
from jaxopt_svm.report import aligned

LAMS = (1e-3, 3e-4, 1e-4)
HELD_OUT = 936


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


def f1(truth, found) -> float:
    """Of all chunks together."""
    pairs = [(chunks(a), chunks(b)) for a, b in zip(truth, found, strict=True)]
    right, real, said = (sum(map(len, s)) for s in zip(*((a & b, a, b) for a, b in pairs)))
    return 2 * right / max(real + said, 1)


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
    """w after each pass, and the seconds so far."""
    state, started = method.init(problem), time.perf_counter()
    for r in range(passes):
        state = jax.block_until_ready(ONE_PASS(problem, method, state, jax.random.key(0), r))
        yield r + 1, method.point(problem, state).w, time.perf_counter() - started


def follow(name, data: Sets, problem, method, passes, lam) -> tuple[list[dict], Any]:
    rows, w = [], None
    for r, w, seconds in fit(problem, method, passes):
        row = {"method": name, "lam": lam, "passes": r, "seconds": seconds}
        row["held_out"] = f1(data.held_out.y, js.decode(problem, w, data.held_out.X))
        rows.append(row)
    return rows, w


def main(*, quick: bool = False) -> Found:
    set_up(x64=False)
    data = sets(quick)
    problem, passes = data.problem, 2 if quick else 8
    lams = LAMS[:1] if quick else LAMS
    rows, best = [], {}
    # the same SGD for both; t0 makes its first step about as long as a perceptron's
    sgd = lambda lam: js.StructuredSGD(js.InverseLam(1.0 / lam), capacity=0)
    runs: list[tuple[str, Any, Any, float | None]] = [
        ("averaged perceptron", problem, js.averaged_perceptron(), None)
    ]
    for name, made in (("SVM", problem), ("CRF", js.crf(problem))):
        runs += [(name, made.with_lam(lam), sgd(lam), lam) for lam in lams]
    for name, made, method, lam in runs:
        mine, w = follow(name, data, made, method, passes, lam)
        rows += mine
        score = mine[-1]["held_out"]
        if name not in best or score > best[name][0]:
            best[name] = (score, w, lam, mine[-1]["seconds"])
    tested = {}
    for name, (score, w, lam, seconds) in best.items():
        tested[name] = f1(data.test.y, js.decode(problem, w, data.test.X))
        row = {"method": name, "lam": lam, "passes": passes, "seconds": seconds}
        rows.append(row | {"held_out": score, "test": tested[name]})
    table = [["method", "lambda", "held-out F1", "test F1", "seconds"]]
    for name, (score, _, lam, seconds) in best.items():
        chosen = "-" if lam is None else f"{lam:g}"
        table.append([name, chosen, f"{score:.4f}", f"{tested[name]:.4f}", f"{seconds:.0f}"])
    order = sorted(tested, key=lambda name: -tested[name])
    sentence = (
        f"Chunking F1 on {len(data.test.y):,} test sentences, the same features, {passes} passes: "
        + ", ".join(f"{name} {100 * tested[name]:.2f}" for name in order)
        + "."
    )
    return Found(rows, {"f1": tested}, aligned(table, (0,)), sentence, picture(rows, best))


def picture(rows, best):
    figure = new_figure(figsize=(7, 4.5))
    ax = figure.subplots()
    for k, (name, (_, _, lam, _)) in enumerate(best.items()):
        mine = [r for r in rows if (r["method"], r["lam"]) == (name, lam) and "test" not in r]
        label = name if lam is None else f"{name}, lambda {lam:g}"
        ax.plot([r["passes"] for r in mine], [r["held_out"] for r in mine], "o-", label=label)
        test = next(r["test"] for r in rows if r["method"] == name and "test" in r)
        ax.axhline(test, color=f"C{k}", ls=":", lw=1)
    ax.set(xlabel="passes", ylabel="chunk F1 on held-out sentences (dotted: test)")
    ax.set_xticks(sorted({r["passes"] for r in rows}))
    ax.set_title("CoNLL-2000 chunking")
    ax.grid(alpha=0.3)
    ax.legend()
    return figure
