"""The page of one sweep: drag lambda, see the certificates close, sort the table."""

import csv
import io
import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from jaxopt_svm.core.solution import Solution
from jaxopt_svm.html.formula import inline
from jaxopt_svm.html.page import explorer, figure, page, table

__all__ = ["gap_figure", "lanes_explorer", "lanes_table", "sweep_page", "sweep_rows"]

FIELDS: tuple[str, ...] = (
    "kind",
    "lam",
    "passes",
    "seconds",
    "primal",
    "dual",
    "gap",
    "relative_gap",
    "status",
)
FIELDS += ("train_error", "held_out_error", "support_vectors")


def sweep_rows(solution: Solution, lanes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records for a csv: kind "lane" for what ``report.lanes`` says, "trace" for the way there."""
    rows = [{"kind": "lane", **lane} for lane in lanes]
    trace = solution.trace
    for k, lane in enumerate(lanes):
        columns = (trace.passes[k], trace.seconds[k], trace.primal[k], trace.dual[k], trace.gap[k])
        for passes, seconds, primal, dual, gap in zip(*map(np.asarray, columns)):
            if math.isfinite(gap):  # a lane that is done has nan in the records after it
                row = {"kind": "trace", "lam": lane["lam"], "passes": int(passes)}
                row |= {"seconds": float(seconds), "primal": float(primal), "dual": float(dual)}
                rows.append(row | {"gap": float(gap), "relative_gap": float(gap / abs(primal))})
    return rows


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: "" if v is None else v for k, v in row.items()} for row in rows)
    return text.getvalue()


def lanes_explorer(source: str, error: str = "error") -> str:
    """The slider over the lambdas of a csv of ``sweep_rows``."""
    show = [
        ["relative_gap", "certified relative gap", True],
        ["primal", "objective P", False],
        ["train_error", f"{error}, train", False],
        ["held_out_error", f"{error}, held out", False],
        ["support_vectors", "support vectors", False],
    ]
    return explorer(source, source, where={"kind": "lane"}, show=show)


def gap_figure(source: str) -> str:
    """The gap of every lambda on its way, against passes or seconds."""
    return figure(
        f"{source}-gap",
        source,
        "The certificate of every lambda",
        where={"kind": "trace"},
        x=[["passes", "passes over the data"], ["seconds", "seconds"]],
        y=[
            {"col": "relative_gap", "label": "certified relative gap"},
            {"col": "primal", "label": "objective P"},
            {"col": "dual", "label": "lower bound D"},
        ],
        series=["lam"],
        log="xy",
    )


def lanes_table(lanes: Sequence[dict[str, Any]]) -> str:
    """One row a lambda."""
    header = [k for k in lanes[0] if any(lane[k] is not None for lane in lanes)]
    show = lambda v: "-" if v is None else f"{v:.4g}" if isinstance(v, float) else escape(str(v))
    rows = [[show(lane[k]) for k in header] for lane in lanes]
    return table([name.replace("_", " ") for name in header], rows)


def sweep_page(report: dict[str, Any], solution: Solution) -> str:
    """The html of a sweep; ``report`` is what the command line prints as json."""
    data, lanes = report["data"], report["lanes"]
    done = sum(lane["status"] == "converged" for lane in lanes)
    held_out = f" ({data['held_out_rows']:,} held out)" if data["held_out_rows"] else ""
    body = f"""<h1>{escape(data["name"])}: a certified sweep over λ</h1>
<p class="lead">{data["rows"]:,} rows x {data["columns"]:,} columns{held_out},
{escape(report["loss"])}, {escape(report["method"])}, {escape(report["dtype"])}:
{done} of {len(lanes)} lambdas certified to
{report["rtol"]:g} in {report["seconds"]:.1f} s. {escape(data["note"] or "")}</p>
<p>{inline("P(w) is at most the gap P(w) - D(alpha) above the optimum P*, at every lambda.")}</p>
<h2 id="explorer">Drag lambda</h2>{lanes_explorer("sweep", report["error"])}
<h2 id="gap">The certificates on their way</h2>{gap_figure("sweep")}
<h2 id="table">Every lambda</h2>{lanes_table(lanes)}"""
    sources = {"sweep": _csv(sweep_rows(solution, lanes))}
    return page(f"{data['name']}: sweep", body, sources)
