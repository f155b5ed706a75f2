"""Executable success criteria."""

import os
import threading
from pathlib import Path

import msgspec
import pytest
from pydantic import JsonValue

from luna.criteria import CheckResult, Criterion
from luna.process.sandbox import Confinement, ConfinementOptions
from luna.protocol import Assignment, ExpectedOutput
from luna.verify import verify
from tests.support.assignments import assignment
from tests.support.processes import with_sandbox

STARTED = 1_700_000_000.5


def task(*criteria: object, inputs: JsonValue = "none", **output: object) -> Assignment:
    return assignment(
        inputs=inputs,
        expected_output=ExpectedOutput(description="d", **output),
        success_criteria=list(criteria) or ["done"],
    )


async def check(
    workspace: Path, *criteria: object, result: JsonValue = None, inputs: JsonValue = "none", started_t: float = STARTED
) -> tuple[CheckResult, ...]:
    assignment = task(*criteria, inputs=inputs)
    return await verify(
        assignment.checks, assignment=assignment, result=result, workspace=workspace, started_t=started_t
    )


async def one(workspace: Path, criterion: object, **more: JsonValue) -> tuple[bool | None, str]:
    [found] = await check(workspace, criterion, **more)
    assert len(found.detail.encode()) <= 2000
    return found.ok, found.detail


@pytest.mark.req("S59")
async def test_verify_runs_all_criteria_in_order(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("x")
    criteria = [{"command": "false"}, {"file": "out.txt"}, {"json_schema": {"type": "null"}}, 'ai("good?")', "nice"]
    found = await check(tmp_path, *criteria)
    assert [(r.kind, r.ok) for r in found] == [
        ("command", False),
        ("file", True),
        ("json_schema", True),
        ("ai", None),
        ("text", None),
    ]
    assert [r.criterion for r in found] == ["command: false", "file: out.txt", "json_schema", "ai: good?", "text: nice"]
    assert found[3].detail == "not checked here"
    assert msgspec.json.decode(msgspec.json.encode(found), type=tuple[CheckResult, ...]) == found


@pytest.mark.req("S59")
@pytest.mark.case("STAT-02")
async def test_claimed_outputs_that_are_not_there_do_not_pass(tmp_path: Path) -> None:
    assignment = task({"command": ["sh", "-c", "exit 1"]}, files=("report.csv",))
    claim = "wrote report.csv, all tests pass"
    found = await verify(assignment.checks, assignment=assignment, result=claim, workspace=tmp_path, started_t=STARTED)
    assert [(r.criterion, r.ok, r.detail) for r in found] == [
        ("file: report.csv", False, "cannot be read: No such file or directory"),
        ("command: sh -c 'exit 1'", False, "exit code 1, wanted 0"),
    ]


async def test_command_passes_with_its_exit_code(tmp_path: Path) -> None:
    assignment = task({"command": "sh -c 'exit 3'", "exit_code": 3})
    [found] = await verify(assignment.checks, assignment=assignment, result=None, workspace=tmp_path, started_t=STARTED)
    assert (found.ok, found.detail) == (True, "")


async def test_command_that_fails_shows_its_output(tmp_path: Path) -> None:
    ok, detail = await one(tmp_path, {"command": ["sh", "-c", "pwd; echo '\x1b[31mbad' >&2; exit 2"]})
    assert ok is False
    assert detail == f"exit code 2, wanted 0\n{tmp_path.resolve()}\nbad"
    ok, detail = await one(tmp_path, {"command": ["sh", "-c", "yes a long line of output | head -n 5000; exit 1"]})
    assert ok is False


async def test_words_of_a_command_stay_as_they_are(tmp_path: Path) -> None:
    assert await one(tmp_path, {"command": ["test", " a ", "=", " a "]}) == (True, "")
    assert await one(tmp_path, {"command": ["test", "", "=", " "]}) == (False, "exit code 1, wanted 0")


@with_sandbox
async def test_command_runs_in_the_sandbox_of_the_worker_that_it_checks(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    confinement = Confinement(ConfinementOptions(sandbox="required"))
    assignment = task({"command": ["touch", "inside"]}, {"command": ["touch", "../outside"]})
    found = await verify(
        assignment.checks,
        assignment=assignment,
        result=None,
        workspace=place,
        started_t=STARTED,
        confinement=confinement,
    )
    assert [check.ok for check in found] == [True, True], "what is beside the workspace is the sandbox's own there"
    assert (place / "inside").exists()
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize(
    ("criterion", "detail"),
    [
        ({"command": "no-such-program"}, "there is no such program"),
        ({"command": "sh 'open"}, "Close the quote"),
        ({"command": ["sh", "-c", "kill -9 $$"]}, "killed by signal 9"),
        ({"command": "sleep 30", "timeout_s": 0.05}, "did not end within 0.05 s"),
    ],
)
async def test_command_that_does_not_end_well_does_not_pass(tmp_path: Path, criterion: object, detail: str) -> None:
    ok, found = await one(tmp_path, criterion)
    assert ok is False
    assert detail in found


@pytest.mark.req("S59")
@pytest.mark.parametrize(
    ("age_ns", "ok"),
    [
        (0, True),
        (15_000_000, True),  # the kernel's clock for files lags by one tick
        (30_000_000, False),
        (499_999_999, False),
        (500_000_000, True),  # a whole second: a file system that keeps no fractions
        (2_500_000_000, False),
        (3_600_000_000_000, False),
    ],
)
async def test_new_files_are_told_from_old_ones(tmp_path: Path, age_ns: int, ok: bool) -> None:
    (tmp_path / "f").write_text("x")
    stamp = 1_700_000_000_500_000_000 - age_ns
    os.utime(tmp_path / "f", ns=(stamp, stamp))
    found, detail = await one(tmp_path, {"file": "f"})
    assert found is ok
    assert ok or "was not changed since the attempt started" in detail
    assert (await one(tmp_path, {"file": "f", "new": False}))[0] is True


async def test_files_must_be_regular_inside_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "dir").mkdir()
    (tmp_path / "out").symlink_to("/etc/hostname")
    assert await one(tmp_path, {"file": "empty"}) == (False, "is empty")
    assert await one(tmp_path, {"file": "dir"}) == (False, "is no regular file")
    for path in ("out", "../x", "/etc/hostname"):
        ok, detail = await one(tmp_path, {"file": path})
        assert ok is False
        assert "workspace" in detail


async def test_result_must_satisfy_the_schema(tmp_path: Path) -> None:
    criterion = {"json_schema": {"type": "array", "items": {"type": "integer"}}}
    assert await one(tmp_path, criterion, result=[1, 2]) == (True, "")
    assert await one(tmp_path, criterion, result=[1, "2"]) == (False, "at \"/1\": '2' is not of type 'integer'")


async def test_values_must_occur_in_a_text_or_file(tmp_path: Path) -> None:
    (tmp_path / "mail.txt").write_text("Dear Ann,\nplease pay 12.50 EUR")
    for source in ("Dear Ann,\nplease pay 12.50 EUR", {"file": "mail.txt"}):
        more: dict[str, JsonValue] = {"inputs": {"mail": source}}
        good = {"name": "Ann", "sum": 12.5, "words": "Ann, please", "paid": False, "date": None}
        assert await one(tmp_path, {"values_in": "mail"}, result=good, **more) == (True, "")
        assert await one(tmp_path, {"values_in": "mail"}, result={"name": "Bob", "sum": 13}, **more) == (
            False,
            'at "/name": \'Bob\' does not occur in mail\nat "/sum": 13 does not occur in mail',
        )


async def test_values_must_occur_in_their_own_element_of_a_list(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Bob 2")
    inputs: JsonValue = {"mails": ["Ann 1", {"file": "b.txt"}, {"who": "Cy", "n": 3}]}
    criterion = {"values_in": "mails"}
    assert await one(tmp_path, criterion, inputs=inputs, result=[["Ann", 1], ["Bob"], ["Cy", 3]]) == (True, "")
    assert await one(tmp_path, criterion, inputs=inputs, result=[["Bob"], ["Ann"], []]) == (
        False,
        "at \"/0/0\": 'Bob' does not occur in mails[0]\nat \"/1/0\": 'Ann' does not occur in mails[1]",
    )
    ok, detail = await one(tmp_path, criterion, inputs=inputs, result=[["Ann"]])
    assert (ok, detail) == (
        False,
        "the result must be a list of 3 elements, one for each of 'mails'; it is 1 elements",
    )
    assert "it is dict" in (await one(tmp_path, criterion, inputs=inputs, result={}))[1]


@pytest.mark.parametrize(
    ("file", "content", "part", "whole"),
    [
        ("p.txt", "Ann 1\nBob 2\n", {}, False),
        ("p.txt", "Eve 0\nAnn 1\nBob 2", {"unit": "lines", "start": 1, "stop": 3}, False),
        ("p.csv", "name,n\nAnn,1\nBob,2\n", {}, False),
        ("p.jsonl", '["Ann", 1]\n["Bob", 2]\n', {"unit": "records"}, False),
        ("p.txt", "Ann 1\nBob 2\n", {"unit": "bytes"}, True),
    ],
)
async def test_list_of_values_must_occur_in_the_lines_or_records_of_a_file(
    tmp_path: Path, file: str, content: str, part: dict[str, JsonValue], whole: bool
) -> None:
    (tmp_path / file).write_text(content)
    inputs: JsonValue = {"people": {"file": file, **part}}
    criterion = {"values_in": "people"}
    assert await one(tmp_path, criterion, inputs=inputs, result=[["Ann"], "Bob"]) == (True, "")
    swapped = await one(tmp_path, criterion, inputs=inputs, result=[["Bob"], ["Ann"]])
    shorter = await one(tmp_path, criterion, inputs=inputs, result=["Ann"])
    assert (swapped[0], shorter[0]) == (whole, whole)
    if not whole:
        assert "at \"/0/0\": 'Bob' does not occur in people[0]" in swapped[1]
        assert "a list of 2 elements, one for each of 'people'; it is 1 elements" in shorter[1]
    assert await one(tmp_path, criterion, inputs=inputs, result={"names": ["Bob", "Ann"]}) == (True, "")


async def test_empty_file_has_no_lines_to_stand_in(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    inputs: JsonValue = {"people": {"file": "empty.txt"}}
    assert (await one(tmp_path, {"values_in": "people"}, inputs=inputs, result=[]))[0] is True
    assert (await one(tmp_path, {"values_in": "people"}, inputs=inputs, result=["Ann"]))[0] is False


async def test_missing_values_are_listed_up_to_five(tmp_path: Path) -> None:
    _, detail = await one(tmp_path, {"values_in": "a"}, inputs={"a": ""}, result=["x" * 500] * 9)
    assert detail.count("does not occur in a") == 5
    assert detail.endswith("\nand more")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [("none", "there is no input 'mail'; the inputs are []"), ({"mail": {"file": "gone"}}, "'gone' cannot be read")],
)
async def test_values_without_a_source_do_not_pass(tmp_path: Path, inputs: JsonValue, message: str) -> None:
    ok, detail = await one(tmp_path, {"values_in": "mail"}, inputs=inputs, result=[])
    assert ok is False
    assert message in detail


CHECKS = """
import sys
def yes(result, inputs): return True
def no(result, inputs): return False
def says(result, inputs): return "row 3 is wrong"
def empty(result, inputs): return ""
def number(result, inputs): return 1
def fails(result, inputs): raise KeyError("k")
def leaves(result, inputs): sys.exit(0)
def sees(result, inputs):
    found = [result.pop(), inputs.pop("rows")]
    return found == [3, "a\\nb\\n"] or repr(found)
"""


@pytest.mark.parametrize(
    ("name", "ok", "detail"),
    [
        ("yes", True, ""),
        ("no", False, "returned False"),
        ("says", False, "row 3 is wrong"),
        ("empty", False, "returned ''; return True, False or what is wrong"),
        ("number", False, "returned 1; return True, False or what is wrong"),
        ("fails", False, "KeyError: 'k'"),
        ("leaves", False, None),
        ("missing", False, None),
    ],
)  # fmt: skip
async def test_python_criteria_answer(tmp_path: Path, name: str, ok: bool, detail: str | None) -> None:
    (tmp_path / "checks.py").write_text(CHECKS)
    found = await one(tmp_path, {"python": f"checks:{name}"})
    assert found[0] is ok
    assert found[1] == detail or (
        detail is None and found[1].startswith(("WorkerConfigError: ", "CallableEndedError: "))
    )


async def test_python_criteria_get_copies_with_files_read(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "rows.txt").write_text("a\nb\n")
    assignment = task({"python": "checks:sees"}, {"python": "checks:sees"}, inputs={"rows": {"file": "rows.txt"}})
    result: JsonValue = [1, 2, 3]
    found = await verify(assignment.checks, assignment=assignment, result=result, workspace=tmp_path, started_t=STARTED)
    assert [(r.ok, r.detail) for r in found] == [(True, "")] * 2
    assert result == [1, 2, 3]


async def test_python_criteria_come_from_the_workspace_only(tmp_path: Path) -> None:
    ok, detail = await one(tmp_path, {"python": "os:system"}, result="true")
    assert ok is False
    assert "the workspace has no os.py" in detail


async def test_python_criteria_end_at_their_time_limit(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import threading\ngo_on = threading.Event()\ndef f(r, i): go_on.wait(20)\n")
    (tmp_path / "own.py").write_text("def f(r, i): raise TimeoutError('mine')\n")
    assignment = task({"python": "slow:f"}, {"python": "own:f"})
    found = await verify(
        assignment.checks,
        assignment=assignment,
        result=None,
        workspace=tmp_path,
        started_t=STARTED,
        python_timeout_s=0.3,
    )
    assert [r.detail for r in found] == ["did not return within 0.3 s", "TimeoutError: mine"]
    for thread in threading.enumerate():
        assert thread.daemon or thread is threading.main_thread()


async def test_criteria_are_named_in_one_short_line(tmp_path: Path) -> None:
    criteria: list[Criterion] = list(task("long " * 500).checks)
    [found] = await verify(criteria, assignment=task(), result=None, workspace=tmp_path, started_t=STARTED)
    assert len(found.criterion.encode()) <= 200
