import asyncio
import gc
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from luna.errors import Interruption
from luna.gate import Gates, RetryPolicy
from luna.monitor import Monitors, MonitorSettings
from luna.protocol import (
    Action,
    Assignment,
    Delivery,
    Failed,
    FailedKind,
    Note,
    Partial,
    Progress,
    Said,
    Spent,
    Stage,
    Stuck,
    StuckKind,
    Success,
    Usage,
    Waiting,
)
from luna.supervisor import AttemptLimits, Finished, Lost, Surroundings, supervise
from luna.testing import FakeClock, Pause, ScriptedWorker

DONE = Success(summary="done", result=7)
LOOKUP = Action(name="lookup", arguments={"q": "gallium boiling"}, observation="3 hits: a,b,c")
DELIVERY = Delivery(key="run/0/attempt/1", workspace=Path())


def assignment(goal: str = "count") -> Assignment:
    return Assignment.model_validate(
        {
            "goal": goal,
            "context": "none",
            "inputs": "none",
            "constraints": "none",
            "expected_output": "a number",
            "success_criteria": ["it is right"],
            "stop_conditions": ["there is nothing to count"],
        }
    )


def scripted(*items: Any, clock: FakeClock | None = None) -> ScriptedWorker:
    return ScriptedWorker({"count": list(items)}, clock=clock)


async def outcome_of(worker: Any, *, clock: FakeClock | None = None, **options: Any) -> Finished | Lost:
    return await supervise(worker, assignment(), DELIVERY, clock=clock or FakeClock(auto=True), **options)


async def finished(worker: Any, **options: Any) -> Finished:
    outcome = await outcome_of(worker, **options)
    assert isinstance(outcome, Finished)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return outcome


def monitors(**settings: Any) -> Monitors:
    return Monitors.from_settings(MonitorSettings(**settings), assignment())


def in_evidence(report: Any, text: str) -> bool:
    return any(text in item for item in report.evidence)


# --- reports ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("S55")
@pytest.mark.parametrize("report", [DONE, Stuck(blocker="no key"), Failed(reason="no such thing")])
async def test_report_is_handed_up_as_it_is(report: Any) -> None:
    outcome = await finished(
        scripted(Note(), Spent(usage=Usage(calls=2, tokens=9)), Spent(usage=Usage(calls=1)), report)
    )
    assert outcome.report is report
    assert outcome.usage == Usage(calls=3, tokens=9)
    assert (outcome.events, outcome.stopped, outcome.seconds) == (3, False, 0)


async def test_worker_that_says_nothing_of_its_use_counts_as_one_unreported_call() -> None:
    assert (await finished(scripted(DONE))).usage == Usage(calls=1, reported=False)


@pytest.mark.req("S52", "S55")
@pytest.mark.case("STAT-01")
async def test_end_without_report_is_failed_no_status() -> None:
    report = (await finished(scripted(Note(), Said(text="All done, goodbye!")))).report
    assert report == Failed(kind=FailedKind.NO_STATUS, reason="the worker ended without a report, after 2 events")


@pytest.mark.case("STAT-01")
async def test_step_limit_with_a_polite_summary_is_stuck_with_the_summary() -> None:
    steps = [Action(name="read", observation=f"page {n}") for n in range(9)]
    script = [*steps[:2], Said(text="I have read a lot."), *steps[2:], DONE]
    settings = {"patience": None, "repeat_limit": 2, "error_limit": 2, "drift_limit": None, "max_steps": 5}
    outcome = await finished(scripted(*script), monitors=monitors(**settings))
    assert isinstance(outcome.report, Stuck)
    assert (outcome.report.kind, outcome.report.summary) == (StuckKind.STEP_LIMIT, "I have read a lot.")


async def test_first_report_counts_and_the_rest_is_noted() -> None:
    worker = scripted(Stuck(blocker="b"), DONE, Note(), Spent(usage=Usage(calls=1, tokens=5)))
    outcome = await finished(worker)
    assert isinstance(outcome.report, Stuck)
    assert in_evidence(outcome.report, "disregarded, came after the end: Success, Note, Spent (3 in all)")
    assert (outcome.usage.tokens, outcome.events, worker.finished) == (5, 0, ["count"])


async def test_endless_items_after_the_report_are_cut() -> None:
    outcome = await finished(scripted(DONE, *[Note()] * 10_000))
    assert outcome.report.summary == "done"  # type: ignore[union-attr] - a SUCCESS
    assert in_evidence(outcome.report, "(100 in all)")


@pytest.mark.req("S52")
@pytest.mark.parametrize("item", [{"status": "SUCCESS", "summary": "x"}, "SUCCESS", None, 42])
async def test_item_that_is_neither_event_nor_report_is_never_success(item: Any) -> None:
    report = (await finished(scripted(Note(), item, DONE))).report
    assert isinstance(report, Failed)
    assert (report.kind, type(item).__name__ in report.reason) == (FailedKind.FORMAT, True)


@pytest.mark.parametrize("result", [float("nan"), [float("inf")], "\ud800"])
async def test_report_that_is_no_json_is_failed_format(result: Any) -> None:
    report = (await finished(scripted(Success(summary="x", result=result)))).report
    assert isinstance(report, Failed)
    assert report.kind is FailedKind.FORMAT


async def test_report_built_without_validation_is_checked() -> None:
    built = Success.model_construct(status="SUCCESS", summary="x", result={1, 2}, evidence=(), remaining_risks=())
    report = (await finished(scripted(built))).report
    assert (report.status, getattr(report, "kind", None)) == ("FAILED", FailedKind.FORMAT)
    part = Partial.model_construct(type="partial", key="k", value={1, 2})
    report = (await finished(scripted(part, DONE))).report
    assert (report.status, getattr(report, "kind", None)) == ("FAILED", FailedKind.FORMAT)


@pytest.mark.case("LOOP-07")
@pytest.mark.parametrize(
    "item", [Success(summary="lantern " * 50_000), Said(text="lantern " * 50_000 + '{"status":"SUCCESS"}')]
)
async def test_reply_over_the_limit_keeps_head_and_tail_only(item: Any) -> None:
    outcome = await finished(scripted(item, DONE), limits=AttemptLimits(report_bytes=100_000))
    report = outcome.report
    assert isinstance(report, Failed)
    assert report.kind is FailedKind.OUTPUT_LIMIT
    assert "reply over limit, repeated text" in report.reason
    assert "100000 allowed" in report.reason
    assert 2000 < len(report.model_dump_json()) < 4000


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (Action(name="a", observation="é" * 600), FailedKind.OUTPUT_LIMIT),
        (Note(text="x" * 1025), FailedKind.OUTPUT_LIMIT),
        (Progress(stage=Stage.EVIDENCE, evidence="x" * 1025), FailedKind.OUTPUT_LIMIT),
        (Partial(key="k", value="x" * 1025), FailedKind.OUTPUT_LIMIT),
        (Note(text="é" * 512), FailedKind.NO_STATUS),
        (Waiting(what="x" * 2000, deadline_s=1), FailedKind.NO_STATUS),
    ],
)
async def test_size_of_events_is_limited_in_bytes(item: Any, kind: FailedKind) -> None:
    seen: list[Any] = []
    around = Surroundings(on_event=seen.append)
    report = (await finished(scripted(item), limits=AttemptLimits(report_bytes=1024), around=around)).report
    assert isinstance(report, Failed)
    assert (report.kind, len(seen)) == (kind, int(kind is FailedKind.NO_STATUS))


# --- exceptions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [ValueError("bad"), SystemExit(3), RecursionError("deep"), GeneratorExit(), TimeoutError()]
)
async def test_exception_is_failed_exception_and_says_where(error: BaseException) -> None:
    report = (await finished(scripted(Note(), error))).report
    assert isinstance(report, Failed)
    assert report.kind is FailedKind.EXCEPTION
    assert report.reason == f"{type(error).__name__}: {error}".removesuffix(": ")
    assert in_evidence(report, "raised in run (worker.py:")


async def test_exception_message_is_kept_without_secrets_and_short() -> None:
    report = (await finished(scripted(ValueError("key sk-abcdefghijklmnopqrst refused " + "x" * 9000)))).report
    assert isinstance(report, Failed)
    assert "abcdefghijkl" not in report.reason
    assert len(report.reason) <= 2000


async def test_exception_that_cannot_say_what_it_is_is_reported_too() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    report = (await finished(scripted(MuteError()))).report
    assert isinstance(report, Failed)
    assert report.reason == "MuteError: (its message cannot be read)"


async def test_cancellation_inside_the_worker_is_its_fault_not_ours() -> None:
    report = (await finished(scripted(asyncio.CancelledError("inner")))).report
    assert isinstance(report, Failed)
    assert (report.kind, report.reason) == (FailedKind.EXCEPTION, "CancelledError: inner")


async def test_exception_after_the_report_is_noted() -> None:
    report = (await finished(scripted(DONE, ValueError("late")))).report
    assert report.status == "SUCCESS"
    assert in_evidence(report, "after its end the worker raised ValueError: late")
    report = (await finished(scripted(DONE, Interruption("outage", "x")))).report
    assert report.status == "SUCCESS"


class Awkward:
    """A worker whose run is not an async generator."""

    def __init__(self, run: Any) -> None:
        self.run = run


async def test_run_that_is_no_async_generator_is_failed() -> None:
    async def returns(given: Assignment, delivery: Delivery) -> Success:
        return DONE

    def raises(given: Assignment, delivery: Delivery) -> Any:
        raise OSError("gone")

    for run, says in ((returns, "async generator"), (raises, "OSError: gone"), (lambda a, d: [DONE], "list")):
        report = (await finished(Awkward(run))).report
        assert isinstance(report, Failed)
        assert (report.kind, says in report.reason) == (FailedKind.EXCEPTION, True)


async def test_plain_async_iterator_is_read_too() -> None:
    class Items:
        def __init__(self) -> None:
            self.items: list[Any] = [Note(), DONE]

        def __aiter__(self) -> AsyncIterator[Any]:
            return self

        async def __anext__(self) -> Any:
            if not self.items:
                raise StopAsyncIteration
            return self.items.pop(0)

    assert (await finished(Awkward(lambda given, delivery: Items()))).report is DONE


@pytest.mark.case("PAR-01")
async def test_declared_fallback_gives_a_degraded_success_alone_and_in_parallel() -> None:
    around = Surroundings(on_error={"total": None})

    async def left() -> Finished:
        outcome = await outcome_of(scripted(ValueError("boom")), around=around)
        assert isinstance(outcome, Finished)
        return outcome

    alone = await left()
    together, right = await asyncio.gather(left(), outcome_of(scripted(DONE)))
    assert alone == together
    assert isinstance(alone.report, Success)
    assert alone.report.result == {"total": None}
    assert alone.report.remaining_risks == ("degraded: the worker raised ValueError: boom",)
    assert isinstance(right, Finished)
    assert right.report is DONE


@pytest.mark.req("S52")
async def test_declared_fallback_is_for_exceptions_only() -> None:
    report = (await finished(scripted(Note()), around=Surroundings(on_error=1))).report
    assert report.status == "FAILED"


# --- alarms and time -------------------------------------------------------------------------------------------------


class Stubborn:
    """Acts for ever; on being stopped it lingers, heeds nothing, or raises."""

    def __init__(self, clock: FakeClock, *, linger_s: float = 0.0, heeds: bool = True, item: Any = LOOKUP) -> None:
        self.clock = clock
        self.linger_s = linger_s
        self.heeds = heeds
        self.item = item
        self.calls = 0
        self.ended_at: float | None = None

    async def run(self, given: Assignment, delivery: Delivery) -> AsyncIterator[Any]:
        try:
            while True:
                self.calls += 1
                yield self.item
                await self.clock.sleep(1)
        finally:
            ends = self.clock.monotonic() + self.linger_s
            while self.clock.monotonic() < ends:
                try:
                    await self.clock.sleep(ends - self.clock.monotonic())
                except asyncio.CancelledError:
                    if self.heeds:
                        break
            self.ended_at = self.clock.monotonic()


@pytest.mark.req("S10", "S50")
@pytest.mark.case("LOOP-01")
async def test_looping_worker_is_stopped_at_the_fourth_call_before_it_is_reported() -> None:
    clock, seen = FakeClock(auto=True), []
    worker = Stubborn(clock, linger_s=2)
    outcome = await finished(
        worker, clock=clock, monitors=monitors(max_steps=50), around=Surroundings(on_event=seen.append)
    )
    report = outcome.report
    assert isinstance(report, Stuck)
    assert (report.kind, worker.calls, len(seen), outcome.events) == (StuckKind.REPETITION, 4, 4, 4)
    assert worker.ended_at == 5  # four calls a second apart, and its own two seconds to end: all before the report
    assert outcome.seconds == 5
    assert outcome.stopped
    assert report.attempted == ("lookup(q='gallium boiling')",)
    assert "last observation: 3 hits: a,b,c" in report.evidence


async def test_worker_that_lingers_beyond_grace_is_cancelled() -> None:
    clock = FakeClock(auto=True)
    worker = Stubborn(clock, linger_s=1000)
    outcome = await finished(worker, clock=clock, monitors=monitors(), limits=AttemptLimits(grace_s=5))
    assert (outcome.report.status, worker.ended_at) == ("STUCK", 3 + 5)
    assert not in_evidence(outcome.report, "still running")


async def test_worker_that_heeds_no_cancellation_is_left_behind_and_named() -> None:
    clock = FakeClock(auto=True)
    worker = Stubborn(clock, linger_s=1000, heeds=False)
    outcome = await outcome_of(worker, clock=clock, monitors=monitors(), limits=AttemptLimits(grace_s=5))
    assert isinstance(outcome, Finished)
    assert in_evidence(outcome.report, "still running 5 s after it was cancelled")
    assert (outcome.seconds, worker.ended_at) == (13, None)
    gc.collect()  # nobody but the supervisor holds the worker's task now
    await clock.sleep(2000)
    assert worker.ended_at == 1003


async def test_worker_that_raises_while_it_is_closed_is_noted() -> None:
    async def run(given: Assignment, delivery: Delivery) -> AsyncIterator[Any]:
        try:
            while True:
                yield LOOKUP
        finally:
            raise OSError("cannot clean up")

    report = (await finished(Awkward(run), monitors=monitors())).report
    assert isinstance(report, Stuck)
    assert in_evidence(report, "while it was closed the worker raised OSError: cannot clean up")


async def test_worker_that_yields_on_after_closing_is_noted() -> None:
    async def run(given: Assignment, delivery: Delivery) -> AsyncIterator[Any]:
        with suppress(GeneratorExit):
            while True:
                yield LOOKUP
        yield DONE

    report = (await finished(Awkward(run), monitors=monitors())).report
    assert isinstance(report, Stuck)
    assert in_evidence(report, "ignored GeneratorExit")
    gc.collect()


async def test_report_carries_what_is_known_and_was_attempted() -> None:
    known = [Progress(stage=Stage.HYPOTHESIS, evidence="e1"), Progress(stage=Stage.EVIDENCE, evidence="e2")]
    tried = [Action(name="a", observation="1"), Action(name="b", observation="2")]
    worker = scripted(*known, known[1], *tried, *tried, *tried)
    report = (await finished(worker, monitors=monitors(patience=3))).report
    assert isinstance(report, Stuck)
    assert (report.known, report.attempted) == (("e1", "e2"), ("a()", "b()"))


async def test_total_timeout_is_stuck() -> None:
    clock = FakeClock(auto=True)
    worker = Stubborn(clock, item=Note())
    outcome = await finished(worker, clock=clock, limits=AttemptLimits(timeout_s=10.5))
    report = outcome.report
    assert isinstance(report, Stuck)
    assert (report.kind, report.blocker) == (StuckKind.TIMEOUT, "no report within 10.5 s")
    assert (outcome.seconds, worker.ended_at, outcome.stopped) == (10.5, 10.5, True)
    assert "last action: nothing reported" in report.evidence


async def test_inactivity_timeout_is_stuck_and_events_put_it_off() -> None:
    clock = FakeClock(auto=True)
    worker = scripted(LOOKUP, Pause(8), Note(), Pause(8), Note(), Pause(60), DONE, clock=clock)
    outcome = await finished(worker, clock=clock, limits=AttemptLimits(inactivity_s=10, timeout_s=500))
    report = outcome.report
    assert isinstance(report, Stuck)
    assert (report.kind, report.blocker, outcome.seconds) == (StuckKind.TIMEOUT, "no sign of life for 10 s", 26)
    assert "last action: lookup(q='gallium boiling')" in report.evidence
    assert worker.stopped == ["count"]


@pytest.mark.req("S50")
async def test_declared_wait_puts_inactivity_off_until_its_deadline() -> None:
    clock = FakeClock(auto=True)
    limits = AttemptLimits(inactivity_s=10)
    patient = scripted(Waiting(what="job", deadline_s=100), Pause(90), DONE, clock=clock)
    assert (await finished(patient, clock=clock, limits=limits)).report is DONE
    late = scripted(Waiting(what="job", deadline_s=100), Pause(900), DONE, clock=clock)
    outcome = await finished(late, clock=clock, limits=limits)
    assert (outcome.report.status, outcome.seconds) == ("STUCK", 100)


async def test_report_in_time_is_not_touched_by_time_limits() -> None:
    clock = FakeClock(auto=True)
    limits = AttemptLimits(inactivity_s=10, timeout_s=20, grace_s=3)
    outcome = await finished(scripted(Pause(9), DONE, Pause(2), clock=clock), clock=clock, limits=limits)
    assert (outcome.report, outcome.seconds) == (DONE, 11)


async def test_time_out_does_not_touch_a_report_whose_worker_lingers() -> None:
    clock = FakeClock(auto=True)
    limits = AttemptLimits(timeout_s=10, grace_s=3)
    worker = scripted(Pause(9), DONE, Pause(100), clock=clock)
    outcome = await finished(worker, clock=clock, limits=limits)
    assert (outcome.report, outcome.stopped, outcome.seconds, worker.stopped) == (DONE, False, 12, ["count"])


async def test_worker_that_never_waits_is_still_stopped_by_its_limits() -> None:
    async def run(given: Assignment, delivery: Delivery) -> AsyncIterator[Any]:
        while True:
            yield Note()

    outcome = await finished(Awkward(run), limits=AttemptLimits(max_events=1000))
    assert isinstance(outcome.report, Stuck)
    assert (outcome.report.kind, outcome.events) == (StuckKind.STEP_LIMIT, 1000)


async def test_worker_that_never_waits_lets_others_have_their_turn() -> None:
    others = 0

    async def run(given: Assignment, delivery: Delivery) -> AsyncIterator[Any]:
        while not others:
            yield Note()
        yield DONE

    async def other() -> None:
        nonlocal others
        others += 1

    outcome, _ = await asyncio.gather(outcome_of(Awkward(run)), other())
    assert isinstance(outcome, Finished)
    assert outcome.events <= 64


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
    around = Surroundings(gates=gates(clock), provider="acme", on_event=seen.append)
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
        worker, clock=clock, around=Surroundings(gates=gates(clock, max_tries=4), provider="acme")
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

    around = Surroundings(gates=gates(clock), provider="acme", slot=slot)
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

    await finished(scripted(Note(text="1"), LOOKUP, DONE), around=Surroundings(on_event=on_event))
    assert told == [Note(text="1"), LOOKUP]


async def test_error_of_the_caller_stops_the_worker_and_is_raised_as_it_is() -> None:
    worker = scripted(Note(), Note(), DONE)

    def on_event(event: Any) -> None:
        raise OSError("journal is full")

    with pytest.raises(OSError, match="journal is full"):
        await outcome_of(worker, around=Surroundings(on_event=on_event))
    assert worker.stopped == ["count"]


@pytest.mark.req("S04")
async def test_scripted_workers_finish_in_the_order_the_test_decides() -> None:
    first, second = asyncio.Event(), asyncio.Event()
    worker = ScriptedWorker({"a": [first, DONE], "b": lambda given: [second, DONE]})
    tasks = [
        asyncio.ensure_future(supervise(worker, assignment(goal), DELIVERY, clock=FakeClock())) for goal in ("a", "b")
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
    for worker, says in ((ScriptedWorker({}), "no script for goal 'count'"), (scripted(Pause(1)), "needs a clock")):
        report = (await finished(worker)).report
        assert isinstance(report, Failed)
        assert says in report.reason
    report = (await finished(ScriptedWorker.succeeding())).report
    assert isinstance(report, Success)
    assert report.result == "count"
