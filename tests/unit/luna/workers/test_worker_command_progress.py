"""Commands as workers: progress, and being stopped."""

import asyncio
from pathlib import Path
from typing import Any

import psutil
import pytest

from luna.protocol import Action, Delivery, Note, Partial, Success
from luna.workers.command import CommandOptions, CommandWorker
from tests.support.commands import SUCCESS, py, run, sh, task

STEPS = """
printf '%s\\n' '{"type": "note", "text": "begun"}' 'plain words' '{"type": "partial", "key": "a", "value": [1]}'
printf '%s\\n' '{"type": "action"}' '{"type": "unknown"}' '{"type": 5}' '{not json'
printf '%s\\n' ' {"type": "action", "name": "look", "paths": ["a.txt"]}' 'more words'
"""


async def test_progress_lines_are_events_and_the_rest_is_output(tmp_path: Path) -> None:
    *events, report = await run(tmp_path, sh(STEPS), progress="jsonl")
    assert events == [
        Note(text="begun"),
        Partial(key="a", value=[1]),
        Note(text="a progress line was ignored: action.name: Field required"),
        Action(name="look", paths=("a.txt",)),
    ]
    assert isinstance(report, Success)
    assert report.result == 'plain words\n{"type": "unknown"}\n{"type": 5}\n{not json\nmore words'


async def test_progress_comes_while_the_command_runs(tmp_path: Path) -> None:
    script = (
        'echo \'{"type": "note", "text": "ready"}\'; while [ ! -e go ]; do sleep 0.02; done; echo \'' + SUCCESS + "'"
    )
    worker = CommandWorker(CommandOptions(command=tuple(sh(script)), progress="jsonl", output="report", timeout_s=20))
    items = []
    async for item in worker.run(task(), Delivery(key="k", workspace=tmp_path)):
        items.append(item)
        (tmp_path / "go").touch()
    assert items == [Note(text="ready"), Success(summary="done", result=7)]


async def test_progress_lines_that_are_too_long_are_left_out(tmp_path: Path) -> None:
    script = "print('{\"type\": \"said\", \"text\": \"' + 'x' * 70_000 + '\"}'); print('done')"
    *events, report = await run(tmp_path, py(script), progress="jsonl")
    assert events == [Note(text="a line of 65536 bytes or more was not read as progress")]
    assert isinstance(report, Success)
    assert report.result == "done"


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.mark.parametrize("progress", ["none", "jsonl"])
async def test_cancelling_ends_the_command(tmp_path: Path, progress: str) -> None:
    before = children()
    attempt = asyncio.create_task(run(tmp_path, sh("touch begun; sleep 60"), progress=progress))
    async with asyncio.timeout(10):
        while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - another process sets it
            await asyncio.sleep(0.01)
    attempt.cancel()
    await asyncio.sleep(0)
    attempt.cancel()  # the second one does not leave it half ended
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert children() <= before
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_closing_ends_the_command(tmp_path: Path) -> None:
    before = children()
    script = 'echo \'{"type": "note", "text": "ready"}\'; sleep 60'
    worker = CommandWorker(CommandOptions(command=tuple(sh(script)), progress="jsonl"))
    stream: Any = worker.run(task(), Delivery(key="k", workspace=tmp_path))
    assert await anext(stream) == Note(text="ready")
    await stream.aclose()
    assert children() <= before
