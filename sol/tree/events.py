"""Events: what happened, in the order it was committed. A run's state is nothing but their fold.

Each type has its class, whose fields are all there is to it; `sol.tree.codec` writes and reads them, folding is done by
`sol.tree.fold` and by the programs. The spelling of types and fields is what journals hold: it never changes.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, TypeVar

import msgspec
from msgspec import Struct, field

from sol.tree.values import (
    NO_CAUSE,
    AnswerValue,
    AssignmentData,
    Cause,
    CheckResult,
    CriterionData,
    ExpectedData,
    Json,
    ProgressData,
    ReportData,
    Usage,
    WorkerData,
)

F = TypeVar("F")


class EventType(StrEnum):
    """All event types of task trees and machine workflows; another program may have more.

    Outcomes come from effects, requests from people, the rest are decisions.
    """

    # the run
    RUN_STARTED = "run_started"
    RUN_STATUS = "run_status"
    RESUMED = "resumed"
    # requests from outside
    CANCEL_REQUESTED = "cancel_requested"
    INTERRUPTED = "interrupted"
    ANSWERED = "answered"
    RETRY_REQUESTED = "retry_requested"
    BUDGET_HIT = "budget_hit"
    # outcomes of effects
    PROGRESSED = "progressed"
    REPORTED = "reported"
    CHECKED = "checked"
    ANSWER = "answer"
    LOST = "lost"
    LATE = "late"
    # decisions
    CREATED = "created"
    QUEUED = "queued"
    STARTED = "started"
    DROPPED = "dropped"
    STOPPED = "stopped"
    ANALYSED = "analysed"
    DECIDED = "decided"
    REFUSED = "refused"
    SPLIT = "split"
    ASKED = "asked"
    REDEFINED = "redefined"
    REOPENED = "reopened"
    SETTLED = "settled"


class ByClass(dict[type, F | None]):
    """What to do for each class: what is given for it, or else for the nearest class that it inherits from."""

    def __missing__(self, kind: type) -> F | None:
        found = next((self[base] for base in kind.__mro__[1:] if base in self), None)
        self[kind] = found
        return found


class Payload(Struct, frozen=True, omit_defaults=True, gc=False):
    """What an event says. Each class has the `TYPE` that it is stored under."""

    TYPE: ClassVar[str]


class Event(Struct, gc=False):
    """One thing that happened.

    Attributes:
        node: Path of the node it happened to; "" is the root (and the run itself).
        data: What; its class is the event's type.
        t: Seconds since the epoch when it was committed; 0.0 until the engine takes it in.
    """

    node: str
    data: Payload
    t: float = 0.0

    @property
    def type(self) -> str:
        """The name of its type, one of `EventType` unless a program of somebody else made it."""
        return self.data.TYPE


class Command(Struct, frozen=True, gc=False):
    """What a program wants done: an effect with its key.

    Attributes:
        node: Path of the node.
        kind: Kind of effect.
        n: Which one of its kind on this node, from 1.
        cause: What is new about it, so that it is no blind repetition (S53), and what the program needs back.
        reserve: What it may use at most, reserved in the budget while it runs; None: it costs nothing.
    """

    node: str
    kind: str
    n: int
    cause: Cause = field(default=NO_CAUSE, name="because")
    reserve: Usage | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """Node, kind and attempt number; unique within a run."""
        return (self.node, self.kind, self.n)


# --- the run ---------------------------------------------------------------------------------------------------------


class RunStarted(Payload, frozen=True, omit_defaults=True, gc=False):
    """A run was started: all that a resume needs to know of it. Programs add what is theirs. Source: S01.

    Attributes:
        strategy: Whose limits hold.
        worker: Who does nodes that name nobody else.
        workspace: Directory that it works in, absolute.
        sol: `model` when Sol can judge words, otherwise `rules`.
        base_url: Address of a server for both models; None: none, or one with a password.
        isolation, base, checkouts: How Lunas are kept apart, what from, and where; "": they are not.
    """

    TYPE = EventType.RUN_STARTED
    strategy: Mapping[str, Json]
    worker: WorkerData
    workspace: str = ""
    sol: str = "rules"
    sol_model: str | None = None
    luna_model: str | None = None
    base_url: str | None = None
    isolation: str = ""
    base: str = ""
    checkouts: str = field(default="", name="places")


class TaskStarted(RunStarted, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A run on a task was started.

    Attributes:
        inputs: SHA-256 of each file that the task's inputs refer to, by path in the workspace.
        result_file: Where the result is written; None: nowhere.
        files: Files that task and strategy came from, by `task` and `strategy`.
        file_strategy: What the strategy's file held, before limits were narrowed.
    """

    assignment: AssignmentData
    inputs: Mapping[str, str] = msgspec.field(default_factory=dict)
    result_file: str | None = None
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    file_strategy: Mapping[str, Json] | None = None


class RunStatus(Payload, frozen=True, gc=False):
    """The run has another status."""

    TYPE = EventType.RUN_STATUS
    status: str


class Resumed(Payload, frozen=True, omit_defaults=True, gc=False):
    """A run was taken up again. Programs add what is theirs.

    Attributes:
        strategy: Whose limits hold from now on; empty: the same.
    """

    TYPE = EventType.RESUMED
    strategy: Mapping[str, Json] = msgspec.field(default_factory=dict)


class TaskResumed(Resumed, frozen=True, omit_defaults=True, gc=False):
    """A run on a task was taken up again. `changed_inputs`: input files that have changed since it began."""

    changed_inputs: tuple[str, ...] = ()


# --- requests --------------------------------------------------------------------------------------------------------


class CancelRequested(Payload, frozen=True, omit_defaults=True, gc=False):
    """Somebody wants a node, or with the root the run, cancelled."""

    TYPE = EventType.CANCEL_REQUESTED
    reason: str = ""
    by: str = ""
    at: float = 0.0


class Answered(Payload, frozen=True, omit_defaults=True, gc=False):
    """Somebody has answered the question of a node."""

    TYPE = EventType.ANSWERED
    text: str
    by: str = ""
    at: float = 0.0


class RetryRequested(Payload, frozen=True, omit_defaults=True, gc=False):
    """Somebody wants a node tried once more, with what is new about it."""

    TYPE = EventType.RETRY_REQUESTED
    note: str = ""
    worker: WorkerData | None = None
    by: str = ""
    at: float = 0.0


class BudgetHit(Payload, frozen=True, gc=False):
    """More was used than a budget allows."""

    TYPE = EventType.BUDGET_HIT
    what: str
    limit: float


# --- effects and their outcomes --------------------------------------------------------------------------------------


class EffectPayload(Payload, frozen=True, omit_defaults=True, gc=False):
    """Something about an effect: its kind, and which one of its kind on this node."""

    kind: str
    n: int


class Queued(EffectPayload, frozen=True, omit_defaults=True, gc=False):
    """An effect is wanted and waits for its turn."""

    TYPE = EventType.QUEUED
    cause: Cause = field(default=NO_CAUSE, name="because")


class Started(EffectPayload, frozen=True, omit_defaults=True, gc=False):
    """An effect is started once this is committed."""

    TYPE = EventType.STARTED
    cause: Cause = field(default=NO_CAUSE, name="because")
    reserve: Usage | None = None


class Dropped(Payload, frozen=True, gc=False):
    """Effects that waited for their turn are not wanted any more, by kind and number."""

    TYPE = EventType.DROPPED
    keys: tuple[tuple[str, int], ...]


class Progressed(EffectPayload, frozen=True, omit_defaults=True, gc=False):
    """A Luna has told something on the way. `usage`: what it has used since it last did."""

    TYPE = EventType.PROGRESSED
    event: ProgressData
    usage: Usage | None = None


class Outcome(EffectPayload, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """How an effect has ended; there is exactly one for each.

    Attributes:
        usage: What it has used beyond what was told on the way; None: nothing.
        seconds: From its start to its end.
    """

    usage: Usage | None = None
    seconds: float = 0.0


class Reported(Outcome, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A Luna has handed in its report. `snapshot`: of the workspace with its work, where Lunas are kept apart."""

    TYPE = EventType.REPORTED
    report: ReportData
    snapshot: str = ""


class Checked(Outcome, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """The criteria that programs can check were checked; `n` is 0 where there were none."""

    TYPE = EventType.CHECKED
    results: tuple[CheckResult, ...]


class Answer(Outcome, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """The planner, or another effect that is no attempt and no check, has answered."""

    TYPE = EventType.ANSWER
    answer: AnswerValue
    snapshot: str = ""


class Lost(Outcome, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """An effect ended without an outcome that means anything for its task."""

    TYPE = EventType.LOST
    lost: str
    reason: str


class Interrupted(Outcome, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """An effect was stopped so that the run can go on later."""

    TYPE = EventType.INTERRUPTED
    cause: str
    reason: str


class Late(Payload, frozen=True, gc=False):
    """An outcome that came after its node had ended: booked, and without any other effect. Source: case PAR-04."""

    TYPE = EventType.LATE
    outcome: Outcome

    @property
    def kind(self) -> str:
        """Kind of the effect."""
        return self.outcome.kind

    @property
    def n(self) -> int:
        """Which one of its kind on the node."""
        return self.outcome.n


# --- decisions that all programs know --------------------------------------------------------------------------------


class Decided(Payload, frozen=True, omit_defaults=True, gc=False):
    """A list of rules was gone through. Source: R20.

    Attributes:
        section: Which list.
        rule: Index of the rule that held; None: none did, or a judge has to be asked first.
        condition, kind, next: Of that rule.
        read: What the condition looked at.
        reason: The judge's, or why no rule held.
        wait: A judge has to be asked first; `labels` is what it is about.
        seen: Where no rule held: what each of them saw.
    """

    TYPE = EventType.DECIDED
    section: str
    rule: int | None = None
    kind: str = ""
    condition: str = ""
    next: str | None = None
    read: Mapping[str, object] = msgspec.field(default_factory=dict)
    reason: str | None = None
    wait: bool = False
    labels: tuple[str, ...] = ()
    seen: tuple[Mapping[str, object], ...] = ()


class Asked(Payload, frozen=True, omit_defaults=True, gc=False):
    """A person is asked something; the node waits for the answer."""

    TYPE = EventType.ASKED
    question: str
    kind: str = ""


class Reopened(Payload, frozen=True, omit_defaults=True, gc=False):
    """A node that had ended, or was interrupted, is open again.

    Attributes:
        state: What it is now.
        redo: Kind of effect to start again; "" for none.
        was: Kind that was interrupted.
        note, worker: What is new.
    """

    TYPE = EventType.REOPENED
    state: str
    redo: str = ""
    was: str = ""
    note: str = ""
    worker: WorkerData | None = None


class Settled(Payload, frozen=True, omit_defaults=True, gc=False):
    """A node has ended.

    Attributes:
        state: How. `kind`: why, in one word. `reason`: in one sentence.
        resumable: A resume may take it up again.
        redo, cause: What it was doing, to be wanted again then; None: as it is.
        open: Sets of issues that stayed open, where that is why it ended.
    """

    TYPE = EventType.SETTLED
    state: str
    kind: str = ""
    reason: str = ""
    resumable: bool = False
    redo: str | None = None
    cause: Cause | None = field(default=None, name="because")
    open: tuple[tuple[str, ...], ...] = ()


# --- decisions about tasks -------------------------------------------------------------------------------------------


class Created(Payload, frozen=True, omit_defaults=True, gc=False):
    """A task is there. The root's assignment is whole; a part's has the fields that differ from its parent's.

    Attributes:
        parent: Path of the task that it is part of; None in journals that did not say: the path without its last digit.
        after: Path of the part that it waits for.
        claim: What it claims to be. Source: S14.
        restates, portion: See `TaskNode`.
    """

    TYPE = EventType.CREATED
    assignment: "AssignmentChanges"
    parent: str | None = None
    claim: str = ""
    after: str = ""
    restates: bool = False
    portion: bool = False
    worker: WorkerData | None = None


class AssignmentChanges(Struct, frozen=True, omit_defaults=True, gc=False):
    """Fields of an assignment; None: as the parent's."""

    goal: str | None = None
    context: str | None = None
    inputs: Mapping[str, Json] | None = None
    constraints: tuple[str, ...] | None = None
    expected_output: ExpectedData | None = None
    success_criteria: tuple[CriterionData, ...] | None = None
    stop_conditions: tuple[str, ...] | None = None


class Stopped(Payload, frozen=True, omit_defaults=True, gc=False):
    """The Luna of this attempt is stopped for good. Source: S10."""

    TYPE = EventType.STOPPED
    n: int


class Analysed(Payload, frozen=True, omit_defaults=True, gc=False):
    """Why a report, its checks or an integration do not do.

    Attributes:
        failed: Criteria that do not hold.
        open: Issues that an integration left open; None where it is about something else.
    """

    TYPE = EventType.ANALYSED
    kind: str
    blocker: str
    unknown: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    open: tuple[str, ...] | None = None


class Refused(Payload, frozen=True, omit_defaults=True, gc=False):
    """A proposal was not taken. `goals`: keys of its parts, where it may not come back."""

    TYPE = EventType.REFUSED
    what: str
    kind: str
    reason: str
    goals: tuple[str, ...] = ()


class Split(Payload, frozen=True, omit_defaults=True, gc=False):
    """A task was split. `goals`: keys of its parts. `cause`: kind of the report that led to it."""

    TYPE = EventType.SPLIT
    children: tuple[str, ...]
    goals: tuple[str, ...]
    how: str
    dimension: str
    sequential: bool
    reason: str = ""
    cause: str = field(default="", name="because")


class Redefined(Payload, frozen=True, omit_defaults=True, gc=False):
    """A task is tried once more with what a reassessment brought. `goal`: the new one; "": the old one stays."""

    TYPE = EventType.REDEFINED
    information: str
    goal: str = ""
