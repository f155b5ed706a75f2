"""Two versions of Sol side by side: each figure of the scripts here as a median of rounds that take turns.

The scripts are always those beside this file; `sol` and `luna` come from the two checkouts, through PYTHONPATH. Both
need the packages of the Python that runs this. CPU time is what counts, so a busy machine is bearable.

Example: `git worktree add ../before v0.1.0; python benchmarks/table.py --base ../before --rounds 3`
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import ROOT

HERE = Path(__file__).resolve().parent
STORE = "STORE"
"""Stands for a directory that each checkout keeps over all rounds."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: what it is called, the script with its arguments, and which of its figures it shows."""

    key: str
    title: str
    command: tuple[str, ...]
    figures: tuple[str, ...]


def _row(key: str, title: str, command: str, *figures: str) -> Row:
    return Row(key, title, tuple(command.split()), figures)


def _overhead(key: str, title: str, arguments: str) -> Row:
    return _row(key, f"{title}, CPU ms a node", f"overhead.py {arguments}", "cpu_ms_per_node")


ROWS = (
    _overhead("nodes-1023", "Library call, 1,023 nodes", "--nodes 1023"),
    _overhead("nodes-8191", "Library call, 8,191 nodes", "--nodes 8191"),
    _overhead("nodes-32767", "Library call, 32,767 nodes", "--nodes 32767"),
    _overhead(
        "trickle",
        "Outcomes trickling in: 1,023 nodes, 0 to 50 ms, 16 at once",
        "--nodes 1023 --latest 0.05 --concurrency 16",
    ),
    _overhead("one-a-turn", "One outcome a turn: 255 nodes, concurrency 1", "--nodes 255 --concurrency 1"),
    _row("one-node", "Run of one node in a warm process, CPU ms", "one_node.py", "cpu_ms_per_run"),
    _row("halving", "Halving 5,000 records, JSON Schema, 4 at once, CPU ms a node", "halving.py", "cpu_ms_per_node"),
    _row(
        "halving-64",
        "The same, 64 at once, CPU ms a node",
        "halving.py --concurrency 64",
        "cpu_ms_per_node",
    ),
    _row(
        "command",
        "Attempt of a command, own CPU ms / bare asyncio subprocess / ratio",
        "command.py --idle 0",
        "own_cpu_ms",
        "bare_cpu_ms",
        "ratio",
    ),
    _row(
        "command-idle",
        "Attempt of a command, own CPU ms, beside 0 / 300 idle processes",
        "command.py --idle 300",
        "own_cpu_ms",
        "own_cpu_ms_beside_idle",
    ),
    _row("isolation", "`isolation: copy`, 3 nodes: processes / scans", "isolation.py", "processes", "scans"),
    _row(
        "loading",
        "Loading a run of 65,535 nodes: CPU s / peak MB",
        f"loading.py --nodes 65535 --store {STORE}",
        "load_cpu_s",
        "rss_mb",
    ),
)


def main() -> None:
    """Measure in turns, and print the table as it stands at the end; failures are told on standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="checkout to compare with")
    parser.add_argument("--head", type=Path, default=ROOT, help="checkout that is compared; this one unless given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", nargs="+", choices=[row.key for row in ROWS], help="only these")
    parser.add_argument("--json", action="store_true", help="all figures of all rounds instead of the table")
    options = parser.parse_args()
    checkouts = {"before": options.base.resolve(), "after": options.head.resolve()}
    for checkout in checkouts.values():
        check(checkout)
    rows = [row for row in ROWS if options.rows is None or row.key in options.rows]
    with tempfile.TemporaryDirectory() as directory:
        stores = {name: Path(directory) / name for name in checkouts}
        found: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
        for number in range(options.rounds):
            for row in rows:
                for name in checkouts if number % 2 == 0 else reversed(checkouts):
                    figures = measure(row, checkouts[name], stores[name])
                    if figures is not None:
                        found[row.key][name].append(figures)
    print(json.dumps(found) if options.json else markdown(rows, found))


def check(checkout: Path) -> None:
    """Make sure that a checkout is what its processes import."""
    code = "import sol, luna; print(sol.__file__); print(luna.__file__)"
    said = run_apart([sys.executable, "-c", code], checkout)
    files = [Path(line) for line in said.stdout.splitlines()]
    if len(files) != 2 or not all(file.is_relative_to(checkout) for file in files):
        raise SystemExit(f"{checkout} is no checkout of Sol that can be imported; it gives {said.stdout.split()}")


def run_apart(command: Sequence[str], checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of Python's on a checkout, without settings of Sol, and not in a directory that has another one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SOL_", "LUNA_"))}
    environment = kept | {"PYTHONPATH": str(checkout)}
    return subprocess.run(command, check=False, cwd=HERE, env=environment, capture_output=True, text=True)


def measure(row: Row, checkout: Path, store: Path) -> list[float] | None:
    """The row's figures of one run of its script; None where it failed."""
    script, *arguments = [str(store / row.key) if word == STORE else word for word in row.command]
    command = [sys.executable, str(HERE / script), *arguments, "--json"]
    done = run_apart(command, checkout)
    if done.returncode:
        print(f"{row.key} on {checkout}: {done.stderr.strip()[-2000:] or done.returncode}", file=sys.stderr)
        return None
    figures = json.loads(done.stdout.splitlines()[-1])
    print(f"{row.key} on {checkout}: {[figures[name] for name in row.figures]}", file=sys.stderr)
    return [figures[name] for name in row.figures]


def markdown(rows: Sequence[Row], found: Mapping[str, Mapping[str, list[list[float]]]]) -> str:
    """The table, with medians, and the base divided by the other one."""
    lines = ["| What | Before | After | Before ÷ after |", "| --- | --- | --- | --- |"]
    for row in rows:
        before, after = (medians(found.get(row.key, {}).get(name, [])) for name in ("before", "after"))
        ratios = [f"{b / a:.1f}" if a else "-" for b, a in zip(before, after, strict=False)]
        cells = [row.title, written(before), written(after), " / ".join(ratios) or "-"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def medians(rounds: list[list[float]]) -> list[float]:
    """The median of each figure; none where all rounds failed."""
    return [statistics.median(values) for values in zip(*rounds, strict=True)]


def written(figures: list[float]) -> str:
    """Figures of one cell, with two digits that matter where they are small."""
    return (
        " / ".join(f"{one:,.0f}" if one >= 100 else re.sub(r"\.0+$", "", f"{one:.2f}") for one in figures) or "failed"
    )


if __name__ == "__main__":
    main()
