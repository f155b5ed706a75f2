"""The Luna of the golden runs. What it does follows from the goal, so that a resumed run goes on as it began.

It notes the key of each delivery in `calls.txt`. Goals with the word “slowly” wait until there is a file named `go`.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from luna.protocol import (
    Action,
    Assignment,
    Delivery,
    Failed,
    Note,
    Partial,
    ProgressEvent,
    Report,
    Said,
    Spent,
    Stuck,
    Success,
    Usage,
)

TOO_MUCH = ("build the hut", "raise the walls", "frame the roof", "solve what is planned")


async def work(
    inputs: dict[str, Any], assignment: Assignment, delivery: Delivery
) -> AsyncIterator[ProgressEvent | Report]:
    """Do a task of a tree, or a step of a workflow."""
    with (delivery.workspace / "calls.txt").open("a", encoding="utf-8") as calls:
        calls.write(f"{delivery.key}\n")
    goal = assignment.goal.splitlines()[0]
    if goal.startswith("step "):
        yield await _step(goal, inputs, assignment, delivery.workspace)
        return
    if goal.startswith(TOO_MUCH):
        yield Spent(usage=Usage(tokens=120, cost=0.001))
        yield Stuck(blocker=f"{goal} is more than one thing", known=("there is wood",), unknown=("how much of it",))
        return
    yield Note(text="begun")
    yield Said(text=f"I am going to {goal}.")
    yield Action(name="saw", arguments={"what": goal}, observation="it fits", paths=("wood.txt",))
    yield Partial(key="half", value={"of": goal, "again": "half" in delivery.partial})
    yield Spent(usage=Usage(tokens=300, cost=0.002))
    if "slowly" in goal:
        await _until_go(delivery.workspace)
    yield _report(goal, assignment, delivery)


def _report(goal: str, assignment: Assignment, delivery: Delivery) -> Report:
    if goal.startswith("paint the door") and not delivery.answers:
        return Stuck(kind="needs_human", blocker="nobody said which colour", question="Which colour?")
    if goal.startswith("hang the door") and "dry wood" not in assignment.context:
        return Failed(kind="exit", reason="the wood is wet")
    if goal.startswith("nail the sign") and "short nails" not in assignment.context:
        return Failed(kind="exit", reason="the nails are too long")
    answer = "".join(delivery.answers.values())
    return Success(summary="done", result={"did": goal, "answer": answer}, evidence=("seen",))


async def _until_go(workspace: Path) -> None:
    while not (workspace / "go").exists():  # noqa: ASYNC110 - whoever looks on makes the file
        await asyncio.sleep(0.01)


async def _step(goal: str, inputs: dict[str, Any], assignment: Assignment, workspace: Path) -> Report:
    """Answer with the tag of a rule: the first but where the task is about something else."""
    name, _, task = goal.removeprefix("step ").partition(" for ")
    if name == "slow" and "slowly" in task:
        await _until_go(workspace)
    rule = 1
    if name == "style" and "twice" in task and not (workspace / "second").exists():
        (workspace / "second").touch()
        rule = 2
    if name == "plan" and "nothing" in task and "a boat" not in assignment.context:
        rule = 2
    if name == "last" and "asking" in task and not inputs.get("user_inputs"):
        rule = 2
    said = inputs.get("user_inputs") or "well"
    return Success(summary="done", result=f"{name} went {said}. [{name.upper()}:{rule}]")
