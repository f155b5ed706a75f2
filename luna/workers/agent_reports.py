"""The three reports as an agent's tools, and what becomes of them. A report that fits no form is asked for again."""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema, create_model

from luna.protocol import Failed, FailedKind, Report, Stuck, Success, Text
from luna.schemas import schema_errors
from luna.text import whole_characters

_SUCCESS = "ReportSuccess"


class Form(BaseModel):
    """What all three have in common: what they have no field for is kept, and not offered. Source: S05."""

    model_config = ConfigDict(extra="allow", json_schema_extra=lambda schema: schema.pop("additionalProperties", None))


class ReportStuck(Form):
    """Report that you cannot go on. The task may then be split, so say what is known and what is not."""

    blocker: Text = Field(description="the concrete obstacle")
    kind: Literal[
        "information_missing",
        "access_missing",
        "dependency_unavailable",
        "premise_wrong",
        "not_solvable_alone",
        "entangled_unknowns",
        "scope_too_large",
        "several_causes",
        "needs_human",
        "other",
    ] = "other"
    summary: str = ""
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    attempted: tuple[str, ...] = ()
    suggested_split: tuple[str, ...] = ()
    question: str | None = Field(default=None, description="only if a human must answer it")


class ReportFailed(Form):
    """Report that the task cannot be done by anybody because what it assumes does not hold."""

    reason: Text
    evidence: tuple[str, ...] = ()


REPORT_NAMES: Final = frozenset({_SUCCESS, ReportStuck.__name__, ReportFailed.__name__})
"""Names of the tools that are reports."""


def report_types(schema: Mapping[str, JsonValue] | None) -> tuple[type[Form], ...]:
    """The forms of the three reports; the result of a success is held to the schema of the expected output."""
    result: Any = Any
    if schema is not None:
        # References would have to be rewritten for the tool's own schema, so such a schema is told in words.
        text = json.dumps(schema)
        shown = {"description": f"satisfies this JSON Schema: {text}"} if '"$ref"' in text else dict(schema)
        result = Annotated[Any, AfterValidator(_fitting(schema)), WithJsonSchema(shown)]
    success = create_model(
        _SUCCESS,
        __base__=Form,
        __doc__="Report that the task is done and its success criteria are met.",
        summary=(str, ...),
        result=(result, ... if schema is not None else None),
        evidence=(tuple[str, ...], ()),
        remaining_risks=(tuple[str, ...], ()),
    )
    return success, ReportStuck, ReportFailed


def _fitting(schema: Mapping[str, JsonValue]) -> Callable[[JsonValue], JsonValue]:
    def fits(value: JsonValue) -> JsonValue:
        if errors := schema_errors(value, schema):
            raise ValueError("; ".join(errors))
        return value

    return fits


def read_report(given: Form | None, *, cut: bool, refusal: str | None, last_text: str) -> Report:
    """The report that the agent gave, or that it gave none.

    Args:
        given: In one of the forms; None: the agent ended without.
        cut: Whether its last turn ended at a length limit.
        refusal: Why the model would not go on; None: it did not refuse.
        last_text: What it said last, as evidence where there is no report.

    Source: S05, S52, S55, STAT-01.
    """
    match given:
        case None if cut:
            return Failed(kind=FailedKind.TRUNCATED, reason="the last turn was cut off", evidence=(last_text,))
        case None if refusal is not None:
            return Failed(kind=FailedKind.REFUSED, reason=f"the model refused: {refusal}", evidence=(last_text,))
        case None:
            return Failed(kind=FailedKind.NO_STATUS, reason="the agent ended without a report", evidence=(last_text,))
        case ReportStuck():
            return Stuck.model_validate(_fields(given))
        case ReportFailed():
            return Failed.model_validate(_fields(given))
        case success:
            return Success.model_validate(_fields(success))


def _fields(given: Form) -> dict[str, JsonValue]:
    """What a form says, in the words of the vocabulary; what it has no field for is a suggestion."""
    others = given.model_extra or {}
    fields = {**given.model_dump(exclude=set(others)), "suggestions": others}
    return dict(json.loads(whole_characters(json.dumps(fields, ensure_ascii=False))))
