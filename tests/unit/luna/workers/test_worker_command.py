"""Commands as workers: what they are given, what their output is."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from luna.protocol import Assignment, Delivery, Failed, FailedKind, Stuck, StuckKind, Success
from luna.workers.command import CommandOptions, CommandWorker
from tests.support.commands import SUCCESS, failure_of, report_of, result_of, sh, task

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
