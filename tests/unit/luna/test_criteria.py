"""Success criteria as they are written."""

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
