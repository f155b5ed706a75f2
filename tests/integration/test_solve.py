"""Whole runs through `Sol`, seen from one node and from around the run."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from luna.clock import SystemClock
from luna.protocol import (
    Assignment,
    Delivery,
    Failed,
    FailedKind,
    Said,
    Stuck,
    StuckKind,
)
from luna.testing import FakeClock, ScriptedWorker
from sol import Sol
from sol.errors import ConflictError, StrategyError
from sol.tree.events import Analysed, EventType
from tests.support.core import strategy_of
from tests.support.planners import ScriptedPlanner, split_into
from tests.support.runs import GOAL, done, events_of, stuck, task, telling


@pytest.mark.req("S04", "S08")
async def test_atomic_task_is_one_attempt(sol: Callable[..., Sol]) -> None:
    worker, planner = ScriptedWorker.succeeding(), ScriptedPlanner()
    run = await sol(worker, planner).asolve(task())
    assert (run.status, run.solved, run.result, run.reason) == ("success", True, GOAL, "")
    assert worker.calls == {GOAL: 1}
    assert planner.count == {"judge": 1}


@pytest.mark.case("STAT-01")
@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ([Said(text="all done, bye")], "no_status"),
        ([Failed(kind=FailedKind.TRUNCATED, reason='cut off in {"status":"SUCC')], "truncated"),
        ([Failed(kind=FailedKind.KILLED, reason="exit 137")], "killed"),
        ([Stuck(kind=StuckKind.STEP_LIMIT, blocker="12 steps taken", summary="It went well.")], "step_limit"),
    ],
)
async def test_early_end_is_never_a_success(sol: Callable[..., Sol], script: Any, kind: str) -> None:
    run = await sol(ScriptedWorker(lambda _: script), strategy="single").asolve(task())
    assert (run.status, run.result) == ("failed", None)
    report = run.tree[""].report
    assert report is not None
    assert report.kind == kind
    assert report.status == ("STUCK" if kind == "step_limit" else "FAILED")
    if kind == "step_limit":
        assert report.summary == "It went well."


@pytest.mark.req("S59")
@pytest.mark.case("STAT-02")
async def test_claimed_file_that_is_not_there_is_no_success(sol: Callable[..., Sol], tmp_path: Path) -> None:
    wanted = task(
        expected_output={"description": "a report", "files": ["report.csv"]},
        success_criteria=[{"command": ["test", "-f", "passed"]}],
    )
    worker = ScriptedWorker(lambda _: done("wrote report.csv, all tests pass"))
    (tmp_path / "passed").touch()
    run = await sol(worker, strategy="single", clock=SystemClock()).asolve(wanted)
    assert run.status == "failed"
    assert [check.ok for check in run.tree[""].checks] == [False, True]
    assert run.tree[""].result == "wrote report.csv, all tests pass"
    assert "unverified_success" in {
        event.data.kind for event in await events_of(run) if isinstance(event.data, Analysed)
    }
    (tmp_path / "report.csv").write_text("old", encoding="utf-8")
    stale = await sol(worker, strategy="single", clock=FakeClock(auto=True, start=4e9)).asolve(wanted)
    assert stale.status == "failed", "the file is older than the attempt"


@pytest.mark.req("S59")
async def test_file_written_by_the_attempt_passes(sol: Callable[..., Sol], tmp_path: Path) -> None:
    def write(inputs: dict[str, Any], *, delivery: Delivery) -> str:
        (delivery.workspace / "report.csv").write_text("a,b\n", encoding="utf-8")
        return "written"

    wanted = task(expected_output={"description": "a report", "files": ["report.csv"]})
    run = await sol(write, strategy="single", clock=SystemClock()).asolve(wanted)
    assert run.status == "success", run.reason


@pytest.mark.case("STAT-02")
async def test_result_without_any_check_is_marked_unchecked(sol: Callable[..., Sol]) -> None:
    planner = ScriptedPlanner()
    planner.judges = False  # type: ignore[attr-defined]  # as planners without a model say
    run = await sol(ScriptedWorker.succeeding(), planner).asolve(task())
    assert (run.status, run.tree[""].unchecked, run.tree[""].kind) == ("success", True, "unchecked")
    assert planner.count == {}


@pytest.mark.req("S61")
async def test_integration_is_a_task_of_its_own_with_all_seven_fields(sol: Callable[..., Sol]) -> None:
    def script(assignment: Assignment) -> Any:
        if assignment.goal == GOAL:
            return stuck()
        if assignment.goal.startswith("Put the results"):
            return done([part["result"] for part in assignment.inputs["parts"]])  # type: ignore[call-overload, union-attr, index]  # JSON
        return done(assignment.goal)

    worker = ScriptedWorker(script)
    planner = ScriptedPlanner({GOAL: split_into("find red", "find blue")})
    run = await sol(worker, planner, strategy=strategy_of(integrate="luna")).asolve(task())
    assert (run.status, run.result) == ("success", ["find red", "find blue"])
    assert planner.count["integrate"] == 0
    integrating = worker.deliveries[-1][0]
    assert integrating.goal == f"Put the results of the parts together so that they meet this goal: {GOAL}"
    assert integrating.success_criteria[0].text == "they are in order"  # type: ignore[union-attr]  # a text criterion
    assert integrating.stop_conditions
    assert run.tree[""].spent.calls == 2 + planner.count["split"] + 1


@pytest.mark.req("S62")
async def test_integrating_luna_that_is_stuck_leads_to_a_new_plan(sol: Callable[..., Sol]) -> None:
    def script(assignment: Assignment) -> Any:
        if assignment.goal == GOAL or assignment.goal.startswith("Put the results"):
            return stuck("red and blue contradict each other")
        return done(assignment.goal)

    planner = ScriptedPlanner({GOAL: split_into("find red", "find blue")})
    run = await sol(ScriptedWorker(script), planner, strategy=strategy_of(integrate="luna", max_replans=0)).asolve(
        task()
    )
    assert (run.status, run.result) == ("failed", None)
    assert run.tree[""].kind == "replans"
    assert planner.count["reassess"] == 1


@pytest.mark.req("S63")
async def test_strategy_that_asks_the_judge_needs_a_model(sol: Callable[..., Sol]) -> None:
    base = {name: list(rules) for name, rules in strategy_of().rules.items()}
    asking = strategy_of(rules={**base, "report": [{"condition": 'ai("fine?")', "next": "validate"}]})
    planner = ScriptedPlanner()
    run = await sol(ScriptedWorker.succeeding(), planner, strategy=asking).asolve(task())
    assert (run.status, planner.count["rule"]) == ("success", 1)
    planner.judges = False  # type: ignore[attr-defined]  # as planners without a model say
    with pytest.raises(StrategyError, match="needs a model"):
        await sol(ScriptedWorker.succeeding(), planner, strategy=asking).asolve(task())


async def test_events_of_a_live_run_come_as_they_are_committed(sol: Callable[..., Sol]) -> None:
    gate = asyncio.Event()
    made = sol(ScriptedWorker(lambda a: [Said(text="looking"), gate, done()]), strategy="single")
    run = await made.start(task())
    seen: list[str] = []
    async for event in run.events():
        seen.append(str(event.type))
        if event.type == EventType.PROGRESSED:
            assert run.status == "running"
            gate.set()
    assert seen[:3] == ["run_started", "created", "started"]
    assert seen[-1] == "run_status"
    assert seen == [str(event.type) for event in await events_of(await made.load(run.id))]
    await run.wait()


def test_solve_blocks_where_no_loop_runs(sol: Callable[..., Sol]) -> None:
    assert sol(ScriptedWorker.succeeding()).solve(task()).solved


@pytest.mark.case("NB-01")
async def test_solve_works_inside_a_running_loop(sol: Callable[..., Sol]) -> None:
    run = sol(ScriptedWorker.succeeding()).solve(task())
    assert (run.status, run.result) == ("success", GOAL)


async def test_fault_inside_sol_is_raised_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    class Broken(ScriptedPlanner):
        async def answer(self, request: Any) -> Any:
            raise ZeroDivisionError("a fault of Sol's own")

    url = f"sqlite+aiosqlite:///{tmp_path}/runs.db"
    worker = ScriptedWorker.succeeding()
    broken = Sol(worker=worker, planner=Broken(), workspace=tmp_path, store=url)
    with pytest.raises(ZeroDivisionError):
        await broken.asolve(task())
    assert broken.last is not None
    fixed = Sol(worker=worker, planner=ScriptedPlanner(), workspace=tmp_path, store=url)
    run = await fixed.aresume(broken.last.id)
    assert run.status == "success"
    assert worker.calls == {GOAL: 1}, "finished work is never done again"


@pytest.mark.case("RES-04")
async def test_run_that_is_worked_on_cannot_be_taken(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/runs.db"
    begun, gate = asyncio.Event(), asyncio.Event()
    one = Sol(worker=ScriptedWorker(telling(begun, gate, done())), workspace=tmp_path, store=url, strategy="single")
    run = await one.start(task())
    other = Sol(worker=ScriptedWorker.succeeding(), workspace=tmp_path, store=url)
    await begun.wait()
    with pytest.raises(ConflictError, match=r"held by process \d+ on host"):
        await other.aresume(run.id)
    gate.set()
    assert (await run.wait()).solved
