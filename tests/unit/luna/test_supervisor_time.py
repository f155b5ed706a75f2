"""Supervised workers: alarms and time limits."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from luna.protocol import Action, Assignment, Delivery, Note, Progress, Stage, Stuck, StuckKind, Waiting
from luna.supervisor import AttemptContext, AttemptLimits, Finished
from luna.testing import FakeClock, Pause
from tests.support.supervised import (
    DONE,
    LOOKUP,
    Awkward,
    Stubborn,
    finished,
    in_evidence,
    monitors,
    outcome_of,
    scripted,
)


@pytest.mark.req("S10", "S50")
@pytest.mark.case("LOOP-01")
async def test_looping_worker_is_stopped_at_the_fourth_call_before_it_is_reported() -> None:
    clock, seen = FakeClock(auto=True), []
    worker = Stubborn(clock, linger_s=2)
    outcome = await finished(
        worker, clock=clock, monitors=monitors(max_steps=50), around=AttemptContext(on_event=seen.append)
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


@pytest.mark.parametrize("limits", [AttemptLimits(), AttemptLimits(timeout_s=100, inactivity_s=50)])
@pytest.mark.parametrize("script", [[DONE], [Note(), Pause(3), DONE]])
async def test_attempt_needs_one_task_whatever_its_limits(limits: AttemptLimits, script: list[Any]) -> None:
    made: list[Any] = []
    loop = asyncio.get_running_loop()

    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> "asyncio.Task[Any]":
        made.append(coro)
        return asyncio.Task(coro, loop=loop, **more)

    clock = FakeClock(auto=True)
    loop.set_task_factory(factory)
    try:
        outcome = await outcome_of(scripted(*script, clock=clock), clock=clock, limits=limits, monitors=monitors())
    finally:
        loop.set_task_factory(None)
    assert isinstance(outcome, Finished)
    assert (outcome.report, len(made), clock.sleeping) == (DONE, 1, 0)


@pytest.mark.parametrize(
    "wrong", [{"timeout_s": 0}, {"inactivity_s": -1}, {"grace_s": -1}, {"max_events": 0}, {"report_bytes": 1023}]
)
def test_limits_that_leave_nothing_to_do_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is a number from|{next(iter(wrong))} is a number above"):
        AttemptLimits(**wrong)
