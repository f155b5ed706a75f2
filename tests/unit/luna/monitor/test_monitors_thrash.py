"""Context thrash: summaries of the context with nothing new in between, and summaries that free nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from luna.monitor import Alarm, Monitors, MonitorSettings
from luna.protocol import Action, Compacted, Partial, Progress, ProgressEvent, Said, Stage, StuckKind, Success, Waiting
from luna.testing import ScriptedWorker
from sol import Sol
from tests.support import commands
from tests.support.assignments import assignment
from tests.support.monitoring import OFF
from tests.support.runs import task

SUMMARY = Compacted(before_tokens=900, after_tokens=360)
FUTILE = Compacted(before_tokens=900, after_tokens=850)


def only(**settings: Any) -> Monitors:
    return Monitors.from_settings(MonitorSettings(**{**OFF, "thrash_limit": 3, **settings}), assignment())


def first_alarm(monitors: Monitors, events: Sequence[ProgressEvent]) -> tuple[int, Alarm]:
    for number, event in enumerate(events, 1):
        alarm = monitors.see(event, float(number))
        if alarm is not None:
            return number, alarm
    return 0, Alarm(StuckKind.OTHER, "none")


def read(file: str, text: str = "") -> Action:
    return Action(name="read_file", arguments={"path": file}, observation=text or f"text of {file}", paths=(file,))


def edit(file: str, line: int) -> Action:
    return Action(name="edit_file", arguments={"path": file, "line": line}, observation="ok", paths=(file,))


FAQ, LOG = read("faq.md"), read("log.txt")
FOUND = Progress(stage=Stage.EVIDENCE, evidence="line 3 of the log")


@pytest.mark.req("S50")
@pytest.mark.case("CTX-01")
@pytest.mark.parametrize("limit", [2, 3, 6])
def test_thrash_fires_at_the_nth_summary_and_lists_what_was_read_again(limit: int) -> None:
    number, alarm = first_alarm(only(thrash_limit=limit), [FAQ, LOG, *[SUMMARY, FAQ, LOG, FAQ] * 20])
    assert number == 2 + 4 * (limit - 1) + 1
    assert alarm.kind is StuckKind.CONTEXT_THRASH
    assert alarm.reason == f"context thrash: the context was summarised {limit} times with nothing new in between"
    assert alarm.evidence == (
        f"summaries: {limit}",
        "last summary: 900 to 360 tokens",
        f"done again {2 * (limit - 1)} times: read_file(path='faq.md')",
        f"done again {limit - 1} times: read_file(path='log.txt')",
    )


@pytest.mark.case("CTX-01")
def test_thrash_is_stuck_before_anything_else_fires_at_the_default_settings() -> None:
    watch = Monitors.from_settings(MonitorSettings(), assignment())
    number, alarm = first_alarm(watch, [FAQ, SUMMARY] * 20)
    assert (number, alarm.kind, "context thrash" in alarm.reason) == (6, StuckKind.CONTEXT_THRASH, True)
    assert "done again 2 times: read_file(path='faq.md')" in alarm.evidence


@pytest.mark.case("CTX-01")
@pytest.mark.parametrize(
    ("events", "fires_at"),
    [
        ([FUTILE, FUTILE], 2),
        ([FAQ, FUTILE, FAQ, FUTILE], 4),
        ([FUTILE, FAQ, FUTILE], 0),  # a new result of one that never reports
        ([FUTILE, SUMMARY, FUTILE], 3),  # the third summary at all
        ([Compacted(before_tokens=0, after_tokens=0)] * 2, 0),  # nothing is known of its size
        ([Compacted(before_tokens=900, after_tokens=809)] * 2, 0),
        ([Compacted(before_tokens=900, after_tokens=810)] * 2, 2),
        ([FUTILE, FOUND, FUTILE], 0),
    ],
)
def test_summaries_that_free_nothing_twice_in_a_row_are_thrash(events: list[ProgressEvent], fires_at: int) -> None:
    number, alarm = first_alarm(only(), events)
    assert number == fires_at
    if fires_at:
        assert alarm.kind is StuckKind.CONTEXT_THRASH


def test_summaries_that_free_nothing_are_told_with_their_sizes() -> None:
    alarm = first_alarm(only(), [FUTILE, FUTILE])[1]
    assert alarm.reason == ("context thrash: 2 summaries in a row freed next to nothing, the last 900 to 850 tokens")
    assert "nothing was done again" in alarm.evidence


@pytest.mark.parametrize(
    "news",
    [
        [FOUND],
        [Progress(stage=Stage.UNKNOWN, evidence="the log is complete, so it is not the writer")],
        [Partial(key="part", value=1)],
        [edit("a.py", 1)],
        [read("new.md"), read("other.md"), read("third.md")],
        [Waiting(what="job-7", deadline_s=1e9), Action(name="status", arguments={"of": "job-7"}, observation="RUNS")],
    ],
    ids=["rise", "evidence", "part", "change", "mostly-new-results", "declared-wait"],
)
def test_anything_new_between_summaries_starts_the_count_anew(news: list[ProgressEvent]) -> None:
    again: list[ProgressEvent] = [SUMMARY, FAQ, SUMMARY, FAQ]
    assert first_alarm(only(), [FAQ, *again, *news, *again, SUMMARY])[0] == 1 + 4 + len(news) + 5
    assert first_alarm(only(), [FAQ, *again, *news, *again])[0] == 0


@pytest.mark.parametrize(
    "nothing",
    [
        Progress(stage=Stage.EVIDENCE, evidence="line 3 of the log"),
        edit("a.py", 1),
        Said(text="Where was I?"),
        Action(name="edit_file", arguments={"path": "b.py"}, observation="denied", error=True, paths=("b.py",)),
        read("late.md"),
    ],
    ids=["old-evidence", "old-change", "text", "failed-change", "reading"],
)
def test_what_is_not_new_does_not_start_the_count_anew(nothing: ProgressEvent) -> None:
    events = [FOUND, edit("a.py", 1), FAQ, SUMMARY, FAQ, nothing, SUMMARY, FAQ, SUMMARY]
    assert first_alarm(only(), events)[0] == len(events)


def test_worker_that_never_reports_needs_more_new_results_than_repeats() -> None:
    def rounds(new: int) -> list[ProgressEvent]:
        one = [[FAQ, LOG, *(read(f"{n}-{k}.md") for k in range(new)), SUMMARY] for n in range(9)]
        return [event for events in one for event in events]

    assert first_alarm(only(), rounds(3))[0] == 0
    number, alarm = first_alarm(only(), rounds(2))
    assert (number, alarm.kind) == (3 * 5, StuckKind.CONTEXT_THRASH)


def test_what_was_done_again_is_listed_up_to_a_bound() -> None:
    files = [read(f"{n}.md", "same") for n in range(1100)]
    alarm = first_alarm(only(thrash_limit=2), [FOUND, *files[-40:], SUMMARY, *files[-40:], SUMMARY])[1]
    assert len(alarm.evidence) == 12
    many = [FOUND, SUMMARY, *files, *files[-1000:], SUMMARY]
    assert first_alarm(only(thrash_limit=2), many)[0] == len(many)


def test_another_attempt_starts_with_no_summaries() -> None:
    watch = only()
    assert first_alarm(watch, [FAQ, SUMMARY, FAQ, SUMMARY])[0] == 0
    assert first_alarm(watch.fresh(), [FAQ, SUMMARY, FAQ, SUMMARY])[0] == 0


def test_summaries_are_passed_over_when_the_detector_is_off() -> None:
    assert first_alarm(only(thrash_limit=None), [SUMMARY] * 50)[0] == 0


@pytest.mark.case("CTX-01")
async def test_command_may_report_its_summaries_as_progress(tmp_path: Path) -> None:
    script = f"print({SUMMARY.model_dump_json()!r})\nprint('done')"
    events = await commands.run(tmp_path, commands.py(script), progress="jsonl")
    assert SUMMARY in events
    assert getattr(events[-1], "result", None) == "done"


@pytest.mark.case("CTX-01")
async def test_node_whose_luna_thrashes_is_stuck_and_says_so(tmp_path: Path) -> None:
    worker = ScriptedWorker(lambda _: [*[FAQ, SUMMARY] * 20, Success(summary="done", result=1)])
    run = await Sol(strategy="single", worker=worker, workspace=tmp_path).asolve(task())
    (node,) = run.tree
    assert node.report is not None
    assert (node.report.status, node.report.kind) == ("STUCK", "context_thrash")
    assert "context thrash" in node.report.blocker
    assert "done again 2 times: read_file(path='faq.md')" in node.report.evidence
