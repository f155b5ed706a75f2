from typing import Any

import pytest

from sol.tree.events import Event, EventType
from sol.tree.node import Node
from sol.tree.values import CriterionData, ExpectedData, WorkerData
from sol.view.history import assignment_lines, happened
from tests.support.core import fact
from tests.support.trees import a_node


def stored(type_: EventType, node: str, data: dict[str, Any], t: float) -> Event:
    """An event as it is read from a journal."""
    found = fact(type_, node, data)
    return Event(found.node, found.data, t)


def told(*events: tuple[EventType, dict[str, Any]]) -> list[str]:
    node = a_node("0")
    stamped = [stored(type_, "0", data, 100.0 + at) for at, (type_, data) in enumerate(events)]
    return [words for _, words in happened(node, stamped)]


def test_assignment_lines_have_all_fields_and_the_worker() -> None:
    node = a_node(
        constraints=("One", "Two"),
        expected_output=ExpectedData("Lines", files=("a.txt",)),
        success_criteria=(
            CriterionData(text="Each is converted"),
            CriterionData(command=("true",)),
            CriterionData(values_in="records"),
        ),
        worker=WorkerData("command", {"command": "wc -l"}),
        notes=("It is UTF-8.\x07",),
    )
    assert assignment_lines(node) == [
        ("Goal", "Convert each of the records"),
        ("Input", "records: lines 1–64 of records.txt"),
        ("Context", "none"),
        ("Constraints", "One"),
        ("Constraints", "Two"),
        ("Expected output", 'Lines {"files": ["a.txt"]}'),
        ("Success criteria", "Each is converted"),
        ("Success criteria", '{"command": ["true"]}'),
        ("Success criteria", '{"values_in": "records"}'),
        ("Stop conditions", "The file is missing"),
        ("Worker", "command, command=wc -l"),
        ("Note", "It is UTF-8."),
    ]


def test_assignment_lines_of_a_step_of_a_workflow_have_what_there_is() -> None:
    step = Node(path="plan#1", worker=WorkerData("agent"))
    assert assignment_lines(step) == [("About", "plan#1"), ("Worker", "agent")]


def test_history_is_told_from_the_beginning_of_the_run_and_of_its_node_only() -> None:
    node = a_node("0")
    events = [
        stored(EventType.RESUMED, "", {}, 50.0),
        stored(EventType.STARTED, "1", {"kind": "attempt", "n": 1}, 51.0),
        stored(EventType.STARTED, "0", {"kind": "attempt", "n": 1}, 52.5),
    ]
    assert happened(node, events) == [(2.5, "attempt 1 started")]
    assert happened(node, []) == []


def test_history_tells_attempts_with_what_was_new_about_them() -> None:
    assert told(
        (EventType.STARTED, {"kind": "attempt", "n": 2, "because": {"new": "information"}}),
        (EventType.STARTED, {"kind": "reassess", "n": 1, "because": {"trigger": "depth_limit"}}),
    ) == ["attempt 2 started (new: information)", "reassess 1 started because of depth_limit"]


def test_history_tells_reports() -> None:
    stuck = {
        "status": "STUCK",
        "kind": "other",
        "blocker": "No\nkey",
        "known": ["a"],
        "unknown": [],
        "attempted": ["b"],
    }
    assert told((EventType.REPORTED, {"kind": "attempt", "n": 1, "report": stuck})) == [
        "attempt 1 reported STUCK (other): No key",
        "  known: a",
        "  attempted: b",
    ]
    success = {"status": "SUCCESS", "summary": ""}
    assert told((EventType.REPORTED, {"kind": "attempt", "n": 1, "report": success})) == ["attempt 1 reported SUCCESS"]


def test_history_tells_checks() -> None:
    results = [
        {"criterion": "file a", "kind": "file", "ok": True, "detail": ""},
        {"criterion": "exit 0", "kind": "command", "ok": False, "detail": "exit 3"},
        {"criterion": "nice", "kind": "text", "ok": None, "detail": ""},
    ]
    assert told((EventType.CHECKED, {"kind": "check", "n": 1, "results": results})) == [
        "check holds: file a",
        "check does not hold: exit 0: exit 3",
        "check was not checked: nice",
    ]


@pytest.mark.req("R20")
def test_history_tells_the_rule_that_decided_and_what_it_read() -> None:
    rule = {"section": "children", "rule": 2, "kind": "aggregate", "condition": 'any("failed")', "next": "fail"}
    judged = {
        "section": "report",
        "rule": 0,
        "kind": "ai",
        "condition": 'ai("Odd?")',
        "next": "ask",
        "reason": "It is.",
    }
    assert told(
        (EventType.DECIDED, {**rule, "read": {"children": [["00", "failed"]]}}),
        (EventType.DECIDED, {**judged, "read": {}}),
        (EventType.DECIDED, {"section": "report", "labels": [], "wait": True}),
        (EventType.DECIDED, {"section": "report", "rule": None, "next": None, "reason": "No rule holds."}),
    ) == [
        'rule 3 of children, any("failed"), led to fail; read children: [["00", "failed"]]',
        'rule 1 of report, ai("Odd?"), led to ask (It is.)',
        "a rule of report waits for a judge",
        "No rule holds.",
    ]


@pytest.mark.parametrize(
    ("kind", "answer", "words"),
    [
        ("judge", {"verdicts": [{"holds": True, "reason": "fine"}]}, ["judge: yes, fine"]),
        ("rule", {"holds": False, "reason": "not odd"}, ["rule: no, not odd"]),
        ("split", {"cannot": "nothing to halve"}, ["no split was found: nothing to halve"]),
        (
            "split",
            {"children": [], "reason": "two causes", "sequential": False, "dimension": "x", "how": "model"},
            ["split answered: two causes"],
        ),
        ("file", {"files": {"a.md": "0"}}, ["file answered"]),
        (
            "reassess",
            {"finding": "goal_impossible", "remedy": "give_up", "reason": "no data"},
            ["reassessed as goal_impossible, proposed give_up: no data"],
        ),
        (
            "integrate",
            {"result": 1, "summary": "joined", "checks": {"goal_met": {"ok": True, "note": ""}}},
            ["integrated: joined", "  goal met holds"],
        ),
    ],
)
def test_history_tells_answers(kind: str, answer: dict[str, Any], words: list[str]) -> None:
    assert told((EventType.ANSWER, {"kind": kind, "n": 1, "answer": answer})) == words


def test_history_tells_splits_and_ends() -> None:
    split = {
        "how": "inputs",
        "dimension": "inputs",
        "sequential": False,
        "children": ["00", "01"],
        "goals": [],
        "reason": "64 lines",
    }
    assert told(
        (EventType.SPLIT, split),
        (EventType.SETTLED, {"state": "failed", "kind": "depth_limit", "reason": "Too deep."}),
        (EventType.SETTLED, {"state": "success"}),
    ) == [
        "split by inputs along inputs, side by side: 00, 01. 64 lines",
        "ended failed (depth_limit): Too deep.",
        "ended success",
    ]


def test_history_tells_what_people_and_limits_did() -> None:
    assert told(
        (EventType.ASKED, {"question": "Which?"}),
        (EventType.ANSWERED, {"text": "This.", "by": "ann"}),
        (EventType.RETRY_REQUESTED, {"by": "ann", "note": "Look again."}),
        (EventType.BUDGET_HIT, {"what": "calls", "limit": 3}),
        (EventType.LOST, {"kind": "attempt", "n": 1, "lost": "cancelled", "reason": "Stopped."}),
    ) == [
        "asked: Which?",
        "answered by ann: This.",
        "another try asked for by ann: Look again.",
        "the budget of 3 calls was used up",
        "attempt 1 had no outcome (cancelled): Stopped.",
    ]


def test_history_tells_the_last_steps_of_work_and_counts_those_before() -> None:
    def step(number: int) -> tuple[EventType, dict[str, Any]]:
        said = {"type": "action", "name": f"look{number}", "arguments": {}, "observation": "seen\x1b[2J"}
        return EventType.PROGRESSED, {"kind": "attempt", "n": 1, "event": said}

    words = told(
        *(step(number) for number in range(25)),
        (EventType.PROGRESSED, {"kind": "attempt", "n": 1, "event": {"type": "spent"}}),
    )
    assert words[0] == "… 5 earlier steps of work left out"
    assert words[1:] == [f"  look{number} -> seen" for number in range(5, 25)]
