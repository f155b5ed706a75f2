"""Functions as workers."""

import asyncio
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from luna.callables import CallableEndedError
from luna.errors import Interruption, WorkerConfigError
from luna.protocol import (
    Assignment,
    Delivery,
    Failed,
    FailedKind,
    Note,
    Partial,
    ProgressEvent,
    Report,
    Stuck,
    StuckKind,
    Success,
    Worker,
)
from luna.workers.function import FunctionWorker, create
from tests.support.assignments import assignment


def task(**inputs: JsonValue) -> Assignment:
    return assignment(goal="add", inputs=inputs, stop_conditions="never")


async def run(worker: Worker, workspace: Path, **inputs: JsonValue) -> list[ProgressEvent | Report]:
    return [item async for item in worker.run(task(**inputs), Delivery(key="r/0/attempt/1", workspace=workspace))]


async def report_of(function: Any, workspace: Path, **inputs: JsonValue) -> Report:
    [report] = await run(FunctionWorker(function), workspace, **inputs)
    assert isinstance(report, Success | Stuck | Failed)
    return report


async def test_value_of_a_function_is_the_result(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("n\n1\n2\n")

    def total(inputs: dict[str, Any]) -> int:
        assert threading.current_thread() is not threading.main_thread()
        return sum(int(row["n"]) for row in inputs["rows"]) + inputs["more"]

    report = await report_of(total, tmp_path, rows={"file": "rows.csv"}, more=3)
    assert isinstance(report, Success)
    assert report.result == 6
    assert "total returned a value" in report.summary


async def test_a_status_in_a_value_is_no_status(tmp_path: Path) -> None:
    report = await report_of(lambda _: {"status": "FAILED", "reason": "x"}, tmp_path)
    assert isinstance(report, Success)
    assert report.result == {"status": "FAILED", "reason": "x"}


async def test_a_report_is_handed_on(tmp_path: Path) -> None:
    stuck = Stuck(kind=StuckKind.ACCESS_MISSING, blocker="no key")
    assert await report_of(lambda _: stuck, tmp_path) is stuck


async def test_parameters_get_what_they_are_named_after(tmp_path: Path) -> None:
    def both(inputs: Any, assignment: Assignment, *, delivery: Delivery) -> list[str]:
        return [*inputs, assignment.goal, delivery.key]

    report = await report_of(both, tmp_path, a=1)
    assert isinstance(report, Success)
    assert report.result == ["a", "add", "r/0/attempt/1"]


async def test_functions_without_a_signature_get_the_inputs(tmp_path: Path) -> None:
    report = await report_of(dict, tmp_path, a=1)
    assert isinstance(report, Success)
    assert report.result == {"a": 1}


@pytest.mark.parametrize("function", [lambda: 1, lambda inputs, other: 1, lambda *, inputs, assignment: 1])
async def test_functions_that_cannot_be_called_are_refused(tmp_path: Path, function: Any) -> None:
    with pytest.raises(WorkerConfigError, match=r"cannot be called with inputs: .*; write it as f\(inputs\)"):
        await report_of(function, tmp_path)


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), [object()], {"a": float("inf")}, {1: 2}, b"x"])
async def test_values_that_are_no_json_are_failures_of_format(tmp_path: Path, value: Any) -> None:
    report = await report_of(lambda _: value, tmp_path)
    assert isinstance(report, Failed)
    assert report.kind == FailedKind.FORMAT
    assert f"returned a {type(value).__name__} that is no JSON value" in report.reason


async def test_async_functions_are_awaited(tmp_path: Path) -> None:
    async def double(inputs: Any, *, by: int = 2) -> int:
        await asyncio.sleep(0)
        return int(inputs["n"]) * by

    class Object:
        async def __call__(self, inputs: Any) -> int:
            return await double(inputs)

    for function in (double, partial(double, by=2), Object()):
        report = await report_of(function, tmp_path, n=4)
        assert isinstance(report, Success)
        assert report.result == 8


async def test_async_generators_yield_progress_and_one_result(tmp_path: Path) -> None:
    async def steps(inputs: Any) -> AsyncIterator[Any]:
        yield Note(text="begun")
        yield Partial(key="a", value=1)
        yield 7

    *events, report = await run(FunctionWorker(steps), tmp_path)
    assert events == [Note(text="begun"), Partial(key="a", value=1)]
    assert isinstance(report, Success)
    assert report.result == 7


@pytest.mark.parametrize(("values", "kind"), [([], FailedKind.NO_STATUS), ([1, 2], FailedKind.FORMAT)])
async def test_async_generators_without_one_result_fail(tmp_path: Path, values: list[int], kind: FailedKind) -> None:
    async def steps(inputs: Any) -> AsyncIterator[int]:
        for value in values:
            yield value

    report = await report_of(steps, tmp_path)
    assert isinstance(report, Failed)
    assert report.kind == kind


async def test_any_async_iterator_will_do(tmp_path: Path) -> None:
    class Once:
        def __init__(self) -> None:
            self.left = [5]

        def __aiter__(self) -> "Once":
            return self

        async def __anext__(self) -> int:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    report = await report_of(lambda _: Once(), tmp_path)
    assert isinstance(report, Success)
    assert report.result == 5


async def test_what_a_function_raises_goes_through(tmp_path: Path) -> None:
    def limited(inputs: Any) -> None:
        raise Interruption("rate_limit", "slow down", retry_after_s=3)

    with pytest.raises(Interruption) as caught:
        await report_of(limited, tmp_path)
    assert caught.value.retry_after_s == 3


async def test_a_function_cannot_end_the_program(tmp_path: Path) -> None:
    def plain(inputs: Any) -> None:
        raise SystemExit(1)

    async def awaited(inputs: Any) -> None:
        raise SystemExit(1)

    async def generated(inputs: Any) -> AsyncIterator[int]:
        yield 1
        raise SystemExit(1)

    for function in (plain, awaited, generated):
        with pytest.raises(CallableEndedError, match=r"sys\.exit"):
            await report_of(function, tmp_path)


async def test_a_cancelled_generator_is_closed(tmp_path: Path) -> None:
    begun, closed = asyncio.Event(), []

    async def waits(inputs: Any) -> AsyncIterator[Any]:
        try:
            yield Note(text="waiting")
            begun.set()
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    attempt = asyncio.create_task(run(FunctionWorker(waits), tmp_path))
    await begun.wait()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert closed == [True]


async def test_a_late_result_of_a_cancelled_function_is_dropped(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    returned = threading.Event()

    def slow(inputs: Any) -> int:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(10)
        returned.set()
        return 1

    attempt = asyncio.create_task(run(FunctionWorker(slow), tmp_path))
    await begun.wait()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    go_on.set()
    assert await asyncio.to_thread(returned.wait, 10)


async def test_function_by_import_path_comes_from_the_workspace_first(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(inputs): return sorted(inputs)\n")
    worker = create({"function": "mine:f"})
    [report] = await run(worker, tmp_path, b=1, a=2)
    assert isinstance(report, Success)
    assert report.result == ["a", "b"]
    assert "mine:f" in report.summary
    [report] = await run(create({"function": "builtins:len"}), tmp_path, b=1, a=2)
    assert isinstance(report, Success)
    assert report.result == 2
    with pytest.raises(WorkerConfigError, match="no module 'nowhere'"):
        await run(create({"function": "nowhere:f"}), tmp_path)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("x" * 30, StuckKind.SCOPE_TOO_LARGE),
        ({"file": "gone.txt"}, StuckKind.INFORMATION_MISSING),
        ({"file": "../x"}, FailedKind.REFUSED),
    ],
)
async def test_unreadable_inputs_are_reported(tmp_path: Path, source: JsonValue, kind: str) -> None:
    worker = create({"function": "builtins:len", "input_bytes": 30})
    [report] = await run(worker, tmp_path, source=source)
    assert isinstance(report, Stuck | Failed)
    assert report.kind == kind


@pytest.mark.parametrize("path", ["os", "os:", ":f", "a b:f", "a:f()", "../a:f", "a:f\n"])
def test_import_paths_are_checked(path: str) -> None:
    with pytest.raises(WorkerConfigError, match="worker 'function': option 'function' is"):
        create({"function": path})
