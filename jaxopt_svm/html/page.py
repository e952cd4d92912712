"""One self-contained html page: style, script and data inside, no request to anywhere.

Data are csv texts, put into the page as they are; a figure is a small description of which columns
to draw (``figure``), and page.js draws it, with its controls, as SVG.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

__all__ = ["explorer", "figure", "page", "table"]


def _asset(name: str) -> str:
    return resources.files("jaxopt_svm.html").joinpath(name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    return json.dumps(value).replace("</", "<\\/")


def figure(name: str, source: str, title: str, **spec: Any) -> str:
    """A figure drawn from the csv ``source``. Columns are named as in its first line.

    x: [[column, label], ...], the first is shown, the others can be chosen.
    y: [{"col", "label", "spread": [low, high], "bounds": [[column, label], ...]}, ...].
    series: columns whose values tell the lines apart. choose: columns of which one value is
    shown. melt: {"cols", "name", "value"} makes several columns one, named by a new one.
    where: {column: value} keeps some rows. log: "x", "y", "xy" or "". points: no lines.
    guide: [value, label], a level to compare with.
    """
    described = _json({"source": source, "title": title, **spec})
    return (
        f'<figure class="plot" id="fig-{escape(name)}" data-title="{escape(title)}">'
        f'<script type="application/json">{described}</script>'
        f"<noscript>The figure needs JavaScript; its numbers are in {escape(source)}.csv."
        f"</noscript></figure>"
    )


def explorer(name: str, source: str, **spec: Any) -> str:
    """A slider over the lambdas of a sweep. show: [[column, label, log], ...]; where: as above."""
    described = _json({"source": source, **spec})
    return (
        f'<div class="explorer" id="explore-{escape(name)}">'
        f'<script type="application/json">{described}</script></div>'
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], stack: bool = False) -> str:
    """A table that can be sorted by every column. Cells are html already; headers are text.

    stack: on a narrow screen each row becomes a list of its cells, for tables of sentences.
    """
    heads = "".join(f'<th scope="col"><button>{escape(h)}</button></th>' for h in header)
    cell = lambda h, c: f'<td data-label="{escape(h)}">{c}</td>'
    body = "".join(f"<tr>{''.join(cell(h, c) for h, c in zip(header, row))}</tr>" for row in rows)
    # more columns than a sheet of paper is wide: stacked in print too
    kind = f' class="stack{" many" * (len(header) > 6)}"' if stack else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="table"><table{kind}>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def page(
    title: str, body: str, sources: Mapping[str, str], contents: Sequence[tuple[int, str, str]] = ()
) -> str:
    """The whole file. sources: name -> csv text. contents: (level, anchor, text) of headings."""
    for name, text in sources.items():
        if "</" in text:
            raise ValueError(f"{name}.csv: '</' would end the data inside a page")
    data = "".join(
        f'<script type="text/csv" id="csv-{escape(name)}">\n{text}</script>\n'
        for name, text in sources.items()
    )
    entries = "".join(
        f'<li class="level{level}"><a href="#{anchor}">{escape(text)}</a></li>'
        for level, anchor, text in contents
    )
    toc = f'<nav id="contents" aria-label="Contents"><ol>{entries}</ol></nav>' if entries else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{_asset("page.css")}</style>
</head>
<body{"" if toc else ' class="plain"'}>
<a class="skip" href="#main">Skip to the text</a>
<button id="theme" type="button" aria-label="dark or light">dark / light</button>
{toc}
<main id="main">
{body}
</main>
{data}<script>
{_asset("page.js")}</script>
</body>
</html>
"""
