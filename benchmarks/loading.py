"""What it takes to load a large run from SQLite and look at all of its nodes: CPU seconds, peak memory of the process.

The run is made first, by a process of its own, unless the directory given by `--store` has one; making 65,535 nodes
takes a minute or two. Then a fresh process loads it. A store is for the version of Sol that has made it.

Example: `python benchmarks/loading.py --nodes 65535 --store /tmp/large --json`
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import expect, make_sol, rss_mb, show, task

RUN = "large"


def main() -> None:
    """Make the run where there is none, load it in a fresh process, and print; with `--step`, one of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=65_535, help="a complete binary tree: 2 to the n, less 1")
    parser.add_argument("--store", type=Path, help="directory to keep the run in, made if it is not there")
    parser.add_argument("--step", choices=["make", "load"], help="only make the run of `--store`, or only load it here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    leaves = (options.nodes + 1) // 2
    if leaves & (leaves - 1):
        parser.error(f"--nodes {options.nodes} is no complete binary tree; try 1023 or 65535")
    if options.step and options.store is None:
        parser.error("--step needs --store")
    if options.step:
        work = make if options.step == "make" else load
        show(asyncio.run(work(options.store, leaves)), options)
        return
    with tempfile.TemporaryDirectory() as temporary:
        store = options.store or Path(temporary)
        if not (store / "runs.db").exists():
            store.mkdir(parents=True, exist_ok=True)
            apart("make", store, options.nodes)
        show(apart("load", store, options.nodes), options)


def apart(step: str, store: Path, nodes: int) -> dict[str, Any]:
    """One step in a process of its own; this one stays small, as what it uses would count for its child too."""
    command = [sys.executable, __file__, "--step", step, "--store", str(store), "--nodes", str(nodes), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


async def make(store: Path, leaves: int) -> dict[str, Any]:
    """Solve and leave the journal there."""
    began = time.process_time()
    run = await (await make_sol(store, concurrency=1024).start(task(leaves), run_id=RUN)).wait()
    expect(run, leaves, 2 * leaves - 1)
    return {"nodes": len(run.tree), "make_cpu_s": time.process_time() - began}


async def load(store: Path, leaves: int) -> dict[str, Any]:
    """Load the run and count its nodes by their state."""
    sol = make_sol(store, concurrency=1)
    before_mb, wall, cpu = rss_mb(), time.perf_counter(), time.process_time()
    run = await sol.load(RUN)
    counts = run.tree.counts()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    expect(run, leaves, 2 * leaves - 1)
    if counts != {"success": 2 * leaves - 1}:
        raise SystemExit(f"wrong: {counts}")
    return {"nodes": len(run.tree), "load_cpu_s": cpu, "wall_s": wall, "rss_mb": rss_mb(), "before_rss_mb": before_mb}


if __name__ == "__main__":
    main()
