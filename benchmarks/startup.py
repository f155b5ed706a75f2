"""What commands of the command line cost before they do anything: CPU time of whole processes, medians of rounds.

Rows are interleaved, so that a machine that is busy for a while is busy for all of them. The floor of `sol solve` is
the import of LangGraph, whose graph is the loop; that of `sol show` the import of SQLAlchemy, which opens the store.

Example: `python benchmarks/startup.py --rounds 9 --json`
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import show

TASK = """\
goal: Say done
context: none
inputs: none
constraints: none
expected_output: The word done.
success_criteria: [{command: "true"}]
stop_conditions: [There is nothing to say.]
worker: {kind: function, function: "work:work"}
"""
SOL = [sys.executable, "-c", "from sol.cli import main; main()"]
ROWS = {
    "python": [sys.executable, "-c", "pass"],
    "typer, pydantic": [sys.executable, "-c", "import typer, pydantic"],
    "sqlalchemy": [sys.executable, "-c", "import sqlalchemy"],
    "langgraph.graph": [sys.executable, "-c", "import langgraph.graph"],
    "sol --help": [*SOL, "--help"],
    "sol show": [*SOL, "show", "latest"],
    "sol solve": [*SOL, "solve", "task.yaml"],
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    show(measure(options.rounds), options)


def measure(rounds: int) -> dict[str, Any]:
    """Run each command once a round, after one that warms the caches."""
    took: dict[str, list[float]] = {name: [] for name in ROWS}
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "task.yaml").write_text(TASK)
        Path(directory, "work.py").write_text("def work(inputs):\n    return 'done'\n")
        cpu_s(ROWS["sol solve"], directory)
        for _ in range(rounds):
            for name, command in ROWS.items():
                took[name].append(cpu_s(command, directory))
    medians = {name: statistics.median(times) for name, times in took.items()}
    floor = medians["typer, pydantic"]
    return {f"cpu_s {name}": round(median, 3) for name, median in medians.items()} | {
        f"times typer, pydantic: {name}": round(median / floor, 2) for name, median in medians.items()
    }


def cpu_s(command: list[str], directory: str) -> float:
    """Seconds of processor time, user and system, of a process and its children."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
