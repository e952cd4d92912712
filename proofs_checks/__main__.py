"""Check the claims and print a table; exit code 1 if one does not hold or has no teeth.

python -m proofs_checks [--list] [--json] [NAME ...]
python -m proofs_checks --errata > ERRATA.md
"""

import argparse
import difflib
import json
import sys
import time
from collections.abc import Sequence

import jax

from proofs_checks import CLAIMS
from proofs_checks.claims import Claim
from proofs_checks.errata_page import page

COLUMNS = ("name", "claim", "lecture", "slack", "holds", "false_variant_fails", "seconds")


def row(claim: Claim) -> dict:
    """One line of the table."""
    began = time.perf_counter()
    result = claim.check()
    return {
        "name": claim.name,
        "claim": claim.text,
        "lecture": claim.lecture,
        "slack": result.slack,
        "holds": claim.holds(result),
        "false_variant_fails": claim.false_variant_fails(result),
        "seconds": round(time.perf_counter() - began, 2),
    }


def cells(line: dict) -> list[str]:
    """A line as text."""
    show = {"slack": lambda x: f"{x:+.1e}", "seconds": lambda x: f"{x:.1f}"}
    word = lambda x: ("no", "yes")[x] if isinstance(x, bool) else str(x)
    return [show.get(key, word)(value) for key, value in line.items()]


def chosen(parser: argparse.ArgumentParser, names: Sequence[str]) -> list[Claim]:
    """The claims asked for, in the order of the table; all of them if none is named."""
    known = {claim.name: claim for claim in CLAIMS}
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, cutoff=0.4)
            hint = f"did you mean {' or '.join(close)}?" if close else "--list shows all of them"
            parser.error(f"no claim is called {name!r}; {hint}")
    return [claim for claim in CLAIMS if not names or claim.name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m proofs_checks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="claims to check; default all")
    parser.add_argument("--list", action="store_true", help="list the claims, check none")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument("--errata", action="store_true", help="print the list of errata")
    options = parser.parse_args(arguments)
    if options.errata:
        print(page(), end="")
        return 0
    claims = chosen(parser, options.names)
    if options.list:
        width = max(len(claim.name) for claim in claims)
        for claim in claims:
            print(f"{claim.name:<{width}}  {claim.text}")
        return 0
    jax.config.update("jax_enable_x64", True)
    widths = [max(len(column), 8) for column in COLUMNS]
    for k, key in enumerate(("name", "text", "lecture")):
        widths[k] = max(widths[k], *(len(getattr(claim, key)) for claim in claims))

    def show(texts):
        if not options.json:
            padded = (text.ljust(width) for text, width in zip(texts, widths))
            print("  ".join(padded).rstrip(), flush=True)

    show(COLUMNS)
    lines = []
    for claim in claims:
        lines.append(row(claim))
        show(cells(lines[-1]))
    if options.json:
        print(json.dumps(lines, indent=2))
    return int(not all(line["holds"] and line["false_variant_fails"] for line in lines))


if __name__ == "__main__":
    sys.exit(main())
