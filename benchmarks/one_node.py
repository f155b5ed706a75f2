"""What a run of a single node costs in a process that has solved before, with a SQLite store: median CPU of a run.

Each run is a plain `Sol(strategy="binary", worker=function, …).solve(task)`, as in a program that solves many small
tasks one after the other: the strategy is found by its name, the journal opened and closed.

Example: `python benchmarks/one_node.py --runs 20 --json`
"""

import argparse
import statistics
import tempfile
import time
from typing import Any

from common import expect, show, task

from sol import Sol


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5, help="runs before these")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    show(measure(options.runs, options.warm_up), options)


def count(inputs: dict[str, Any]) -> int:
    """A worker that takes no time."""
    low, high = inputs["range"]
    return int(high - low)


def measure(runs: int, warm_up: int) -> dict[str, Any]:
    """Solve again and again."""
    with tempfile.TemporaryDirectory() as directory:
        store = f"sqlite:///{directory}/runs.db"
        took = []
        for _ in range(warm_up + runs):
            cpu = time.process_time()
            run = Sol(strategy="binary", worker=count, workspace=directory, store=store).solve(task(1))
            took.append((time.process_time() - cpu) * 1e3)
            expect(run, 1, 1)
    last = took[warm_up:]
    return {"runs": runs, "cpu_ms_per_run": statistics.median(last), "fastest_ms": min(last), "slowest_ms": max(last)}


if __name__ == "__main__":
    main()
