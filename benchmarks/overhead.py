"""What a node costs apart from its worker: a complete binary tree, called as a library, without any switch.

Workers take no time unless `--latest` gives the longest; then outcomes trickle in. With `--concurrency 1` they come
one a turn.

Examples: `python benchmarks/overhead.py --nodes 1023 --journal sqlite --json`
`python benchmarks/overhead.py --nodes 1023 --latest 0.05 --concurrency 16`
"""

import argparse
import asyncio
import gc
import tempfile
import time
from pathlib import Path
from typing import Any

from common import CountWorker, RangePlanner, expect, make_sol, rss_mb, show, task

from sol.journal import MemoryJournal


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1023, help="a complete binary tree: 2 to the n, less 1")
    parser.add_argument("--journal", choices=["sqlite", "memory"], default="sqlite")
    parser.add_argument("--concurrency", type=int, default=1024)
    parser.add_argument("--latest", type=float, default=0.0, help="longest seconds of a worker, evenly distributed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    leaves = (options.nodes + 1) // 2
    if leaves & (leaves - 1):
        parser.error(f"--nodes {options.nodes} is no complete binary tree; try 1023 or 32767")
    show(asyncio.run(measure(leaves, options)), options)


async def measure(leaves: int, options: argparse.Namespace) -> dict[str, Any]:
    """Solve once to warm up, then once for the figures."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "runs.db"
        worker = CountWorker(latest_s=options.latest)
        sol = make_sol(
            Path(directory),
            concurrency=options.concurrency,
            worker=worker,
            store=MemoryJournal() if options.journal == "memory" else f"sqlite:///{file}",
        )
        await sol.asolve(task(4))
        before = _size(file)
        sol.planner = planner = RangePlanner()
        worker.calls = 0
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        run = await sol.asolve(task(leaves))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        nodes = 2 * leaves - 1
        expect(run, leaves, nodes)
        return {
            "nodes": nodes,
            "calls": worker.calls + planner.calls,
            "cpu_ms_per_node": cpu * 1e3 / nodes,
            "wall_s": wall,
            "rss_mb": rss_mb(),
            "journal_bytes_per_node": (_size(file) - before) / nodes,
            "journal": options.journal,
        }


def _size(file: Path) -> int:
    return sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*"))


if __name__ == "__main__":
    main()
