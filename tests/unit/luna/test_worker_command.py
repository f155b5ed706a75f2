"""Commands as workers."""

import asyncio
import json
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import JsonValue

from luna.process import ProcessLimits, ProcessResult
from luna.protocol import (
    Action,
    Assignment,
    Delivery,
    Failed,
    FailedKind,
    Note,
    Partial,
    ProgressEvent,
    Report,
    Stuck,
    StuckKind,
    Success,
)
from luna.verify import verify
from luna.workers.command import CommandOptions, CommandWorker
from luna.workers.outcome import judge

SUCCESS = '{"status": "SUCCESS", "summary": "done", "result": 7}'


def task(*, files: tuple[str, ...] = (), **inputs: JsonValue) -> Assignment:
    return Assignment.model_validate(
        {
            "goal": "count é",
            "context": "none",
            "inputs": inputs,
            "constraints": "none",
            "expected_output": {"description": "a number", "files": files},
            "success_criteria": ["it is right"],
            "stop_conditions": "never",
        }
    )


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def py(script: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", script]


async def run(
    workspace: Path, command: list[str] | str, /, inputs: dict[str, JsonValue] | None = None, **options: Any
) -> list[ProgressEvent | Report]:
    worker = CommandWorker(CommandOptions(command=command, **options))  # type: ignore[arg-type]  # pydantic reads lists
    delivery = Delivery(key="r/0/attempt/1", workspace=workspace, partial=options.pop("partial", {}))
    return [item async for item in worker.run(task(**(inputs or {})), delivery)]


async def report_of(workspace: Path, command: list[str] | str, /, **options: Any) -> Success | Stuck | Failed:
    [report] = await run(workspace, command, **options)
    assert isinstance(report, Success | Stuck | Failed)
    return report


async def result_of(workspace: Path, command: list[str] | str, /, **options: Any) -> JsonValue:
    report = await report_of(workspace, command, **options)
    assert isinstance(report, Success), report
    return report.result


async def failure_of(workspace: Path, command: list[str] | str, /, **options: Any) -> Failed:
    report = await report_of(workspace, command, **options)
    assert isinstance(report, Failed), report
    return report


# --- what it is given ---


async def test_assignment_is_read_from_stdin_with_files_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    given = await result_of(tmp_path, "cat", output="json", inputs={"a": {"file": "a.txt"}, "n": 3})
    assert isinstance(given, dict)
    assert Assignment.model_validate(given).goal == "count é"
    assert given["inputs"] == {"a": "one\ntwo\n", "n": 3}


async def test_parts_of_earlier_attempts_are_handed_back(tmp_path: Path) -> None:
    worker = CommandWorker(CommandOptions(command="cat", output="json"))
    delivery = Delivery(key="k", workspace=tmp_path, partial={"a": [1]})
    [report] = [item async for item in worker.run(task(), delivery)]
    assert isinstance(report, Success)
    assert isinstance(report.result, dict)
    assert report.result["partial"] == {"a": [1]}


async def test_one_input_is_read_as_text_or_json(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\n1\n2\n")
    part = {"file": "a.csv", "unit": "records", "start": 1, "stop": 2}
    assert await result_of(tmp_path, "cat", input="text", inputs={"a": part}) == "n\n2"
    assert await result_of(tmp_path, "cat", input="text", input_name="b", inputs={"a": part, "b": "x\n\n"}) == "x\n"
    given = await result_of(tmp_path, "cat", input="json", input_name="a", output="json", inputs={"a": part, "b": ""})
    assert given == [{"n": "2"}]
    assert await result_of(tmp_path, "cat", input="none", inputs={"a": part}) == ""


@pytest.mark.parametrize(
    ("inputs", "options", "kind", "message"),
    [
        ({"a": 1, "b": 2}, {"input": "text"}, StuckKind.INFORMATION_MISSING, "the task has ['a', 'b']; name one"),
        ({"a": 1}, {"input_name": "b"}, StuckKind.INFORMATION_MISSING, "no input 'b'; the inputs are ['a']"),
        ({"a": {"file": "gone"}}, {}, StuckKind.INFORMATION_MISSING, "'gone' cannot be read"),
        ({"a": "x" * 99}, {"input_bytes": 50}, StuckKind.SCOPE_TOO_LARGE, "at most 50"),
        ({"a": {"file": "/etc/passwd"}}, {}, FailedKind.REFUSED, "no path inside"),
    ],
)
async def test_unreadable_inputs_are_reported(
    tmp_path: Path, inputs: dict[str, JsonValue], options: dict[str, Any], kind: str, message: str
) -> None:
    report = await report_of(tmp_path, "touch started", inputs=inputs, **options)
    assert isinstance(report, Stuck | Failed)
    assert report.kind == kind
    assert message in (report.blocker if isinstance(report, Stuck) else report.reason)
    assert not (tmp_path / "started").exists()


async def test_environment_holds_workspace_attempt_and_named_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANTED", "w")
    monkeypatch.setenv("UNWANTED", "u")
    script = 'echo "$SOL_WORKSPACE|$SOL_ATTEMPT|$WANTED|$UNWANTED|$PWD"'
    found = await result_of(tmp_path, sh(script), env=["WANTED", "NOT_SET"])
    assert found == f"{tmp_path}|r/0/attempt/1|w||{tmp_path}"


async def test_words_of_the_command_stay_as_they_are(tmp_path: Path) -> None:
    assert await result_of(tmp_path, ["printf", "[%s]", " a ", "", "$HOME", "*"]) == "[ a ][][$HOME][*]"
    assert await result_of(tmp_path, "printf [%s] ' a ' '' $HOME *") == "[ a ][][$HOME][*]"


# --- what its output is ---


async def test_text_output_is_the_result_without_its_last_line_end(tmp_path: Path) -> None:
    assert await result_of(tmp_path, ["printf", r"a\n\n"]) == "a\n"
    assert await result_of(tmp_path, ["printf", r"a\r\n"]) == "a"
    assert await result_of(tmp_path, ["printf", r"a\r"]) == "a\r"
    assert await result_of(tmp_path, ["printf", SUCCESS]) == SUCCESS


@pytest.mark.parametrize(
    ("output", "printed", "message"),
    [
        ("text", r"a\377", "no UTF-8 at byte 1"),
        ("json", "", "no JSON value: Expecting value"),
        ("json", '{"a": 1', "no JSON value"),
        ("json", "1 2", "no JSON value: Extra data"),
        ("json", '{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ("report", '{"status": "SUCCESS"}', "report of printf is not valid: SUCCESS.summary: Field required"),
        ("report", '{"status": "success", "summary": "x"}', "is not valid: : Input tag 'success'"),
        ("report", '{"status": ["SUCCESS"], "summary": "x"}', "is not valid"),
        ("report", '{"status": "SUCCESS", "summary": "x", "suggestions": 3, "a": 1}', "is not valid"),
        ("report", '{"status": SUCCESS}', "is no JSON"),
    ],
)
async def test_wrong_output_is_a_failure_of_format(tmp_path: Path, output: str, printed: str, message: str) -> None:
    report = await failure_of(tmp_path, ["printf", printed], output=output)
    assert report.kind == FailedKind.FORMAT
    assert message in report.reason


async def test_report_is_the_last_line(tmp_path: Path) -> None:
    script = f'echo log; echo \'{{"status": "FAILED", "reason": "old"}}\'; echo \'{SUCCESS}\'; echo; echo'
    assert await report_of(tmp_path, sh(script), output="report") == Success(summary="done", result=7)


@pytest.mark.req("S05")
async def test_what_a_report_has_no_field_for_is_a_suggestion(tmp_path: Path) -> None:
    record = {"status": "STUCK", "blocker": "b", "kind": "drift", "new_tasks": ["x"], "suggestions": {"y": 1}}
    report = await report_of(tmp_path, ["printf", "%s", json.dumps(record)], output="report")
    suggestions: dict[str, JsonValue] = {"y": 1, "new_tasks": ["x"]}
    assert report == Stuck(kind=StuckKind.DRIFT, blocker="b", suggestions=suggestions)


@pytest.mark.case("STAT-01")
@pytest.mark.req("S52")
@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("echo all done", FailedKind.NO_STATUS),
        ("true", FailedKind.NO_STATUS),
        ("echo '[\"SUCCESS\"]'", FailedKind.NO_STATUS),
        ("echo '{\"result\": 1}'", FailedKind.NO_STATUS),
        (f"echo '{SUCCESS}'; echo but then it crashed", FailedKind.NO_STATUS),
        ('printf \'{"status":"SUCC\'', FailedKind.TRUNCATED),
        (f"echo '{SUCCESS}'; exit 137", FailedKind.KILLED),
        (f"echo '{SUCCESS}'; kill -9 $$", FailedKind.KILLED),
        (f"echo '{SUCCESS}'; exit 1", FailedKind.EXIT),
    ],
)
async def test_status_comes_only_from_a_complete_record_and_a_good_exit(
    tmp_path: Path, script: str, kind: FailedKind
) -> None:
    report = await failure_of(tmp_path, sh(script), output="report")
    assert report.kind == kind


# --- how it ends ---


async def test_exit_code_and_stderr_are_the_reason(tmp_path: Path) -> None:
    script = "echo out; echo 'token=abcdefgh1234 \x1b[1mbad' >&2; exit 3"
    report = await failure_of(tmp_path, sh(script))
    assert report.kind == FailedKind.EXIT
    assert report.reason == "sh ended with exit code 3: token=[hidden] bad"
    assert report.evidence == ("stdout: out", "stderr: token=[hidden] bad")
    assert (await failure_of(tmp_path, "false")).reason == "false ended with exit code 1"


async def test_long_stderr_is_clipped(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, sh("seq 1 20000 >&2; exit 1"))
    assert report.reason.endswith("20000")
    assert len(report.reason) < 600
    assert len(report.evidence[0]) < 2_100


async def test_claim_of_success_with_a_bad_exit_is_kept_as_evidence(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, sh(f"echo '{SUCCESS}'; exit 4"), output="report")
    assert report.evidence == ("claimed SUCCESS nevertheless", f"stdout: {SUCCESS}")


async def test_stuck_and_failed_reports_count_with_a_bad_exit(tmp_path: Path) -> None:
    record = '{"status": "STUCK", "blocker": "no network"}'
    assert await report_of(tmp_path, sh(f"echo '{record}'; exit 3"), output="report") == Stuck(blocker="no network")
    record = '{"status": "FAILED", "kind": "refused", "reason": "no"}'
    report = await report_of(tmp_path, sh(f"echo '{record}'; exit 3"), output="report")
    assert report == Failed(kind=FailedKind.REFUSED, reason="no")
    assert (await failure_of(tmp_path, sh("echo; exit 3"), output="report")).kind == FailedKind.EXIT


async def test_other_exit_codes_may_be_good(tmp_path: Path) -> None:
    assert await result_of(tmp_path, ["grep", "x", "/dev/null"], ok_exit_codes=[0, 1]) == ""
    assert await result_of(tmp_path, sh("exit 130"), ok_exit_codes=[130]) == ""
    assert (await failure_of(tmp_path, "true", ok_exit_codes=[1])).kind == FailedKind.EXIT
    assert (await failure_of(tmp_path, sh("exit 255"))).kind == FailedKind.EXIT


async def test_signals_are_named(tmp_path: Path) -> None:
    assert (await failure_of(tmp_path, sh("kill -9 $$"))).reason == "sh was killed: signal SIGKILL"
    assert (await failure_of(tmp_path, sh("exit 137"))).reason == "sh ended with exit code 137: signal SIGKILL"


async def test_a_command_that_is_not_there_is_not_started(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, "no-such-program-here -x")
    assert report.kind == FailedKind.NOT_STARTED
    assert "no such program" in report.reason


async def test_silence_ends_as_stuck(tmp_path: Path) -> None:
    report = await report_of(tmp_path, sh("echo begun; sleep 60"), inactivity_s=0.3)
    assert isinstance(report, Stuck)
    assert (report.kind, report.blocker) == (StuckKind.TIMEOUT, "sh wrote nothing for 0.3 s and was ended")
    assert report.evidence == ("stdout: begun",)


@pytest.mark.case("PROC-02")
@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        'trap "" TERM; (trap "" TERM; sleep 60) & echo hi; sleep 60',
        "setsid sleep 60 & echo hi; sleep 60",
    ],
)
async def test_time_out_ends_all_of_it_in_time(tmp_path: Path, script: str) -> None:
    begun = time.monotonic()
    report = await report_of(tmp_path, sh(script), timeout_s=0.5)
    assert time.monotonic() - begun < 0.5 + 2 + 1.5
    assert isinstance(report, Stuck)
    assert (report.kind, report.blocker) == (StuckKind.TIMEOUT, "sh did not end within 0.5 s and was ended")
    assert report.evidence == ("stdout: hi",)


LANTERN = 'import sys; sys.stdout.write(\'lantern \' * 50_000 + \'{"status":"SUCCESS","summary":""}\')'


@pytest.mark.case("LOOP-07")
@pytest.mark.parametrize("output", ["text", "report"])
async def test_huge_repeated_reply_is_over_the_limit(tmp_path: Path, output: str) -> None:
    report = await failure_of(tmp_path, py(LANTERN), output=output, output_bytes=65_536)
    assert report.kind == FailedKind.OUTPUT_LIMIT
    assert report.reason.startswith("reply over limit, repeated text ('lantern ', ")
    assert report.reason.endswith("; the limit is 65536 bytes")
    assert sum(map(len, report.evidence)) < 2_100


@pytest.mark.case("LOOP-07")
async def test_huge_reply_within_the_limit_is_no_success_without_its_artefact(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, py(LANTERN), output="report", output_bytes=1 << 20)
    assert report.kind == FailedKind.NO_STATUS
    claim = await report_of(tmp_path, py(LANTERN), output="text", output_bytes=1 << 20)
    assert isinstance(claim, Success)
    assignment = task(files=("out.csv",))
    [check, _] = await verify(
        assignment.checks, assignment=assignment, result=claim.result, workspace=tmp_path, started_t=0
    )
    assert (check.kind, check.ok) == ("file", False)


@pytest.mark.case("LOOP-07")
async def test_memory_stays_bounded_by_the_limit(tmp_path: Path) -> None:
    endless = py("import sys\nwhile True: sys.stdout.write('lantern ' * 1000)")
    await report_of(tmp_path, endless, output_bytes=65_536)  # loads what is loaded once
    tracemalloc.start()
    try:
        report = await failure_of(tmp_path, endless, output_bytes=65_536)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.kind == FailedKind.OUTPUT_LIMIT
    assert peak < 4 << 20


def test_reply_that_was_over_the_limit_when_the_command_ended_is_no_success() -> None:
    result = ProcessResult(kind="exited", exit_code=0, stdout=b"begin[...]end", stdout_bytes=101, seconds=0.1)
    limits = ProcessLimits(timeout_s=None, output_bytes=100)
    report = judge(result, name="x", output="text", ok_exit_codes=[0], limits=limits)
    assert isinstance(report, Failed)
    assert report.kind == FailedKind.OUTPUT_LIMIT


def test_processes_that_could_not_be_ended_are_named() -> None:
    limits = ProcessLimits(timeout_s=1)
    result = ProcessResult(kind="exited", exit_code=0, seconds=0.1, leftovers=(12,))
    report = judge(result, name="x", output="text", ok_exit_codes=[0], limits=limits)
    assert isinstance(report, Success)
    assert report.remaining_risks == ("process 12 could not be ended",)
    result = ProcessResult(kind="timeout", seconds=0.1, leftovers=(12,))
    report = judge(result, name="x", output="text", ok_exit_codes=[0], limits=limits)
    assert isinstance(report, Stuck)
    assert report.evidence == ("process 12 could not be ended",)


async def test_varied_reply_over_the_limit_is_not_called_repeated(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, ["seq", "1", "20000"], output_bytes=4_096)
    assert report.reason == "reply over limit; the limit is 4096 bytes"


# --- progress ---

STEPS = """
printf '%s\\n' '{"type": "note", "text": "begun"}' 'plain words' '{"type": "partial", "key": "a", "value": [1]}'
printf '%s\\n' '{"type": "action"}' '{"type": "unknown"}' '{"type": 5}' '{not json'
printf '%s\\n' ' {"type": "action", "name": "look", "paths": ["a.txt"]}' 'more words'
"""


async def test_progress_lines_are_events_and_the_rest_is_output(tmp_path: Path) -> None:
    *events, report = await run(tmp_path, sh(STEPS), progress="jsonl")
    assert events == [
        Note(text="begun"),
        Partial(key="a", value=[1]),
        Note(text="a progress line was ignored: action.name: Field required"),
        Action(name="look", paths=("a.txt",)),
    ]
    assert isinstance(report, Success)
    assert report.result == 'plain words\n{"type": "unknown"}\n{"type": 5}\n{not json\nmore words'


async def test_progress_comes_while_the_command_runs(tmp_path: Path) -> None:
    script = (
        'echo \'{"type": "note", "text": "ready"}\'; while [ ! -e go ]; do sleep 0.02; done; echo \'' + SUCCESS + "'"
    )
    worker = CommandWorker(CommandOptions(command=tuple(sh(script)), progress="jsonl", output="report", timeout_s=20))
    items = []
    async for item in worker.run(task(), Delivery(key="k", workspace=tmp_path)):
        items.append(item)
        (tmp_path / "go").touch()
    assert items == [Note(text="ready"), Success(summary="done", result=7)]


async def test_progress_lines_that_are_too_long_are_left_out(tmp_path: Path) -> None:
    script = "print('{\"type\": \"said\", \"text\": \"' + 'x' * 70_000 + '\"}'); print('done')"
    *events, report = await run(tmp_path, py(script), progress="jsonl")
    assert events == [Note(text="a line of 65536 bytes or more was not read as progress")]
    assert isinstance(report, Success)
    assert report.result == "done"


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.mark.parametrize("progress", ["none", "jsonl"])
async def test_cancelling_ends_the_command(tmp_path: Path, progress: str) -> None:
    before = children()
    attempt = asyncio.create_task(run(tmp_path, sh("touch begun; sleep 60"), progress=progress))
    async with asyncio.timeout(10):
        while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - another process sets it
            await asyncio.sleep(0.01)
    attempt.cancel()
    await asyncio.sleep(0)
    attempt.cancel()  # the second one does not leave it half ended
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert children() <= before
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_closing_ends_the_command(tmp_path: Path) -> None:
    before = children()
    script = 'echo \'{"type": "note", "text": "ready"}\'; sleep 60'
    worker = CommandWorker(CommandOptions(command=tuple(sh(script)), progress="jsonl"))
    stream: Any = worker.run(task(), Delivery(key="k", workspace=tmp_path))
    assert await anext(stream) == Note(text="ready")
    await stream.aclose()
    assert children() <= before
