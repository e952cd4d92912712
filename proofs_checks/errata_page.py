"""ERRATA.md from the rows of ``errata`` and the numbers of ``decided``."""

import math

from proofs_checks.decided import DECIDED
from proofs_checks.errata import Erratum, every_row

__all__ = ["page"]

HEAD = """# Errata of the five lectures

Written by `python -m proofs_checks --errata`; do not edit. Each row of the first tables is a
formula that does not hold as printed: what is printed, what is true, and one number that decides,
computed from both formulas (`proofs_checks/decided.py`, the smallest example we know). The command
checks the correction in general and makes a false variant fail. Slips of notation, which no
computation can tell from a correct reading, are listed apart. There is no S12.
"""


def shown(value: float) -> str:
    """Four digits; below rounding is zero."""
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return "0" if abs(value) < 1e-12 else f"{value:.4g}"


def cell(text: str) -> str:
    # a bar would end the cell; stars and underscores would become emphasis
    for sign in "|*_<":
        text = text.replace(sign, f"\\{sign}")
    return text


def table(header: list[str], lines: list[list[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def numeric(row: Erratum) -> list[str]:
    number = DECIDED[row.id]()
    decides = f"{number.what}: printed {shown(number.printed)}, true {shown(number.true)}"
    texts = [row.id, row.where, row.printed, row.correct, decides]
    return [*map(cell, texts), f"`python -m proofs_checks {row.claim}`"]


def page() -> str:
    """The whole file."""
    rows = every_row()
    lectures = list(dict.fromkeys(row.lecture for row in rows))
    of = lambda kind, lecture: [r for r in rows if (r.kind, r.lecture) == (kind, lecture)]
    parts = [HEAD, f"## Formulas ({sum(r.kind == 'numeric' for r in rows)})"]
    header = ["id", "where", "printed", "correct", "the number that decides", "command"]
    for lecture in lectures:
        parts.append(f"### {lecture}")
        parts.append(table(header, [numeric(r) for r in of("numeric", lecture)]))
    parts.append(f"## Notation ({sum(r.kind == 'notation' for r in rows)})")
    for lecture in lectures:
        lines = [
            [*map(cell, (r.id, r.where, r.printed, r.correct))] for r in of("notation", lecture)
        ]
        parts += [f"### {lecture}", table(["id", "where", "printed", "read"], lines)]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"
