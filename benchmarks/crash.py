"""Kill a solving process at random moments, resume until done, and look for what was done twice, lost or changed.

A child process solves a complete binary tree; each of its workers writes a line to a log when it starts. After each
kill the journal tells which attempts had a committed outcome: none of these may start again.

Example: `python benchmarks/crash.py --kills 50 --json`
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from common import RangePlanner, show, strategy, task

from luna.clock import SystemClock
from luna.protocol import Assignment, Delivery, ProgressEvent, Report, Stuck, Success
from sol import Sol
from sol.core.decide import TreeReading
from sol.journal import SqlJournal
from sol.tree.events import Event, Reported
from sol.tree.fold import fold
from sol.tree.node import Tree
from sol.tree.values import plain

ROOT = Path(__file__).resolve().parent.parent
LEAVES = 64


def main() -> None:
    """Run the rig, or, with `--child`, the process that is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", metavar="DIRECTORY", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        asyncio.run(child(Path(options.child)))
    else:
        show(rig(options.kills, random.Random(options.seed)), options)


def make_sol(directory: Path) -> Sol:
    """The solver of the child, and of the undisturbed run."""
    return Sol(
        strategy=strategy(concurrency=8),
        worker=LoggingWorker(directory / "log"),
        planner=RangePlanner(),
        workspace=directory,
        store=f"sqlite:///{directory}/runs.db",
    )


class LoggingWorker:
    """Counts numbers, slowly, and logs each delivery before it does."""

    def __init__(self, log: Path) -> None:
        self._log = log

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Log, pause, answer."""
        descriptor = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{delivery.key}\n".encode())
        os.close(descriptor)
        await asyncio.sleep(random.uniform(0.002, 0.01))
        low, high = assignment.inputs["range"]  # type: ignore[misc]
        yield Stuck(blocker="More than one number.") if high - low > 1 else Success(summary="Counted.", result=1)


async def child(directory: Path) -> None:
    """Solve, or go on where the last process was killed."""
    sol = make_sol(directory)
    async with sol.open_journal() as journal:
        runs = await journal.list(limit=1)
    if runs and runs[0].seq:
        await sol.aresume(runs[0].id)
    else:
        await sol.asolve(task(LEAVES))


def rig(kills: int, rng: random.Random) -> dict[str, Any]:
    """Kill, look, resume; as many runs as it takes to kill that often."""
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as base:
        quiet = Path(base) / "undisturbed"
        quiet.mkdir()
        expected = asyncio.run(undisturbed(quiet))
        while total["kills"] < kills:
            directory = Path(base) / f"run{total['runs']}"
            directory.mkdir()
            total += one_run(directory, kills - total["kills"], rng)
            tree = asyncio.run(read(directory))[0]
            total["runs"] += 1
            total["nodes"] += len(tree.nodes)
            total["duplicate_nodes"] += len(tree.nodes) - len(set(tree.nodes))
            total["unequal_trees"] += shape(tree) != expected
    names = ("kills", "runs", "nodes", "deliveries", "redelivered", "rerun", "lost", "duplicate_nodes", "unequal_trees")
    return {name: total[name] for name in names}


async def undisturbed(directory: Path) -> dict[str, Any]:
    """What the tree looks like when nothing is killed."""
    await make_sol(directory).asolve(task(LEAVES))
    return shape((await read(directory))[0])


def one_run(directory: Path, kills: int, rng: random.Random) -> Counter[str]:
    """Start the child, kill it, look, again; the last one may finish."""
    seen: Counter[str] = Counter()
    done: set[str] = set()
    command = [sys.executable, __file__, "--child", str(directory)]
    for number in range(kills + 1):
        started = log_of(directory)
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
        last = number == kills
        if last or not wait_until_working(process, directory, len(started), rng):
            _, errors = process.communicate(timeout=120)
            if process.returncode:
                raise SystemExit(errors.decode())
        else:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            seen["kills"] += 1
        again = log_of(directory)[len(started) :]
        seen["rerun"] += sum(key in done for key in again)
        done = asyncio.run(committed(directory))
        if process.returncode == 0:
            break
    counts = Counter(log_of(directory))
    seen["deliveries"] += sum(counts.values())
    seen["redelivered"] += sum(counts.values()) - len(counts)
    seen["lost"] += len(set(counts) - done)
    return seen


def wait_until_working(process: subprocess.Popen[bytes], directory: Path, before: int, rng: random.Random) -> bool:
    """Wait until the child has begun some more attempts; False when it ended before."""
    more = rng.randint(1, 20)
    clock = SystemClock()
    deadline = clock.monotonic() + 60
    while clock.monotonic() < deadline:
        if process.poll() is not None:
            return False
        if len(log_of(directory)) >= before + more:
            time.sleep(rng.uniform(0, 0.01))
            return process.poll() is None
        time.sleep(0.001)
    raise SystemExit("the child does nothing")


def log_of(directory: Path) -> list[str]:
    """Keys of all deliveries so far."""
    log = directory / "log"
    return log.read_text().split() if log.exists() else []


async def read(directory: Path) -> tuple[Tree, list[Event], str]:
    """The newest run's tree and events as committed."""
    async with SqlJournal(f"sqlite:///{directory}/runs.db") as journal:
        runs = await journal.list(limit=1)
        if not runs:
            return Tree(), [], ""
        unfold = TreeReading.codec.unfold
        events = [event for row in await journal.read(runs[0].id) for event in unfold(row)]
        return fold(events), events, runs[0].id


async def committed(directory: Path) -> set[str]:
    """Keys of the attempts whose outcome is in the journal."""
    _, events, run = await read(directory)
    return {f"{run}/{e.node}/attempt/{e.data.n}" for e in events if isinstance(e.data, Reported)}


def shape(tree: Tree) -> dict[str, Any]:
    """What must be the same with and without kills."""
    return {
        path: (str(node.state), plain(node.assignment), node.result, node.children) for path, node in tree.nodes.items()
    }


if __name__ == "__main__":
    main()
