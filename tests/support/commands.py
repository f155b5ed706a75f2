"""Runs command workers."""

import sys
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from luna.protocol import Assignment, Delivery, Failed, ProgressEvent, Report, Stuck, Success
from luna.workers.command import CommandOptions, CommandWorker
from tests.support.assignments import assignment

SUCCESS = '{"status": "SUCCESS", "summary": "done", "result": 7}'


def task(*, files: tuple[str, ...] = (), **inputs: JsonValue) -> Assignment:
    output = {"description": "a number", "files": files}
    return assignment(goal="count é", inputs=inputs, expected_output=output, stop_conditions="never")


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def py(script: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", script]


async def run(
    workspace: Path, command: list[str] | str, /, inputs: dict[str, JsonValue] | None = None, **options: Any
) -> list[ProgressEvent | Report]:
    worker = CommandWorker(CommandOptions(command=command, **options))  # type: ignore[arg-type]  # pydantic reads lists
    delivery = Delivery(key="r/0/attempt/1", workspace=workspace, partial=options.pop("partial", {}))
    return [item async for item in worker.run(task(**(inputs or {})), delivery)]


async def report_of(workspace: Path, command: list[str] | str, /, **options: Any) -> Success | Stuck | Failed:
    [report] = await run(workspace, command, **options)
    assert isinstance(report, Success | Stuck | Failed)
    return report


async def result_of(workspace: Path, command: list[str] | str, /, **options: Any) -> JsonValue:
    report = await report_of(workspace, command, **options)
    assert isinstance(report, Success), report
    return report.result


async def failure_of(workspace: Path, command: list[str] | str, /, **options: Any) -> Failed:
    report = await report_of(workspace, command, **options)
    assert isinstance(report, Failed), report
    return report
