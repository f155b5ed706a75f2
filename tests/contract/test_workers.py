"""The worker contract over every kind that comes with the package."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from luna.protocol import Action, Note, Progress, Stage, Success, Worker, WorkerSpec
from luna.testing import ScriptedWorker, WorkerContract
from luna.workers.function import FunctionWorker
from luna.workers.registry import make_worker

_SLEEPS = "import subprocess, sys, time; subprocess.Popen(['sleep', '600']); time.sleep(600)"
_COUNTS = """
import json, sys
assignment = json.load(sys.stdin)
print(json.dumps({"type": "note", "text": "counting"}))
print(len(assignment["inputs"]["word"]))
"""


class TestScriptedWorker(WorkerContract):
    def finishing_worker(self, tmp_path: Path) -> Worker:
        script = [Note(text="started"), Action(name="count"), Progress(stage=Stage.SOLUTION, evidence="7 letters")]
        return ScriptedWorker(lambda assignment: [*script, Success(summary="counted", result=7)])

    def endless_worker(self, tmp_path: Path) -> Worker:
        return ScriptedWorker(lambda assignment: [Note(text="started"), asyncio.Event()])

    def unknown_option(self) -> Callable[[], object]:
        options: dict[str, Any] = {"no_such": 1}
        return lambda: ScriptedWorker({}, **options)


class TestPlainFunction(WorkerContract):
    def finishing_worker(self, tmp_path: Path) -> Worker:
        return FunctionWorker(lambda inputs: len(inputs["word"]))

    def endless_worker(self, tmp_path: Path) -> Worker:
        async def forever(inputs: dict[str, Any]) -> None:
            await asyncio.Event().wait()

        return FunctionWorker(forever)

    def unknown_option(self) -> Callable[[], object]:
        return lambda: make_worker(WorkerSpec(kind="function", options={"function": "math:sqrt", "no_such": 1}))


class TestGeneratorFunction(TestPlainFunction):
    def finishing_worker(self, tmp_path: Path) -> Worker:
        async def count(inputs: dict[str, Any]) -> AsyncIterator[Any]:
            yield Note(text="started")
            yield len(inputs["word"])

        return FunctionWorker(count)

    def endless_worker(self, tmp_path: Path) -> Worker:
        async def forever(inputs: dict[str, Any]) -> AsyncIterator[Any]:
            yield Note(text="started")
            await asyncio.Event().wait()

        return FunctionWorker(forever)


class TestCommandWorker(WorkerContract):
    settle_s = 1.0

    def _make(self, code: str, **options: Any) -> Worker:
        command = [sys.executable, "-c", code]
        return make_worker(WorkerSpec(kind="command", options={"command": command, **options}))

    def finishing_worker(self, tmp_path: Path) -> Worker:
        return self._make(_COUNTS, output="json", progress="jsonl")

    def endless_worker(self, tmp_path: Path) -> Worker:
        return self._make(_SLEEPS, progress="jsonl")

    def unknown_option(self) -> Callable[[], object]:
        return lambda: self._make("", no_such=1)


class TestSilentCommandWorker(TestCommandWorker):
    def finishing_worker(self, tmp_path: Path) -> Worker:
        return self._make("print(7)", output="json")

    def endless_worker(self, tmp_path: Path) -> Worker:
        return self._make(_SLEEPS)
