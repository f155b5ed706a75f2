"""What is read out of a coding agent's messages and updates, and what it is granted; without an agent."""

import json
from pathlib import Path
from typing import Any

import pytest
from acp.schema import SessionConfigOptionSelect, SessionNotification, ToolCallUpdate

from luna.errors import WorkerConfigError
from luna.protocol import Action, Delivery, FailedKind, Note, ProgressEvent, Said, Stuck, Success
from luna.workers._acp_events import Updates
from luna.workers._acp_policy import AgentPaths, Permissions, refusal
from luna.workers._acp_session import check
from luna.workers.acp import prompt, read_report
from luna.workers.reports import NoRecordError
from tests.support.assignments import assignment

REPORT = '{"status": "SUCCESS", "summary": "s", "result": 7}'


def block(text: str, fence: str = "```", name: str = "json") -> str:
    return f"{fence}{name}\n{text}\n{fence}"


# --- reports ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        block(REPORT),
        f"Done.\n\n{block(REPORT)}\n\n",
        block(REPORT, name=""),
        block(REPORT, fence="~~~~", name="JSON"),
        block(json.dumps(json.loads(REPORT), indent=2)).replace("\n", "\r\n"),
        f"{block('x = 1', name='python')}\n{block(REPORT)}",
        block('{"status": "SUCCESS", "summary": "```", "result": 7}').replace('"s"', '"```"'),
    ],
)
def test_report_is_the_block_at_the_end(text: str) -> None:
    report = read_report(text, {"type": "integer"})
    assert isinstance(report, Success)
    assert report.result == 7


@pytest.mark.case("STAT-01")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", FailedKind.NO_STATUS),
        (REPORT, FailedKind.NO_STATUS),
        (f"{block(REPORT)}\nBut that is what the file says.", FailedKind.NO_STATUS),
        (block(REPORT, name="text"), FailedKind.NO_STATUS),
        (block(block(REPORT), fence="````", name="markdown"), FailedKind.NO_STATUS),
        (block("seven"), FailedKind.NO_STATUS),
        (block("[1]"), FailedKind.NO_STATUS),
        (f"```json\n{REPORT}", FailedKind.TRUNCATED),
        ('```json\n{"status": "SUCC', FailedKind.TRUNCATED),
        (block('{"status": "SUCC'), FailedKind.TRUNCATED),
        (block('{"status": "SUCCESS", "status": "FAILED"}'), FailedKind.FORMAT),
        (block('{"status": "SUCCESS"}'), FailedKind.FORMAT),
        (f"{block('{}')} no\n{block(REPORT)}", FailedKind.FORMAT),
        (block(REPORT.replace("7", '"7"')), FailedKind.FORMAT),
    ],
)
def test_anything_else_is_no_report(text: str, kind: FailedKind) -> None:
    with pytest.raises(NoRecordError) as caught:
        read_report(text, {"type": "integer"})
    assert caught.value.kind == kind
    assert str(caught.value)


def test_kinds_of_being_stuck_that_are_offered_can_be_reported() -> None:
    told = prompt(assignment(), Delivery(key="k", workspace=Path()), token="0123456789")
    assert "JSON Schema" not in told
    kinds = told.split("one of these as kind: ")[1].split(";")[0].split(", ")
    assert "needs_human" in kinds
    for kind in kinds:
        report = read_report(block(json.dumps({"status": "STUCK", "blocker": "b", "kind": kind})), None)
        assert isinstance(report, Stuck)


# --- updates ----------------------------------------------------------------------------------------------------------


class Agent:
    """Tells updates as an agent would."""

    def __init__(self, workspace: Path) -> None:
        self.updates = Updates(AgentPaths(workspace))
        self.events: list[ProgressEvent] = []

    def tell(self, kind: str, /, **fields: Any) -> list[ProgressEvent]:
        told = SessionNotification.model_validate({"sessionId": "s", "update": {"sessionUpdate": kind, **fields}})
        new = [*self.updates.events(told.update)]
        self.events += new
        return new

    def chunk(self, text: str, *, kind: str = "agent_message_chunk", message: str | None = None) -> list[ProgressEvent]:
        return self.tell(kind, content={"type": "text", "text": text}, messageId=message)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def test_message_is_said_once_it_is_whole(agent: Agent) -> None:
    assert agent.chunk("one ", message="m1") == agent.chunk("two", message="m1") == []
    assert agent.chunk("three", message="m2") == [Said(text="one two")]
    assert agent.updates.message == "one two"
    assert agent.chunk("hm", kind="agent_thought_chunk") == [Said(text="three")]
    agent.chunk("four")
    assert agent.tell("tool_call", toolCallId="c", title="t") == [Said(text="four"), Note(text="began t: t")]
    agent.chunk("  ")
    assert [*agent.updates.end_message()] == []
    assert agent.updates.message == "four"
    agent.updates.begin_turn()
    assert not agent.updates.message


def test_long_message_or_thought_shows_that_the_agent_is_alive(agent: Agent) -> None:
    assert agent.chunk("x" * 1_999) == []
    assert agent.chunk("x") == [Note(text="writing")]
    assert agent.chunk("x" * 2_000, kind="agent_thought_chunk")[1:] == [Note(text="thinking")]


def test_runaway_message_is_handed_on_in_pieces(agent: Agent) -> None:
    for _ in range(4):
        agent.chunk("lantern " * 50_000)
    assert [type(event) for event in agent.events if not isinstance(event, Note)] == [Said]


def test_tool_call_is_an_action_once_it_has_ended(agent: Agent, tmp_path: Path) -> None:
    agent.tell("tool_call", toolCallId="c", title="grep", kind="search", status="pending", rawInput={})
    agent.tell("tool_call_update", toolCallId="c", status="in_progress", title="grep x", rawInput={"pattern": "x"})
    content = [
        {"type": "content", "content": {"type": "text", "text": "found"}},
        {"type": "diff", "path": str(tmp_path / "b"), "newText": "n"},
        {"type": "terminal", "terminalId": "t"},
    ]
    where = [{"path": str(tmp_path / "a")}, {"path": str(tmp_path)}, {"path": "/etc/hosts"}]
    end = {"toolCallId": "c", "status": "completed", "content": content, "locations": where}
    [action] = agent.tell("tool_call_update", **end)
    assert action == Action(
        name="search",
        arguments={"pattern": "x"},
        observation=f"found\nchanged {tmp_path / 'b'}",
        paths=("a", "/etc/hosts", "b"),
    )
    assert agent.tell("tool_call_update", **end) == []


def test_tool_call_without_input_or_kind_is_named_by_its_title(agent: Agent) -> None:
    [failed] = agent.tell("tool_call", toolCallId="1", title="github_open", kind="other", status="failed")
    assert failed == Action(name="github_open", arguments={"title": "github_open"}, error=True)
    [raw] = agent.tell("tool_call", toolCallId="2", title=" ", status="completed", rawInput=[1], rawOutput={"a": "é"})
    assert raw == Action(name="tool", arguments={"input": [1]}, observation='{"a": "é"}')
    [text] = agent.tell("tool_call_update", toolCallId="3", status="completed", rawOutput="out")
    assert text == Action(name="tool", arguments={"title": ""}, observation="out")


def test_large_inputs_and_outputs_are_cut(agent: Agent) -> None:
    given = {"content": "x" * 100_000}
    [action] = agent.tell("tool_call", toolCallId="1", title="t", status="completed", rawInput=given, rawOutput=given)
    assert isinstance(action, Action)
    assert len(json.dumps(action.arguments)) < 17_000
    assert len(action.observation) <= 4_000


def test_input_that_is_nested_too_deeply_is_told_as_text(agent: Agent) -> None:
    given: dict[str, Any] = {}
    for _ in range(300):
        given = {"a": given}
    [action] = agent.tell("tool_call", toolCallId="1", title="t", status="completed", rawInput=given)
    assert isinstance(action, Action)
    assert str(action.arguments["input"]).startswith('{"a": {"a": ')


def test_plan_and_cost_are_noted(agent: Agent) -> None:
    entries = [{"content": "a", "priority": "high", "status": status} for status in ("completed", "pending")]
    assert agent.tell("plan", entries=entries) == [Note(text="plan: 1 of 2 done")]
    assert agent.tell("usage_update", used=1, size=2) == []
    agent.tell("usage_update", used=1, size=2, cost={"amount": 3, "currency": "EUR"})
    assert [agent.updates.cost_usd] == [None]
    agent.tell("usage_update", used=1, size=2, cost={"amount": 3, "currency": "usd"})
    assert agent.updates.cost_usd == 3
    assert agent.tell("available_commands_update", availableCommands=[]) == []


def test_call_that_is_asked_about_is_known_from_before(agent: Agent, tmp_path: Path) -> None:
    agent.tell("tool_call", toolCallId="c", title="write", kind="edit", locations=[{"path": str(tmp_path / "a")}])
    call = agent.updates.call(ToolCallUpdate(tool_call_id="c", title="/a"))
    assert (call.kind, call.title, call.paths) == ("edit", "write", (str(tmp_path / "a"),))


def test_name_of_a_call_that_is_used_again_is_another_call(agent: Agent) -> None:
    place = [{"path": "a"}]
    for number in range(2):
        agent.tell("tool_call", toolCallId="c", title="write", kind="edit", locations=place, rawInput={"n": number})
        agent.tell("tool_call_update", toolCallId="c", status="completed")
        agent.tell("tool_call_update", toolCallId="c", status="completed")
    assert [event.arguments["n"] for event in agent.events if isinstance(event, Action)] == [0, 1]
    call = agent.updates.call(ToolCallUpdate(tool_call_id="c", title="rm"))
    assert (call.kind, call.title, call.paths) == ("", "rm", ())


# --- permissions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "kind", "paths", "granted"),
    [
        ("reject", "read", ["a"], False),
        ("allow_reads", "read", ["a"], True),
        ("allow_reads", "search", ["."], True),
        ("allow_reads", "read", [], False),
        ("allow_reads", "read", ["/etc/passwd"], False),
        ("allow_reads", "edit", ["a"], False),
        ("allow_edits", "edit", ["a", "b"], True),
        ("allow_edits", "delete", ["a"], True),
        ("allow_edits", "edit", ["a", ".git/config"], False),
        ("allow_edits", "read", [".git/config"], True),
        ("allow_edits", "move", ["a", "../b"], False),
        ("allow_edits", "edit", ["link/x"], False),
        ("allow_edits", "edit", ["link/../x"], False),
        ("allow_edits", "edit", ["~/x"], False),
        ("allow_edits", "edit", ["file:///etc/passwd"], False),
        ("allow_edits", "delete", ["."], False),
        ("allow_edits", "edit", [], False),
        ("allow_edits", "execute", ["a"], False),
        ("allow_edits", "", ["a"], False),
        ("allow", "execute", [], True),
        ("allow", "fetch", [], True),
        ("allow", "execute", ["/etc"], False),
    ],
)
def test_policy_grants_what_it_says(
    tmp_path: Path, policy: Permissions, kind: str, paths: list[str], granted: bool
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(tmp_path)
    why = refusal(policy, kind, paths, AgentPaths(work))
    assert (why == "") is granted, why


def test_paths_of_a_workspace_behind_a_link_are_inside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "work").symlink_to(tmp_path / "real")
    places = AgentPaths(tmp_path / "work")
    for root in ("real", "work"):
        assert places.relative(str(tmp_path / root / "a" / ".." / "b")) == "b"
        assert places.file(str(tmp_path / root / "b")) == tmp_path / "real" / "b"
    assert places.relative("a/b") == "a/b"
    assert places.relative(f"file://{tmp_path}/work/a%20b") == "a b"
    assert places.is_work(f"file://{tmp_path}/real/a")
    assert places.relative(str(tmp_path)) == str(tmp_path)


def test_many_values_are_listed_in_part() -> None:
    values = [{"value": f"model-{number}", "name": ""} for number in range(30)]
    given = {"id": "m", "name": "M", "type": "select", "currentValue": "model-1", "options": values}
    with pytest.raises(WorkerConfigError, match=r"it takes model-29, .* and 10 more"):
        check("m", "model-2 9", [SessionConfigOptionSelect.model_validate(given)], agent="it")
