"""The command line inside a test: its exit code, and what it wrote to standard output and error."""

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sol.cli import main

WORKER = """
import asyncio, os, signal
from luna.protocol import Failed, Stuck

def note(delivery):
    with (delivery.workspace / "attempts.txt").open("a") as file:
        file.write(delivery.key + "\\n")

def double(inputs, *, delivery):
    note(delivery)
    numbers = inputs["numbers"]
    if len(numbers) > 1:
        return Stuck(blocker=f"{len(numbers)} numbers are too many at once")
    if numbers[0] < 0:
        return Failed(kind="exit", reason=f"{numbers[0]} cannot be doubled")
    return [2 * numbers[0]]

def ask(inputs, assignment, delivery):
    note(delivery)
    if "Answer to" in assignment.context:
        return assignment.context.rpartition("”: ")[2]
    return Stuck(kind="needs_human", blocker="Nobody said which colour is meant", question="Which colour?")

async def stop(inputs, *, delivery):
    note(delivery)
    if (delivery.workspace / "go").exists():
        return inputs["numbers"]
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.Event().wait()

def fail(inputs, assignment, delivery):
    note(delivery)
    if "blue" in assignment.context:
        return "blue"
    return Failed(reason="There is no \\x1b[31mcolour\\x1b[0m at all")
"""

TASK = """\
goal: {goal}
context: none
inputs: {{numbers: {numbers}}}
constraints: none
expected_output: {{description: A list, json_schema: {schema}}}
success_criteria: [Each number is doubled]
stop_conditions: [There are no numbers]
strategy: {strategy}
worker: {{kind: function, function: "w:{function}"}}
{more}
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


class CommandLine:
    """Runs commands in a directory of their own."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        (directory / "w.py").write_text(WORKER)

    def __call__(self, *arguments: str, stdin: str = "") -> Ended:
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(arguments)
        out, err = self._capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Ended(int(end.value.code), out, err)

    def task(
        self,
        name: str = "task.yaml",
        *,
        function: str = "double",
        numbers: str = "[1, 2, 3, 4]",
        strategy: str = "halve",
        schema: str = "{type: array}",
        goal: str = "Double each of the numbers",
        more: str = "",
    ) -> str:
        """Write a task file; its name."""
        text = TASK.format(goal=goal, function=function, numbers=numbers, strategy=strategy, schema=schema, more=more)
        (self.directory / name).write_text(text)
        return name

    @property
    def attempts(self) -> list[str]:
        """Keys of all attempts that were made, without the run's id, in alphabetical order."""
        text = (self.directory / "attempts.txt").read_text()
        return sorted(line.partition("/")[2] for line in text.splitlines())

    def run_id(self) -> str:
        """Id of the newest run."""
        return str(self("runs", "--json", "--limit", "1").lines[0]["id"])
