"""The shared vocabulary of Sol and Luna: assignments, progress, reports, and what a worker is.

Everything here is plain data and crosses process borders as JSON. Nothing here runs anything.
"""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Protocol, Self, TypeAlias, runtime_checkable

import msgspec
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    JsonValue,
    StringConstraints,
    TypeAdapter,
    field_validator,
)
from pydantic_core import core_schema

from luna.criteria import Criterion, FileCriterion, SchemaCriterion, parse_criterion, trusted_criterion, trusted_model

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
NONE = "none"
NO_COST: Final = 0.0
_NUMBERS = (float, int)


class Data(BaseModel):
    """Base of the vocabulary: immutable, unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StuckKind(StrEnum):
    """Why a Luna cannot go on although the task may be solvable in parts. Source: S35–S48, S06, S07, S59."""

    INFORMATION_MISSING = "information_missing"
    ACCESS_MISSING = "access_missing"
    DEPENDENCY_UNAVAILABLE = "dependency_unavailable"
    PREMISE_WRONG = "premise_wrong"
    NOT_SOLVABLE_ALONE = "not_solvable_alone"
    SAME_HYPOTHESIS = "same_hypothesis"
    SAME_ERROR = "same_error"
    NO_NEW_EVIDENCE = "no_new_evidence"
    ENTANGLED_UNKNOWNS = "entangled_unknowns"
    SCOPE_TOO_LARGE = "scope_too_large"
    NO_PROGRESS = "no_progress"
    FIX_BREAKS_ELSEWHERE = "fix_breaks_elsewhere"
    SEVERAL_CAUSES = "several_causes"
    DRIFT = "drift"
    REPETITION = "repetition"
    TEXT_LOOP = "text_loop"
    CONTEXT_THRASH = "context_thrash"
    SCOPE = "scope"
    STEP_LIMIT = "step_limit"
    TIMEOUT = "timeout"
    NEEDS_HUMAN = "needs_human"
    VERIFICATION = "verification"
    UNVERIFIED_SUCCESS = "unverified_success"
    UNSPECIFIED = "unspecified"
    OTHER = "other"


class FailedKind(StrEnum):
    """Why a task ended FAILED: its premise does not hold, or the worker itself broke. Source: S52, S55, S56."""

    PREMISE = "premise"
    NO_STATUS = "no_status"
    TRUNCATED = "truncated"
    KILLED = "killed"
    EXIT = "exit"
    FORMAT = "format"
    EXCEPTION = "exception"
    REFUSED = "refused"
    NOT_STARTED = "not_started"
    OUTPUT_LIMIT = "output_limit"
    CONTEXT_TOO_LARGE = "context_too_large"


class Stage(StrEnum):
    """The progress ladder, lowest first. Only a rise, or new evidence, is progress. Source: S49."""

    UNKNOWN = "unknown"
    HYPOTHESIS = "hypothesis"
    EVIDENCE = "evidence"
    ROOT_CAUSE = "root_cause"
    SOLUTION = "solution"
    VERIFIED = "verified"

    @property
    def rank(self) -> int:
        """Position on the ladder, 0 for `unknown`."""
        return list(Stage).index(self)


def _several(value: object) -> object:
    """One text stands for a list of one. Lists become tuples here, since strict validation does not do it after us."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


class ExpectedOutput(Data):
    """What the worker must hand back.

    Attributes:
        description: In words.
        json_schema: JSON Schema that the result must satisfy; None: no demand on its shape.
        files: Paths inside the workspace that must exist, be non-empty and newer than the attempt's start.
    """

    description: Text
    json_schema: dict[str, JsonValue] | None = None
    files: tuple[Text, ...] = ()

    @field_validator("files", mode="before")
    @classmethod
    def _one_file(cls, value: object) -> object:
        return _several(value)


class Assignment(Data):
    """One task for one Luna, with the seven fields; none may be missing.

    `"none"` is accepted for `context`, `inputs` and `constraints` only.

    Source: S26–S32.
    """

    goal: Text
    context: Text
    inputs: dict[str, JsonValue]
    constraints: tuple[Text, ...]
    expected_output: ExpectedOutput
    success_criteria: tuple[Criterion, ...] = Field(min_length=1)
    stop_conditions: tuple[Text, ...] = Field(min_length=1)

    @field_validator("inputs", mode="before")
    @classmethod
    def _inputs_none(cls, value: object) -> object:
        return {} if value == NONE else value

    @field_validator("constraints", mode="before")
    @classmethod
    def _constraints_none(cls, value: object) -> object:
        return () if value == NONE else _several(value)

    @field_validator("stop_conditions", mode="before")
    @classmethod
    def _one_stop_condition(cls, value: object) -> object:
        return _several(value)

    @field_validator("expected_output", mode="before")
    @classmethod
    def _described_output(cls, value: object) -> object:
        return {"description": value} if isinstance(value, str) else value

    @field_validator("success_criteria", mode="before")
    @classmethod
    def _criteria(cls, value: object) -> object:
        items = [value] if isinstance(value, str | Mapping) else value
        return tuple(parse_criterion(item) for item in items) if isinstance(items, list | tuple) else items

    @field_validator("goal", "expected_output", "success_criteria", "stop_conditions")
    @classmethod
    def _explicit(cls, value: object) -> object:
        for item in value if isinstance(value, tuple) else (value,):
            words = item.description if isinstance(item, ExpectedOutput) else getattr(item, "text", item)
            if isinstance(words, str) and words.lower() == NONE:
                raise ValueError("'none' is accepted for context, inputs and constraints only; say something here")
        return value

    @classmethod
    def trusted(
        cls,
        *,
        goal: str,
        context: str,
        inputs: dict[str, JsonValue],
        constraints: Sequence[str],
        expected_output: ExpectedOutput | Mapping[str, Any],
        success_criteria: Sequence[Criterion | Mapping[str, Any]],
        stop_conditions: Sequence[str],
    ) -> Self:
        """An assignment of parts that were validated before, as such or as `model_dump` gave them. Checks nothing.

        The inputs are taken as they are, not copied.
        """
        given = {
            "goal": goal,
            "context": context,
            "inputs": inputs,
            "constraints": tuple(constraints),
            "expected_output": _trusted_output(expected_output),
            "success_criteria": tuple(
                each if isinstance(each, BaseModel) else trusted_criterion(each) for each in success_criteria
            ),
            "stop_conditions": tuple(stop_conditions),
        }
        return trusted_model(cls, given)

    @property
    def checks(self) -> tuple[Criterion, ...]:
        """All criteria, with those that the expected output implies (its schema, its files) first."""
        out = self.expected_output
        if not out.files and out.json_schema is None:
            return self.success_criteria
        implied: list[Criterion] = [trusted_model(FileCriterion, {"file": path}) for path in out.files]
        if out.json_schema is not None:
            implied.append(trusted_model(SchemaCriterion, {"json_schema": out.json_schema}))
        return (*implied, *(c for c in self.success_criteria if c not in implied))


def _trusted_output(output: ExpectedOutput | Mapping[str, Any]) -> ExpectedOutput:
    if isinstance(output, ExpectedOutput):
        return output
    given = {**output, "files": tuple(output["files"])} if "files" in output else {**output}
    return trusted_model(ExpectedOutput, given)


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """What something cost.

    Attributes:
        calls: Model calls or worker attempts.
        tokens: Input and output tokens together.
        cost: In US dollars.
        reported: False when the worker did not say; the budget then charges the declared maximum.

    Raises:
        ValueError: If an amount is negative, or no number.
    """

    calls: int = 0
    tokens: int = 0
    cost: float = NO_COST
    reported: bool = True

    def __post_init__(self) -> None:
        calls, tokens, cost = self.calls, self.tokens, self.cost
        if not (type(calls) is type(tokens) is int and calls >= 0 and tokens >= 0):
            raise ValueError(f"calls and tokens are whole numbers from 0, not {calls!r} and {tokens!r}")
        if type(cost) not in _NUMBERS or not 0 <= cost < math.inf:
            raise ValueError(f"cost is a number from 0, not {cost!r}")
        if not cost and cost is not NO_COST:  # msgspec leaves out a float only when it is the default itself
            msgspec.structs.force_setattr(self, "cost", NO_COST)

    def plus(self, other: "Usage") -> "Usage":
        """The sum of both; reported only when both are."""
        return Usage(
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            cost=self.cost + other.cost,
            reported=self.reported and other.reported,
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else msgspec.convert(value, cls, strict=False),
            serialization=core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins),
        )


# --- reports ---------------------------------------------------------------------------------------------------------


class Success(Data):
    """The worker holds the task to be done. Not accepted before its criteria were checked. Source: S55, S59."""

    status: Literal["SUCCESS"] = "SUCCESS"
    summary: str
    result: JsonValue = None
    evidence: tuple[str, ...] = ()
    remaining_risks: tuple[str, ...] = ()
    suggestions: dict[str, JsonValue] = Field(default_factory=dict)


class Stuck(Data):
    """The worker cannot go on; the task may be solvable when split.

    Attributes:
        blocker: The concrete obstacle; an empty one is asked for once more (S07).
        question: Something only a human can answer; None when there is nothing to ask.
        suggestions: Anything else the worker proposed (new tasks, other criteria); kept, never acted on (S05).

    Source: S55.
    """

    status: Literal["STUCK"] = "STUCK"
    kind: StuckKind = StuckKind.OTHER
    summary: str = ""
    blocker: str
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    attempted: tuple[str, ...] = ()
    suggested_split: tuple[str, ...] = ()
    question: str | None = None
    evidence: tuple[str, ...] = ()
    suggestions: dict[str, JsonValue] = Field(default_factory=dict)


class Failed(Data):
    """The task cannot be done: the premise does not hold, or the worker broke (see `kind`). Source: S52, S55, S56."""

    status: Literal["FAILED"] = "FAILED"
    kind: FailedKind = FailedKind.PREMISE
    reason: Text
    evidence: tuple[str, ...] = ()
    suggestions: dict[str, JsonValue] = Field(default_factory=dict)


Report: TypeAlias = Annotated[Success | Stuck | Failed, Field(discriminator="status")]
REPORT: TypeAdapter[Success | Stuck | Failed] = TypeAdapter(Report)
REPORT_TYPES: Final = (Success, Stuck, Failed)


# --- progress --------------------------------------------------------------------------------------------------------


class Action(Data):
    """One completed action and what came of it. `paths` are those it touched, relative to the workspace."""

    type: Literal["action"] = "action"
    name: Text
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    observation: str = ""
    error: bool = False
    paths: tuple[str, ...] = ()


class Progress(Data):
    """Where on the ladder the worker stands, with the evidence for it. Source: S49."""

    type: Literal["progress"] = "progress"
    stage: Stage
    evidence: str = ""


class Partial(Data):
    """A finished part of the result, kept whatever happens to the rest; handed back when the attempt goes on."""

    type: Literal["partial"] = "partial"
    key: Text
    value: JsonValue


class Spent(Data):
    """What has been used since the last such event."""

    type: Literal["spent"] = "spent"
    usage: Usage


class Waiting(Data):
    """A declared wait: polling for `what` is no loop until `deadline_s` has passed. Source: S50."""

    type: Literal["waiting"] = "waiting"
    what: Text
    deadline_s: float = Field(gt=0)
    interval_s: float = Field(default=0.0, ge=0)


class Said(Data):
    """Text the worker produced on the way (a model's turn)."""

    type: Literal["said"] = "said"
    text: str


class Compacted(Data):
    """The worker's context was summarised to make room. Both sizes in tokens, estimated where nobody counts."""

    type: Literal["compacted"] = "compacted"
    before_tokens: int = Field(ge=0)
    after_tokens: int = Field(ge=0)


class Note(Data):
    """Anything that shows the worker is alive and is no step of the work: started, running, heartbeat, log."""

    type: Literal["note"] = "note"
    text: str = ""


ProgressEvent: TypeAlias = Annotated[
    Action | Progress | Partial | Spent | Waiting | Said | Compacted | Note, Field(discriminator="type")
]
PROGRESS: TypeAdapter[ProgressEvent] = TypeAdapter(ProgressEvent)
EVENT_TYPES: Final = (Action, Progress, Partial, Spent, Waiting, Said, Compacted, Note)


# --- workers ---------------------------------------------------------------------------------------------------------


class WorkerSpec(Data):
    """Which Luna does a task: its kind and that kind's own settings.

    Attributes:
        kind: A registered kind: `function`, `command`, `model`, `agent`, …
        options: Settings of the kind, checked by it when the worker is made.
        on_error: Result to hand up, marked degraded, when the worker itself breaks; None: no such fallback.
    """

    kind: Text
    options: dict[str, JsonValue] = Field(default_factory=dict)
    on_error: JsonValue = None

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read `{kind: …, option: …}` (options beside the kind, as task files write it) or just a kind's name."""
        if isinstance(value, str):
            return cls(kind=value)
        if isinstance(value, Mapping) and "options" not in value:
            rest = {k: v for k, v in value.items() if k not in {"kind", "on_error"}}
            return cls.model_validate({"kind": value.get("kind"), "options": rest, "on_error": value.get("on_error")})
        return cls.model_validate(value)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One handing-over of an attempt to a worker.

    Attributes:
        key: `run/node/kind/attempt`, the same for a redelivery of the same attempt.
        workspace: Directory the worker may work in.
        partial: Parts stored by earlier deliveries or interrupted attempts, by key.
        answers: What humans have answered to questions of earlier attempts at this task, by question.
        delimiter: Random token of this run, for fencing untrusted text in prompts.
        model: Name of the Luna model of this run; None when none is set.
    """

    key: str
    workspace: Path
    partial: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    delimiter: str = ""
    model: str | None = None


@runtime_checkable
class Worker(Protocol):
    """Whatever can do one task: yields progress events and, last, exactly one report.

    A worker may raise `luna.errors.Interruption` for a rate limit, an outage or a transport time-out (S51); any other
    exception, and an end without report, becomes a FAILED report; but a `WorkerConfigError` or `ModelError` means that
    it cannot be used at all, whatever the task. Cancellation must end all it started.

    Source: S04, S55.
    """

    def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Work on the assignment."""
        ...


@runtime_checkable
class Gated(Protocol):
    """A worker that calls a provider whose limits others share. Source: S51."""

    def gate(self, model: str | None) -> str:
        """Name of the gate that its calls respect, given the run's Luna model; "" for none."""
        ...
