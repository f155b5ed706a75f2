"""Values that nodes, events and effects share: assignments, reports, workers, checks, all as slots classes.

They are what the journal stores. They come in checked (a task file, a report, a planner's answer), so nothing here
checks them again, and nobody changes them. Fields that say nothing are left out when they are stored.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from luna.criteria import CheckResult
from luna.protocol import Usage, WorkerSpec

if TYPE_CHECKING:
    Json: TypeAlias = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | bool | None
else:  # msgspec decodes into plain values; it needs no more than this
    from typing import Any as Json

__all__ = [
    "CRITERION_KINDS",
    "JUDGED",
    "NOTHING",
    "NO_CAUSE",
    "AnswerValue",
    "AssignmentData",
    "Cause",
    "CheckResult",
    "ChildPlan",
    "ConflictData",
    "CriterionData",
    "ExpectedData",
    "Json",
    "ProgressData",
    "ReportData",
    "SplitAnswer",
    "Usage",
    "WorkerData",
    "plain",
    "read",
]

NOTHING: Mapping[str, Json] = {}
"""One empty mapping for all, never written to: large trees are mostly made of such fields."""

CRITERION_KINDS = ("command", "file", "json_schema", "values_in", "python", "ai", "text")
JUDGED = frozenset({"ai", "text"})
"""Kinds of criteria that only words can answer."""

S = TypeVar("S")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def plain(value: object) -> dict[str, Json]:
    """A value as the JSON object that is stored of it."""
    found: dict[str, Json] = _decode(_encode(value))  # `to_builtins` leaves tuples
    return found


def read(kind: type[S], value: object) -> S:
    """A value of plain JSON as its class.

    Raises:
        msgspec.ValidationError: If it is none; names the place.
    """
    return msgspec.convert(value, kind)


class ExpectedData(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """What must be handed back; see `luna.protocol.ExpectedOutput`."""

    description: str
    json_schema: Mapping[str, Json] | None = None
    files: tuple[str, ...] = ()


class CriterionData(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A success criterion: exactly one of the fields up to `text` is given; see `luna.criteria`."""

    command: str | tuple[str, ...] | None = None
    file: str | None = None
    json_schema: Mapping[str, Json] | None = None
    values_in: str | None = None
    python: str | None = None
    ai: str | None = None
    text: str | None = None
    exit_code: int = 0
    timeout_s: float = 120.0
    new: bool = True

    def __post_init__(self) -> None:
        if sum(getattr(self, kind) is not None for kind in CRITERION_KINDS) != 1:
            raise ValueError(f"a criterion has exactly one of {', '.join(CRITERION_KINDS)}")

    @property
    def kind(self) -> str:
        """Which field is given."""
        return next(kind for kind in CRITERION_KINDS if getattr(self, kind) is not None)

    @property
    def words(self) -> str:
        """What it says, as a text."""
        value = getattr(self, self.kind)
        return str(list(value) if isinstance(value, tuple) else value)


class AssignmentData(Struct, frozen=True, gc=False):
    """The seven fields of an assignment; see `luna.protocol.Assignment`. Source: S26–S32."""

    goal: str
    context: str
    inputs: Mapping[str, Json]
    constraints: tuple[str, ...]
    expected_output: ExpectedData
    success_criteria: tuple[CriterionData, ...]
    stop_conditions: tuple[str, ...]


class WorkerData(Struct, frozen=True, omit_defaults=True, gc=False):
    """Which Luna does a task; see `luna.protocol.WorkerSpec`."""

    kind: str
    options: Mapping[str, Json] = msgspec.field(default_factory=dict)
    on_error: Json = None


def worker_data(spec: WorkerSpec) -> WorkerData:
    """A worker's specification as it is stored."""
    return WorkerData(spec.kind, spec.options, spec.on_error)


class ReportData(Struct, frozen=True, omit_defaults=True, gc=False):
    """A Luna's report of any status, without the fields that say nothing; see `luna.protocol`.

    Attributes:
        status: `SUCCESS`, `STUCK` or `FAILED`.
        kind: Why it is not a success, in one word; "" for one.
        blocker: Of STUCK. `reason`: of FAILED.
    """

    status: str
    kind: str = ""
    summary: str = ""
    result: Json = None
    blocker: str = ""
    reason: str = ""
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    attempted: tuple[str, ...] = ()
    suggested_split: tuple[str, ...] = ()
    question: str | None = None
    evidence: tuple[str, ...] = ()
    remaining_risks: tuple[str, ...] = ()
    suggestions: Mapping[str, Json] = msgspec.field(default_factory=dict)


class ProgressData(Struct, frozen=True, omit_defaults=True, gc=False):
    """A progress event of any type, see `luna.protocol`: only the fields of its `type` are given."""

    type: str
    name: str = ""
    arguments: Mapping[str, Json] = msgspec.field(default_factory=dict)
    observation: str = ""
    error: bool = False
    paths: tuple[str, ...] = ()
    stage: str = ""
    evidence: str = ""
    key: str = ""
    value: Json = None
    usage: Usage | None = None
    what: str = ""
    deadline_s: float = 0.0
    interval_s: float = 0.0
    text: str = ""
    before_tokens: int = 0
    after_tokens: int = 0


class ChildPlan(Struct, frozen=True, omit_defaults=True, gc=False):
    """One child as the planner proposes it.

    Attributes:
        inputs: The child's own inputs; None: those of the parent.
        success_criteria: The child's own criteria in the form task files use; empty: those of the parent still fit
            (halved inputs).
        expected_output: As in an assignment; None: the parent's.
        claim: Which of independent, simpler, testable it claims to be.
        worker: Kind of worker wished for; None: the parent's. Never the planner itself.
    """

    goal: str
    claim: str
    success_criteria: tuple[Json, ...] = ()
    expected_output: Json = None
    inputs: Mapping[str, Json] | None = None
    worker: str | None = None


class AnswerValue(Struct, frozen=True, gc=False):
    """What a planner or another effect answers, the payload of one event. A program may have classes of its own."""


class SplitAnswer(AnswerValue, frozen=True, gc=False):
    """A proposed split; the core decides whether to take it."""

    children: tuple[ChildPlan, ...]
    sequential: bool
    dimension: str
    reason: str
    how: str


class ConflictData(Struct, frozen=True, gc=False):
    """Work that could not be merged: path of the part that brought it, and the files."""

    part: str
    files: tuple[str, ...]


class Cause(Struct, frozen=True, omit_defaults=True, gc=False):
    """Why an effect is wanted: what is new about it, so that it is no blind repetition (S53), and what is needed back.

    Attributes:
        new: Which sort of thing is new: `information`, `constraint`, `approach`, `resumed`; "" for a first one.
        what: What it is, in one word.
        trigger: Of a reassessment: what led to it.
        rule: Of a question to the judge: section and index of the rule that asks.
        question: The question itself.
        refused: Of another split: why the last one was refused.
        conflict: Of a merge: what the last one could not merge.
        proposal: Of a review: the split that is looked at.
        answer: Of another attempt at a step: the answer that chose no rule.
    """

    new: str = ""
    what: str = ""
    trigger: str = ""
    rule: str = ""
    question: str = ""
    refused: str | None = None
    conflict: ConflictData | None = None
    proposal: SplitAnswer | None = None
    answer: str = ""


NO_CAUSE = Cause()
