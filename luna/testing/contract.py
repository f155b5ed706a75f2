"""The worker contract as a pytest suite: subclass `WorkerContract` in your tests, and your worker is tested against it.

Needs pytest and psutil, no pytest plugin. It drives the worker itself, without the supervisor, which would hide faults.
"""

# ruff: noqa: S101, D102 - these are tests: they assert, and their names say what

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from luna.criteria import TextCriterion
from luna.errors import WorkerConfigError
from luna.protocol import (
    EVENT_TYPES,
    PROGRESS,
    REPORT,
    REPORT_TYPES,
    Assignment,
    Delivery,
    ExpectedOutput,
    Worker,
)

T = TypeVar("T")
_POLL_S = 0.02


class WorkerContract:
    """What every worker must keep to. Override the methods that make workers; pytest collects the rest.

    Class attributes:
        timeout_s: Real seconds that one run of `finishing_worker` may take at most.
        grace_s: Real seconds within which a cancelled or closed worker must have ended.
        settle_s: Real seconds to let an endless worker get going before it is cancelled.

    Example:
        class TestMyWorker(WorkerContract):
            def finishing_worker(self, tmp_path): return MyWorker(step="count")
            def endless_worker(self, tmp_path): return MyWorker(step="sleep")
            def unknown_option(self): return lambda: MyWorker(no_such_option=1)
    """

    timeout_s = 30.0
    grace_s = 10.0
    settle_s = 0.2

    # --- to override ---

    def finishing_worker(self, tmp_path: Path) -> Worker:
        """A worker that ends with a report on `assignment()`."""
        raise NotImplementedError

    def endless_worker(self, tmp_path: Path) -> Worker:
        """A worker that does not end on `assignment()` until it is cancelled."""
        raise NotImplementedError

    def unknown_option(self) -> Callable[[], object] | None:
        """Makes a worker with an option that its kind does not know; None: workers of this kind have no options."""
        return None

    def assignment(self) -> Assignment:
        """What the workers are given."""
        return Assignment(
            goal="count the letters of the word given as input",
            context="none",
            inputs={"word": "lantern"},
            constraints=(),
            expected_output=ExpectedOutput(description="a number"),
            success_criteria=(TextCriterion(text="the number is right"),),
            stop_conditions=("no word is given",),
        )

    # --- the contract ---

    def test_worker_satisfies_the_protocol(self, tmp_path: Path) -> None:
        assert isinstance(self.finishing_worker(tmp_path), Worker)

    def test_worker_yields_progress_events_and_then_exactly_one_report(self, tmp_path: Path) -> None:
        items = self._finish(tmp_path)
        kinds = [type(item).__name__ for item in items]
        assert [item for item in items if isinstance(item, REPORT_TYPES)], f"no report among {kinds}"
        assert all(isinstance(item, EVENT_TYPES) for item in items[:-1]), f"not only progress events before it: {kinds}"
        assert isinstance(items[-1], REPORT_TYPES), f"the report is not the last: {kinds}"

    def test_report_and_events_survive_json(self, tmp_path: Path) -> None:
        *events, report = self._finish(tmp_path)
        assert REPORT.validate_json(REPORT.dump_json(report, warnings="error")) == report
        for event in events:
            assert PROGRESS.validate_json(PROGRESS.dump_json(event, warnings="error")) == event

    def test_worker_may_run_several_attempts_at_once(self, tmp_path: Path) -> None:
        worker = self.finishing_worker(tmp_path)

        async def both() -> list[list[Any]]:
            return await asyncio.gather(*(self._read(worker, tmp_path / name) for name in ("a", "b")))

        for items in self._run(both()):
            assert isinstance(items[-1], REPORT_TYPES)
            assert sum(isinstance(item, REPORT_TYPES) for item in items) == 1

    def test_finished_worker_leaves_nothing_behind(self, tmp_path: Path) -> None:
        worker = self.finishing_worker(tmp_path)

        async def finish() -> None:
            before = _Traces()
            await self._read(worker, tmp_path / "work")
            await before.check_nothing_left(self.grace_s)

        self._run(finish())

    def test_cancelled_worker_ends_and_leaves_nothing_behind(self, tmp_path: Path) -> None:
        worker = self.endless_worker(tmp_path)

        async def cancel() -> None:
            before = _Traces()
            task = asyncio.ensure_future(self._read(worker, tmp_path / "work"))
            done, _ = await asyncio.wait({task}, timeout=self.settle_s)
            assert not done, "the endless worker ended by itself"
            task.cancel()
            done, _ = await asyncio.wait({task}, timeout=self.grace_s)
            assert done, f"still running {self.grace_s} s after it was cancelled"
            assert task.cancelled(), "cancellation must be let through, not turned into an end or an error"
            await before.check_nothing_left(self.grace_s)

        self._run(cancel())

    def test_closed_worker_ends_and_leaves_nothing_behind(self, tmp_path: Path) -> None:
        worker = self.finishing_worker(tmp_path)

        async def close() -> None:
            before = _Traces()
            stream = self._start(worker, tmp_path / "work")
            await anext(stream)
            aclose = getattr(stream, "aclose", None)
            if aclose is not None:
                await asyncio.wait_for(aclose(), self.grace_s)
            await before.check_nothing_left(self.grace_s)

        self._run(close())

    def test_unknown_option_is_refused(self) -> None:
        make = self.unknown_option()
        if make is None:
            pytest.skip("workers of this kind have no options")
        with pytest.raises((WorkerConfigError, TypeError, ValueError)):
            make()

    # --- how ---

    def _finish(self, tmp_path: Path) -> list[Any]:
        return self._run(self._read(self.finishing_worker(tmp_path), tmp_path / "work"))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        async def in_time() -> T:
            return await asyncio.wait_for(work, self.timeout_s)

        return asyncio.run(in_time())

    def _start(self, worker: Worker, workspace: Path) -> AsyncIterator[Any]:
        workspace.mkdir()
        return worker.run(self.assignment(), Delivery(key=f"run/0/attempt/{workspace.name}", workspace=workspace))

    async def _read(self, worker: Worker, workspace: Path) -> list[Any]:
        return [item async for item in self._start(worker, workspace)]


class _Traces:
    """The tasks and child processes there are now."""

    def __init__(self) -> None:
        self._tasks = asyncio.all_tasks()
        self._children = _children()

    async def check_nothing_left(self, grace_s: float) -> None:
        """Check for new tasks at once, for processes within the grace time: a dead child has to be collected first."""
        tasks = asyncio.all_tasks() - self._tasks
        assert not tasks, f"tasks left behind: {tasks}"
        left = _children() - self._children
        for _ in range(round(grace_s / _POLL_S)):
            if not left:
                return
            await asyncio.sleep(_POLL_S)
            left = _children() - self._children
        assert not left, f"child processes left behind: {left}"


def _children() -> set[int]:
    children = psutil.Process().children(recursive=True)
    return {child.pid for child in children if child.status() != psutil.STATUS_ZOMBIE}
