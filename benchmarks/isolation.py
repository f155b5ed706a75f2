"""How many processes an isolated run of three nodes starts, and how often it looks through the process table.

A task is halved once; both parts write a file in a copy of the workspace and pass a command as their check. Counted by
audit hooks from `Sol.solve` to its end, so whatever code does it, and git's commands as well as the three checks:

- a process started is one that this Python process starts (`subprocess.Popen`, `os.posix_spawn`, a fork);
- a scan is one function's look through all of `/proc`. It may list it more than once to be sure (`psutil.pids()` twice
  or thrice, for instance), which is one scan; looking at single processes is none. On a busy machine there are more.

Linux only, and needs git. Example: `python benchmarks/isolation.py --json`
"""

import argparse
import inspect
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from common import expect, show

from luna.protocol import Assignment, Delivery, ProgressEvent, Report, Stuck, Success
from sol import Sol

NUMBERS = [1, 2]
STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty"})
LISTINGS = frozenset({"os.listdir", "os.scandir"})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    show(measure(), options)


class Writer:
    """Stuck on two numbers; writes a file for one."""

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Write, or be stuck."""
        numbers = assignment.inputs["numbers"]
        if len(numbers) > 1:
            yield Stuck(blocker="More than one number.")
            return
        (delivery.workspace / f"{numbers[0]}.txt").write_text(f"number {numbers[0]}\n")
        yield Success(summary="Written.", result=numbers)


class Counts:
    """What this process has started and listed since; an audit hook stays for good, so one for a process."""

    def __init__(self) -> None:
        self.processes = self.scans = 0
        self._looking: FrameType | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in STARTS | LISTINGS:
            return
        hook = inspect.currentframe()
        caller = hook.f_back if hook is not None else None
        if event in STARTS:
            # `subprocess` may use posix_spawn itself, which is the same process once more.
            self.processes += event == "subprocess.Popen" or _module(caller) != "subprocess"
        elif _is_proc(arguments[0]):
            while caller is not None and _module(caller).startswith("psutil"):
                caller = caller.f_back
            self.scans += caller is not self._looking
            self._looking = caller


def _module(frame: FrameType | None) -> str:
    return str(frame.f_globals.get("__name__", "")) if frame is not None else ""


def _is_proc(directory: object) -> bool:
    return isinstance(directory, str | bytes | os.PathLike) and os.fsdecode(directory).rstrip("/") == "/proc"


def solve(sol: Sol) -> None:
    """Halve two numbers, so that there are three nodes."""
    run = sol.solve(
        {
            "goal": "Write a file for each number",
            "context": "none",
            "inputs": {"numbers": NUMBERS},
            "constraints": "none",
            "expected_output": "The numbers.",
            "success_criteria": [{"command": "true"}],
            "stop_conditions": ["There is no number."],
        }
    )
    expect(run, NUMBERS, 3)


def measure() -> dict[str, Any]:
    """Solve in place first, so that imports and what is found out once are not counted; then isolated."""
    with tempfile.TemporaryDirectory() as directory:
        solve(make_sol(Path(directory) / "warm", "in_place"))
        sol = make_sol(Path(directory) / "measured", "copy")
        counts = Counts()
        wall, cpu = time.perf_counter(), time.process_time()
        solve(sol)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        figures = {"processes": counts.processes, "scans": counts.scans, "cpu_ms": cpu * 1e3, "wall_s": wall}
        if not all((sol.home / f"{number}.txt").exists() for number in NUMBERS):
            raise SystemExit("wrong: the files have not come into the workspace")
        return figures


def make_sol(workspace: Path, isolation: Literal["in_place", "copy"]) -> Sol:
    """A solver in a workspace with one file."""
    workspace.mkdir()
    (workspace / "there.txt").write_text("there before\n")
    store = f"sqlite:///{workspace}.db"
    return Sol(strategy="halve", worker=Writer(), workspace=workspace, store=store, isolation=isolation)


if __name__ == "__main__":
    main()
