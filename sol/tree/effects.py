"""What Sol asks its effects for, and what they answer: the seam between the programs, the planner and the dispatcher.

A request holds all that an effect needs, as plain values that can travel to another machine; an answer is what one
journal event holds.
"""

import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from sol.tree.values import (
    NO_CAUSE,
    AnswerValue,
    AssignmentData,
    Cause,
    ChildPlan,
    ConflictData,
    Json,
    ReportData,
    Usage,
    WorkerData,
)


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
    APPLY = "land"
    REASSESS = "reassess"
    RULE = "rule"
    FILE = "file"
    SOLVE = "solve"


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


class Part(Struct, frozen=True, omit_defaults=True, gc=False):
    """A child as the planner sees it: what it was, how it ended, what came out.

    Attributes:
        inputs: Its own, which tell where it stands in the whole when inputs were halved; None: not known.
        halved: Its own inputs were halved, so halving them once more would only repeat what did not work out.
    """

    path: str
    goal: str
    state: str
    result: Json = None
    summary: str = ""
    reason: str = ""
    inputs: Mapping[str, Json] | None = None
    halved: bool = False


class Checkout(Struct, frozen=True, omit_defaults=True, gc=False):
    """Where an effect works when Lunas are kept apart.

    Attributes:
        name: Of the checkout, unique within the run.
        base: The snapshot that it starts from.
        sides: Accepted work to have in it as well, as path of the node and snapshot, in order.
    """

    name: str
    base: str
    sides: tuple[tuple[str, str], ...] = ()


# --- requests --------------------------------------------------------------------------------------------------------


class Request(Struct, frozen=True, omit_defaults=True, gc=False):
    """What an effect is asked for. Its class says who handles it; a program may have classes of its own."""


class AtomicRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Is this task one piece of work for one Luna? Source: S08, S09."""

    assignment: AssignmentData


class AttemptRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Let a Luna try.

    Attributes:
        partial: Stored parts of earlier attempts.
        cause: What is new about this attempt (S53).
        answers: What humans answered to questions of earlier attempts, by question.
        checkout: Where; None: in the workspace itself.
    """

    assignment: AssignmentData
    worker: WorkerData
    partial: Mapping[str, Json] = msgspec.field(default_factory=dict)
    cause: Cause = NO_CAUSE
    answers: Mapping[str, str] = msgspec.field(default_factory=dict)
    checkout: Checkout | None = None


class CheckRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Run the executable criteria on a result of a worker, whose commands are confined as the worker's own.

    `started_t`: seconds since the epoch when the attempt began.
    """

    assignment: AssignmentData
    result: Json
    started_t: float
    worker: WorkerData
    checkout: Checkout | None = None


class JudgeRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Answer each question about a result, yes or no with a reason."""

    assignment: AssignmentData
    result: Json
    questions: tuple[str, ...]


class SplitRequest(Request, frozen=True, omit_defaults=True, gc=False):
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

    assignment: AssignmentData
    report: ReportData | None
    dimensions: tuple[str, ...]
    splitter: str
    arity: int
    depth_left: int
    done: tuple[Part, ...] = ()
    failed: tuple[Part, ...] = ()
    tried: tuple[tuple[str, ...], ...] = ()
    refused: str | None = None


class ReviewRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Is this split real progress, although a child reads like a mere portion of its parent? Source: S15."""

    assignment: AssignmentData
    children: tuple[ChildPlan, ...]


class IntegrateRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Put accepted parts together.

    Attributes:
        parts: In path order. Those neither `success` nor `skipped` are what is left open; skipped ones were set aside.
        worker: The Luna that integrates; None: the planner does (S61).
        checkout: Where the Luna works, with the parts' work merged; None: in the workspace itself.
    """

    assignment: AssignmentData
    parts: tuple[Part, ...]
    sequential: bool
    how: str
    worker: WorkerData | None = None
    checkout: Checkout | None = None


class MergeRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Bring the work of accepted parts together in one checkout.

    Attributes:
        checkout: Where, and what is merged into it.
        parts: Whose work it is.
        worker: The Luna that settles the conflict which came up before; None: none has.
    """

    assignment: AssignmentData
    checkout: Checkout
    parts: tuple[Part, ...]
    worker: WorkerData | None = None


class ApplyRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Bring accepted work into the workspace itself, where nothing has changed since `base`."""

    snapshot: str
    base: str


class ReassessRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """What is wrong with this task, now that it cannot be split any further? `trigger` says why we are here."""

    assignment: AssignmentData
    report: ReportData | None
    trigger: str
    parts: tuple[Part, ...] = ()


class RuleRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """A strategy rule's `ai("…")` condition: does it hold for this node? `material` is data."""

    assignment: AssignmentData
    question: str
    material: Mapping[str, Json]


class FileRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Keep texts as files.

    Attributes:
        directory: Relative to the workspace.
        texts: Text of each file by name, for files that the worker has not written itself.
        known: SHA-256 of each file as it was left before.
    """

    directory: str
    texts: Mapping[str, str]
    known: Mapping[str, str]


class SolveRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """Solve a task by a run of its own.

    Attributes:
        strategy: Name or path; None: that of the settings.
        resumed: Go on with the run that an earlier attempt has begun.
    """

    assignment: AssignmentData
    worker: WorkerData
    strategy: str | None
    resumed: bool


PlannerRequest: TypeAlias = (
    AtomicRequest | JudgeRequest | SplitRequest | ReviewRequest | IntegrateRequest | ReassessRequest | RuleRequest
)
"""What Sol itself thinks about."""

# --- answers ---------------------------------------------------------------------------------------------------------


class AtomicAnswer(AnswerValue, frozen=True, gc=False):
    """Whether the task is atomic, and why."""

    atomic: bool
    reason: str


class CannotSplit(AnswerValue, frozen=True, gc=False):
    """There is nothing to split along, and why."""

    reason: str = msgspec.field(name="cannot")


class Judged(AnswerValue, frozen=True, gc=False):
    """One yes or no with its reason, read from structured fields only."""

    holds: bool
    reason: str


class JudgeAnswer(AnswerValue, frozen=True, gc=False):
    """One verdict a question, in the order asked."""

    verdicts: tuple[Judged, ...]


class IntegrationCheck(Struct, frozen=True, gc=False):
    """Whether one of the five things holds; `ok` is None where nobody could tell."""

    ok: bool | None
    note: str = ""


class IntegrateAnswer(AnswerValue, frozen=True, gc=False):
    """The whole made of its parts.

    Attributes:
        result: The integrated result.
        summary: One sentence.
        checks: One for each name in `CHECKS_OF_INTEGRATION`.
        open: What is left open, one line each.

    Source: S60.
    """

    result: Json
    summary: str
    checks: Mapping[str, IntegrationCheck]
    open: tuple[str, ...] = ()


class MergeAnswer(AnswerValue, frozen=True, gc=False):
    """The work of parts merged, up to a conflict if there is one.

    Attributes:
        snapshot: Of the checkout with the work of `merged` in it.
        merged: Paths of the parts whose work is in it.
    """

    snapshot: str
    merged: tuple[str, ...]
    conflict: ConflictData | None


class ApplyAnswer(AnswerValue, frozen=True, gc=False):
    """What became of accepted work: in the workspace or not, where else, one sentence about it, the files changed."""

    applied: bool = field(name="landed")
    where: str
    note: str
    changed: tuple[str, ...] = ()


class FileAnswer(AnswerValue, frozen=True, gc=False):
    """Files as they were left: SHA-256 by name."""

    files: Mapping[str, str]


class ReassessAnswer(AnswerValue, frozen=True, omit_defaults=True, gc=False):
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


class Answered(Struct, frozen=True, gc=False):
    """An answer of the planner with what it cost."""

    answer: AnswerValue
    usage: Usage


CHECKS_OF_INTEGRATION = (
    "no_contradiction",
    "interfaces_agree",
    "goal_met",
    "nothing_open",
    "parts_imply_whole",
)
_NO_QUOTES = str.maketrans("", "", "\"'`“”‘’«»")


@lru_cache(maxsize=4096)
def normalised(goal: str) -> str:
    """A goal without case, quotes, outer punctuation and differences of white space. Source: S15."""
    text = goal if goal.isascii() else unicodedata.normalize("NFKC", goal)
    return " ".join(text.casefold().translate(_NO_QUOTES).split()).strip(" .,:;!?-")
