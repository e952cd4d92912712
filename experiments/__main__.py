"""Run an experiment and say what it found; ``--all`` runs every one but the benchmarks.

Each writes NAME.csv, NAME.png and NAME.json (question, answer, seconds) into the folder, and the
folder's README.md, which shows them all.
"""

import argparse
import contextlib
import importlib
import inspect
import io
import json
import pathlib
import pkgutil
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import experiments
from experiments.budget import FULL, QUICK, Budget, OutOfTime
from experiments.common import write
from jaxopt_svm.data.extra import need
from jaxopt_svm.report import aligned

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


def has_peers(name: str) -> bool:
    """Whether it times other packages too, and keeps what it measured: its main takes ``peers``."""
    main = importlib.import_module(f"experiments.{name}").main
    return "peers" in inspect.signature(main).parameters


def run_one(
    name: str, quick: bool, out: pathlib.Path, seconds: float | None = None, peers: bool = False
) -> tuple[str, dict]:
    """The text for a person, and the content for a program."""
    out.mkdir(parents=True, exist_ok=True)
    main = importlib.import_module(f"experiments.{name}").main
    with Budget(seconds or (QUICK if quick else FULL)) as budget:
        found = main(quick=quick, peers=True) if peers else main(quick=quick)
    sentence = found.sentence + budget.said()
    files = write(out, name, found)
    record = {"name": name, "question": question(name), "answer": sentence, "quick": quick}
    record |= {"seconds": round(budget.spent, 1), "left_out": budget.left_out}
    half = out / f"{name}.json.part"  # another process may read the folder at this moment
    half.write_text(json.dumps(record, indent=1) + "\n")
    half.replace(out / f"{name}.json")
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


def run_apart(name: str, quick: bool, out: pathlib.Path) -> dict[str, Any]:
    """One experiment in a process of its own, since they differ in precision."""
    limit = 3 * (QUICK if quick else FULL) + 60  # an experiment that ignores its budget
    command = [sys.executable, "-m", "experiments", name, "--json", "--out", str(out)]
    command += ["--quick"] * quick
    started = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        code, said, problem = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, said, problem = 1, "", f"stopped after {limit:g} s"
    seconds = time.perf_counter() - started
    status = {0: "ok", MISSING: "no data", TOO_SHORT: "no time"}.get(code, "failed")
    last = (problem.strip().splitlines() or [""])[-1]
    answer = json.loads(said)["sentence"] if code == 0 else last
    found = {"name": name, "status": status, "seconds": seconds, "answer": answer}
    return found | ({"said": problem} if status == "failed" else {})


def answers(lines: list[dict[str, Any]], width: int = 100) -> str:
    """Name, status, seconds and the answer, broken into lines, for each experiment."""
    table = [["name", "", "s", ""]]
    table += [[line["name"], line["status"], f"{line['seconds']:.0f}", ""] for line in lines]
    heads = aligned(table, (0, 1)).splitlines()
    left = max(map(len, heads)) + 2
    told = [f"{heads[0].ljust(left)}answer"]
    for head, line in zip(heads[1:], lines):
        first, *rest = textwrap.wrap(line["answer"], max(width - left, 40)) or [""]
        told += [head.ljust(left) + first, *(" " * left + more for more in rest)]
    return "\n".join(told)


def run_all(quick: bool, out: pathlib.Path, as_json: bool, jobs: int) -> int:
    """All but the benchmarks, ``jobs`` at a time, and a table of the answers."""
    chosen = [name for name in names() if not name.startswith("bench_")]
    bar = need("tqdm", "a progress bar").tqdm(total=len(chosen), disable=as_json or None)
    with ThreadPoolExecutor(jobs) as pool:

        def one(name: str) -> dict[str, Any]:
            line = run_apart(name, quick, out)
            bar.update()
            return line

        lines = list(pool.map(one, chosen))
    bar.close()
    write_readme(out)
    failed = [line for line in lines if line["status"] == "failed"]
    if as_json:
        print(json.dumps(lines, indent=1))
        return int(bool(failed))
    for line in failed:  # all that it said, before the table
        print(f"{line['name']} failed:\n{line['said']}", file=sys.stderr)
    total = sum(line["seconds"] for line in lines)
    count = f"{len(lines)} experiments, {len(failed)} failed, {total:.0f} s, {jobs} at a time"
    print(f"{answers(lines)}\n\n{count}")
    return int(bool(failed))


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; see --list")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--all", action="store_true", help="run all but the benchmarks")
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")
    parser.add_argument("--quick", action="store_true", help=f"within {QUICK:g} s, not {FULL:g}")
    parser.add_argument("--seconds", type=float, help="a budget of your own, for one experiment")
    parser.add_argument("--peers", action="store_true", help="time the other packages anew")
    parser.add_argument("--jobs", type=int, default=1, help="how many of --all at a time")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results"), metavar="DIR")
    args = parser.parse_args(argv)
    if args.jobs < 1:
        parser.error(f"--jobs: expected at least 1; got {args.jobs}")
    if args.peers and (args.all or args.name is None):
        parser.error("--peers: name the benchmark whose peers are to be timed anew")
    if args.all:
        return run_all(args.quick, args.out, args.json, args.jobs)
    if args.list or args.name is None:
        print("\n".join(f"{name}: {question(name)}" for name in names()))
        return 0
    if args.name not in names():
        print(f"error: no experiment {args.name!r}; known: {', '.join(names())}", file=sys.stderr)
        return 2
    if args.peers and not has_peers(args.name):
        known = ", ".join(name for name in names() if has_peers(name))
        said = f"{args.name} times no other package; those that do: {known}"
        print(f"error: --peers: {said}", file=sys.stderr)
        return 2
    try:
        with contextlib.redirect_stdout(io.StringIO()) if args.json else contextlib.nullcontext():
            text, content = run_one(args.name, args.quick, args.out, args.seconds, args.peers)
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
