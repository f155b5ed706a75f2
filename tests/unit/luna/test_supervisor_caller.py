"""Supervised workers: interruptions, cancelled callers, and scripts."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from luna.errors import Interruption
from luna.gate import Gates, RetryPolicy
from luna.protocol import Assignment, Delivery, Failed, Note, Partial, Spent, Success, Usage
from luna.supervisor import AttemptContext, AttemptLimits, Finished, Lost, supervise
from luna.testing import FakeClock, Pause, ScriptedWorker
from tests.support.supervised import (
    DELIVERY,
    DONE,
    LOOKUP,
    Stubborn,
    assignment,
    finished,
    monitors,
    outcome_of,
    scripted,
)

# --- interruptions ---------------------------------------------------------------------------------------------------


class Interrupted:
    """Interrupted so many times, after some work, then done."""

    def __init__(self, times: int, *items: Any, retry_after_s: float | None = None) -> None:
        self.times = times
        self.items = items
        self.retry_after_s = retry_after_s
        self.deliveries: list[Delivery] = []

    async def run(self, given: Assignment, delivery: Delivery) -> AsyncIterator[Any]:
        self.deliveries.append(delivery)
        for item in self.items:
            yield item
        if len(self.deliveries) <= self.times:
            secret = "api_key=0123456789abcdef"
            raise Interruption("rate_limit", f"429 for {secret}", retry_after_s=self.retry_after_s)
        yield DONE


def gates(clock: FakeClock, **policy: Any) -> Gates:
    return Gates(clock=clock, rng=random.Random(3), policy=RetryPolicy(**policy))


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
async def test_interrupted_attempt_is_delivered_again_with_its_parts() -> None:
    clock, seen = FakeClock(auto=True), []
    worker = Interrupted(2, LOOKUP, LOOKUP, Partial(key="a", value=1), retry_after_s=20)
    around = AttemptContext(gates=gates(clock), provider="acme", on_event=seen.append)
    outcome = await finished(worker, clock=clock, monitors=monitors(), around=around)
    assert outcome.report is DONE  # six equal lookups in all, but never four in one delivery
    assert outcome.usage == Usage(calls=3, reported=False)
    assert (outcome.events, len(seen)) == (9, 9)
    assert outcome.seconds >= 40
    assert [dict(delivery.partial) for delivery in worker.deliveries] == [{}, {"a": 1}, {"a": 1}]
    assert {delivery.key for delivery in worker.deliveries} == {DELIVERY.key}


@pytest.mark.case("RATE-01")
async def test_endless_interruption_is_lost_and_resumable() -> None:
    clock = FakeClock(auto=True)
    worker = Interrupted(99, Spent(usage=Usage(calls=1, tokens=4)))
    outcome = await outcome_of(
        worker, clock=clock, around=AttemptContext(gates=gates(clock, max_tries=4), provider="acme")
    )
    assert isinstance(outcome, Lost)
    assert (outcome.kind, outcome.resumable, len(worker.deliveries)) == ("rate_limit", True, 4)
    assert outcome.usage == Usage(calls=4, tokens=16)
    assert "0123456789" not in outcome.reason
    assert outcome.seconds == clock.monotonic()


async def test_interruption_without_gates_is_lost_at_once() -> None:
    outcome = await outcome_of(Interrupted(1))
    assert isinstance(outcome, Lost)
    assert outcome.usage == Usage(calls=1, reported=False)


@pytest.mark.req("S51")
async def test_waiting_at_the_gate_is_outside_time_limits_and_slot() -> None:
    clock = FakeClock(auto=True)
    slots, entered = asyncio.Semaphore(1), []

    @asynccontextmanager
    async def slot() -> AsyncIterator[None]:
        async with slots:
            entered.append(clock.monotonic())
            yield

    async def neighbour() -> float:
        await clock.sleep(5)
        async with slots:
            return clock.monotonic()

    around = AttemptContext(gates=gates(clock), provider="acme", slot=slot)
    limits = AttemptLimits(timeout_s=3, inactivity_s=2)
    outcome, free_at = await asyncio.gather(
        outcome_of(Interrupted(1, retry_after_s=60), clock=clock, limits=limits, around=around), neighbour()
    )
    assert isinstance(outcome, Finished)
    assert outcome.report is DONE
    assert (free_at, entered[0], entered[1] >= 60) == (5, 0, True)


# --- the caller ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [AttemptLimits(), AttemptLimits(timeout_s=100, inactivity_s=100)])
async def test_cancelled_caller_finds_the_worker_stopped(limits: AttemptLimits) -> None:
    clock = FakeClock()
    worker = Stubborn(clock, item=Note())
    task = asyncio.ensure_future(outcome_of(worker, clock=clock, limits=limits))
    await clock.advance(3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert worker.ended_at == 3
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelled_caller_waits_no_longer_than_grace() -> None:
    clock = FakeClock(auto=True)
    worker = Stubborn(clock, item=Note(), linger_s=1000, heeds=False)
    task = asyncio.ensure_future(outcome_of(worker, clock=clock, limits=AttemptLimits(grace_s=5)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (clock.monotonic(), worker.ended_at) == (5, None)
    await clock.sleep(2000)
    assert worker.ended_at == 1000


async def test_cancelled_while_the_worker_winds_down_lets_go() -> None:
    clock = FakeClock()
    worker = Stubborn(clock, linger_s=1000)
    task = asyncio.ensure_future(outcome_of(worker, clock=clock, monitors=monitors(), limits=AttemptLimits(grace_s=50)))
    await clock.advance(10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert worker.ended_at == 10


async def test_events_are_told_in_order_and_awaited() -> None:
    told: list[Any] = []

    async def on_event(event: Any) -> None:
        await asyncio.sleep(0)
        told.append(event)

    await finished(scripted(Note(text="1"), LOOKUP, DONE), around=AttemptContext(on_event=on_event))
    assert told == [Note(text="1"), LOOKUP]


async def test_error_of_the_caller_stops_the_worker_and_is_raised_as_it_is() -> None:
    worker = scripted(Note(), Note(), DONE)

    def on_event(event: Any) -> None:
        raise OSError("journal is full")

    with pytest.raises(OSError, match="journal is full"):
        await outcome_of(worker, around=AttemptContext(on_event=on_event))
    assert worker.stopped == ["count"]


@pytest.mark.req("S04")
async def test_scripted_workers_finish_in_the_order_the_test_decides() -> None:
    first, second = asyncio.Event(), asyncio.Event()
    worker = ScriptedWorker({"a": [first, DONE], "b": lambda given: [second, DONE]})
    tasks = [
        asyncio.ensure_future(supervise(worker, assignment(goal=goal), DELIVERY, clock=FakeClock()))
        for goal in ("a", "b")
    ]
    await FakeClock().settle()
    assert (worker.running, worker.most_running, dict(worker.calls)) == (2, 2, {"a": 1, "b": 1})
    second.set()
    await tasks[1]
    first.set()
    await tasks[0]
    assert (worker.finished, worker.running) == (["b", "a"], 0)
    assert [given.goal for given, _ in worker.deliveries] == ["a", "b"]


async def test_scripted_worker_says_what_its_script_lacks() -> None:
    report = (await finished(ScriptedWorker({}))).report
    assert isinstance(report, Failed)
    assert "no script for goal 'count'" in report.reason
    outcome = await outcome_of(scripted(Pause(1)))
    assert isinstance(outcome, Lost)
    assert "needs a clock" in outcome.reason
    report = (await finished(ScriptedWorker.succeeding())).report
    assert isinstance(report, Success)
    assert report.result == "count"
