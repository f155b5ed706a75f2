"""Resuming a run after something behind it has changed: its strategy, its task file, its input files."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Assignment
from luna.testing import ScriptedWorker
from sol import Sol
from sol.errors import ConflictError
from sol.strategy.catalog import find
from sol.tree.events import EventType
from tests.support.planners import ScriptedPlanner, split_into
from tests.support.runs import GOAL, done, events_of, stuck, task


class Halfway:
    """A run that was stopped when one of its two parts was accepted, by a strategy in the workspace."""

    def __init__(self, make: Callable[..., Sol], workspace: Path) -> None:
        self.make = make
        self.strategy = workspace / ".sol" / "strategies" / "binary.yaml"
        self.strategy.parent.mkdir(parents=True)
        shutil.copy(find("binary"), self.strategy)
        self.hanging = True
        self.begun = asyncio.Event()
        self.worker = ScriptedWorker(self.script)
        self.planner = ScriptedPlanner({GOAL: split_into("find red", "find blue", sequential=True)})

    def script(self, assignment: Assignment) -> Any:
        if assignment.goal == GOAL:
            return stuck()
        if assignment.goal == "find blue" and self.hanging:
            self.begun.set()
            return asyncio.Event()
        return done(assignment.goal)

    async def stop(self, given: Any) -> str:
        run = await self.make(self.worker, self.planner).start(given)
        await self.begun.wait()
        run.interrupt()
        await run.wait()
        assert run.status == "interrupted"
        self.hanging = False
        return run.id

    def edit(self, old: str, new: str) -> None:
        text = self.strategy.read_text(encoding="utf-8")
        assert old in text
        self.strategy.write_text(text.replace(old, new), encoding="utf-8")

    def sol(self) -> Sol:
        return self.make(self.worker, self.planner)


@pytest.fixture
def halfway(sol: Callable[..., Sol], tmp_path: Path) -> Halfway:
    return Halfway(sol, tmp_path)


@pytest.mark.case("RES-03")
async def test_changed_strategy_is_refused_with_the_difference_or_accepted_on_demand(halfway: Halfway) -> None:
    run_id = await halfway.stop(task())
    halfway.edit("concurrency: 4", "concurrency: 2")
    with pytest.raises(ConflictError, match=r'(?s)has changed.*-.*"concurrency": 4.*\+.*"concurrency": 2'):
        await halfway.sol().aresume(run_id)
    run = await halfway.sol().aresume(run_id, accept_changes=True)
    assert run.status == "success"
    assert run.state.config.strategy["concurrency"] == 2
    assert halfway.worker.calls == {GOAL: 1, "find red": 1, "find blue": 2}


@pytest.mark.case("RES-03")
async def test_changed_comment_is_no_change(halfway: Halfway) -> None:
    run_id = await halfway.stop(task())
    halfway.edit("# effects at the same time", "# how many at once")
    assert (await halfway.sol().aresume(run_id)).status == "success"


@pytest.mark.case("RES-03")
async def test_changed_input_file_is_recorded_and_unfinished_parts_get_the_new_text(
    halfway: Halfway, tmp_path: Path
) -> None:
    (tmp_path / "bricks.txt").write_text("red\nblue\n", encoding="utf-8")
    given = task(inputs={"bricks": {"file": "bricks.txt"}, "rest": 1})
    run_id = await halfway.stop(given)
    (tmp_path / "bricks.txt").write_text("pink\n", encoding="utf-8")
    run = await halfway.sol().aresume(run_id)
    assert run.status == "success"
    (resumed,) = [event for event in await events_of(run) if event.type == EventType.RESUMED]
    assert resumed.data.changed_inputs == ("bricks.txt",)
    assert halfway.worker.calls["find red"] == 1, "what was accepted is not done again"


@pytest.mark.req("S01")
async def test_changed_task_is_never_gone_on_with(halfway: Halfway, tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    text = f"""\
goal: {GOAL}
context: none
inputs: none
constraints: none
expected_output: the bricks in order
success_criteria: [they are in order]
stop_conditions: [a brick has no colour]
worker: given
"""
    file.write_text(text, encoding="utf-8")
    run_id = await halfway.stop(file)
    file.write_text(text.replace("in order]", "in a row]"), encoding="utf-8")
    with pytest.raises(ConflictError, match=r"(?s)task file .* has changed.*in a row"):
        await halfway.sol().aresume(run_id, accept_changes=True)
    file.write_text(f"# a remark\n{text}", encoding="utf-8")
    assert (await halfway.sol().aresume(run_id)).status == "success"
