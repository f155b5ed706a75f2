"""Runs workers of the kind `acp` with the scripted agent of `acp_agent.py`."""

import json
import sys
from pathlib import Path
from typing import Any

from luna.process.execute import ProcessRegistry
from luna.protocol import REPORT_TYPES, Assignment, Delivery, Failed, ProgressEvent, Report, Stuck, Success
from luna.workers.acp import create
from luna.workers.shared import WorkerSettings
from tests.support.assignments import assignment

AGENT = Path(__file__).with_name("acp_agent.py")
Step = dict[str, Any]


def reports(**fields: Any) -> Step:
    """The step of saying a report, in a block."""
    return {"say": f"Here it is.\n```json\n{json.dumps(fields)}\n```"}


DONE = reports(status="SUCCESS", summary="counted", result=7)


def agent(*turns: list[Step], **settings: Any) -> list[str]:
    return [sys.executable, str(AGENT), json.dumps({"turns": turns or [[DONE]], **settings})]


def make(command: list[str] | str, *, processes: ProcessRegistry | None = None, **options: Any) -> Any:
    given: dict[str, Any] = {"command": command, **options}
    return create(given, settings=WorkerSettings(processes=processes))


def worker(*turns: list[Step], options: dict[str, Any] | None = None, **settings: Any) -> Any:
    return make(agent(*turns, **settings), **(options or {}))


async def items_of(made: Any, workspace: Path, task: Assignment | None = None) -> list[Any]:
    delivery = Delivery(key="r/0/attempt/1", workspace=workspace)
    return [item async for item in made.run(task or assignment(), delivery)]


class Ran:
    """What came out of one run with a scripted agent."""

    def __init__(self, items: list[ProgressEvent | Report], log: Path) -> None:
        *events, self.report = items
        self.events = events
        self._log = log

    def told(self, kind: str) -> list[Any]:
        """What the agent has noted of a kind."""
        lines = [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []
        return [value for what, value in lines if what == kind]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def success(self) -> Success:
        assert isinstance(self.report, Success), self.report
        return self.report

    @property
    def stuck(self) -> Stuck:
        assert isinstance(self.report, Stuck), self.report
        return self.report

    @property
    def failed(self) -> Failed:
        assert isinstance(self.report, Failed), self.report
        return self.report


async def run(
    tmp_path: Path,
    *turns: list[Step],
    options: dict[str, Any] | None = None,
    task: Assignment | None = None,
    **settings: Any,
) -> Ran:
    """Let a scripted agent do its turns in `tmp_path/work`."""
    workspace = tmp_path / "work"
    workspace.mkdir(exist_ok=True)
    log = tmp_path / "log"
    items = await items_of(worker(*turns, options=options, log=str(log), **settings), workspace, task)
    assert isinstance(items[-1], REPORT_TYPES), items
    assert not any(isinstance(item, REPORT_TYPES) for item in items[:-1])
    return Ran(items, log)
