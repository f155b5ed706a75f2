"""What a Luna gets to see: seven fields, and a context that is as small as it may be."""

from typing import Any

import pytest
from pydantic import ValidationError

from luna.protocol import Assignment
from luna.text import size_bytes
from sol.tree.values import plain
from tests.support.core import GOAL, Scenario, assignment_of, child, failed, stuck

FIELDS = {
    "goal": "S26",
    "context": "S27",
    "inputs": "S28",
    "constraints": "S29",
    "expected_output": "S30",
    "success_criteria": "S31",
    "stop_conditions": "S32",
}


@pytest.mark.req("S26", "S27", "S28", "S29", "S30", "S31", "S32")
@pytest.mark.parametrize("field", FIELDS)
def test_assignment_without_one_of_its_seven_fields_is_refused(field: str) -> None:
    data = assignment_of()
    assert set(data) == set(FIELDS)
    del data[field]
    with pytest.raises(ValidationError, match=field):
        Assignment.model_validate(data)


@pytest.mark.req("S26", "S27", "S28", "S29", "S30", "S31", "S32")
@pytest.mark.parametrize(
    ("field", "accepted"),
    [
        ("context", True),
        ("inputs", True),
        ("constraints", True),
        ("goal", False),
        ("expected_output", False),
        ("success_criteria", False),
        ("stop_conditions", False),
    ],
)
def test_explicit_none_is_accepted_for_three_fields_only(field: str, accepted: bool) -> None:
    data: dict[str, Any] = assignment_of() | {field: "none"}
    if accepted:
        Assignment.model_validate(data)
    else:
        with pytest.raises(ValidationError, match="'none' is accepted for context, inputs and constraints only"):
            Assignment.model_validate(data)


@pytest.mark.req("S30", "S31", "S32")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("expected_output", {"description": " None "}),
        ("success_criteria", [{"text": "none"}]),
        ("success_criteria", ["they are in order", "NONE"]),
        ("success_criteria", []),
        ("stop_conditions", ["a brick has no colour", "none"]),
        ("stop_conditions", []),
    ],
)
def test_none_in_any_form_and_emptiness_are_refused_where_something_must_be_said(field: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=field):
        Assignment.model_validate(assignment_of() | {field: value})


@pytest.mark.req("S26", "S32")
def test_every_luna_gets_all_seven_fields() -> None:
    run = Scenario()
    run.reports(stuck())
    run.splits("find red", "find blue")
    for path in ("0", "1"):
        told = Assignment.model_validate(plain(run.asked(path).assignment))
        assert told.stop_conditions == ("a brick has no colour",)
        assert told.expected_output.description == f"The result of: {told.goal}"


@pytest.mark.req("S33")
def test_context_holds_what_this_task_needs_and_no_more() -> None:
    run = Scenario()
    assert run.asked().assignment.context == "none"
    run.reports(stuck())
    run.splits("find red", "find blue")
    assert run.asked("0").assignment.context == f"This is part of: {GOAL}\nWhat stopped it: the lamp is out"
    run.solves("1", result="two blue")
    run.reports(stuck("no ladder"), "0")
    run.splits("look up", "look down", path="0")
    context = run.asked("00").assignment.context
    assert "This is part of: find red" in context
    assert "no ladder" in context
    assert "two blue" in context
    assert "the lamp is out" not in context


@pytest.mark.req("S33")
def test_context_keeps_to_its_size_and_keeps_what_is_new() -> None:
    run = Scenario(context_bytes=256)
    run.reports(stuck("x" * 1000, question="which lamp?"))
    run.tell("the one upstairs")
    context = run.asked().assignment.context
    assert size_bytes(context) <= 256
    run.reports(stuck("y" * 1000))
    run.splits("find red", "find blue")
    context = run.asked("0").assignment.context
    assert size_bytes(context) <= 256
    assert "bytes left out" in context


def test_answers_and_findings_reach_the_parts_of_the_task() -> None:
    run = Scenario()
    run.reports(stuck(question="which lamp?"))
    run.tell("the one upstairs")
    run.reports(stuck())
    run.splits(child(GOAL, inputs={"bricks": [1]}, success_criteria=()), child("find blue"), how="inputs")
    assert "Known: Answer to “which lamp?”: the one upstairs" in run.asked("0").assignment.context


def test_result_of_the_part_before_reaches_all_parts_of_the_one_after() -> None:
    run = Scenario(attempt="never")
    run.splits("make a plan", "carry it out", sequential=True)
    run.answers({"cannot": "one piece"}, "0")
    run.solves("0", result="the plan")
    run.splits("first step", "second step", path="1", sequential=True)
    run.answers({"cannot": "one piece"}, "10")
    assert run.asked("10").assignment.inputs["previous"] == "the plan"
    run.solves("10", result="step done")
    run.answers({"cannot": "one piece"}, "11")
    told = run.asked("11").assignment
    assert told.inputs["previous"] == "step done"
    assert 'Done already: make a plan. Result: "the plan"' in told.context


def test_attempt_after_parts_knows_what_they_found() -> None:
    run = Scenario(max_replans=0)
    run.reports(stuck())
    run.splits("find red", "find blue")
    run.solves("0", result="3 red")
    run.reports(failed(), "1")
    run.answers({"finding": "definition_wrong", "remedy": "redefine", "reason": "so", "information": "skip blue"})
    context = run.asked().assignment.context
    assert 'Done already: find red. Result: "3 red"' in context
    assert "New: skip blue" in context
