"""The report: one html page from the results, the checked claims and the errata.

python -m experiments.report [--results docs/results] [--out docs/report.html]

Every number on it is read from a file of the results or computed by ``proofs_checks.decided``. The
build fails if a file is missing, if a claim in proofs.json does not hold or has no teeth, or if the
registry has a claim that proofs.json has not. Only the benchmark against LinearSVC may be absent;
the page then says so. ``make claims`` writes proofs.json, ``python -m experiments NAME --out
docs/results`` the rest.
"""

import argparse
import csv
import inspect
import json
import pathlib
import re
import sys
from html import escape
from typing import Any, NamedTuple

from experiments.report_figures import FIGURES
from jaxopt_svm.core import registry
from jaxopt_svm.html import figure, page, table
from jaxopt_svm.html.formula import inline, lines
from jaxopt_svm.html.sweep_page import gap_figure, lanes_explorer
from proofs_checks import CLAIMS
from proofs_checks.decided import DECIDED
from proofs_checks.errata import Erratum, every_row
from proofs_checks.errata_page import shown

__all__ = ["Broken", "Sources", "build", "main", "read"]

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADLINE = "bench_sweep"  # the one source that may be absent
MOST = 5_000_000  # bytes


class Lecture(NamedTuple):
    """title: as in the errata. known_as: how claims and methods name it."""

    anchor: str
    title: str
    known_as: tuple[str, ...]
    experiments: tuple[str, ...]


LECTURES = (
    Lecture(
        "ml",
        "Introduction to Machine Learning (Srebro)",
        ("Introduction to Machine Learning",),
        ("last_iterate", "batch_vs_stochastic", "passes_vs_data", "three_levels", "map_vs_bayes")
        + ("gp_figures",),
    ),
    Lecture(
        "svm",
        "Optimization Methods for SVMs (Scheinberg)",
        ("Optimization Methods for SVMs",),
        ("pegasos", "huber", "data_size", "kernel_table"),
    ),
    Lecture(
        "erm",
        "Empirical Risk Minimization (Richtarik)",
        ("Empirical Risk Minimization",),
        ("quartz_vs_sdca", "dfsdca_lambda", "sampling", "n_or_d", "scale", "dual_zoo")
        + ("primal_zoo",),
    ),
    Lecture(
        "online",
        "Online solvers for convex risk minimization (Franc)",
        ("Online solvers", "Structured output learning"),
        ("sda_bound", "averaging", "structured_sda", "zoo_table", "structured_zoo"),
    ),
    Lecture(
        "structures",
        "Stochastic Gradient Descent for Structures (Srikumar)",
        ("Stochastic Gradient Descent for Structures", "SGD for Structures"),
        ("structured_steps", "cost_vs_n", "conll"),
    ),
)


class Broken(Exception):
    """A source is missing or says that something does not hold."""


class Sources(NamedTuple):
    """tables: name -> csv text. records: name -> question and answer. claims: by name."""

    tables: dict[str, str]
    records: dict[str, dict[str, Any]]
    claims: dict[str, dict[str, Any]]


# --- reading ---------------------------------------------------------------------------------


def _text(path: pathlib.Path, command: str) -> str:
    if not path.exists():
        raise Broken(f"{path} is missing; write it with: {command}")
    return path.read_text(encoding="utf-8")


def read(results: pathlib.Path) -> Sources:
    """All sources, or Broken."""
    names = ["explorer", *(name for lecture in LECTURES for name in lecture.experiments)]
    names += [HEADLINE] * (results / f"{HEADLINE}.csv").exists()
    for path in sorted(results.glob("*.csv")):
        if path.stem not in names and path.with_suffix(".json").exists():
            names.append(path.stem)  # an experiment of no lecture
    tables, records = {}, {}
    for name in names:
        command = f"python -m experiments {name} --out {results}"
        tables[name] = _text(results / f"{name}.csv", command)
        records[name] = json.loads(_text(results / f"{name}.json", command))
        if records[name]["quick"]:
            raise Broken(f"{name}.json is from a quick run; the report shows full ones: {command}")
    said = json.loads(_text(results / "proofs.json", "make claims"))
    claims = {line["name"]: line for line in said}
    for name, line in claims.items():
        if not (line["holds"] and line["false_variant_fails"]):
            what = "does not hold" if not line["holds"] else "has a false variant that passes"
            raise Broken(f"claim {name} of proofs.json {what} (slack {line['slack']:g})")
    registered = {claim.name for claim in CLAIMS}
    for name in sorted(registered ^ set(claims)):
        where = "is not in proofs.json" if name in registered else "is not registered any more"
        raise Broken(f"claim {name} {where}: make claims")
    return Sources(tables, records, claims)


def lectures_of(text: str) -> list[Lecture]:
    """The lectures that "Title: topic; Title" names."""
    starts = [part.strip().split(":")[0] for part in text.split(";")]
    found = [lecture for lecture in LECTURES if any(s in lecture.known_as for s in starts)]
    if not found:
        raise Broken(f"no lecture is known as {text!r}")
    return found


# --- parts of a lecture ------------------------------------------------------------------------


def paragraphs(doc: str) -> tuple[str, str, str]:
    """Of a method's file: its first sentence, the first lines set apart, and its rate."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(doc))
    apart = next((p for p in parts[1:] if p.startswith("    ")), "")
    rate = next((p for p in parts[1:] if re.match(r"(Rates?|Bounds?|Rounds)\b", p)), "")
    return " ".join(parts[0].split()), inspect.cleandoc("\n" + apart), rate


def methods_of(lecture: Lecture) -> str:
    """A card for each file, with the names of the methods made there."""
    files: dict[str, list[registry.Info]] = {}
    for entry in registry.list_methods().values():
        if lecture in lectures_of(entry.info.lecture):
            files.setdefault(entry.make.__module__, []).append(entry.info)
    cards = []
    for module, infos in files.items():
        first, formula, rate = paragraphs(sys.modules[module].__doc__ or "")
        head, *rest = rate.splitlines() or [""]
        promise = f"<p>{inline(head)}</p>{lines(chr(10).join(rest))}" if rate else ""
        path = module.replace(".", "/") + ".py"
        names = ", ".join(f"<code>{info.name}</code>" for info in infos)
        facts = "; ".join(dict.fromkeys(f"{info.problems}. {info.reference}" for info in infos))
        cards.append(
            f'<article class="method"><h4>{names}</h4><p>{inline(first)}</p>'
            f"{lines(formula) if formula else ''}{promise}"
            f'<p class="soft">{escape(facts)}. Source: <code>{path}</code></p></article>'
        )
    return f'<div class="methods">{"".join(cards)}</div>'


def claims_of(lecture: Lecture, claims: dict[str, dict[str, Any]]) -> str:
    rows = []
    for claim in CLAIMS:
        if lecture in lectures_of(claim.lecture):
            line = claims[claim.name]
            holds = '<span class="good">holds</span>; the false variant fails'
            cells = [code(claim.name), inline(claim.text), escape(topic(claim.lecture))]
            rows.append([*cells, f"{line['slack']:+.1e}", holds])
    return table(["claim", "statement", "slide", "worst slack", "checked"], rows, stack=True)


def code(name: str) -> str:
    """A name that may be broken where its words end."""
    return f"<code>{escape(name).replace('_', '_<wbr>')}</code>"


def topic(text: str) -> str:
    return text.split(":", 1)[-1].strip()


def errata_of(lecture: Lecture) -> str:
    rows = [row for row in every_row() if row.lecture == lecture.title]
    numeric = [row for row in rows if row.kind == "numeric"]
    notation = [row for row in rows if row.kind == "notation"]
    header = ["id", "slide", "printed", "correct", "the number that decides"]
    header += ["as printed", "true", "claim"]
    first = table(header, [decided(row) for row in numeric], stack=True)
    plain = [
        [row.id, escape(row.where), inline(row.printed), inline(row.correct)] for row in notation
    ]
    second = table(["id", "slide", "printed", "read"], plain, stack=True)
    return f"{first}<details><summary>{len(notation)} slips of notation</summary>{second}</details>"


def decided(row: Erratum) -> list[str]:
    number = DECIDED[row.id]()
    return [
        row.id,
        escape(row.where),
        inline(row.printed),
        inline(row.correct),
        inline(number.what),
        f'<span class="bad">{shown(number.printed)}</span>',
        f'<span class="good">{shown(number.true)}</span>',
        code(row.claim or ""),
    ]


def experiment(name: str, sources: Sources) -> str:
    """Question, answer, and the figures of its csv."""
    record = sources.records[name]
    drawn = "".join(
        figure(f"{name}-{k}" if k else name, name, spec.get("title") or record["question"],
               **{key: value for key, value in spec.items() if key != "title"})
        for k, spec in enumerate(FIGURES.get(name, [{}]))
        if spec
    )  # fmt: skip
    return (
        f'<h4 id="x-{name}">{escape(record["question"])}</h4>'
        f"<p>{escape(record['answer'])}</p>{drawn}"
        f'<p class="soft"><code>python -m experiments {name}</code>, {record["seconds"]:.0f} s; '
        f"<code>docs/results/{name}.csv</code></p>"
    )


def has_bound(name: str) -> bool:
    drawn = FIGURES.get(name, [])
    return any("guide" in spec or any(y["bounds"] for y in spec["y"]) for spec in drawn)


# --- the page ------------------------------------------------------------------------------------

CODE = """import jaxopt_svm as js
problem = js.make_erm(X, y)                              # numpy, scipy.sparse, pandas
path = js.sweep(problem, js.lam_grid(1e-4, 1e0, 32))     # the whole path, every λ certified
print(path.certificate.gap)                              # P(w) - P* is at most this"""


def _short(cell: str) -> str:
    """Three digits of a number that is not whole; anything else as it is."""
    try:
        value = float(cell)
    except ValueError:
        return cell
    return cell if value.is_integer() else f"{value:.3g}"


def headline(sources: Sources) -> str:
    if HEADLINE not in sources.tables:
        return (
            '<p class="note" id="headline-missing">The comparison with LinearSVC is not among the '
            f"results yet: <code>python -m experiments {HEADLINE} --out docs/results</code>.</p>"
        )
    record = sources.records[HEADLINE]
    rows = list(csv.DictReader(sources.tables[HEADLINE].splitlines()))
    columns = {"data": "data", "n": "n", "d": "d", "seconds": "sweep, s"}
    columns |= {"seconds_cold": "compiling too, s", "peer_seconds": "LinearSVC, s"}
    columns |= {"ratio": "ratio", "certified": "certified"}
    columns = {key: label for key, label in columns.items() if key in rows[0]}
    cells = [[escape(_short(row[key])) for key in columns] for row in rows]
    return f"<p>{escape(record['answer'])}</p>" + table(list(columns.values()), cells)


def front(sources: Sources) -> str:
    numeric = sum(row.kind == "numeric" for row in every_row())
    files = len(registry.list_methods())
    return f"""<h1>jaxopt_svm: five lectures, their theorems and their errata, live</h1>
<p class="lead">Certified, batched SVM optimisation in JAX: {files} methods of five lectures,
{len(sources.claims)} of their theorems checked by computation, {
        numeric
    } formulas corrected, each with
the number that decides. No number on this page was typed in: figures are drawn from the csv files
inside it.</p>
<div class="front"><section><h2 id="certificate">What a certificate is</h2>
<p>A solver stops somewhere. How far from the optimum? Every dual point
{inline("alpha")} gives a lower bound of it:</p>
{
        lines(
            "P(w) = lam/2 ||w||^2 + sum_i c_i phi(<x_i, w>, y_i)"
            + chr(10)
            + "D(alpha) = -lam/2 ||w(alpha)||^2 - sum_i c_i phi*(-alpha_i)"
            + chr(10)
            + "D(alpha) <= P* <= P(w)"
        )
    }
<p>So {inline("P(w) - P* <= P(w) - D(alpha)")}, the <b>gap</b>, whatever produced the two points.
Here the problem computes it, not the solver; a small gap cannot be faked.</p></section>
<section><h2 id="code">Three lines</h2><pre>{escape(CODE)}</pre>
<p>{escape(sources.records["explorer"]["answer"])}</p></section></div>
<section><h2 id="headline">A certified path beside a loop of LinearSVC</h2>{
        headline(sources)
    }</section>
<section><h2 id="explorer">Drag lambda</h2>
<p class="soft">Breast cancer, a quarter held out. Move the slider, or drag in a figure.</p>
{lanes_explorer("explorer", "error")}<h3 id="explorer-way">The certificates on their way</h3>
{gap_figure("explorer")}</section>"""


def build(results: pathlib.Path) -> str:
    """The html of the report."""
    sources = read(results)
    contents = [(1, "certificate", "What a certificate is"), (1, "headline", "Beside LinearSVC")]
    contents += [(1, "explorer", "Drag lambda")]
    body = [front(sources)]
    for lecture in LECTURES:
        bounds = [name for name in lecture.experiments if has_bound(name)]
        others = [name for name in lecture.experiments if name not in bounds]
        draw = lambda names: "".join(experiment(name, sources) for name in names)
        parts = {
            "methods": ("Methods", methods_of(lecture)),
            "theorems": ("Theorems", claims_of(lecture, sources.claims)),
            "bounds": ("Bounds beside what was measured", draw(bounds)),
            "experiments": ("Experiments", draw(others)),
            "errata": ("Errata", errata_of(lecture)),
        }
        contents.append((1, lecture.anchor, lecture.title))
        body.append(f'<section><h2 id="{lecture.anchor}">{escape(lecture.title)}</h2>')
        for key, (title, html) in parts.items():
            if html:
                anchor = f"{lecture.anchor}-{key}"
                contents.append((2, anchor, title))
                body.append(f'<h3 id="{anchor}">{title}</h3>{html}')
        body.append("</section>")
    used = {"explorer", HEADLINE, *(name for one in LECTURES for name in one.experiments)}
    rest = [name for name in sources.tables if name not in used]
    if rest:
        contents.append((1, "more", "More measurements"))
        drawn = "".join(experiment(name, sources) for name in rest)
        body.append(f'<section><h2 id="more">More measurements</h2>{drawn}</section>')
    html = page("jaxopt_svm: the report", "\n".join(body), sources.tables, contents)
    if len(html.encode()) > MOST:
        raise Broken(f"the page has {len(html.encode()):,} bytes, more than {MOST:,}")
    return html


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.report", description=__doc__)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "docs" / "results")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "report.html")
    args = parser.parse_args(argv)
    try:
        html = build(args.results)
    except Broken as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(html, encoding="utf-8")
    print(f"wrote {args.out}, {len(html.encode()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
