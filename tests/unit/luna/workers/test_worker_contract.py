"""The contract suite must fail for workers that break the contract."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Assignment, Delivery, Note, Success, Worker
from luna.testing import ScriptedWorker, WorkerContract

DONE = Success(summary="done")
_left: list[Any] = []


def contract(make: Callable[[], Any]) -> WorkerContract:
    class Checked(WorkerContract):
        grace_s = 0.3
        settle_s = 0.05

        def finishing_worker(self, tmp_path: Path) -> Worker:
            worker: Worker = make()
            return worker

        endless_worker = finishing_worker

        def unknown_option(self) -> Callable[[], object] | None:
            return make

    return Checked()


def scripted(*items: Any) -> WorkerContract:
    return contract(lambda: ScriptedWorker(lambda given: list(items)))


def _sleeping_child() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


class Leaving:
    """Leaves a task or a child process behind, and heeds no cancellation."""

    def __init__(self, what: str) -> None:
        self.what = what

    async def run(self, given: Assignment, delivery: Delivery) -> AsyncIterator[Any]:
        if self.what == "task":
            _left.append(asyncio.ensure_future(asyncio.sleep(60)))
        elif self.what == "child":
            _left.append(_sleeping_child())
        elif self.what == "swallow":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                yield Note(text="never mind")
        elif self.what == "linger":
            await asyncio.shield(asyncio.ensure_future(asyncio.sleep(60)))
        yield DONE


@pytest.mark.parametrize("items", [(), (Note(),), (DONE, DONE), (DONE, Note()), ({"status": "SUCCESS"}, DONE)])
def test_contract_wants_events_and_then_exactly_one_report(items: tuple[Any, ...], tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        scripted(*items).test_worker_yields_progress_events_and_then_exactly_one_report(tmp_path)


def test_contract_wants_reports_as_json(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        scripted(Success(summary="x", result=float("nan"))).test_report_and_events_survive_json(tmp_path)


@pytest.mark.parametrize("what", ["task", "child"])
def test_contract_finds_what_a_finished_worker_leaves_behind(what: str, tmp_path: Path) -> None:
    try:
        with pytest.raises(AssertionError, match="left behind"):
            contract(lambda: Leaving(what)).test_finished_worker_leaves_nothing_behind(tmp_path)
    finally:
        for child in _left:
            if isinstance(child, subprocess.Popen):
                child.kill()
                child.wait()
        _left.clear()


@pytest.mark.parametrize(
    ("what", "says"), [("swallow", "let through"), ("linger", "tasks left behind"), ("none", "ended by itself")]
)
def test_contract_wants_cancellation_to_end_the_worker(what: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=says):
        contract(lambda: Leaving(what)).test_cancelled_worker_ends_and_leaves_nothing_behind(tmp_path)


def test_contract_wants_unknown_options_refused() -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        scripted(DONE).test_unknown_option_is_refused()


def test_contract_wants_a_worker(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        contract(object).test_worker_satisfies_the_protocol(tmp_path)
