"""Turns of an agent's model that a loop can stumble over: cut off, badly written, several things at once."""

import logging
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.tool import InvalidToolCall, ToolCall

from luna.protocol import Action, Compacted, Failed, FailedKind, Progress, Spent, Stage, Stuck, StuckKind, Success
from luna.testing import ScriptedServer
from luna.testing.fakes import ScriptedChatModel, calls
from luna.workers.agent import create
from luna.workers.shared import WorkerSettings
from tests.support.agents import DONE, actions, assignment, delivery, work

LIST = ("list_files", {})
WRITE = ("write_file", {"path": "a.txt", "content": "hello"})
WRONG = ("ReportSuccess", {"result": "no summary"})
FAILED = ("ReportFailed", {"reason": "no such bug"})
DONE_REPORT = Success(summary="done", result="fine")


def badly_written(*tools: tuple[str, dict[str, Any]]) -> AIMessage:
    """A turn with these calls, and one whose arguments are no JSON."""
    bad = InvalidToolCall(name="write_file", args='{"path": "b.txt", ', id="bad", error=None)
    return calls(*tools).model_copy(update={"invalid_tool_calls": [bad]})


def cut_off(*tools: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    return calls(*tools, text=text).model_copy(update={"response_metadata": {"finish_reason": "length"}})


def kinds(events: list[Any]) -> list[str]:
    return [type(event).__name__ for event in events]


# --- a report and other calls in one turn ----------------------------------------------------------------------------


async def test_what_is_done_beside_a_report_is_told(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(WRITE, ("record_progress", {"stage": "verified"}), DONE)])
    events = await work(model, tmp_path)
    assert [event for event in events if not isinstance(event, Spent)] == [
        Action(name=WRITE[0], arguments=WRITE[1], observation="wrote 5 bytes", paths=("a.txt",)),
        Progress(stage=Stage.VERIFIED),
        DONE_REPORT,
    ]
    assert model.count == 1


@pytest.mark.parametrize("reports", [[WRONG], [DONE, FAILED]])
async def test_report_that_cannot_be_taken_is_asked_for_again_beside_another_call(
    tmp_path: Path, reports: list[Any]
) -> None:
    model = ScriptedChatModel([calls(LIST, *reports), calls(DONE)])
    events = await work(model, tmp_path)
    assert events[-1] == DONE_REPORT
    assert [(action.name, action.error) for action in actions(events)] == [
        *((name, True) for name, _ in reports),
        ("list_files", False),
    ]
    assert model.count == 2


async def test_refused_call_beside_a_report_is_told_and_nothing_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    turn = calls(("record_progress", {"stage": "evidence"}), ("run_command", {"argv": ["ls"]}))
    model = ScriptedChatModel([turn, calls(("run_command", {"argv": ["ls"]}), DONE)])
    with caplog.at_level(logging.WARNING):
        events = await work(model, tmp_path, approve={"tools": ["*"], "how": "reject"})
    assert kinds(events) == ["Spent", "Action", "Progress", "Spent", "Action", "Success"]
    assert caplog.records == []


async def test_question_comes_before_a_report_of_the_same_turn(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(("run_command", {"argv": ["ls"]}), DONE)])
    report = (await work(model, tmp_path, approve={"tools": ["run_command"]}))[-1]
    assert isinstance(report, Stuck)
    assert report.kind is StuckKind.NEEDS_HUMAN


@pytest.mark.parametrize("blank", [("ReportFailed", {"reason": " "}), ("ReportStuck", {"blocker": "\n"})])
@pytest.mark.req("S07")
async def test_report_that_says_nothing_is_asked_for_again(tmp_path: Path, blank: tuple[str, Any]) -> None:
    events = await work(ScriptedChatModel([calls(blank), calls(DONE)]), tmp_path)
    assert [action.error for action in actions(events)] == [True]
    assert events[-1] == DONE_REPORT


# --- turns that are not whole ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 20_000])
@pytest.mark.parametrize("beside", [[], [LIST], [LIST, LIST]])
async def test_arguments_that_are_no_json_are_answered_and_everything_is_told_once(
    tmp_path: Path, beside: list[Any], limit: int | None
) -> None:
    model = ScriptedChatModel([badly_written(*beside), calls(LIST), calls(DONE)])
    events = await work(model, tmp_path, max_context_tokens=limit)
    assert events[-1] == DONE_REPORT
    first, *rest = actions(events)
    assert (first.name, first.error, first.observation) == (
        "write_file",
        True,
        "error: not done, since the arguments are no JSON object; write them again",
    )
    assert [(action.name, action.error) for action in rest] == [("list_files", False)] * (len(beside) + 1)
    assert kinds(events).count("Spent") == model.count == 3
    assert not [event for event in events if isinstance(event, Compacted)]
    answers = [message for message in model.prompts[1] if isinstance(message, ToolMessage)]
    assert len(answers) == len(beside) + 1


@pytest.mark.req("S52")
async def test_turns_of_which_nothing_can_be_done_count(tmp_path: Path) -> None:
    model = ScriptedChatModel(lambda _: badly_written())
    report = (await work(model, tmp_path, max_model_calls=3))[-1]
    assert isinstance(report, Stuck)
    assert report.kind is StuckKind.STEP_LIMIT
    assert model.count == 3


async def test_report_is_taken_beside_a_call_that_is_badly_written(tmp_path: Path) -> None:
    model = ScriptedChatModel([badly_written(DONE)])
    events = await work(model, tmp_path)
    assert kinds(events) == ["Spent", "Action", "Success"]


@pytest.mark.case("STAT-01")
@pytest.mark.req("S52")
@pytest.mark.parametrize("approve", [None, {"tools": ["write_file"]}])
async def test_nothing_of_a_turn_that_was_cut_off_is_done_or_believed(tmp_path: Path, approve: Any) -> None:
    """Some providers hand over the first half of a call as if it were whole."""
    model = ScriptedChatModel([cut_off(WRITE, DONE), calls(("ReportStuck", {"blocker": "too long"}))])
    events = await work(model, tmp_path, approve=approve)
    assert [(action.name, action.error) for action in actions(events)] == [("write_file", True), (DONE[0], True)]
    assert "cut off at its length limit" in actions(events)[0].observation
    assert events[-1] == Stuck(blocker="too long")
    assert not (tmp_path / "a.txt").exists()
    assert len([message for message in model.prompts[1] if isinstance(message, ToolMessage)]) == 2


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (AIMessage("", additional_kwargs={"refusal": "I must not."}), "the model refused: I must not."),
        (AIMessage("Well", response_metadata={"finish_reason": "content_filter"}), "the model refused: content_filter"),
    ],
)
async def test_refusal_of_the_model_is_no_missing_report(tmp_path: Path, last: AIMessage, reason: str) -> None:
    events = await work(ScriptedChatModel([last]), tmp_path)
    assert events[-1] == Failed(kind=FailedKind.REFUSED, reason=reason, evidence=(last.text,))
    assert kinds(events)[0] == "Spent"


# --- calls that are hardly calls -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [("", ""), ("1", "1")])
async def test_calls_need_no_ids_of_their_own(tmp_path: Path, ids: tuple[str, str]) -> None:
    named = [("record_progress", {"stage": "evidence", "evidence": "e"}), LIST]
    turn = AIMessage(
        "", tool_calls=[ToolCall(name=name, args=args, id=own) for (name, args), own in zip(named, ids, strict=True)]
    )
    events = await work(ScriptedChatModel([turn, calls(DONE)]), tmp_path)
    assert Progress(stage=Stage.EVIDENCE, evidence="e") in events
    assert [action.observation for action in actions(events)] == ["no files"]


@pytest.mark.case("LOOP-05")
@pytest.mark.parametrize(
    ("name", "sent"), [("", "_"), ("  ", "__"), ("functions.read_file", "functions_read_file"), ("x" * 99, "x" * 64)]
)
async def test_name_that_no_provider_takes_back_is_an_observation(tmp_path: Path, name: str, sent: str) -> None:
    model = ScriptedChatModel([calls((name, {"path": "a"})), calls(DONE)])
    events = await work(model, tmp_path)
    assert [(action.name, action.arguments, action.error) for action in actions(events)] == [
        (sent, {"path": "a"}, True)
    ]
    assert "read_file" in actions(events)[0].observation, "which tools there are"
    assert [call["name"] for message in model.prompts[1] for call in getattr(message, "tool_calls", ())] == [sent]
    assert events[-1] == DONE_REPORT


async def test_call_that_cannot_be_answered_is_left_out(tmp_path: Path) -> None:
    bad = InvalidToolCall(name=None, args=None, id=None, error=None)
    model = ScriptedChatModel([calls(LIST).model_copy(update={"invalid_tool_calls": [bad]}), calls(DONE)])
    events = await work(model, tmp_path)
    assert kinds(events) == ["Spent", "Action", "Spent", "Success"]
    assert not [message for message in model.prompts[1] if getattr(message, "invalid_tool_calls", ())]


async def test_what_json_cannot_hold_is_replaced_before_it_is_told_or_sent_back(tmp_path: Path) -> None:
    odd = calls(("list_files", {"directory": "\ud83d", "deep": [float("nan")]}), text="half \ud83d")
    model = ScriptedChatModel([odd, calls(DONE)])
    events = await work(model, tmp_path)
    assert events[1].text == "half \ufffd"
    assert actions(events)[0].arguments == {"directory": "\ufffd", "deep": ["NaN"]}
    assert "\ud83d" not in repr(model.prompts[1])


async def test_names_of_files_that_are_no_text_can_be_sent(tmp_path: Path) -> None:
    pytest.importorskip("langchain_openai", reason="needs the extra [openai]")
    (tmp_path / b"caf\xe9".decode("utf-8", "surrogateescape")).touch()
    half = calls(("read_file", {"path": "\ud83d"}))
    with ScriptedServer([calls(LIST), half, badly_written(), calls(DONE)]) as server:
        worker = create({"model": "openai:x", "base_url": server.url}, settings=WorkerSettings())
        events = [event async for event in worker.run(assignment(), delivery(tmp_path))]
        assert server.count == 4
    assert actions(events)[0].observation == "caf\ufffd (0)"
    assert events[-1] == DONE_REPORT


# --- order -----------------------------------------------------------------------------------------------------------


async def test_changes_of_one_file_in_one_turn_are_all_made(tmp_path: Path) -> None:
    """At once they would be lost: each would write what it had read before the others wrote."""
    (tmp_path / "a.txt").write_text("\n".join(f"old{n:02}" for n in range(12)) + "\n" + "x" * 1_000_000)
    edits = [("edit_file", {"path": "a.txt", "old": f"old{n:02}", "new": f"new{n:02}"}) for n in range(12)]
    events = await work(ScriptedChatModel([calls(*edits), calls(DONE)]), tmp_path)
    assert [action.observation for action in actions(events)] == ["edited"] * 12
    assert (tmp_path / "a.txt").read_text().count("new") == 12


async def test_calls_of_one_turn_are_done_in_their_order(tmp_path: Path) -> None:
    steps = [
        step
        for n in range(5)
        for step in (
            ("write_file", {"path": "a.txt", "content": str(n)}),
            ("run_command", {"argv": ["cat", "a.txt"]}),
            ("read_file", {"path": "a.txt"}),
        )
    ]
    events = await work(ScriptedChatModel([calls(*steps), calls(DONE)]), tmp_path)
    seen = [action.observation for action in actions(events)]
    assert [text for text in seen if text.startswith("exit")] == [f"exit code 0\nstdout:\n{n}" for n in range(5)]
    assert [text for text in seen if len(text) == 1] == list("01234")
