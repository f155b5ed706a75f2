"""What a node costs apart from its worker: a complete binary tree, workers without latency.

Run as the command line runs, with an eased garbage collector; `--plain` is a library call that does not ease it.

Example: `python benchmarks/overhead.py --nodes 1023 --journal sqlite --json`
"""

import argparse
import asyncio
import gc
import tempfile
import time
from pathlib import Path
from typing import Any

from common import CountWorker, RangePlanner, rss_mb, show, strategy, task

from sol import Sol
from sol.collector import ease_collector
from sol.journal import MemoryJournal


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1023, help="a complete binary tree: 2 to the n, less 1")
    parser.add_argument("--journal", choices=["sqlite", "memory"], default="sqlite")
    parser.add_argument("--concurrency", type=int, default=1024)
    parser.add_argument("--plain", action="store_true", help="Python's own collector settings, as a library call has")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    leaves = (options.nodes + 1) // 2
    if leaves & (leaves - 1):
        parser.error(f"--nodes {options.nodes} is no complete binary tree; try 1023 or 32767")
    show(asyncio.run(measure(leaves, options.journal, options.concurrency, eased=not options.plain)), options)


async def measure(leaves: int, journal: str, concurrency: int, *, eased: bool = True) -> dict[str, Any]:
    """Solve once to warm up, then once for the figures."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "runs.db"
        worker, planner = CountWorker(), RangePlanner()
        sol = Sol(
            strategy=strategy(concurrency=concurrency),
            worker=worker,
            planner=planner,
            workspace=directory,
            store=MemoryJournal() if journal == "memory" else f"sqlite:///{file}",
        )
        await sol.asolve(task(4))
        before, worker.calls, planner.calls = _size(file), 0, 0
        gc.collect()
        if eased:
            ease_collector()  # as the command line does
        wall, cpu = time.perf_counter(), time.process_time()
        run = await sol.asolve(task(leaves))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        nodes = len(run.tree)
        if not run.solved or run.result != leaves or nodes != 2 * leaves - 1:
            raise SystemExit(f"wrong: {run.status}, result {run.result}, {nodes} nodes: {run.reason}")
        return {
            "nodes": nodes,
            "calls": worker.calls + planner.calls,
            "cpu_ms_per_node": cpu * 1e3 / nodes,
            "wall_s": wall,
            "rss_mb": rss_mb(),
            "journal_bytes_per_node": (_size(file) - before) / nodes,
            "journal": journal,
            "collector": "eased" if eased else "plain",
        }


def _size(file: Path) -> int:
    return sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*"))


if __name__ == "__main__":
    main()
