"""What a sweep found, as records for json and as a table for people."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import jaxopt_svm as js

__all__ = ["aligned", "lanes", "text"]


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Rows of text in columns; numbers to the right, the columns in ``left`` to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    put = lambda k, cell: cell.ljust(widths[k]) if k in left else cell.rjust(widths[k])
    return "\n".join("  ".join(put(*pair) for pair in enumerate(row)).rstrip() for row in rows)


def lanes(solution: js.Solution, train, held_out) -> list[dict[str, Any]]:
    """One record a lambda, ready for json."""
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
            "support_vectors": int(np.count_nonzero(solution.dual[k])),
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
