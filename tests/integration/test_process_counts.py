"""How many processes are started, and how often all processes of the machine are looked through."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from luna.clock import SystemClock
from luna.process.execute import ProcessLimits, ProcessRegistry, run_process
from luna.protocol import Assignment, Delivery, Success
from luna.supervisor import Finished, supervise
from luna.workers.command import create
from luna.workers.shared import WorkerSettings
from tests.support.processes import is_alive
from tests.support.programs import with_git

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

DAEMON = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1], "w") as file:
            file.write(str(os.getpid()))
        os.closerange(0, 256)
        os.execvp("sleep", ["sleep", "300"])
    os._exit(0)
os.wait()
"""
ASSIGNMENT = Assignment(
    goal="Do nothing",
    context="none",
    inputs="none",
    constraints="none",
    expected_output="Nothing.",
    success_criteria=["It ends."],
    stop_conditions=["It does not end."],
)


class Counts:
    """What has been started and looked through since."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started = self.scans = 0
        popen, pids = subprocess.Popen.__init__, psutil.pids

        def start(process: "subprocess.Popen[bytes]", *words: Any, **options: Any) -> None:
            self.started += 1
            popen(process, *words, **options)

        def scan() -> list[int]:
            self.scans += 1
            return pids()

        monkeypatch.setattr(subprocess.Popen, "__init__", start)
        monkeypatch.setattr(psutil, "pids", scan)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    return Counts(monkeypatch)


@pytest.mark.case("PROC-02")
async def test_command_attempt_starts_one_process_and_scans_nothing(tmp_path: Path, counts: Counts) -> None:
    settings = WorkerSettings(processes=ProcessRegistry(tmp_path / "processes"))
    worker = create({"command": "true", "input": "none"}, settings=settings)
    ended = await supervise(worker, ASSIGNMENT, Delivery(key="run//attempt/1", workspace=tmp_path), clock=SystemClock())
    assert isinstance(ended, Finished)
    assert isinstance(ended.report, Success)
    assert (counts.started, counts.scans) == (1, 0)
    assert list((tmp_path / "processes").iterdir()) == []


@pytest.mark.case("PROC-02")
async def test_daemon_that_holds_nothing_open_is_ended_without_a_scan(tmp_path: Path, counts: Counts) -> None:
    where = tmp_path / "pid"
    result = await run_process(
        [sys.executable, "-c", DAEMON, str(where)], cwd=tmp_path, limits=ProcessLimits(timeout_s=30, grace_s=5)
    )
    daemon = int(where.read_text())
    assert result.kind == "exited"
    assert result.escaped == (daemon,)
    assert result.leftovers == ()
    assert not is_alive(daemon)
    assert counts.scans == 0


async def test_process_of_somebody_else_that_came_up_meanwhile_is_left_alone(tmp_path: Path) -> None:
    others: list[subprocess.Popen[bytes]] = []

    def start(_: bytes) -> None:
        others.append(subprocess.Popen(["sleep", "60"], start_new_session=True, env={"PATH": os.environ["PATH"]}))

    words = ["sh", "-c", "setsid sleep 300 & echo; sleep 300"]
    limits = ProcessLimits(timeout_s=0.5, grace_s=1)
    result = await run_process(words, cwd=tmp_path, limits=limits, on_line=start)
    assert result.kind == "timeout"
    assert len(result.escaped) == 1
    (other,) = others
    assert other.poll() is None
    other.kill()
    await asyncio.to_thread(other.wait)


@with_git
def test_isolated_run_of_three_nodes_starts_few_processes_and_scans_hardly_ever() -> None:
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    words = [sys.executable, str(benchmarks / "isolation.py"), "--json"]
    figures = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    assert figures["processes"] <= 45
    assert figures["scans"] <= 5
