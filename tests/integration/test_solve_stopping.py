"""Whole runs through `Sol` that are stopped, by people, budgets or questions, and go on later."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from luna.clock import SystemClock
from luna.protocol import (
    Assignment,
    Delivery,
    Partial,
    Spent,
    StuckKind,
    Usage,
)
from luna.testing import FakeClock, Pause, ScriptedWorker
from sol import Sol
from sol.errors import ConflictError
from sol.tree.events import EventType, Progressed
from tests.support.core import strategy_of
from tests.support.planners import ScriptedPlanner, split_into
from tests.support.runs import GOAL, done, events_of, kept, states, stuck, task, telling


def fifths(stop: int) -> Callable[..., Any]:
    """A worker of five items that stops for ever at item `stop` of its first delivery."""

    async def work(inputs: dict[str, Any], assignment: Assignment, delivery: Delivery) -> Any:
        if assignment.goal == GOAL:
            yield stuck()
            return
        items = dict(delivery.partial)
        first = not items
        for number in range(1, 6):
            if str(number) in items:
                continue
            if first and number == stop:
                await asyncio.Event().wait()
            items[str(number)] = f"{assignment.goal} {number}"
            yield Partial(key=str(number), value=items[str(number)])
            yield Spent(usage=Usage(tokens=10))
        yield done(sorted(items.values()))

    return work


FOUR = tuple(f"find box {letter}" for letter in "abcd")


@pytest.mark.case("CANC-01")
async def test_interrupted_children_keep_their_items_and_go_on_from_there(sol: Callable[..., Sol]) -> None:
    strategy = strategy_of(arity=4, max_replans=0)
    made = sol(fifths(4), ScriptedPlanner({GOAL: split_into(*FOUR)}), strategy=strategy)
    run = await made.start(task())
    await kept(run, 12)
    run.interrupt("Ctrl-C")
    await run.wait()
    assert run.status == "interrupted"
    assert states(run) == {"": "split"} | {str(n): "cancelled" for n in range(4)}
    assert {node.kind for node in run.tree.leaves()} == {"interrupt"}
    for number, goal in enumerate(FOUR):
        assert run.tree[str(number)].partial == {str(n): f"{goal} {n}" for n in (1, 2, 3)}
    again = await made.aresume(run.id)
    assert again.status == "success"
    added = [
        e.data.event.key
        for e in await events_of(again)
        if isinstance(e.data, Progressed) and e.data.event.type == "partial"
    ]
    assert sorted(added) == sorted(["1", "2", "3", "4", "5"] * 4), "no item was done twice"


@pytest.mark.case("CANC-01")
async def test_children_stopped_by_the_budget_keep_their_items_and_go_on_with_a_larger_one(
    sol: Callable[..., Sol],
) -> None:
    strategy = strategy_of(arity=4, max_replans=0)
    planner = ScriptedPlanner({GOAL: split_into(*FOUR)}, usage=Usage())
    run = await sol(fifths(4), planner, strategy=strategy, budget={"tokens": 115}).asolve(task())
    assert states(run) == {"": "exhausted"} | {str(n): "exhausted" for n in range(4)}
    assert "budget of 115 tokens" in run.tree["0"].reason
    assert sum(len(node.partial) for node in run.tree) == 12
    again = await sol(fifths(9), planner, budget={"tokens": 1000}).aresume(run.id)
    assert again.status == "success"
    added = [
        e.data.event.key
        for e in await events_of(again)
        if isinstance(e.data, Progressed) and e.data.event.type == "partial"
    ]
    assert len(added) == 20


async def test_cancelled_caller_interrupts_the_run_in_good_order(sol: Callable[..., Sol]) -> None:
    clock, begun = FakeClock(), asyncio.Event()
    worker = ScriptedWorker(telling(begun, Pause(60.0), done()), clock=clock)
    made = sol(worker, clock=clock, strategy="single")
    solving = asyncio.create_task(made.asolve(task()))
    await begun.wait()
    solving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await solving
    assert made.last is not None
    assert (made.last.status, worker.running, worker.stopped) == ("interrupted", 0, [GOAL])
    resumed = asyncio.create_task(sol(ScriptedWorker.succeeding(), strategy="single").aresume(made.last.id))
    assert (await resumed).solved


async def test_run_interrupted_before_anything_has_begun_can_be_resumed(sol: Callable[..., Sol]) -> None:
    made = sol(ScriptedWorker.succeeding(), strategy="single")
    run = await made.start(task())
    run.interrupt()
    await run.wait()
    assert (run.status, run.state.inflight) == ("interrupted", {})
    assert (await made.aresume(run.id)).solved


@pytest.mark.req("S13")
@pytest.mark.case("COST-01")
async def test_budget_is_shared_over_the_tree_and_silence_costs_the_declared_maximum(sol: Callable[..., Sol]) -> None:
    goals = [f"find box {number}" for number in range(6)]

    def script(assignment: Assignment) -> Any:
        if assignment.goal == "find box 1":
            return done()
        return [Spent(usage=Usage(calls=1, tokens=30)), done()]

    worker = ScriptedWorker(script)
    strategy = strategy_of(attempt="never", arity=6, max_depth=1, max_replans=0, concurrency=6)
    planner = ScriptedPlanner({GOAL: split_into(*goals)}, usage=Usage())
    planner.judges = False  # type: ignore[attr-defined]  # so that only Lunas cost anything
    run = await sol(worker, planner, strategy=strategy, budget={"tokens": 100, "per_call": {"tokens": 30}}).asolve(
        task()
    )
    assert sum(worker.calls.values()) == 3
    assert run.spent.tokens == 90
    assert sum(node.spent.tokens for node in run.tree) == 90
    assert (run.tree["1"].spent.tokens, run.tree["1"].spent.unreported, run.spent.unreported) == (30, 1, 1)
    assert [str(run.tree[str(n)].state) for n in range(6)] == ["success"] * 3 + ["exhausted"] * 3
    assert run.status == "exhausted"


@pytest.mark.req("S13")
async def test_stopped_attempt_is_charged_too(sol: Callable[..., Sol]) -> None:
    clock, begun = FakeClock(), asyncio.Event()
    worker = ScriptedWorker(telling(begun, Pause(60.0), done()), clock=clock)
    made = sol(worker, clock=clock, strategy="single", budget={"tokens": 100, "per_call": {"tokens": 30}})
    run = await made.start(task())
    await begun.wait()
    run.interrupt()
    await run.wait()
    assert (run.spent.calls, run.spent.tokens, run.spent.unreported) == (1, 30, 1)


@pytest.mark.case("ESC-01")
async def test_question_is_never_answered_by_default_and_siblings_finish(sol: Callable[..., Sol]) -> None:
    def script(assignment: Assignment) -> Any:
        if assignment.goal == GOAL:
            return stuck()
        if assignment.goal == "drop the table" and "Answer to" not in assignment.context:
            return stuck("may not decide", kind=StuckKind.NEEDS_HUMAN, question="delete prod table?")
        return done(assignment.context)

    worker = ScriptedWorker(script)
    made = sol(worker, ScriptedPlanner({GOAL: split_into("drop the table", "count the rows")}))
    run = await made.asolve(task())
    assert (run.status, run.questions, run.resumable, run.solved) == (
        "waiting",
        {"0": "delete prod table?"},
        True,
        False,
    )
    assert str(run.tree["1"].state) == "success"
    same = await made.aresume(run.id)
    assert same.status == "waiting"
    assert worker.calls["drop the table"] == 1
    assert await made.request(run.id, "answer", {"node": "0", "text": "no, archive it"}, by="ann") == "done"
    ended = await made.aresume(run.id)
    assert ended.status == "success"
    answered = next(event for event in await events_of(ended) if event.type == EventType.ANSWERED)
    assert (answered.data.text, answered.data.by) == ("no, archive it", "ann")
    assert answered.data.at > 0
    assert "no, archive it" in str(ended.tree["0"].result)


async def test_request_that_the_state_does_not_allow_is_refused(sol: Callable[..., Sol]) -> None:
    made = sol(ScriptedWorker.succeeding())
    run = await made.asolve(task())
    for kind in ("answer", "retry", "cancel"):
        with pytest.raises(ConflictError, match=f"cannot be asked to {kind}"):
            await made.request(run.id, kind, {"node": ""}, by="ann")
    with pytest.raises(ConflictError, match="nothing to resume"):
        await made.aresume(run.id)


async def test_retry_names_what_is_new_and_a_worker_that_cannot_be_read_is_refused(sol: Callable[..., Sol]) -> None:
    made = sol(ScriptedWorker(lambda a: done() if "New: use a lamp" in a.context else stuck()), strategy="single")
    run = await made.asolve(task())
    assert run.status == "failed"
    with pytest.raises(ConflictError, match="cannot be asked to retry"):
        await made.request(run.id, "retry", {"node": "", "worker": {"kind": ""}}, by="ann")
    again = await (await made.start_again(run.id, ask={"kind": "retry", "node": "", "note": "use a lamp"})).wait()
    assert (again.status, again.tree[""].counts["attempt"]) == ("success", 2)


async def test_live_run_is_cancelled_from_outside(sol: Callable[..., Sol]) -> None:
    begun = asyncio.Event()
    worker = ScriptedWorker(telling(begun, asyncio.Event()))
    made = sol(worker, strategy="single", clock=SystemClock())
    run = await made.start(task())
    await begun.wait()
    assert await made.request(run.id, "cancel", {"node": "", "reason": "enough"}, by="ann") == "posted"
    await run.wait()
    assert (run.status, run.reason, worker.stopped) == ("cancelled", "enough", [GOAL])
