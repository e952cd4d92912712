"""``python -m experiments NAME``: run one experiment and say what it found."""

import argparse
import importlib
import json
import pathlib
import pkgutil
import sys

import experiments
from experiments.common import write

HELPERS = ("__main__", "common", "learning", "zoo")


def names() -> list[str]:
    """Every module of this folder that asks a question."""
    return [m.name for m in pkgutil.iter_modules(experiments.__path__) if m.name not in HELPERS]


def question(name: str) -> str:
    doc = importlib.import_module(f"experiments.{name}").__doc__ or ""
    return doc.strip().split("\n")[0]


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; see --list")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")
    parser.add_argument("--quick", action="store_true", help="smaller and rougher")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results"), metavar="DIR")
    args = parser.parse_args(argv)
    if args.list or args.name is None:
        print("\n".join(f"{name}: {question(name)}" for name in names()))
        return 0
    if args.name not in names():
        print(f"error: no experiment {args.name!r}; known: {', '.join(names())}", file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    found = importlib.import_module(f"experiments.{args.name}").main(quick=args.quick)
    files = write(args.out, args.name, found)
    if args.json:
        content = {"name": args.name, "sentence": found.sentence, **found.facts}
        print(json.dumps({**content, "rows": found.rows}))
    else:
        print(found.text, found.sentence, f"wrote {', '.join(map(str, files))}", sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
