"""What Sol asks its effects for, and what they answer: the seam between the pure core, the planner and the dispatcher.

A request holds all that an effect needs, as plain JSON data; an answer becomes the data of one journal event.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from luna.protocol import Usage

Json: TypeAlias = Mapping[str, Any]


class Kind(StrEnum):
    """The kinds of effects. Each is run at most once for a (node, kind, attempt)."""

    ATOMIC = "atomic"
    ATTEMPT = "attempt"
    CHECK = "check"
    JUDGE = "judge"
    SPLIT = "split"
    REVIEW = "review"
    MERGE = "merge"
    INTEGRATE = "integrate"
    LAND = "land"
    REASSESS = "reassess"
    RULE = "rule"


class How(StrEnum):
    """How a split was found, which also says how its results are put together again."""

    MODEL = "model"
    SUGGESTED = "suggested"
    UNKNOWNS = "unknowns"
    INPUTS = "inputs"


class Finding(StrEnum):
    """The five things Sol suspects at the depth limit. Source: S57."""

    DEFINITION_WRONG = "definition_wrong"
    GOAL_IMPOSSIBLE = "goal_impossible"
    INFORMATION_MISSING = "information_missing"
    ARCHITECTURE_PROBLEM = "architecture_problem"
    WRONG_DIMENSION = "wrong_dimension"


class Remedy(StrEnum):
    """How a reassessment ends. Source: S58."""

    REDEFINE = "redefine"
    ASK = "ask"
    GIVE_UP = "give_up"


class Claim(StrEnum):
    """What a child of a split claims to be. Source: S14."""

    INDEPENDENT = "independent"
    SIMPLER = "simpler"
    TESTABLE = "testable"


@dataclass(frozen=True, slots=True)
class Part:
    """A child as the planner sees it: what it was, how it ended, what came out.

    Attributes:
        inputs: Its own, which tell where it stands in the whole when inputs were halved; None: not known.
        halved: Its own inputs were halved, so halving them once more would only repeat what did not work out.
    """

    path: str
    goal: str
    state: str
    result: Any = None
    summary: str = ""
    reason: str = ""
    inputs: Json | None = None
    halved: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where an effect works when Lunas are kept apart.

    Attributes:
        name: Of the place, unique within the run.
        base: The snapshot that it starts from.
        sides: Accepted work to have in it as well, as path of the node and snapshot, in order.
    """

    name: str
    base: str
    sides: tuple[tuple[str, str], ...] = ()


# --- requests --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AtomicRequest:
    """Is this task one piece of work for one Luna? Source: S08, S09."""

    assignment: Json


@dataclass(frozen=True, slots=True)
class AttemptRequest:
    """Let a Luna try.

    Attributes:
        partial: Stored parts of earlier attempts.
        because: What is new about this attempt (S53).
        answers: What humans answered to questions of earlier attempts, by question.
        place: Where; None: in the workspace itself.
    """

    assignment: Json
    worker: Json
    partial: Json = field(default_factory=dict)
    because: Json = field(default_factory=dict)
    answers: Json = field(default_factory=dict)
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """Run the executable criteria on a result of a worker, whose commands are confined as the worker's own.

    `started_t`: seconds since the epoch when the attempt began.
    """

    assignment: Json
    result: Any
    started_t: float
    worker: Json
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """Answer each question about a result, yes or no with a reason."""

    assignment: Json
    result: Any
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """Split a task in two (or up to `arity`).

    Attributes:
        report: The STUCK or FAILED report of the last attempt; None when nothing was tried yet.
        dimensions: Names of the split dimensions in the order of preference.
        splitter: `auto` or `inputs` (see the strategy's field).
        done: Accepted parts that need not be done again.
        failed: Parts that did not work out, with what was learnt.
        tried: Splits already refused or tried on this node, as lists of goals.
        refused: Why the planner's last answer was refused; None on the first request.
        depth_left: Levels below this node that the depth limit leaves, at least 1.
    """

    assignment: Json
    report: Json | None
    dimensions: tuple[str, ...]
    splitter: str
    arity: int
    depth_left: int
    done: tuple[Part, ...] = ()
    failed: tuple[Part, ...] = ()
    tried: tuple[tuple[str, ...], ...] = ()
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """Is this split real progress, although a child reads like a mere portion of its parent? Source: S15."""

    assignment: Json
    children: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class IntegrateRequest:
    """Put accepted parts together.

    Attributes:
        parts: In path order. Those neither `success` nor `skipped` are what is left open; skipped ones were set aside.
        worker: The Luna that integrates; None: the planner does (S61).
        place: Where the Luna works, with the parts' work merged; None: in the workspace itself.
    """

    assignment: Json
    parts: tuple[Part, ...]
    sequential: bool
    how: str
    worker: Json | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """Bring the work of accepted parts together in one place.

    Attributes:
        place: Where, and what is merged into it.
        parts: Whose work it is.
        worker: The Luna that settles the conflict which came up before; None: none has.
    """

    assignment: Json
    place: Place
    parts: tuple[Part, ...]
    worker: Json | None = None


@dataclass(frozen=True, slots=True)
class LandRequest:
    """Bring accepted work into the workspace itself, where nothing has changed since `base`."""

    snapshot: str
    base: str


@dataclass(frozen=True, slots=True)
class ReassessRequest:
    """What is wrong with this task, now that it cannot be split any further? `trigger` says why we are here."""

    assignment: Json
    report: Json | None
    trigger: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleRequest:
    """A strategy rule's `ai("…")` condition: does it hold for this node? `material` is data."""

    assignment: Json
    question: str
    material: Json


Request: TypeAlias = (
    AtomicRequest
    | AttemptRequest
    | CheckRequest
    | JudgeRequest
    | SplitRequest
    | ReviewRequest
    | MergeRequest
    | IntegrateRequest
    | LandRequest
    | ReassessRequest
    | RuleRequest
)


# --- answers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AtomicAnswer:
    """Whether the task is atomic, and why."""

    atomic: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ChildPlan:
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
    success_criteria: tuple[Any, ...] = ()
    expected_output: Any = None
    inputs: Json | None = None
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class SplitAnswer:
    """A proposed split; the core decides whether to take it."""

    children: tuple[ChildPlan, ...]
    sequential: bool
    dimension: str
    reason: str
    how: str


@dataclass(frozen=True, slots=True)
class CannotSplit:
    """There is nothing to split along, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Judged:
    """One yes or no with its reason, read from structured fields only."""

    holds: bool
    reason: str


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """One verdict a question, in the order asked."""

    verdicts: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class IntegrateAnswer:
    """The whole made of its parts.

    Attributes:
        result: The integrated result.
        summary: One sentence.
        checks: For each of `no_contradiction`, `interfaces_agree`, `goal_met`, `nothing_open`,
            `parts_imply_whole`: a mapping with `ok` (True, False, or None for not judged) and `note`.
        open: What is left open, one line each.

    Source: S60.
    """

    result: Any
    summary: str
    checks: Json
    open: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReassessAnswer:
    """The finding, the remedy, and what the remedy needs.

    Attributes:
        goal: For `redefine`: the new goal; "" keeps the old one.
        information: For `redefine`: what is new (S53).
        question: For `ask`: the question to a human.
    """

    finding: str
    remedy: str
    reason: str
    goal: str = ""
    information: str = ""
    question: str = ""


Answer: TypeAlias = AtomicAnswer | SplitAnswer | CannotSplit | JudgeAnswer | Judged | IntegrateAnswer | ReassessAnswer


def as_data(answer: Answer) -> dict[str, Any]:
    """An answer as the JSON data of its event."""
    if isinstance(answer, CannotSplit):
        return {"cannot": answer.reason}
    return {name: _plain(getattr(answer, name)) for name in answer.__dataclass_fields__}


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, ChildPlan | Judged):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of the planner with what it cost."""

    answer: Answer
    usage: Usage


CHECKS_OF_INTEGRATION: Sequence[str] = (
    "no_contradiction",
    "interfaces_agree",
    "goal_met",
    "nothing_open",
    "parts_imply_whole",
)
