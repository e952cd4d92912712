"""Run an experiment and say what it found; ``--all`` runs every one but the benchmarks.

Each writes NAME.csv, NAME.png and NAME.json (question, answer, seconds) into the folder, and the
folder's README.md, which shows them all.
"""

import argparse
import contextlib
import importlib
import io
import json
import pathlib
import pkgutil
import subprocess
import sys
import time

import experiments
from experiments.budget import FULL, QUICK, Budget, OutOfTime
from experiments.common import write

HELPERS = (
    "__main__",
    "budget",
    "common",
    "figures",
    "learning",
    "peers",
    "report",
    "report_figures",
    "scale_worker",
    "zoo",
)
MISSING, TOO_SHORT = 3, 4  # exit codes: a data set is not here; the budget gave no answer


def names() -> list[str]:
    """Every module of this folder that asks a question."""
    return [m.name for m in pkgutil.iter_modules(experiments.__path__) if m.name not in HELPERS]


def question(name: str) -> str:
    """The first sentence of its docstring."""
    doc = importlib.import_module(f"experiments.{name}").__doc__ or ""
    return " ".join(doc.strip().split("\n\n")[0].split())


def run_one(
    name: str, quick: bool, out: pathlib.Path, seconds: float | None = None
) -> tuple[str, dict]:
    """The text for a person, and the content for a program."""
    out.mkdir(parents=True, exist_ok=True)
    with Budget(seconds or (QUICK if quick else FULL)) as budget:
        found = importlib.import_module(f"experiments.{name}").main(quick=quick)
    sentence = found.sentence + budget.said()
    files = write(out, name, found)
    record = {"name": name, "question": question(name), "answer": sentence, "quick": quick}
    record |= {"seconds": round(budget.spent, 1), "left_out": budget.left_out}
    (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    write_readme(out)
    text = "\n\n".join([found.text, sentence, f"wrote {', '.join(map(str, files))}"])
    return text, {"name": name, "sentence": sentence, **found.facts, "rows": found.rows}


def write_readme(out: pathlib.Path) -> None:
    """Question, answer and figure of all that were run into this folder."""
    parts = ["# Results", "Written by `python -m experiments`; the numbers are in the csv files."]
    for path in sorted(p for p in out.glob("*.json") if p.with_suffix(".csv").exists()):
        record = json.loads(path.read_text())
        how = f"`python -m experiments {record['name']}{' --quick' if record['quick'] else ''}`"
        parts.append(f"## {record['name']}\n\n**{record['question']}**")
        parts.append(f"{record['answer']} ({how}, {record['seconds']:.0f} s)")
        parts.append(f"![{record['name']}]({record['name']}.png)")
    (out / "README.md").write_text("\n\n".join(parts) + "\n")


def run_all(quick: bool, out: pathlib.Path, as_json: bool) -> int:
    """Each in a process of its own, since they differ in precision; benchmarks are left out."""
    failed, lines = [], []
    limit = 3 * (QUICK if quick else FULL) + 60  # an experiment that ignores its budget
    for name in (n for n in names() if not n.startswith("bench_")):
        command = [sys.executable, "-m", "experiments", name, "--json", "--out", str(out)]
        started = time.perf_counter()
        try:
            done = subprocess.run(
                [*command, *(["--quick"] if quick else [])],
                capture_output=True,
                text=True,
                timeout=limit,
            )
            code, said, problem = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            code, said, problem = 1, "", f"stopped after {limit:g} s"
        status = {0: "ok", MISSING: "no data", TOO_SHORT: "no time"}.get(code, "failed")
        last = (problem.strip().splitlines() or [""])[-1]
        answer = json.loads(said)["sentence"] if code == 0 else last
        line = {"name": name, "status": status, "seconds": time.perf_counter() - started}
        lines.append(line | {"answer": answer})
        failed += [name] * (status == "failed")
        if not as_json:
            print(f"{name} ({status}, {line['seconds']:.0f} s): {answer}\n", flush=True)
    if as_json:
        print(json.dumps(lines, indent=1))
    else:
        total = sum(line["seconds"] for line in lines)
        print(f"{len(lines)} experiments, {len(failed)} failed {failed or ''}, {total:.0f} s")
    return int(bool(failed))


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; see --list")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--all", action="store_true", help="run all but the benchmarks")
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")
    parser.add_argument("--quick", action="store_true", help=f"within {QUICK:g} s, not {FULL:g}")
    parser.add_argument("--seconds", type=float, help="a budget of your own, for one experiment")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results"), metavar="DIR")
    args = parser.parse_args(argv)
    if args.all:
        return run_all(args.quick, args.out, args.json)
    if args.list or args.name is None:
        print("\n".join(f"{name}: {question(name)}" for name in names()))
        return 0
    if args.name not in names():
        print(f"error: no experiment {args.name!r}; known: {', '.join(names())}", file=sys.stderr)
        return 2
    try:
        with contextlib.redirect_stdout(io.StringIO()) if args.json else contextlib.nullcontext():
            text, content = run_one(args.name, args.quick, args.out, args.seconds)
    except FileNotFoundError as error:
        print(f"{args.name}: {error}", file=sys.stderr)
        return MISSING
    except OutOfTime as error:
        print(f"{args.name}: {error}", file=sys.stderr)
        return TOO_SHORT
    print(json.dumps(content, default=float) if args.json else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
