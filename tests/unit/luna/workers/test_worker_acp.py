"""A coding agent over ACP: its report, its ends, its errors, and that all of it has ended."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from luna.clock import SystemClock
from luna.errors import Interruption, ModelError, WorkerConfigError
from luna.monitor import Monitors, MonitorSettings
from luna.process.execute import ProcessRegistry
from luna.protocol import (
    Action,
    Delivery,
    Failed,
    FailedKind,
    Note,
    Said,
    Spent,
    Stuck,
    StuckKind,
    Success,
    Usage,
    WorkerSpec,
)
from luna.supervisor import Finished, supervise
from luna.workers import registry
from luna.workers.acp import AcpWorker
from luna.workers.registry import known_kinds, make_worker
from tests.support.acp_runs import DONE, agent, items_of, make, reports, run, worker
from tests.support.assignments import assignment
from tests.support.processes import is_alive, until

NUMBER = {"description": "a number", "json_schema": {"type": "integer"}}


async def test_kind_is_registered(tmp_path: Path) -> None:
    assert "acp" in known_kinds()
    made = make_worker(WorkerSpec(kind="acp", options={"command": "opencode acp"}))
    assert isinstance(made, AcpWorker)


async def test_agent_does_the_task_and_reports(tmp_path: Path) -> None:
    task = assignment(goal="count the lanterns", inputs={"word": "lantern"}, constraints=["touch nothing"])
    ran = await run(tmp_path, [{"say": "I begin."}, DONE], task=task)
    assert ran.success == Success(summary="counted", result=7)
    assert [type(event) for event in ran.events] == [Note, Said]
    [prompt] = ran.told("prompt")
    assert "Goal: count the lanterns" in prompt
    assert "touch nothing" in prompt
    assert '"word": "lantern"' in prompt.rsplit("[BEGIN DATA", 1)[1]
    [capabilities] = ran.told("initialize")
    assert capabilities["fs"] == {"read_text_file": True, "write_text_file": True}
    assert capabilities["terminal"] is False
    assert capabilities["session"] == {"config_options": {"boolean": {}}}


@pytest.mark.req("S05")
async def test_what_a_report_has_no_field_for_is_a_suggestion(tmp_path: Path) -> None:
    step = reports(status="STUCK", blocker="no key", kind="access_missing", new_tasks=["buy one"])
    ran = await run(tmp_path, [step])
    assert (ran.stuck.kind, ran.stuck.blocker) == (StuckKind.ACCESS_MISSING, "no key")
    assert ran.stuck.suggestions == {"new_tasks": ["buy one"]}


@pytest.mark.case("STAT-01")
async def test_missing_report_is_asked_for_once_more(tmp_path: Path) -> None:
    ran = await run(tmp_path, [{"say": "All done, have a nice day!"}], [DONE])
    assert ran.success.result == 7
    first, second = ran.told("prompt")
    assert "does not end in a fenced JSON report" in second
    assert "Goal" in first
    assert "Goal" not in second


@pytest.mark.req("S52")
@pytest.mark.case("STAT-01")
async def test_report_missing_twice_is_failed(tmp_path: Path) -> None:
    quoted = 'The file says ```json\n{"status": "SUCCESS", "summary": "x"}\n``` and I am done.'
    ran = await run(tmp_path, [{"say": quoted}])
    assert ran.failed.kind == FailedKind.NO_STATUS
    assert "asked twice" in ran.failed.reason
    assert ran.failed.evidence == (quoted,)
    assert len(ran.told("prompt")) == 2


async def test_result_that_does_not_fit_the_schema_is_asked_for_once_more(tmp_path: Path) -> None:
    wrong = reports(status="SUCCESS", summary="counted", result="seven")
    task = assignment(expected_output=NUMBER)
    ran = await run(tmp_path, [wrong], [DONE], task=task)
    assert ran.success.result == 7
    assert '"type": "integer"' in ran.told("prompt")[0]
    assert "does not satisfy the schema" in ran.told("prompt")[1]
    again = await run(tmp_path, [wrong], task=task)
    assert again.failed.kind == FailedKind.FORMAT


@pytest.mark.case("STAT-01")
async def test_report_of_an_earlier_turn_is_not_that_of_a_silent_last_one(tmp_path: Path) -> None:
    broken = {"say": '```json\n{"status": "SUCCESS"\n```'}
    ran = await run(tmp_path, [broken], [])
    assert ran.failed.kind == FailedKind.NO_STATUS


@pytest.mark.req("S52")
@pytest.mark.parametrize(
    ("stop", "kind"),
    [
        ("max_tokens", FailedKind.TRUNCATED),
        ("refusal", FailedKind.REFUSED),
        ("cancelled", FailedKind.KILLED),
        ("max_turn_requests", StuckKind.STEP_LIMIT),
        ("new_reason", FailedKind.FORMAT),
    ],
)
async def test_only_a_turn_that_ended_of_itself_is_believed(tmp_path: Path, stop: str, kind: str) -> None:
    raw = {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": stop}}
    steps: list[dict[str, Any]] = [{"raw": json.dumps(raw)}] if stop == "new_reason" else [{"stop": stop}]
    ran = await run(tmp_path, [DONE, *steps])
    assert isinstance(ran.report, Stuck | Failed)
    assert ran.report.kind == kind
    assert len(ran.told("prompt")) == 1
    if stop == "max_turn_requests":
        assert "counted" in ran.stuck.summary


async def test_usage_and_cost_are_told_per_turn(tmp_path: Path) -> None:
    usage = {"usage": {"totalTokens": 10, "inputTokens": 7, "outputTokens": 3}}
    cost = {"sessionUpdate": "usage_update", "used": 7, "size": 100, "cost": {"amount": 0.25, "currency": "USD"}}
    turns: list[list[dict[str, Any]]] = [[{"update": cost}, {"stop": "end_turn"}], [DONE, {"stop": "end_turn"}]]
    ran = await run(tmp_path, *turns, usage=usage)
    assert ran.of(Spent) == [
        Spent(usage=Usage(calls=1, tokens=10, cost=0.25)),
        Spent(usage=Usage(calls=1, tokens=10, cost=0.0)),
    ]
    ran = await run(tmp_path, [{"update": cost}, DONE])
    assert ran.of(Spent) == [Spent(usage=Usage(calls=1, cost=0.25, reported=False))]


async def test_updates_that_cannot_be_read_do_no_harm(tmp_path: Path) -> None:
    updates: list[dict[str, Any]] = [
        {"raw": "npm notice: a new version"},
        {"raw": ""},
        {"raw": "[1, 2]"},
        {"raw": '{"jsonrpc": "2.0", "method": "session/update"}'},
        {"raw": '{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s2", "update": 1}}'},
        {"update": {"sessionUpdate": "of_a_later_version"}},
        {"raw": json.dumps({"method": "session/update", "params": {"sessionId": "other", "update": _chunk("no")}})},
        {"raw": json.dumps({"method": "session/update", "params": {"sessionId": "s1", "update": _chunk("\ud83d")}})},
    ]
    ran = await run(tmp_path, [*updates, {"update": {"sessionUpdate": "plan", "entries": []}}, DONE])
    assert ran.success.result == 7
    notes = [note.text for note in ran.of(Note)[1:]]
    assert notes == [
        "no message of the protocol: npm notice: a new version",
        "no message of the protocol: [1, 2]",
        "plan: 0 of 0 done",
    ]
    assert ran.of(Said)[0].text.startswith("?Here it is.")


def _chunk(text: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


async def test_line_that_is_too_long_ends_it(tmp_path: Path) -> None:
    step = {"endless_line": 40_000_000}
    ran = await run(tmp_path, [step])
    assert ran.failed.kind == FailedKind.OUTPUT_LIMIT
    assert "too long for a message" in ran.failed.reason


async def test_many_events_are_all_told_in_order(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = []
    for number in range(700):
        call = {"toolCallId": f"c{number}", "title": f"t{number}", "status": "completed", "rawInput": {"n": number}}
        steps.append({"update": {"sessionUpdate": "tool_call", **call}})
    ran = await run(tmp_path, [*steps, DONE])
    assert [action.arguments["n"] for action in ran.of(Action)] == list(range(700))
    assert ran.success.result == 7


# --- what goes wrong --------------------------------------------------------------------------------------------------


async def test_command_that_is_not_there_is_not_started(tmp_path: Path) -> None:
    [report] = await items_of(make("no-such-agent acp"), tmp_path)
    assert report.kind == FailedKind.NOT_STARTED
    assert "no such program" in report.reason


async def test_something_that_is_no_agent_is_not_started(tmp_path: Path) -> None:
    ran = await run(tmp_path, hangs_at_start=True, options={"start_s": 0.3})
    assert ran.failed.kind == FailedKind.NOT_STARTED
    assert "no session within 0.3 s" in ran.failed.reason
    [report] = await items_of(make(["sh", "-c", "echo log in first >&2; exec sleep 60"], start_s=0.3), tmp_path)
    assert report.evidence == ("stderr: log in first",)
    [report] = await items_of(make(["sh", "-c", "echo usage: sh >&2; exit 2"]), tmp_path)
    assert report.kind == FailedKind.EXIT
    assert "ended with exit code 2: usage: sh" in report.reason


async def test_crash_in_the_middle_says_how_it_ended(tmp_path: Path) -> None:
    ran = await run(tmp_path, [{"say": "I begin."}, {"exit": 3}])
    assert ran.failed.kind == FailedKind.EXIT
    assert ran.failed.reason.endswith("ended with exit code 3: the last words")
    assert "stderr: the last words" in ran.failed.evidence


async def test_agent_that_closes_its_output_is_ended(tmp_path: Path) -> None:
    ran = await run(tmp_path, [{"close": None}], options={"grace_s": 0.1})
    assert ran.failed.kind == FailedKind.EXIT
    assert "closed its output without a report" in ran.failed.reason


@pytest.mark.parametrize("option", ["timeout_s", "inactivity_s"])
async def test_agent_that_takes_too_long_is_stuck(tmp_path: Path, option: str) -> None:
    ran = await run(tmp_path, [{"say": "I am thinking."}, {"wait": "ever"}], options={option: 3.0})
    assert ran.stuck.kind == StuckKind.TIMEOUT
    assert ran.stuck.summary in {"I am thinking.", "Time-out.", "No sign of life."}


async def test_processor_time_that_is_used_up_is_named(tmp_path: Path) -> None:
    ran = await run(tmp_path, [{"burn": None}], options={"cpu_s": 2})
    assert ran.failed.kind == FailedKind.KILLED
    assert "limit of 2 s of processor time" in ran.failed.reason


async def test_error_that_it_answers_with_is_told_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret-value")
    ran = await run(tmp_path, [{"noise": 10}, {"fail": [-32603, "it broke: very-secret-value", {"details": "deep"}]}])
    assert ran.failed.kind == FailedKind.EXCEPTION
    assert "it broke: [hidden]" in ran.failed.reason
    assert "deep" in ran.failed.reason
    assert ran.failed.evidence == ("stderr: xxxxxxxxxx",)


@pytest.mark.req("S51")
async def test_faults_of_the_provider_are_told_as_such_only_where_that_is_certain(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="wants to be logged in"):
        await run(tmp_path, refuses=[-32000, "Authentication required", None])
    with pytest.raises(Interruption) as limited:
        await run(tmp_path, [{"fail": [-32603, "slow down", {"statusCode": 429}]}])
    assert limited.value.kind == "rate_limit"
    ran = await run(tmp_path, [{"fail": [-32603, "prompt is too long", {"status": 400}]}])
    assert ran.failed.kind == FailedKind.CONTEXT_TOO_LARGE
    ran = await run(tmp_path, [{"fail": [-32603, "rate limit reached", ["429"]]}])
    assert ran.failed.kind == FailedKind.EXCEPTION


async def test_other_version_of_the_protocol_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkerConfigError, match="speaks version 7 of the Agent Client Protocol, Luna version 1"):
        await run(tmp_path, version=7)


def test_missing_package_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name
        for name in sys.modules
        if name == "acp" or name.startswith(("acp.", "luna.workers.acp", "luna.workers._acp"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "acp", None)
    with pytest.raises(WorkerConfigError, match=r"pip install 'sol-luna\[acp\]'"):
        make_worker(WorkerSpec(kind="acp", options={"command": "opencode acp"}))


def test_fault_of_our_own_is_not_taken_for_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ModuleNotFoundError(name="elsewhere")

    monkeypatch.setattr(registry.importlib, "import_module", broken)
    with pytest.raises(WorkerConfigError, match=r"cannot be imported.*is its package whole"):
        make_worker(WorkerSpec(kind="acp", options={"command": "opencode acp"}))


# --- its surroundings and its end -------------------------------------------------------------------------------------


async def test_environment_is_restricted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    monkeypatch.setenv("GIVEN", "yes")
    names = ["SECRET_KEY", "GIVEN", "SOL_WORKSPACE", "SOL_ATTEMPT"]
    ran = await run(tmp_path, [{"environment": names}, DONE], options={"env": ["GIVEN", "NOT_SET"]})
    [seen] = ran.told("environment")
    assert seen == {
        "SECRET_KEY": None,
        "GIVEN": "yes",
        "SOL_WORKSPACE": str(tmp_path / "work"),
        "SOL_ATTEMPT": "r/0/attempt/1",
    }


async def test_sandbox_that_is_preferred_and_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = agent([DONE])
    monkeypatch.setenv("PATH", str(tmp_path))
    note, *_, report = await items_of(make(command, sandbox="preferred"), tmp_path)
    assert "ran without a sandbox" in note.text
    assert "ran without a sandbox" in report.remaining_risks[0]


@pytest.mark.req("S10")
@pytest.mark.parametrize("close", [True, False], ids=["closed", "cancelled"])
async def test_cancelled_agent_is_asked_to_end_its_turn_and_then_ended(tmp_path: Path, close: bool) -> None:
    registry = ProcessRegistry(tmp_path / "processes")
    log = tmp_path / "log"
    command = agent([{"child": 600}, {"pid": None}, {"wait": "cancel"}, {"stop": "cancelled"}], log=str(log))
    stream = make(command, processes=registry).run(assignment(), Delivery(key="r/0/attempt/1", workspace=tmp_path))
    await anext(stream)
    waiting = asyncio.ensure_future(anext(stream))
    await until(lambda: log.exists() and "waiting" in log.read_text())
    assert len(list((tmp_path / "processes").iterdir())) == 1
    begun = time.monotonic()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    if close:
        await stream.aclose()
    assert time.monotonic() - begun < 60  # the child would take 600
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert told[-1] == ["cancel", "s1"]
    pids = next(value for what, value in told if what == "pid")
    assert not any(is_alive(pid) for pid in pids)
    assert list((tmp_path / "processes").iterdir()) == []


@pytest.mark.req("S06")
async def test_agent_that_leaves_the_workspace_without_asking_is_stopped(tmp_path: Path) -> None:
    call = {"toolCallId": "c1", "kind": "edit", "title": "edit", "status": "completed"}
    step = {"update": {"sessionUpdate": "tool_call", **call, "locations": [{"path": "/etc/hosts"}]}}
    made = worker([step, {"wait": "cancel"}, {"stop": "cancelled"}], log=str(tmp_path / "log"))
    task = assignment()
    before = {child.pid for child in psutil.Process().children()}
    outcome = await supervise(
        made,
        task,
        Delivery(key="r/0/attempt/1", workspace=tmp_path),
        clock=SystemClock(),
        monitors=Monitors.from_settings(MonitorSettings(), task),
    )
    assert isinstance(outcome, Finished)
    assert outcome.stopped
    assert isinstance(outcome.report, Stuck)
    assert outcome.report.kind == StuckKind.SCOPE
    assert not any("still running" in text for text in outcome.report.evidence)
    assert {child.pid for child in psutil.Process().children()} <= before
    assert '["cancel", "s1"]' in (tmp_path / "log").read_text()


async def test_agent_that_never_greets_is_ended_when_cancelled(tmp_path: Path) -> None:
    made = worker(hangs_at_start=True, log=str(tmp_path / "log"))
    before = {child.pid for child in psutil.Process().children()}
    stream = made.run(assignment(), Delivery(key="r/0/attempt/1", workspace=tmp_path))
    waiting = asyncio.ensure_future(anext(stream))
    await until((tmp_path / "log").exists)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert {child.pid for child in psutil.Process().children()} <= before


async def test_agent_that_does_not_heed_the_cancel_is_ended_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    made = worker([{"wait": "ever"}], log=str(log), options={"grace_s": 0.4})
    before = {child.pid for child in psutil.Process().children()}

    async def read() -> None:
        async for _ in made.run(assignment(), Delivery(key="r/0/attempt/1", workspace=tmp_path)):
            pass

    task = asyncio.create_task(read())
    await until(lambda: log.exists() and "waiting" in log.read_text())
    while not task.done():  # again and again
        task.cancel()
        await asyncio.sleep(0)
    assert task.cancelled()
    assert {child.pid for child in psutil.Process().children()} <= before
