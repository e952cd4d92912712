"""What a sweep or a cross-validation found, as records for json and as a table for people."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import jaxopt_svm as js

__all__ = ["aligned", "cv_report", "cv_text", "lanes", "text"]


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Rows of text in columns; numbers to the right, the columns in ``left`` to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    put = lambda k, cell: cell.ljust(widths[k]) if k in left else cell.rjust(widths[k])
    return "\n".join("  ".join(put(*pair) for pair in enumerate(row)).rstrip() for row in rows)


def lanes(solution: js.Solution, train, held_out, used: Any = slice(None)) -> list[dict[str, Any]]:
    """One record a lambda, ready for json. used: the examples that count."""
    number = lambda x: float(x) if math.isfinite(x) else None  # json has no nan
    certificate, relative = solution.certificate, solution.relative_gap
    return [
        {
            "lam": float(solution.lam[k]),
            "primal": number(certificate.primal[k]),
            "dual": number(certificate.dual[k]),
            "gap": number(certificate.gap[k]),
            "relative_gap": number(relative[k]),
            "status": str(solution.status[k]),
            "passes": int(solution.passes[k]),
            "train_error": number(train[k]),
            "held_out_error": None if held_out is None else number(held_out[k]),
            "support_vectors": int(np.count_nonzero(np.asarray(solution.dual[k])[used])),
        }
        for k in range(len(solution.lam))
    ]


def text(report: dict[str, Any], word: str) -> str:
    """A line that sums up, and a table with one row a lambda."""
    data, lanes = report["data"], report["lanes"]
    held_out = data["held_out_rows"]
    done = sum(lane["status"] == js.Status.CONVERGED for lane in lanes)
    summary = (
        f"{data['name']}: {data['rows']:,} rows x {data['columns']:,} columns"
        + (f" ({held_out:,} held out)" if held_out else "")
        + f", {report['loss']}, {report['method']}, {report['dtype']}: {done} of {len(lanes)} "
        f"lambdas certified to {report['rtol']:g} in {report['seconds']:.1f} s"
    )
    show = lambda value, form: "-" if value is None else format(value, form)
    header = ["lambda", "primal", "gap", "relative gap", "status", "passes", f"train {word}"]
    header += [f"held-out {word}"] * bool(held_out) + ["support vectors"]
    rows = [
        [
            f"{lane['lam']:.3g}",
            show(lane["primal"], ".6g"),
            show(lane["gap"], ".1e"),
            show(lane["relative_gap"], ".1e"),
            lane["status"],
            f"{lane['passes']:,}",
            show(lane["train_error"], ".4f"),
            *[show(lane["held_out_error"], ".4f")] * bool(held_out),
            f"{lane['support_vectors']:,}",
        ]
        for lane in lanes
    ]
    return summary + "\n" + aligned([header, *rows], left=(4,))


def cv_report(found: js.CrossValidation) -> dict[str, Any]:
    """A record a lambda, over the folds (and classes), ready for json."""
    relative = np.asarray(found.certificate.gap) / np.abs(np.asarray(found.certificate.primal))
    over = tuple(range(relative.ndim - 1))
    done = (found.status == js.Status.CONVERGED).sum(axis=over)
    se = lambda values: values.std(axis=0, ddof=1) / math.sqrt(len(values))
    columns = {
        "lam": found.lams,
        "error": found.errors.mean(axis=0),
        "error_se": se(found.errors),
        "loss": found.losses.mean(axis=0),
        "loss_se": se(found.losses),
        "largest_relative_gap": relative.max(axis=over),
        "certified": done,
        "passes": found.passes.max(axis=over),
    }
    rows = [
        {name: values[k].item() for name, values in columns.items()} for k in range(len(found.lams))
    ]
    return {
        "by": found.by,
        "models": int(relative.size),
        "best_lam": found.best_lam,
        "one_se_lam": found.one_se_lam,
        "lams": rows,
    }


def cv_text(report: dict[str, Any], word: str) -> str:
    """A line that sums up, and a table with one row a lambda."""
    data, lams = report["data"], report["lams"]
    done = sum(row["certified"] for row in lams)
    classes = f" x {report['classes']} classes" if report["classes"] > 2 else ""
    summary = (
        f"{data['name']}: {data['rows']:,} rows x {data['columns']:,} columns, {report['loss']}, "
        f"{report['dtype']}: {len(lams)} lambdas x {report['folds']} folds{classes}, {done:,} of "
        f"{report['models']:,} models certified to {report['rtol']:g} in {report['seconds']:.1f} s"
    )
    mark = {report["one_se_lam"]: "<-- one standard error"} | {report["best_lam"]: "<- best"}
    if report["one_se_lam"] == report["best_lam"]:
        mark = {report["best_lam"]: "<- best, also by one standard error"}
    header = ["lambda", word, "+-", "loss", "+-", "largest gap", "passes", ""]
    rows = [
        [
            f"{row['lam']:.3g}",
            f"{row['error']:.4f}",
            f"{row['error_se']:.4f}",
            f"{row['loss']:.4f}",
            f"{row['loss_se']:.4f}",
            f"{row['largest_relative_gap']:.1e}",
            f"{row['passes']:,}",
            mark.get(row["lam"], ""),
        ]
        for row in lams
    ]
    return summary + "\n" + aligned([header, *rows], left=(7,))
