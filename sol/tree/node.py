"""A run's state as plain mutable data that only the fold writes: what all programs share, and the task tree.

Who is whose parent is data: it is stored with each node, and never cut out of a path.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from sol.tree.effects import ApplyAnswer, IntegrateAnswer, Judged, MergeAnswer, ReassessAnswer
from sol.tree.events import Command, Decided, RunStarted, TaskStarted
from sol.tree.values import NO_CAUSE, NOTHING, AssignmentData, Cause, CheckResult, Json, ReportData, WorkerData

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class State(StrEnum):
    """Where a node stands. Each word means one thing only."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SPLIT = "split"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"
    EXHAUSTED = "exhausted"


TERMINAL = frozenset({State.SUCCESS, State.FAILED, State.SKIPPED, State.BLOCKED, State.CANCELLED, State.EXHAUSTED})


class Spending(Struct, gc=False):
    """What was used. `unreported`: how many effects did not say and were charged their declared maximum."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    unreported: int = 0


_NO_ANSWERS: Mapping[str, str] = {}
NO_JUDGEMENTS: Mapping[str, Judged] = {}
"""Like `NOTHING`, never written to."""


class Node(Struct, kw_only=True, gc=False):
    """One piece of work of a run, whatever its program.

    Attributes:
        path: Unique within the run; `""` for the root.
        parent: Path of the node above; "" for the root, too.
        depth: Levels below the root, which is 0. Source: S11.
        worker: Who does it.
        state: See `State`.
        kind: Why it ended as it did (`verification`, `depth_limit`, `rate_limit`, …); "" while open.
        reason: One sentence for people.
        resumable: True when a resume or retry may take it up again unchanged.
        children: Paths of all children ever made, oldest first.
        counts: Newest number of each effect kind.
        redo: Effect kind to start again on resume; "" when none was interrupted.
        cause: Of the newest effect: what is new about it, and what the program needs back.
        question: What a person is asked while waiting.
        answers: What people have answered so far, by question.
        notes: What later attempts must know (answers, findings), newest last.
        partial: Stored parts of the result by key.
        report: The newest report; `result` the accepted or claimed result; `checks` the newest check results.
        unchecked: No criterion of this node was checked by anything.
        decisions: Records of the rules that decided, newest last (R20).
        judgements: Judge's answers by `section/rule index`, for the decision in progress.
        deciding: The decision in progress that waits for a judge.
        snapshot: Of the workspace with its claimed or accepted work, where Lunas are kept apart; "" when there is none.
        since: When the newest attempt started, or before any attempt the first effect; seconds since the epoch.
        spent: Of this node alone, without its children.
    """

    path: str
    worker: WorkerData
    parent: str = ""
    depth: int = 0
    state: State = State.PENDING
    kind: str = ""
    reason: str = ""
    resumable: bool = False
    children: tuple[str, ...] = ()
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    redo: str = ""
    cause: Cause = NO_CAUSE
    question: str = ""
    answers: Mapping[str, str] = msgspec.field(default_factory=lambda: _NO_ANSWERS)
    notes: tuple[str, ...] = ()
    partial: Mapping[str, Json] = msgspec.field(default_factory=lambda: NOTHING)
    report: ReportData | None = None
    result: Json = None
    checks: tuple[CheckResult, ...] = ()
    unchecked: bool = False
    decisions: tuple[Decided, ...] = ()
    judgements: Mapping[str, Judged] = msgspec.field(default_factory=lambda: NO_JUDGEMENTS)
    deciding: Decided | None = None
    snapshot: str = ""
    since: float = 0.0
    spent: Spending = msgspec.field(default_factory=Spending)

    def __repr__(self) -> str:
        title = self.title
        shown = title if len(title) <= 60 else title[:59] + "…"
        return f"<{type(self).__name__} {self.path[-60:] or 'root'}: {self.state}, {shown!r}>"

    @property
    def title(self) -> str:
        """What it is about, for people."""
        return self.path

    @property
    def ended(self) -> bool:
        """Whether the state is a terminal one."""
        return self.state in TERMINAL

    @property
    def paused(self) -> bool:
        """Whether its attempt was interrupted: ended for now; a resume takes it up before anything follows from it."""
        return self.state == State.CANCELLED and self.resumable


class TaskNode(Node, kw_only=True, gc=False):
    """One task of a task tree. Its path has one base-36 digit for each level.

    Attributes:
        assignment: Its seven fields.
        current_children: Paths of the children of the newest split.
        after: Path of the sibling whose success it waits for; "" when it waits for none.
        restates: It repeats its parent's task, as the second half of a sequential split (S15).
        portion: It reads like a mere portion ("first half of …") of its parent.
        how, dimension, sequential: Of its newest split.
        splits: How many splits were accepted; all but the first are replans.
        refusals: How many proposals in a row were refused.
        redefined: How often the reassessment gave it another attempt.
        stuck: Why the newest report or integration did not do, in one sentence; "" while none was found wanting.
        integration: The newest integration (checks and open issues).
        reassessment: Sol's newest answer at the limit; `trigger`: what led there.
        open_sets: Sets of open issues of integrations so far, for finding oscillation.
        tried: Keys of the splits tried or refused.
        merged: Snapshot with the work of its parts; "" before they were merged.
        merging: How far a merge came that a conflict has stopped; None: none has.
    """

    assignment: AssignmentData
    current_children: tuple[str, ...] = ()
    after: str = ""
    restates: bool = False
    portion: bool = False
    how: str = ""
    dimension: str = ""
    sequential: bool = False
    splits: int = 0
    refusals: int = 0
    redefined: int = 0
    stuck: str = ""
    integration: IntegrateAnswer | None = None
    reassessment: ReassessAnswer | None = None
    trigger: str = ""
    open_sets: tuple[tuple[str, ...], ...] = ()
    tried: tuple[tuple[str, ...], ...] = ()
    merged: str = ""
    merging: MergeAnswer | None = None

    @property
    def title(self) -> str:
        """Its goal."""
        return self.assignment.goal


N_co = TypeVar("N_co", bound=Node, covariant=True)


class RunState(Struct, Generic[N_co], kw_only=True, gc=False):
    """A run's whole state, as far as all programs share it.

    Attributes:
        nodes: By path, in the order of creation: parents before their children.
        queue: Commands wanted and not yet started, oldest first.
        inflight: Commands started and without outcome, by key.
        abandoned: Keys of those in flight whose node has ended since they started: what they bring is late.
        spent: Sum over all nodes and Sol's own calls.
        reserved: What the effects in flight may still use at most.
        started: What the run was started with; None before.
        status: "", then `running`, `waiting`, `interrupted`, `success` or a terminal node state's word.
        over: Name of the budget that has been passed; "" while none is.
        applied: What became of the accepted work of Lunas that were kept apart; None: nothing yet.
    """

    nodes: dict[str, N_co] = msgspec.field(default_factory=dict)
    queue: deque[Command] = msgspec.field(default_factory=deque)
    inflight: dict[tuple[str, str, int], Command] = msgspec.field(default_factory=dict)
    abandoned: set[tuple[str, str, int]] = msgspec.field(default_factory=set)
    spent: Spending = msgspec.field(default_factory=Spending)
    reserved: Spending = msgspec.field(default_factory=Spending)
    started: RunStarted | None = None
    status: str = ""
    over: str = ""
    applied: ApplyAnswer | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.status or 'pending'}, {self.size}>"

    @property
    def size(self) -> str:
        """How many nodes there are, in words."""
        return "1 node" if len(self.nodes) == 1 else f"{len(self.nodes):,} nodes"

    @property
    def config(self) -> RunStarted:
        """What the run was started with.

        Raises:
            LookupError: If it has not been started.
        """
        if self.started is None:
            raise LookupError("the run has not been started")
        return self.started

    @property
    def is_isolated(self) -> bool:
        """Whether Lunas of this run work in places of their own."""
        return self.started is not None and bool(self.started.base)

    @property
    def root(self) -> N_co:
        """The root node."""
        return self.nodes[""]

    def above(self, node: Node) -> N_co | None:
        """The node above; None for the root, and where a damaged journal has none."""
        return self.nodes.get(node.parent) if node.path else None

    def lineage(self, node: Node) -> Iterator[N_co]:
        """The nodes above, nearest first."""
        path, parent, nodes = node.path, node.parent, self.nodes
        while path and (above := nodes.get(parent)) is not None:
            yield above
            path, parent = above.path, above.parent

    def subtree(self, path: str) -> list[N_co]:
        """The node and all below it, parents first. Iterative: trees may be thousands of levels deep."""
        found, todo = [], [path]
        while todo:
            node = self.nodes[todo.pop()]
            found.append(node)
            todo.extend(reversed(node.children))
        return found


AnyState: TypeAlias = RunState[Node]
"""The state of a run of whatever program."""


class Tree(RunState[TaskNode], kw_only=True, gc=False):
    """The state of a task tree."""

    @property
    def task(self) -> TaskStarted:
        """What the run was started with."""
        started = self.config
        if not isinstance(started, TaskStarted):
            raise TypeError(f"a task tree was started with {type(started).__name__}")
        return started
