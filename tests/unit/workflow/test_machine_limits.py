"""Machine workflows through the whole engine: how much runs at a time, and runs that solve steps."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Assignment, Failed, Stuck, Success
from luna.testing import ScriptedWorker
from sol.journal import MemoryJournal
from sol.solver import Sol
from sol.workflow import Workflow
from tests.unit.workflow.running import ASK, PAR, agreeing, file, loaded, sol_of


async def test_sub_steps_run_side_by_side_unless_something_says_otherwise(tmp_path: Path) -> None:
    go = asyncio.Event()

    def script(assignment: Assignment) -> Any:
        if worker.running == 2:
            go.set()
        return [go, agreeing(assignment)] if assignment.goal != "the last" else agreeing(assignment)

    worker = ScriptedWorker(script)
    run = await sol_of(tmp_path, worker).asolve(loaded(tmp_path, PAR), task="x")
    assert (run.status, worker.most_running) == ("success", 2)


SOLVE = ASK.replace("instruction: choose one", "instruction: make it upper case, solve: halve")


async def test_run_that_solves_a_step_keeps_to_its_own_depth(tmp_path: Path) -> None:
    """A workflow is no tree and takes no level away."""

    def script(assignment: Assignment) -> Success | Stuck:
        return Stuck(blocker="too much at once") if assignment.goal == "make it upper case" else agreeing(assignment)

    sol = sol_of(tmp_path, ScriptedWorker(script))
    run = await sol.asolve(loaded(tmp_path, SOLVE), task="x")
    child = await sol.load(run.state.nodes["s#1"].partial["run"])
    assert child.state.config.strategy["max_depth"] == 16
    shallow = sol_of(tmp_path, ScriptedWorker(script), max_depth=1)
    run = await shallow.asolve(loaded(tmp_path, SOLVE), task="x")
    child = await shallow.load(run.state.nodes["s#1"].partial["run"])
    assert child.state.config.strategy["max_depth"] == 1


class Dying(MemoryJournal):
    """A journal whose process dies before it can write down that a step has got a run of its own."""

    dying = True

    async def append(self, lease: Any, events: Any, **more: Any) -> Any:
        if self.dying and any(one.type == "progressed" for one in events):
            raise RuntimeError("the process dies")
        return await super().append(lease, events, **more)


async def test_run_that_solves_a_step_is_found_again_though_its_id_was_not_recorded(tmp_path: Path) -> None:
    journal = Dying()
    worker = ScriptedWorker(agreeing)
    sol = Sol(worker=worker, store=journal, workspace=tmp_path)
    live = await sol.start(loaded(tmp_path, SOLVE), task="x")
    with pytest.raises(RuntimeError, match="the process dies"):
        await live.wait()
    journal.dying = False
    again = await sol.aresume(live.id)
    assert (again.status, len(await journal.list(limit=9))) == ("success", 2)


async def test_retried_step_is_solved_by_a_new_run(tmp_path: Path) -> None:
    sol = sol_of(tmp_path, ScriptedWorker(lambda assignment: Failed(reason="no way")), strategy="single")
    path = file(tmp_path, SOLVE.replace("halve", "single"))
    run = await sol.asolve(Workflow.load(path), task="x")
    first = run.state.nodes["s#1"].partial["run"]
    assert (run.status, run.state.root.kind) == ("failed", "not_solved")
    sol.worker = ScriptedWorker(agreeing)
    again = await (await sol.start_again(run.id, ask={"kind": "retry", "node": "s#1", "note": "there is one"})).wait()
    assert again.status == "success"
    assert again.state.nodes["s#1"].partial["run"] != first
