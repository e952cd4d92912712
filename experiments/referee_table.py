r"""Do kernel solvers find the optimum that SVC, LinearSVC and cvxopt find?

Five data sets (heart, diabetes, ionosphere, sonar, and satimage one class against the rest), three
kernels, C from 0.01 to 1000, three kinds of intercept. Our objective comes with a certificate, from
decomposition or, without a free intercept, an interior point, and from the active set, which is the
tighter referee: SVC keeps its kernel rows in float32. Referees: SVC for a free intercept; without,
LinearSVC for the linear kernel and cvxopt, an interior point of other people, for the others.

A difference is P of the referee's coefficients minus ours, relative to ours, so positive: theirs is
above. cvxopt has no w of ours to evaluate: there it is the difference of the optimal values.
"""

import dataclasses
import itertools
import warnings
from typing import Any

import numpy as np

import jaxopt_svm as js
from experiments.budget import each
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.data import load
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

SETS = ("heart_scale", "diabetes_scale", "ionosphere", "sonar", "satimage")
KERNELS = ("linear", "rbf", "polynomial")
FULL, QUICK = (1e-2, 1e-1, 1.0, 10.0, 100.0, 1e3), (1e-1, 100.0)
ROWS = {False: 400, True: 60}
AGREE = 1e-6  # relative, what the table counts as agreement


def data(name: str, rows: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Some rows of a set, two classes; or a stand-in that says so."""
    rng = np.random.default_rng(0)
    try:
        found = load(name)
    except FileNotFoundError:
        X = rng.normal(size=(rows, 8))
        return f"Gaussians for {name}", X, np.where(X[:, 0] + rng.normal(size=rows) > 0, 1.0, -1.0)
    X: Any = found.X
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, np.float64)
    y = np.asarray(found.y)
    y = np.where(y == (4 if name == "satimage" else y.max()), 1.0, -1.0)
    some = rng.permutation(len(y))[:rows]
    return name, X[some], y[some]


def kernels(X: np.ndarray) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Ours and SVC's words for the same kernel."""
    gamma = js.scale_gamma(X)
    cubic = {"kernel": "poly", "gamma": gamma, "coef0": 1.0, "degree": 3}
    return {
        "linear": (js.Linear(), {"kernel": "linear"}),
        "rbf": (js.RBF(gamma), {"kernel": "rbf", "gamma": gamma}),
        "polynomial": (js.Polynomial(gamma, 1.0, degree=3), cubic),
    }


def svc(problem, X, y, C: float, options: dict[str, Any]) -> float:
    """P of SVC's coefficients with their best intercept."""
    SVC = need("sklearn.svm", "the referee SVC").SVC
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged is seen in the table
        model = SVC(C=C, tol=1e-9, max_iter=2_000_000, **options).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    scores = problem.rows.times(beta)
    return float(problem.primal(np.append(beta, problem.best_intercept(scores))))


def linear_svc(X, y, C: float, intercept: str) -> float:
    """P of LinearSVC's w."""
    LinearSVC = need("sklearn.svm", "the referee LinearSVC").LinearSVC
    more = intercept == "penalised"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVC(C=C, loss="hinge", tol=1e-10, max_iter=30_000, fit_intercept=more)
        model.fit(X, y)
    w = np.append(model.coef_[0], model.intercept_) if more else model.coef_[0]
    return float(js.make_erm(X, y, C=C, intercept=intercept).primal(w))


def cvxopt_value(problem) -> float:
    """The optimal value of the box QP."""
    cvxopt = need("cvxopt", "the referee cvxopt")
    lo, hi = (np.asarray(end) for end in problem.box())
    K, y, n = np.asarray(problem.rows.K), np.asarray(problem.y), problem.n
    cvxopt.solvers.options.update(show_progress=False, abstol=1e-11, reltol=1e-11, feastol=1e-11)
    G, h = np.vstack([np.eye(n), -np.eye(n)]), np.concatenate([hi, -lo])
    found = cvxopt.solvers.qp(*(cvxopt.matrix(x) for x in (K, -y, G, h)))
    return -float(found["primal objective"]) * float(problem.lam)


def referee(problem, X, y, C: float, kernel: str, options) -> tuple[str, float]:
    if problem.free:
        return "SVC", svc(problem, X, y, C, options)
    if kernel == "linear":
        return "LinearSVC", linear_svc(X, y, C, problem.intercept)
    return "cvxopt", cvxopt_value(problem)


def measure(name: str, X, y, kernel: str, Cs, intercept: str) -> list[dict[str, Any]]:
    ours, theirs = kernels(X)[kernel]
    made = js.make_kernel_svm(X, y, kernel=ours, intercept=intercept)
    # the solvers need the Gram matrix only, and then all kernels share their compiled programs
    problem = dataclasses.replace(made, kernel=None, X=None, labels=None)
    lams = js.lam_from_C(np.array(Cs), problem.n)
    # the batched solver: pairs need time that grows with C on a linear kernel, Newton steps do not
    pairs = intercept == "free" and kernel != "linear"
    method = js.Decomposition(accuracy=0.1) if pairs else js.InteriorPoint()
    many = js.sweep(problem, lams, method, rtol=1e-8, max_passes=200)
    exact = js.sweep(problem, lams, js.ActiveSet(capacity=256), rtol=1e-9, max_passes=100)
    rows = []
    for k, C in enumerate(Cs):
        # the smaller P is the closer one; both are certified
        primals = [float(one.certificate.primal[k]) for one in (many, exact)]
        who, value = referee(problem.with_lam(lams[k]), X, y, C, kernel, theirs)
        rows.append(
            {
                "data": name,
                "n": len(y),
                "kernel": kernel,
                "intercept": intercept,
                "C": C,
                "solver": str(np.asarray(many.method).flat[0]),
                "referee": who,
                "primal": primals[0],
                "relative_gap": float(many.relative_gap[k]),
                "gap_of_the_active_set": float(exact.relative_gap[k]),
                "minus_active_set": primals[0] / primals[1] - 1.0,
                "referee_minus_active_set": value / primals[1] - 1.0,
            }
        )
    return rows


def describe(rows: list[dict[str, Any]]) -> str:
    """The largest differences, by referee and C."""
    Cs = sorted({r["C"] for r in rows})
    header = ["largest |difference|", *(f"C={C:g}" for C in Cs)]

    def line(label: str, mine, field: str) -> list[str]:
        worst = lambda C: max((abs(r[field]) for r in mine if r["C"] == C), default=np.nan)
        return [label, *(f"{worst(C):.1e}" for C in Cs)]

    body = [line("solver - active set", rows, "minus_active_set")]
    for who in sorted({r["referee"] for r in rows}):
        mine = [r for r in rows if r["referee"] == who]
        body.append(line(f"{who} - active set", mine, "referee_minus_active_set"))
    body.append(line("certified gap, solver", rows, "relative_gap"))
    body.append(line("certified gap, active set", rows, "gap_of_the_active_set"))
    return aligned([header, *body], left=(0,))


def draw(rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(figsize=(9, 3.8))
    colours = {"linear": "#0072b2", "rbf": "#d55e00", "polynomial": "#009e73"}
    asked = {r["referee"] for r in rows}  # the budget may have left one out
    referees = [who for who in ("SVC", "LinearSVC", "cvxopt") if who in asked]
    places = figure.subplots(1, len(referees), sharey=True, squeeze=False)[0]
    for axes, who in zip(places, referees):
        for k, kernel in enumerate(KERNELS):
            mine = [r for r in rows if r["referee"] == who and r["kernel"] == kernel]
            if not mine:
                continue
            shift = 10 ** (0.12 * (k - 1))
            size = [max(abs(r["referee_minus_active_set"]), 1e-16) for r in mine]
            at = [r["C"] * shift for r in mine]
            axes.plot(at, size, "o", color=colours[kernel], markersize=3.5, label=kernel)
        own = [max(abs(r["minus_active_set"]), 1e-16) for r in rows if r["referee"] == who]
        at = [r["C"] for r in rows if r["referee"] == who]
        axes.plot(at, own, "_", color="0.35", markersize=9, label="our solver", zorder=0)
        axes.axhline(AGREE, color="0.6", linewidth=0.8, linestyle="--")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("C")
        axes.set_title(who, fontsize=10)
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    places[0].set_ylabel("|P - P of the active set| / P")
    handles = {}
    for axes in places:
        handles |= dict(zip(axes.get_legend_handles_labels()[1], axes.lines))
    labels = list(handles)
    figure.legend(
        handles.values(), labels, frameon=False, loc="outside upper center", ncols=len(labels)
    )
    return figure


def main(quick: bool = False) -> Found:
    set_up()
    Cs = QUICK if quick else FULL
    cases = list(itertools.product(SETS, KERNELS, ("free", "none", "penalised")))
    if quick:  # one case for each referee
        cases = [("heart_scale", *case) for case in (("rbf", "free"), ("linear", "none"))]
        cases.append(("heart_scale", "rbf", "none"))
    rows = []
    for set_name, kernel, intercept in each(cases, "", " ".join):
        rows += measure(*data(set_name, ROWS[quick]), kernel, Cs, intercept)
    agree = lambda field, limit: sum(abs(r[field]) <= limit for r in rows)
    off = [r for r in rows if abs(r["referee_minus_active_set"]) > AGREE]
    above = [r for r in off if r["referee_minus_active_set"] > 0]
    facts: dict[str, Any] = {
        "problems": len(rows),
        f"solver within {AGREE:g} of the active set": agree("minus_active_set", AGREE),
        f"referee within {AGREE:g} of the active set": agree("referee_minus_active_set", AGREE),
        "referee further off, and above": len(above),
        "worst certified gap of the active set": max(r["gap_of_the_active_set"] for r in rows),
        "worst certified gap of the solver": max(r["relative_gap"] for r in rows),
        "lowest referee": min(r["referee_minus_active_set"] for r in rows),
    }
    for who in sorted({r["referee"] for r in rows}):
        mine = [abs(r["referee_minus_active_set"]) for r in rows if r["referee"] == who]
        facts[f"largest difference of {who}"] = max(mine)
    sentence = (
        f"Of {len(rows)} problems our solver is within {AGREE:g} of the active set in "
        f"{facts[f'solver within {AGREE:g} of the active set']}, the referee in "
        f"{facts[f'referee within {AGREE:g} of the active set']}; where it is further off its "
        f"objective is the larger one in {len(above)} of {len(off)}, and the active set's largest "
        f"certified gap is {facts['worst certified gap of the active set']:.0e}."
    )
    lines = [f"{name}: {value:.3g}" for name, value in facts.items()]
    return Found(rows, facts, "\n".join([describe(rows), "", *lines]), sentence, draw(rows))
