"""What tests of whole runs share: a task, reports, and ways to look at a run."""

import asyncio
from collections.abc import Callable
from typing import Any

from luna.protocol import (
    Assignment,
    Stuck,
    Success,
)
from sol import Task
from sol.run import Run

GOAL = "sort the bricks"


def task(goal: str = GOAL, **changes: Any) -> Task:
    data: dict[str, Any] = {
        "goal": goal,
        "context": "none",
        "inputs": {"bricks": ["red", "blue"]},
        "constraints": "none",
        "expected_output": "the bricks in order",
        "success_criteria": ["they are in order"],
        "stop_conditions": ["a brick has no colour"],
        **changes,
    }
    return Task.make(data)


def done(result: Any = "ok") -> Success:
    return Success(summary="done", result=result)


def stuck(blocker: str = "no lamp", **more: Any) -> Stuck:
    return Stuck(blocker=blocker, **more)


def telling(begun: asyncio.Event, *items: Any) -> Callable[[Assignment], Any]:
    """A script that tells when it is begun."""

    def script(_: Assignment) -> Any:
        begun.set()
        return list(items)

    return script


async def events_of(run: Run) -> list[Any]:
    return [event async for event in run.events()]


async def types_of(run: Run, path: str | None = None) -> list[str]:
    return [str(event.type) for event in await events_of(run) if path is None or event.node == path]


def states(run: Run) -> dict[str, str]:
    return {node.path: str(node.state) for node in run.tree}


async def kept(run: Run, count: int) -> None:
    """Wait until so many items are stored."""
    async for _ in run.events():
        if sum(len(node.partial) for node in run.tree) == count:
            return
