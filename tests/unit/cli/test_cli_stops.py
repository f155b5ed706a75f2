import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from luna.process.group import ProcessRegistry
from luna.protocol import Assignment, Delivery, Note, ProgressEvent, Report
from sol import Sol, Task
from sol.cli._work import Stops
from sol.journal import MemoryJournal
from sol.run import Run


class Endless:
    """A worker that works until it is stopped."""

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        yield Note(text="begun")
        await asyncio.Event().wait()


class Registry(ProcessRegistry):
    """A registry that notes when everything is to be killed."""

    def kill_all_now(self) -> None:
        killed.append("all")


killed: list[str] = []


async def started(tmp_path: Path) -> Run:
    sol = Sol(worker=Endless(), store=MemoryJournal(), workspace=tmp_path)
    return await sol.start(Task.from_text("Name the largest planet"))


@pytest.mark.parametrize(
    ("number", "name"),
    [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "the end of its terminal")],
)
async def test_first_signal_interrupts_the_run(tmp_path: Path, number: signal.Signals, name: str) -> None:
    said: list[str] = []
    before = signal.getsignal(number)
    run = await started(tmp_path)
    with Stops(ProcessRegistry(tmp_path), say=said.append) as stops:
        stops.watch(run)
        await asyncio.sleep(0)
        os.kill(os.getpid(), number)
        await run.wait()
    assert (run.status, run.resumable, stops.asked) == ("interrupted", True, name)
    assert run.state.root.reason == f"Stopped by {name}."
    assert said == ["Stopping the workers; the run can be resumed. Ctrl-C again ends everything at once."]
    assert signal.getsignal(number) is before


async def test_signal_before_the_run_has_begun_stops_it_when_it_has(tmp_path: Path) -> None:
    with Stops(ProcessRegistry(tmp_path)) as stops:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0)
        run = await started(tmp_path)
        stops.watch(run)
        await run.wait()
    assert (run.status, run.resumable) == ("interrupted", True)
    assert run.spent.calls == 0


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
async def test_second_signal_kills_all_and_ends_at_once(
    tmp_path: Path, second: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    killed.clear()
    ended: list[int] = []
    with Stops(Registry(tmp_path), has_cursor=True, end=ended.append):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), second)
    assert (killed, ended) == (["all"], [130])
    assert capfd.readouterr().err == "\x1b[?25h\n"
