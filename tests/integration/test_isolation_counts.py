"""How many processes an isolated run starts, and how often all processes of the machine are looked through."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from luna.protocol import Assignment, Delivery, ProgressEvent, Report, Stuck, Success
from sol import Sol
from tests.support.programs import with_git

pytestmark = with_git

MOST_PROCESSES, MOST_SCANS = 45, 5


class Writer:
    """Stuck on two numbers; writes a file for one."""

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        numbers = assignment.inputs["numbers"]
        if len(numbers) > 1:
            yield Stuck(blocker="More than one number.")
            return
        (delivery.workspace / f"{numbers[0]}.txt").write_text("written\n")
        yield Success(summary="Written.", result=numbers)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_copy_of_three_nodes_starts_few_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"processes": 0, "scans": 0}
    popen, pids = subprocess.Popen.__init__, psutil.pids

    def start(process: "subprocess.Popen[bytes]", *words: Any, **options: Any) -> None:
        counts["processes"] += 1
        popen(process, *words, **options)

    def scan() -> list[int]:
        counts["scans"] += 1
        return pids()

    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "there.txt").write_text("there before\n")
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    sol = Sol(strategy="halve", worker=Writer(), workspace=workspace, store=store, isolation="copy")
    monkeypatch.setattr(subprocess.Popen, "__init__", start)
    monkeypatch.setattr(psutil, "pids", scan)
    run = sol.solve(
        {
            "goal": "Write a file for each number",
            "context": "none",
            "inputs": {"numbers": [1, 2]},
            "constraints": "none",
            "expected_output": "The numbers.",
            "success_criteria": [{"command": "true"}],
            "stop_conditions": ["There is no number."],
        }
    )
    assert run.result == [1, 2]
    assert {path.name for path in workspace.glob("*.txt")} == {"there.txt", "1.txt", "2.txt"}
    assert counts["processes"] <= MOST_PROCESSES
    assert counts["scans"] <= MOST_SCANS
