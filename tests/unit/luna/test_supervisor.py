"""What the supervisor makes of what a worker yields, and of what it raises."""

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

from luna.errors import Interruption, ModelNotFoundError, WorkerConfigError
from luna.protocol import (
    Action,
    Assignment,
    Compacted,
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
from luna.schemas import SchemaUnusableError
from luna.supervisor import AttemptContext, AttemptLimits, Finished, Lost
from tests.support.supervised import DONE, Awkward, finished, in_evidence, monitors, outcome_of, scripted

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
    settings = {"patience": None, "repeat_limit": 2, "error_limit": 2, "break_limit": 1, "drift_limit": None}
    outcome = await finished(scripted(*script), monitors=monitors(**settings, max_steps=5))
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
    assert outcome.report.summary == "done"  # type: ignore[union-attr]  # a SUCCESS
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


async def test_report_that_is_no_json_names_the_place() -> None:
    report = (await finished(scripted(Success(summary="x", result={"rows": [1, float("nan")]})))).report
    assert isinstance(report, Failed)
    assert report.reason == ("the SUCCESS report is no JSON: its result['rows'][1] is nan, which JSON cannot hold")


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
        (Waiting(what="x" * 2000, deadline_s=1), FailedKind.OUTPUT_LIMIT),
        (Action(name="a", arguments={"content": "x" * 1025}), FailedKind.OUTPUT_LIMIT),
        (Action(name="a", arguments={"content": "\ud800"}), FailedKind.FORMAT),
        (Action(name="a", arguments={"n": float("nan")}), FailedKind.FORMAT),
        (Progress(stage=Stage.EVIDENCE, evidence="\ud800"), FailedKind.FORMAT),
        (Partial(key="k", value="\ud800"), FailedKind.FORMAT),
        (Partial(key="k", value=10**4300), FailedKind.FORMAT),
        (Said(text="\ud800"), FailedKind.FORMAT),
        (Waiting(what="x", deadline_s=float("inf")), FailedKind.FORMAT),
    ],
)
async def test_event_that_is_too_large_or_no_json_ends_the_attempt_untold(item: Any, kind: FailedKind) -> None:
    seen: list[Any] = []
    around = AttemptContext(on_event=seen.append)
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
    assert in_evidence(report, "raised in run (fakes.py:")


@pytest.mark.req("S51")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelNotFoundError("no weights; key sk-abcdefghijklmnopqrst"), "model"),
        (WorkerConfigError("no Luna model is set"), "worker"),
        (SchemaUnusableError("the schema is wrong at $"), "worker"),
    ],
)
async def test_worker_that_cannot_be_used_is_lost_whatever_its_fallback_and_costs_what_it_told(
    error: Exception, kind: str
) -> None:
    outcome = await outcome_of(scripted(error), around=AttemptContext(on_error=1))
    assert isinstance(outcome, Lost)
    assert (outcome.kind, outcome.resumable, outcome.usage) == (kind, True, Usage())
    assert "abcdefghijkl" not in outcome.reason
    told = await outcome_of(scripted(Spent(usage=Usage(calls=1, tokens=5)), error))
    assert told.usage == Usage(calls=1, tokens=5)
    report = (await finished(scripted(DONE, error))).report
    assert in_evidence(report, f"after its end the worker raised {type(error).__name__}")


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
    around = AttemptContext(on_error={"total": None})

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
    report = (await finished(scripted(Note()), around=AttemptContext(on_error=1))).report
    assert report.status == "FAILED"


# --- what was built without validation -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        Success.model_construct(status="SUCCESS", result=1),
        Compacted.model_construct(type="compacted", before_tokens=math.nan, after_tokens=1),
        Spent(usage=Usage(tokens=10**5000)),
        Action.model_construct(type="action"),
    ],
    ids=lambda given: type(given).__name__,
)
async def test_what_lacks_fields_or_holds_other_types_is_failed_format(given: Any) -> None:
    report = (await finished(scripted(given, DONE))).report
    assert isinstance(report, Failed)
    assert report.kind == FailedKind.FORMAT


async def test_tuples_are_kept_as_the_lists_that_they_read_back_as() -> None:
    told: list[Any] = []
    part = Partial.model_construct(type="partial", key="k", value=(1, {"a": (2,)}))
    report = Success.model_construct(
        status="SUCCESS", summary="", result={"x": (1, 2)}, evidence=(), remaining_risks=(), suggestions={}
    )
    outcome = await finished(scripted(part, report), around=AttemptContext(on_event=told.append))
    assert outcome.report.result == {"x": [1, 2]}  # type: ignore[union-attr]
    assert told[0].value == [1, {"a": [2]}]


async def test_exception_with_half_of_a_surrogate_pair_is_told_with_what_can_be_kept() -> None:
    report = (await finished(scripted(RuntimeError("no \ud800 way")))).report
    assert report.model_copy(update={"evidence": ()}) == Failed(
        kind=FailedKind.EXCEPTION, reason="RuntimeError: no \ufffd way"
    )
