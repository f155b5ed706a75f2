"""Whole runs through `Sol` that split, re-split and nest."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from luna.protocol import (
    Action,
    Assignment,
    Spent,
    Usage,
    Waiting,
)
from luna.testing import FakeClock, Pause, ScriptedWorker
from sol import Sol
from sol.errors import TaskError
from sol.run import Run
from sol.tree.effects import IntegrateRequest, SplitRequest
from tests.support.core import strategy_of
from tests.support.planners import ScriptedPlanner, split_into, whole
from tests.support.runs import GOAL, done, states, stuck, task


@pytest.mark.case("LOOP-06")
async def test_stuck_leaf_is_split_and_its_parts_start_with_fresh_detectors(sol: Callable[..., Sol]) -> None:
    look = Action(name="look", arguments={"at": "box"}, observation="empty")

    def script(assignment: Assignment) -> Any:
        if assignment.goal == GOAL:
            return [look] * 8
        return [look, look, done(assignment.goal)]

    worker = ScriptedWorker(script)
    strategy = strategy_of(max_depth=3, monitors={"repeat_limit": 4})
    run = await sol(worker, ScriptedPlanner({GOAL: split_into("find red", "find blue")}), strategy=strategy).asolve(
        task()
    )
    assert run.status == "success"
    assert states(run) == {"": "success", "0": "success", "1": "success"}
    assert run.tree[""].children == ("0", "1")
    assert worker.calls == {GOAL: 1, "find red": 1, "find blue": 1}
    for assignment, _ in worker.deliveries[1:]:
        assert "Already tried on the whole: " in assignment.context
        assert "look" in assignment.context


@pytest.mark.req("S10", "S23", "S50")
@pytest.mark.case("LOOP-01")
async def test_loop_ends_at_the_fourth_call_and_its_report_reaches_the_planner(sol: Callable[..., Sol]) -> None:
    look = Action(name="lookup", arguments={"q": "gallium boiling"}, observation="3 hits: a,b,c")
    call = Spent(usage=Usage(calls=1))

    def script(assignment: Assignment) -> Any:
        return [call, look] * 12 + [done()] if assignment.goal == GOAL else done(assignment.goal)

    worker = ScriptedWorker(script)
    planner = ScriptedPlanner({GOAL: split_into("find red", "find blue")}, usage=Usage())
    run = await sol(worker, planner, strategy=strategy_of(monitors={"repeat_limit": 4, "max_steps": 50})).asolve(task())
    assert worker.stopped == [GOAL]
    report = next(asked.report for asked in planner.asked if isinstance(asked, SplitRequest))
    assert report is not None
    assert (report.status, report.kind) == ("STUCK", "repetition")
    assert "lookup" in report.blocker
    assert {"times: 4", "last observation: 3 hits: a,b,c"} < set(report.evidence)
    assert run.tree[""].spent.calls == 4
    assert (run.status, worker.calls) == ("success", {GOAL: 1, "find red": 1, "find blue": 1})


@pytest.mark.req("S34")
@pytest.mark.parametrize("given", ["fix everything here", {**task().assignment, "goal": "fix everything here"}])
async def test_vague_task_is_refused_before_anybody_is_asked(sol: Callable[..., Sol], given: Any) -> None:
    worker, planner = ScriptedWorker.succeeding(), ScriptedPlanner()
    with pytest.raises(TaskError, match="'fix everything here' names no object"):
        await sol(worker, planner).asolve(given)
    assert (worker.calls.total(), planner.asked) == (0, [])


@pytest.mark.req("S06")
async def test_luna_that_leaves_its_scope_is_stopped_whatever_it_would_have_reported(sol: Callable[..., Sol]) -> None:
    leaves = Action(name="edit", arguments={"path": "attic/lamp.md"}, observation="ok", paths=("attic/lamp.md",))
    worker = ScriptedWorker({GOAL: [leaves, done()]})
    run = await sol(worker, strategy=strategy_of(max_depth=0)).asolve(task(constraints=["Do not change attic/."]))
    assert worker.stopped == [GOAL]
    report = run.tree[""].report
    assert report is not None
    assert (report.status, report.kind) == ("STUCK", "scope")
    assert (run.status, run.result) == ("failed", None)


@pytest.mark.req("S50", "S51")
@pytest.mark.case("FP-01")
@pytest.mark.parametrize("declared", [True, False])
async def test_polling_is_judged_by_the_clock_of_the_run(sol: Callable[..., Sol], *, declared: bool) -> None:
    clock = FakeClock(auto=True)
    status = Action(name="status", arguments={"job": "job-7"}, observation="RUNNING")
    polls: list[Any] = [item for _ in range(9) for item in (status, Pause(120.0 if declared else 0.1))]
    waits = [Waiting(what="job-7", deadline_s=1200, interval_s=60)] if declared else []
    items = [*waits, *polls, status.model_copy(update={"observation": "DONE"}), done()]
    worker = ScriptedWorker({GOAL: items}, clock=clock)
    run = await sol(worker, clock=clock, strategy=strategy_of(max_depth=0)).asolve(task())
    assert run.status == ("success" if declared else "failed")
    assert worker.stopped == ([] if declared else [GOAL])
    assert clock.monotonic() == pytest.approx(1080.0 if declared else 0.3)


@pytest.mark.req("S15")
@pytest.mark.case("PLAN-01")
async def test_planner_that_hands_the_task_down_is_asked_twice_and_no_worker_starts(sol: Callable[..., Sol]) -> None:
    goal = "gather 6 clay bricks"
    worker = ScriptedWorker(lambda _: stuck())
    planner = ScriptedPlanner({goal: split_into("Gather 6 clay bricks.", "stack the bricks by the gate")})
    run = await sol(worker, planner).asolve(task(goal))
    assert (run.status, run.tree[""].kind) == ("failed", "no_progress_split")
    assert planner.count == {"split": 2}
    assert "same task as its parent" in str(planner.asked[1].refused)  # type: ignore[union-attr]  # a SplitRequest
    assert worker.calls == {goal: 1}


@pytest.mark.req("S15")
@pytest.mark.case("PLAN-02")
async def test_parent_may_be_restated_once_after_new_work(sol: Callable[..., Sol]) -> None:
    goal = "build 1 blue lamp from 1 blue pane and 1 bulb"
    tries = Counter[str]()

    def script(assignment: Assignment) -> Any:
        tries[assignment.goal] += 1
        if assignment.goal == goal and "previous" not in assignment.inputs:
            return stuck("have no blue pane")
        return done(f"{assignment.goal}, with {assignment.inputs.get('previous')}")

    planner = ScriptedPlanner({goal: split_into("get 1 blue pane", goal, sequential=True)})
    run = await sol(ScriptedWorker(script), planner).asolve(task(goal))
    assert run.status == "success"
    assert tries == {goal: 2, "get 1 blue pane": 1}
    assert run.tree["1"].restates

    still = ScriptedPlanner({goal: split_into("get 1 blue pane", goal, sequential=True)})
    worker = ScriptedWorker(lambda a: done() if a.goal != goal else stuck("have no blue pane"))
    run = await sol(worker, still, strategy=strategy_of(max_replans=0)).asolve(task(goal))
    assert run.status == "failed"
    assert run.tree["1"].kind == "no_progress_split"
    assert worker.calls[goal] == 2, "no third copy"


@pytest.mark.req("S60", "S62")
@pytest.mark.case("PLAN-04")
async def test_ping_pong_between_two_fixes_is_stopped_at_the_third_report(sol: Callable[..., Sol]) -> None:
    opened = iter([["A"], ["B"], ["A"], ["B"]])

    def answer(request: Any) -> Any:
        if isinstance(request, IntegrateRequest):
            left = next(opened)
            return whole(None, wrong=["goal_met"], left_open=left)
        if isinstance(request, SplitRequest):
            number = len(request.tried)
            return split_into(f"fix A again {number}", f"fix B again {number}")
        return None

    planner = ScriptedPlanner(answer=answer)
    strategy = strategy_of(attempt="never", max_depth=1, max_replans=9)
    run = await sol(ScriptedWorker.succeeding(), planner, strategy=strategy).asolve(task())
    assert (run.status, run.tree[""].kind) == ("failed", "oscillation")
    assert planner.count["integrate"] == 3
    assert run.reason.endswith("Open before: A; B.")


@pytest.mark.req("S25")
@pytest.mark.case("PLAN-05")
async def test_done_work_is_never_done_again_by_a_re_split(sol: Callable[..., Sol]) -> None:
    table = {
        GOAL: split_into("write a.txt", "use a.txt"),
        "use a.txt": split_into("read a.txt", "sum up a.txt"),
        "sum up a.txt": split_into("count the lines", "add the lines"),
    }

    def script(assignment: Assignment) -> Any:
        if assignment.goal in table:
            return [Pause(1.0), stuck()]
        return [done(f"result of {assignment.goal}")]

    clock = FakeClock(auto=True)
    worker = ScriptedWorker(script, clock=clock)
    run = await sol(worker, ScriptedPlanner(table), clock=clock).asolve(task())
    assert run.status == "success"
    assert worker.calls["write a.txt"] == 1
    assert set(worker.calls.values()) == {1}
    assert all(node.ended for node in run.tree)
    contexts = {assignment.goal: assignment.context for assignment, _ in worker.deliveries}
    for goal in ("read a.txt", "sum up a.txt", "count the lines"):
        assert "result of write a.txt" in contexts[goal]


@pytest.mark.req("S11")
@pytest.mark.case("DEPTH-01")
@pytest.mark.parametrize(("limit", "nodes"), [(0, 1), (1, 3), (2, 7), (3, 15)])
async def test_depth_limit_is_exact(sol: Callable[..., Sol], limit: int, nodes: int) -> None:
    names = iter(range(1000))
    planner = ScriptedPlanner(lambda _: split_into(f"find red {next(names)}", f"find blue {next(names)}"))
    worker = ScriptedWorker(lambda _: stuck())
    run = await sol(worker, planner, strategy=strategy_of(max_replans=0), max_depth=limit).asolve(task())
    assert max(node.depth for node in run.tree) == limit
    assert len(run.tree) == sum(worker.calls.values()) == nodes
    assert planner.count["split"] == (nodes - 1) // 2
    assert {(str(node.state), node.kind) for node in run.tree.leaves()} == {("failed", "depth_limit")}


@pytest.mark.req("S13")
@pytest.mark.case("DEPTH-02")
async def test_run_inside_a_run_inherits_limits_and_cannot_widen_them(sol: Callable[..., Sol]) -> None:
    inner_runs: list[Run] = []
    names = iter(range(1000))

    async def inner(inputs: dict[str, Any]) -> Any:
        worker = ScriptedWorker(lambda _: [Spent(usage=Usage(calls=1, tokens=5)), stuck()])
        planner = ScriptedPlanner(lambda _: split_into(f"find red {next(names)}", f"find blue {next(names)}"))
        nested = sol(worker, planner, strategy=strategy_of(max_replans=0), max_depth=99, budget={"calls": 10_000})
        inner_runs.append(await nested.asolve(task("sort one box")))
        return "inner ended"

    def outer(request: SplitRequest) -> Any:
        return split_into("carry a box", "sweep the floor")

    async def work(inputs: dict[str, Any], assignment: Assignment) -> Any:
        if assignment.goal == "carry a box":
            return await inner(inputs)
        return done() if assignment.goal == "sweep the floor" else stuck()

    run = await sol(work, ScriptedPlanner({GOAL: outer}), max_depth=2, budget={"calls": 12}).asolve(task())
    (nested,) = inner_runs
    assert max(node.depth for node in nested.tree) <= 1, "one level is left below node 0"
    assert nested.state.config.strategy["max_depth"] == 1
    assert nested.state.config.strategy["budget"]["calls"] <= 12
    assert run.spent.calls >= nested.spent.calls > 0
    assert run.spent.tokens == nested.spent.tokens == 15
    assert run.spent.calls <= 12


@pytest.mark.case("DEPTH-02")
@pytest.mark.case("DELEG-01")
async def test_run_that_starts_itself_again_is_refused_with_the_chain(sol: Callable[..., Sol]) -> None:
    said: list[str] = []

    async def one(inputs: dict[str, Any], assignment: Assignment) -> Any:
        other = "check the sorting" if assignment.goal == GOAL else GOAL
        try:
            return (await sol(one, strategy="single").asolve(task(other))).result
        except TaskError as error:
            said.append(str(error))
            raise

    await sol(one, strategy="single").asolve(task())
    assert len(said) == 1
    assert f"{GOAL!r} > 'check the sorting' > {GOAL!r}" in said[0]


@pytest.mark.case("DELEG-01")
async def test_split_out_of_an_integration_does_not_block_itself(sol: Callable[..., Sol]) -> None:
    answers = iter([whole(None, wrong=["interfaces_agree"]), whole("fits")])

    def answer(request: Any) -> Any:
        return next(answers) if isinstance(request, IntegrateRequest) else None

    table = {GOAL: [split_into("find red", "find blue"), split_into("find pink", "find grey")]}
    strategy = strategy_of(attempt="never", max_depth=1, concurrency=1)
    made = sol(ScriptedWorker.succeeding(), ScriptedPlanner(table, answer=answer), strategy=strategy)
    run = await asyncio.wait_for(made.asolve(task()), 5.0)
    assert (run.status, run.result) == ("success", "fits")


@pytest.mark.req("S13")
@pytest.mark.case("DEPTH-02")
async def test_runs_inside_parallel_branches_stop_at_the_budget_of_the_outermost(sol: Callable[..., Sol]) -> None:
    names = iter(range(1000))
    clock = FakeClock(auto=True, idle_s=0.01)
    inner: list[Run] = []

    async def work(inputs: dict[str, Any], assignment: Assignment) -> Any:
        if assignment.goal == GOAL:
            return stuck()
        script = [Pause(1.0), Spent(usage=Usage(calls=1, tokens=30)), stuck()]
        worker = ScriptedWorker(lambda _: script, clock=clock)
        planner = ScriptedPlanner(
            lambda _: split_into(f"find red {next(names)}", f"find blue {next(names)}"), usage=Usage()
        )
        made = sol(worker, planner, clock=clock, strategy=strategy_of(concurrency=1))
        run = await made.start(task(f"open {assignment.goal}"))
        inner.append(run)
        return (await run.wait()).result

    planner = ScriptedPlanner({GOAL: split_into("box a", "box b")}, usage=Usage())
    run = await sol(work, planner, clock=clock, budget={"tokens": 100}).asolve(task())
    assert (run.status, run.tree[""].kind) == ("exhausted", "budget")
    assert run.spent.tokens == sum(one.spent.tokens for one in inner) <= 100 + 2 * 30
    assert all(one.status in {"interrupted", "exhausted"} for one in inner)
