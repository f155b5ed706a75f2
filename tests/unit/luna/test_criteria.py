"""Success criteria as they are written, assignments made of checked parts, and what something cost."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from luna.criteria import (
    AiCriterion,
    CommandCriterion,
    Criterion,
    FileCriterion,
    PythonCriterion,
    SchemaCriterion,
    SourceCriterion,
    TextCriterion,
    parse_criterion,
)
from luna.protocol import PROGRESS, Assignment, Spent, Usage
from tests.support.assignments import assignment

CRITERION: TypeAdapter[Any] = TypeAdapter(Criterion)


def read(written: object) -> Any:
    return CRITERION.validate_python(parse_criterion(written))


@pytest.mark.parametrize(
    ("written", "criterion"),
    [
        ({"command": "pytest -q"}, CommandCriterion(command="pytest -q")),
        ({"command": ["make", "x y"], "exit_code": 2}, CommandCriterion(command=("make", "x y"), exit_code=2)),
        ({"file": " a.txt "}, FileCriterion(file="a.txt")),
        ({"json_schema": {"type": "array"}}, SchemaCriterion(json_schema={"type": "array"})),
        ({"values_in": "mail"}, SourceCriterion(values_in="mail")),
        ({"python": "own.checks:right"}, PythonCriterion(python="own.checks:right")),
        ({"ai": "Is it so?"}, AiCriterion(ai="Is it so?")),
        ('ai("Is it so?")', AiCriterion(ai="Is it so?")),
        (r' ai( "Does it say \"no\" or \\?" ) ', AiCriterion(ai='Does it say "no" or \\?')),
        ("it is right", TextCriterion(text="it is right")),
        ("aim(high)", TextCriterion(text="aim(high)")),
        (TextCriterion(text="ready"), TextCriterion(text="ready")),
    ],
)
def test_criterion_is_read_from_what_people_write(written: object, criterion: Any) -> None:
    assert read(written) == criterion


@pytest.mark.parametrize("text", ["ai(", "ai()", 'ai("")', "ai('so?')", 'ai("so?"', 'ai("so?) ', "ai(so)"])
def test_question_that_is_not_well_formed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r'write ai\("question"\), not'):
        parse_criterion(text)


@pytest.mark.parametrize("text", ['ai("say "no"")', 'ai("so?" + "no?")'])
def test_quote_inside_a_question_must_be_escaped(text: str) -> None:
    with pytest.raises(ValueError, match="a double quote inside"):
        parse_criterion(text)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"python": "checks.right"}, "write module:function, not 'checks.right'"),
        ({"python": "os; import sys:x"}, "write module:function"),
        ({"command": []}, "at least 1 item"),
        ({"command": "x", "exit_code": 256}, "less than or equal to 255"),
        ({"file": "a", "neu": True}, "Extra inputs"),
        ({"shell": "rm -r ."}, "a criterion is one of"),
        (7, "a criterion is one of"),
        ("  ", "at least 1 character"),
    ],
)
def test_wrong_criterion_is_refused_with_what_to_write(written: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        read(written)


@pytest.mark.parametrize(
    "written",
    [
        {"command": ["make", "x y"], "timeout_s": 3},
        {"command": "pytest -q"},
        {"file": "a.txt", "new": False},
        {"json_schema": {"type": "array"}},
        {"values_in": "mail"},
        {"python": "own.checks:right"},
        'ai("Is it so?")',
        "it is right",
    ],
)
@pytest.mark.parametrize("brief", [False, True])
def test_trusted_assignment_equals_the_validated_one(written: object, brief: bool) -> None:
    output = {"description": "rows", "json_schema": {"type": "array"}, "files": ["a.txt"]}
    validated = assignment(inputs={"mail": ["x"]}, constraints=["none of it"], success_criteria=[written, "b"])
    for one in (validated, assignment(expected_output=output, success_criteria=[written, {"file": "a.txt"}])):
        data = one.model_dump(mode="json", exclude_defaults=brief)
        trusted = Assignment.trusted(**data)
        assert trusted == one
        assert trusted.checks == one.checks
        assert trusted.model_dump_json() == one.model_dump_json()
        parts = {name: getattr(one, name) for name in Assignment.model_fields}
        assert Assignment.trusted(**parts) == one


# --- usage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "amounts",
    [{"calls": -1}, {"tokens": -1}, {"cost": -0.1}, {"cost": float("nan")}, {"cost": float("inf")}, {"tokens": 1.5}],
)
def test_usage_refuses_amounts_that_are_none(amounts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="from 0, not"):
        Usage(**amounts)
    with pytest.raises(ValidationError):
        Spent(usage=amounts)  # type: ignore[arg-type]  # as JSON gives it


def test_usage_inside_an_event_is_written_without_its_defaults() -> None:
    spent = Spent(usage=Usage(calls=2, cost=0.5 - float("0.5")))
    assert spent.model_dump(mode="json") == {"type": "spent", "usage": {"calls": 2}}
    assert spent.model_dump_json() == '{"type":"spent","usage":{"calls":2}}'
    for data in (spent.model_dump(), {"type": "spent", "usage": {"calls": 2, "tokens": 0, "reported": True}}):
        assert PROGRESS.validate_python(data) == spent
    assert PROGRESS.validate_json(spent.model_dump_json()) == spent
    with pytest.raises(ValidationError, match="unknown field `call`"):
        PROGRESS.validate_python({"type": "spent", "usage": {"call": 2}})


def test_usage_adds_up_and_is_reported_only_if_all_is() -> None:
    total = Usage(calls=1, tokens=5, cost=0.25).plus(Usage(calls=2, reported=False))
    assert total == Usage(calls=3, tokens=5, cost=0.25, reported=False)
