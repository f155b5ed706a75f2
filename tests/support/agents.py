"""Agents on a scripted model, with a small task in an empty workspace."""

from pathlib import Path
from typing import Any

from luna.protocol import Action, Assignment, Delivery
from luna.testing.fakes import ScriptedChatModel
from luna.workers.agent import AgentOptions, AgentWorker
from luna.workers.shared import WorkerSettings
from tests.support import assignments

FENCE = "f00dfeedcafe"
DONE = ("ReportSuccess", {"summary": "done", "result": "fine"})


def assignment(**changes: Any) -> Assignment:
    fields: dict[str, Any] = {
        "goal": "Write hello into a.txt.",
        "expected_output": "the file a.txt",
        "success_criteria": ["a.txt says hello"],
        "stop_conditions": ["the directory cannot be written"],
    }
    return assignments.assignment(**fields | changes)


def agent(model: ScriptedChatModel, settings: WorkerSettings | None = None, **options: Any) -> AgentWorker:
    return AgentWorker(
        AgentOptions.model_validate(options),
        settings=settings or WorkerSettings(),
        resolve=lambda name, **given: model,
    )


def delivery(workspace: Path, **given: Any) -> Delivery:
    return Delivery(
        **{"key": "r//attempt/1", "workspace": workspace, "delimiter": FENCE, "model": "scripted:x", **given}
    )


async def work(
    model: ScriptedChatModel,
    workspace: Path,
    task: Assignment | None = None,
    given: dict[str, Any] | None = None,
    **options: Any,
) -> list[Any]:
    """All that an agent yields; `given` goes into the delivery."""
    run = agent(model, **options).run(task or assignment(), delivery(workspace, **given or {}))
    return [event async for event in run]


def actions(events: list[Any]) -> list[Action]:
    return [event for event in events if isinstance(event, Action)]
