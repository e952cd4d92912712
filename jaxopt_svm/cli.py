"""The command line: certified sweeps over lam, the table of methods, the data sets."""

import argparse
import json
import math
import os
import pathlib
import string
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

import jax
import numpy as np

import jaxopt_svm as js
from jaxopt_svm import distributed, plots
from jaxopt_svm.core import registry
from jaxopt_svm.core.run import MAX_PASSES
from jaxopt_svm.data import SETS, Dataset, load
from jaxopt_svm.data.extra import need
from jaxopt_svm.data.folders import VARIABLE, cache_folder, data_folders
from jaxopt_svm.data.named import place_of
from jaxopt_svm.html import sweep_page
from jaxopt_svm.mesh.host import fetch
from jaxopt_svm.mesh.processes import agree, first_process
from jaxopt_svm.problems.make import INTERCEPTS
from jaxopt_svm.report import aligned, cv_report, cv_text, lanes, text
from jaxopt_svm.selection.cross_validation import CHOICES

__all__ = ["main", "parse_lams", "set_up_jax"]

LOSSES = {
    "hinge": js.Hinge,
    "smooth_hinge": js.SmoothHinge,
    "squared_hinge": js.SquaredHinge,
    "logistic": js.Logistic,
    "squared": js.Squared,
    "absolute": js.Absolute,
}
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
EXAMPLES = """\
examples:
  python -m jaxopt_svm sweep                                   16 values of lambda on breast_cancer
  python -m jaxopt_svm sweep a9a --lams 1e-5:1e-1:32 --holdout 0.2 --plot results/a9a.png
  python -m jaxopt_svm sweep digits --holdout 0.2 --html results/digits.html
  python -m jaxopt_svm sweep mine.csv --loss logistic --intercept penalised --lams 1e-3
  python -m jaxopt_svm sweep diabetes --loss squared --json
  python -m jaxopt_svm sweep X.npy --labels y.npy --memory-rows 2GB --scratch /big/disk
  python -m jaxopt_svm cv satimage --folds 5 --plot results/satimage.png
  python -m jaxopt_svm methods
  python -m jaxopt_svm data
"""


# --- sweep ---------------------------------------------------------------------------------


def parse_lams(text: str) -> np.ndarray:
    """``a:b:count``, evenly spaced in the logarithm; or numbers separated by commas."""
    wrong = ValueError(
        "--lams: expected smallest:largest:count (such as 1e-5:1e-1:32), a comma list or one "
        f"number, all positive; got {text!r}"
    )
    parts = text.split(":")
    try:
        if len(parts) == 3:
            smallest, largest = sorted(float(part) for part in parts[:2])
            count = int(parts[2])
        else:
            values = np.array([float(part) for part in text.split(",")])
            smallest, largest, count = values.min(), values.max(), len(values)
    except ValueError:
        raise wrong from None
    if not (0 < smallest and math.isfinite(largest) and count >= 1):
        raise wrong
    return js.lam_grid(smallest, largest, count) if len(parts) == 3 else values


def _writable(option: str, name: str) -> pathlib.Path:
    """A path that can be written, tried now: nobody should lose a solve to a typing error."""
    path = pathlib.Path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        path.open("ab").close()
        if new:
            path.unlink()
    except OSError as error:
        raise ValueError(f"{option}: cannot write {name} ({error.strerror})") from None
    return path


def _split(data: Dataset, share: float, seed: int, stratify: bool):
    """Rows to train on and rows held out."""
    if not 0 < share < 1:
        raise ValueError(f"--holdout: expected a share between 0 and 1; got {share:g}")
    split = need("sklearn.model_selection", "--holdout").train_test_split
    y = data.y if stratify else None
    try:
        return split(data.X, data.y, test_size=share, random_state=seed, stratify=y)
    except ValueError as error:
        raise ValueError(f"--holdout {share:g}: {error}") from None


def _errors(problem, solution, X, y, apart: bool) -> np.ndarray:
    """For each lane the share of wrong labels, or the root mean squared error of targets; over the
    rows of all processes, if each has its own."""
    found = js.predict(problem, solution, X)
    regression = problem.labels is None
    wrong = (found - y) ** 2 if regression else found != y
    return distributed.pooled_errors(wrong, regression, apart)


def parse_bytes(text: str) -> float:
    """``20MB``: a number, and perhaps a unit."""
    number = text.rstrip(string.ascii_letters)
    unit = text[len(number) :].upper().removesuffix("B")
    try:
        return float(number) * UNITS[unit]
    except (ValueError, KeyError):
        raise ValueError(f"--memory-rows: expected a size such as 20MB; got {text!r}") from None


def _streamed(args, loss, mesh) -> js.Streamed:
    """The problem of a file whose rows stay on disk."""
    if mesh is not None:
        raise ValueError("--memory-rows: rows on disk are read by one process with one device")
    if args.holdout is not None:
        raise ValueError("--holdout: takes rows out of memory; not with --memory-rows")
    return js.make_streamed(
        args.data,
        args.labels,
        memory=parse_bytes(args.memory_rows),
        scratch=args.scratch,
        loss=loss,
        intercept=args.intercept,
    )


def _sweep(args) -> None:
    # 1. everything that can be refused is refused before anything is read or compiled
    lams = parse_lams(args.lams)
    method = None if args.method is None else registry.named(args.method)
    loss = LOSSES[args.loss]()
    plot = None if args.plot is None else _writable("--plot", args.plot)
    save = None if args.save is None else _writable("--save", args.save)
    html = None if args.html is None else _writable("--html", args.html)
    if plot is not None:
        plots.check_format(plot)
    for option in ("labels", "scratch"):
        if args.memory_rows is None and getattr(args, option) is not None:
            raise ValueError(f"--{option}: goes with --memory-rows, for rows that stay on disk")
    set_up_jax(x64=not args.float32)
    mesh = distributed.join(args)
    # 2. the problem; in a job of several processes, this one's rows of it
    X, y, X_out, y_out = None, None, None, None
    if args.memory_rows is not None:
        data, apart = Dataset(None, None, pathlib.Path(args.data).name, "read in chunks"), False
        problem = _streamed(args, loss, mesh)
    else:
        data, apart = distributed.load_own(args.data, mesh)
        data = data._replace(X=data.X.astype(np.float32 if args.float32 else np.float64))
        X, y = data.X, data.y
        if args.holdout is not None:
            cut = lambda: _split(data, args.holdout, args.seed, not loss.regression)
            X, X_out, y, y_out = distributed.together(cut, apart)
        problem = js.make_erm(X, y, loss=loss, intercept=args.intercept, mesh=mesh)
    # 3. the solve
    started = time.perf_counter()
    try:
        solution = js.sweep(
            problem,
            lams,
            method,
            rtol=args.rtol,
            max_passes=args.max_passes,
            key=jax.random.key(args.seed),
            progress=args.progress and first_process(),
            checkpoint=args.checkpoint,
        )
    except js.Unreadable as error:
        if save is None or error.solution is None:
            raise
        js.save(save, error.solution)
        raise ValueError(f"{error}; they are in {save} as well") from None
    seconds = time.perf_counter() - started
    # 4. what was found
    if isinstance(problem, js.Streamed):
        train = problem.with_lam(lams).errors(solution.w)
    else:
        train = _errors(problem, solution, X, y, apart)
    held_out = None if X_out is None else _errors(problem, solution, X_out, y_out, apart)
    counts = [problem.n if X is None else X.shape[0], 0 if X_out is None else X_out.shape[0]]
    rows, held_out_rows = np.sum(agree(lambda: counts) if apart else [counts], axis=0).tolist()
    used = fetch(problem.c) > 0  # nodes may be filled up with rows that do not count
    if not first_process():
        return  # the first one speaks for all
    report = {
        "data": {
            "name": data.name,
            "note": data.note,
            "rows": rows,
            "columns": problem.d - (args.intercept != "none"),
            "held_out_rows": held_out_rows,
        },
        "method": str(solution.method[0]),
        "loss": args.loss,
        "intercept": args.intercept,
        "rtol": args.rtol,
        "seed": args.seed,
        "dtype": str(problem.c.dtype),
        "error": "root mean squared error" if loss.regression else "share of wrong labels",
        "seconds": seconds,
        "lanes": lanes(solution, train, held_out, used),
    }
    if save is not None:
        js.save(save, solution)
    if plot is not None:
        title = f"{data.name}, {args.loss}, {report['method']}"
        figure = plots.sweep_figure(
            solution,
            title=title,
            rtol=args.rtol,
            train=train,
            held_out=held_out,
            error=report["error"],
        )
        figure.savefig(plot)
    if html is not None:
        html.write_text(sweep_page(report, solution), encoding="utf-8")
    print(json.dumps(report, allow_nan=False) if args.json else text(report, _word(loss)))


# --- cv ------------------------------------------------------------------------------------


def _cv(args) -> None:
    # 1. everything that can be refused is refused before anything is read or compiled
    lams = None if args.lams is None else parse_lams(args.lams)
    method = None if args.method is None else registry.named(args.method)
    loss = LOSSES[args.loss]()
    plot = None if args.plot is None else _writable("--plot", args.plot)
    if plot is not None:
        plots.check_format(plot)
    set_up_jax(x64=not args.float32)
    # 2. the problem: more than two labels are classes, each against the rest
    data = load(args.data)
    X = data.X.astype(np.float32 if args.float32 else np.float64)
    several = not loss.regression and np.unique(data.y).size > 2
    make = js.make_one_vs_rest if several else js.make_erm
    problem = make(X, data.y, loss=loss, intercept=args.intercept)
    # 3. lam x folds (x classes) as one batch
    started = time.perf_counter()
    found = js.cross_validate(
        problem,
        lams,
        args.folds,
        method=method,
        rtol=args.rtol,
        max_passes=args.max_passes,
        seed=args.seed,
        key=jax.random.key(args.seed),
        by=args.by,
        progress=args.progress,
    )
    seconds = time.perf_counter() - started
    # 4. what was found
    report = {
        "data": {"name": data.name, "note": data.note, "rows": X.shape[0], "columns": X.shape[1]},
        "classes": len(problem.labels or ()),
        "folds": args.folds,
        "loss": args.loss,
        "intercept": args.intercept,
        "rtol": args.rtol,
        "seed": args.seed,
        "dtype": str(problem.c.dtype),
        "error": "root mean squared error" if loss.regression else "share of wrong labels",
        "seconds": seconds,
        **cv_report(found),
    }
    if plot is not None:
        title = f"{data.name}, {args.loss}, {args.folds} folds"
        plots.cv_figure(found, title=title, error=report["error"]).savefig(plot)
    print(json.dumps(report, allow_nan=False) if args.json else cv_text(report, _word(loss)))


def _word(loss) -> str:
    return "rmse" if loss.regression else "error"


# --- tables --------------------------------------------------------------------------------


def _methods(args) -> None:
    entries = [entry.info for entry in registry.list_methods().values()]
    if args.json:
        print(json.dumps([info._asdict() for info in entries]))
    else:
        rows = [registry.Info._fields, *entries]
        print(aligned(rows, left=range(len(registry.Info._fields))))


def _data(args) -> None:
    del args
    rows = [("name", "where", "what")]
    for name, entry in SETS.items():
        paths = place_of(entry)
        where = "not here" if paths is None else str(paths[0].parent) if paths else "bundled"
        missing = f"; from {entry.source}" if paths is None else ""
        rows.append((name, where, entry.description + missing))
    rows.append(("synthetic:N:D", "made", "N Gaussian rows of D columns, a random plane, noise"))
    print(aligned(rows, left=range(3)))
    print(f"\nlooked in: {', '.join(map(str, data_folders()))} (set {VARIABLE} to add a folder)")


# --- the command ---------------------------------------------------------------------------


def set_up_jax(x64: bool) -> None:
    """float64 if wanted, and compiled programs kept between runs in the user's cache folder."""
    if x64:
        jax.config.update("jax_enable_x64", True)
    folder = cache_folder() / "compiled"
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return  # a home that cannot be written costs some seconds, nothing else
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def _add_problem_options(add) -> None:
    """What sweep and cv share: data, loss, method, precision, output."""
    add("data", nargs="?", default="breast_cancer", metavar="DATA",
        help="a name (see `data`), synthetic:N:D, or a file: svmlight, .csv with the label in the "
        "last column, .npy likewise, .npz with X and y (default: breast_cancer)")  # fmt: skip
    add("--rtol", type=float, default=1e-3, help="relative gap to reach (default: %(default)s)")
    add("--method", metavar="NAME", help="see `methods` (default: chosen for the problem)")
    add("--loss", choices=LOSSES, default="hinge", help="default: %(default)s; squared and "
        "absolute are for real targets")  # fmt: skip
    add("--intercept", choices=INTERCEPTS, default="none", help="default: %(default)s")
    add("--max-passes", type=int, default=MAX_PASSES, metavar="N",
        help="passes over the data before a lambda is given up (default: %(default)s)")  # fmt: skip
    add("--json", action="store_true", help="print one JSON object instead of the table")
    add("--progress", action="store_true", help="show a progress bar")
    add("--float32", action="store_true", help="compute in single precision")


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = _Parser(
        prog="jaxopt_svm",
        description="Certified SVM optimisation: every answer comes with its duality gap.",
        epilog=EXAMPLES,
        formatter_class=form,
    )
    commands = parser.add_subparsers(required=True, metavar="sweep | cv | methods | data")

    sweep = commands.add_parser(
        "sweep",
        help="solve for a whole grid of lambda at once and print a table",
        description="Solve lam/2 ||w||^2 + mean loss for every lambda of a grid in one batched "
        "program, each until its certified relative gap is at most RTOL.",
        epilog=EXAMPLES,
        formatter_class=form,
    )
    add = sweep.add_argument
    _add_problem_options(add)
    add("--lams", default="1e-4:1e0:16", metavar="A:B:COUNT",
        help="smallest:largest:count, a comma list, one number (default: %(default)s)")  # fmt: skip
    add("--holdout", type=float, metavar="SHARE", help="share of the rows to keep for testing")
    add("--seed", type=int, default=0, help="of the split and of the solver (default: 0)")
    add("--plot", metavar="FILE", help="draw the sweep; the ending chooses the format (.png, .pdf)")
    add(
        "--html",
        metavar="FILE",
        help="write a page to explore the sweep with: one file, no network",
    )
    add("--save", metavar="FILE", help="write the solutions as npz; jaxopt_svm.load reads them")
    add("--memory-rows", metavar="SIZE", help="such as 20MB: leave the rows in the file (svmlight, "
        "or .npy with --labels) and read them in chunks that take so much memory")  # fmt: skip
    add("--labels", metavar="FILE", help="the labels (.npy) that go with rows in a .npy file")
    add("--scratch", metavar="FOLDER", help="for a copy of such rows in random order: fewer passes "
        "if the file is sorted, and no parsing after the first")  # fmt: skip
    add("--checkpoint", metavar="FILE", help="written at every record, for parts with a "
        "number behind it; if it is there, the sweep goes on from it, on any devices")  # fmt: skip
    distributed.add_options(sweep.add_argument_group("several devices or machines").add_argument)
    sweep.set_defaults(run=_sweep)

    cv = commands.add_parser(
        "cv",
        help="cross-validate a grid of lambda, all folds and classes at once",
        description="Train every lambda on every fold (and every class against the rest) in one "
        "batched program, each certified, and print the error and the loss on what the folds hold "
        "out. <- marks the best lambda, <-- the largest within one standard error.",
        epilog=EXAMPLES,
        formatter_class=form,
    )
    add = cv.add_argument
    _add_problem_options(add)
    add("--lams", metavar="A:B:COUNT",
        help="as for sweep (default: 20 values from lam_max down by 1e-4)")  # fmt: skip
    add("--folds", type=int, default=5, help="stratified (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the folds and of the solver (default: 0)")
    add("--by", choices=CHOICES, default="error", help="what to choose by (default: %(default)s)")
    add("--plot", metavar="FILE", help="draw the curves; the ending chooses the format")
    cv.set_defaults(run=_cv)

    methods = commands.add_parser("methods", help="list the methods and what they need")
    methods.add_argument("--json", action="store_true", help="print a JSON list instead")
    methods.set_defaults(run=_methods)

    data = commands.add_parser("data", help="list the named data sets and whether they are here")
    data.set_defaults(run=_data)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 if it did what was asked, 2 after an error said on stderr."""
    try:
        args = _parser().parse_args(argv)
        args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader left; exit without a word
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except jax.errors.JaxRuntimeError as error:
        distributed.leave(error)
        raise
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0
