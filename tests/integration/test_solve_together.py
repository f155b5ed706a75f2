"""Whole runs through `Sol` in which things happen at the same time: branches, runs, a provider's limit."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from luna.errors import Interruption
from luna.protocol import (
    Assignment,
    Partial,
    StuckKind,
    WorkerSpec,
)
from luna.testing import FakeClock, Pause, ScriptedWorker
from sol import Sol
from sol.tree.events import EventType
from tests.support.core import strategy_of
from tests.support.planners import ScriptedPlanner, split_into
from tests.support.runs import GOAL, done, events_of, kept, states, stuck, task


@pytest.mark.case("PAR-01")
@pytest.mark.parametrize("other", [True, False])
async def test_handled_error_of_a_branch_is_its_result_alone_or_beside_others(
    sol: Callable[..., Sol], other: bool
) -> None:
    right = "find blue" if other else "find pink"
    script: dict[str, Any] = {
        GOAL: stuck(),
        "find red": RuntimeError("the box broke"),
        "find blue": done("blue"),
        "find pink": RuntimeError("so did this"),
    }
    given = WorkerSpec(kind="given", on_error="degraded")
    run = await sol(ScriptedWorker(script), ScriptedPlanner({GOAL: split_into("find red", right)})).asolve(
        task(worker=given)
    )
    assert run.status == "success"
    assert (run.tree["0"].result, str(run.tree["0"].state)) == ("degraded", "success")
    assert run.tree["1"].result == ("blue" if other else "degraded")
    events = await events_of(run)
    started = [(e.node, e.data.kind, e.data.n) for e in events if e.type == EventType.STARTED]
    ended = [
        (e.node, e.data.kind, e.data.n)
        for e in events
        if e.type in {EventType.REPORTED, EventType.ANSWER, EventType.CHECKED, EventType.LOST} and e.data.n
    ]
    assert sorted(started) == sorted(ended)


@pytest.mark.case("PAR-03")
async def test_denied_branch_does_not_touch_the_others(sol: Callable[..., Sol]) -> None:
    denied = asyncio.Event()

    async def work(inputs: dict[str, Any], assignment: Assignment) -> Any:
        if assignment.goal == "write outside":
            denied.set()
            return stuck("permission denied: writes outside the workspace", kind=StuckKind.ACCESS_MISSING)
        if assignment.goal == "sort inside":
            await denied.wait()
            return "sorted"
        return stuck()

    planner = ScriptedPlanner({GOAL: split_into("write outside", "sort inside")})
    run = await sol(work, planner, strategy=strategy_of(max_depth=1, max_replans=0)).asolve(task())
    assert states(run) == {"": "failed", "0": "failed", "1": "success"}
    assert run.tree["1"].result == "sorted"


@pytest.mark.req("S24")
@pytest.mark.parametrize("sequential", [False, True])
async def test_independent_halves_run_at_the_same_time_and_sequential_ones_do_not(
    sol: Callable[..., Sol], sequential: bool
) -> None:
    clock = FakeClock(auto=True)
    worker = ScriptedWorker(lambda a: stuck() if a.goal == GOAL else [Pause(5.0), done(a.goal)], clock=clock)
    planner = ScriptedPlanner({GOAL: split_into("find red", "find blue", sequential=sequential)})
    run = await sol(worker, planner, clock=clock).asolve(task())
    assert run.status == "success"
    assert worker.most_running == (1 if sequential else 2)
    assert clock.monotonic() == pytest.approx(10.0 if sequential else 5.0)
    previous = [assignment.inputs.get("previous") for assignment, _ in worker.deliveries]
    assert previous == ([None, None, "find red"] if sequential else [None, None, None])


@pytest.mark.parametrize("limit", [1, 3])
async def test_concurrency_of_the_strategy_is_kept(sol: Callable[..., Sol], limit: int) -> None:
    clock = FakeClock(auto=True)
    worker = ScriptedWorker(lambda a: [Pause(1.0), done(a.goal)], clock=clock)
    goals = [f"find box {number}" for number in range(6)]
    strategy = strategy_of(attempt="never", arity=6, max_replans=0, max_depth=1, concurrency=limit)
    run = await sol(worker, ScriptedPlanner({GOAL: split_into(*goals)}), strategy=strategy, clock=clock).asolve(task())
    assert (run.status, worker.most_running) == ("success", limit)
    assert worker.calls == dict.fromkeys(goals, 1)


async def test_two_runs_at_once_share_the_limit_of_their_sol(sol: Callable[..., Sol]) -> None:
    clock = FakeClock(auto=True)
    worker = ScriptedWorker(lambda a: [Pause(1.0), done(a.goal)], clock=clock)
    made = sol(worker, clock=clock, concurrency=1, strategy="single")
    runs = await asyncio.gather(*(made.asolve(task(f"find box {number}")) for number in range(3)))
    assert [run.result for run in runs] == ["find box 0", "find box 1", "find box 2"]
    assert worker.most_running == 1


@pytest.mark.case("PAR-04")
async def test_outcome_after_the_deadline_is_late_and_the_end_stays(sol: Callable[..., Sol]) -> None:
    clock = FakeClock()

    def script(assignment: Assignment) -> Any:
        return stuck() if assignment.goal == GOAL else [Partial(key="1", value="red"), Pause(60.0), done()]

    planner = ScriptedPlanner({GOAL: split_into("find red", "find blue")})
    worker = ScriptedWorker(script, clock=clock)
    run = await sol(worker, planner, clock=clock, budget={"seconds": 30.0}).start(task())
    await kept(run, 2)
    await clock.advance(31.0)
    await run.wait()
    assert set(states(run).values()) == {"exhausted"}
    assert run.tree["0"].partial == {"1": "red"}
    late = [event for event in await events_of(run) if event.type == EventType.LATE]
    assert [event.node for event in late] == ["0", "1"]
    assert run.resumable


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
async def test_rate_limit_is_waited_for_and_is_no_stuck(sol: Callable[..., Sol]) -> None:
    clock = FakeClock(auto=True)
    limits: Iterator[Any] = iter([20.0, None])
    at: list[float] = []

    def script(_: Assignment) -> Any:
        at.append(clock.monotonic())
        for asked in limits:
            return Interruption("rate_limit", "429", retry_after_s=asked)
        return done()

    planner = ScriptedPlanner({GOAL: split_into("find red", "find blue")})
    run = await sol(ScriptedWorker(script), planner, clock=clock).asolve(task())
    assert (run.status, len(at), planner.count["split"]) == ("success", 3, 0)
    assert at[1] >= 20.0
    assert at[2] > at[1]
    assert run.tree[""].counts["attempt"] == 1


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
async def test_rate_limit_for_ever_ends_resumable_after_few_calls(sol: Callable[..., Sol]) -> None:
    worker = ScriptedWorker(lambda _: Interruption("rate_limit", "429"))
    planner = ScriptedPlanner({GOAL: split_into("find red", "find blue")})
    run = await sol(worker, planner).asolve(task())
    assert (run.status, run.tree[""].kind, run.resumable) == ("failed", "rate_limit", True)
    assert worker.calls[GOAL] == 6
    assert planner.count == {}
    again = await sol(ScriptedWorker.succeeding(), planner).aresume(run.id)
    assert again.solved
    assert again.tree[""].counts["attempt"] == 2


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
async def test_other_branches_of_a_limited_provider_wait_too(sol: Callable[..., Sol]) -> None:
    clock = FakeClock(auto=True)
    begun: dict[str, list[float]] = defaultdict(list)

    def script(assignment: Assignment) -> Any:
        begun[assignment.goal].append(clock.monotonic())
        if assignment.goal == "find red" and len(begun["find red"]) == 1:
            return Interruption("rate_limit", "429", retry_after_s=30.0)
        return [Pause(5.0), done(assignment.goal)]

    class OfAcme(ScriptedWorker):
        def gate(self, luna_model: str | None) -> str:
            return "acme"

    strategy = strategy_of(attempt="never", max_depth=1, concurrency=2, arity=3, max_replans=0)
    planner = ScriptedPlanner({GOAL: split_into("find red", "find blue", "find green")})
    run = await sol(OfAcme(script, clock=clock), planner, clock=clock, strategy=strategy).asolve(task())
    assert run.solved
    assert begun["find red"][0] == begun["find blue"][0] == 0.0, "what had begun is not touched"
    assert begun["find red"][1] >= 30.0
    assert begun["find green"][0] >= 30.0, "it would have had a slot at 5 s"
