"""A node of the task tree and the tree itself, as plain mutable data that only the fold writes."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sol.tree.events import Command

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


NOTHING: Mapping[str, Any] = {}
"""One empty mapping for all nodes, never written to: large trees are mostly made of such fields."""


def _nothing() -> Mapping[str, Any]:
    return NOTHING


@dataclass(slots=True)
class Spending:
    """What was used. `unreported`: how many effects did not say and were charged their declared maximum."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    unreported: int = 0


@dataclass(slots=True)
class Node:
    """One task of the tree.

    Attributes:
        path: `""` for the root, one base-36 digit more for each level.
        assignment: The seven fields, as JSON.
        worker: Worker specification, as JSON.
        state: See `State`.
        kind: Why it ended as it did (`verification`, `depth_limit`, `rate_limit`, …); "" while open.
        reason: One sentence for people.
        resumable: True when a resume or retry may take it up again unchanged.
        children: Paths of all children ever made, oldest first.
        generation: Paths of the children of the newest split.
        after: Path of the sibling whose success it waits for; "" when it waits for none.
        restates: It repeats its parent's task, as the second half of a sequential split (S15).
        portion: It reads like a mere portion ("first half of …") of its parent.
        how, dimension, sequential: Of its newest split.
        splits: How many splits were accepted; all but the first are replans.
        refusals: How many proposals in a row were refused.
        redefined: How often the reassessment gave it another attempt.
        counts: Newest attempt number of each effect kind.
        stuck: Why the newest report or integration did not do, in one sentence; "" while none was found wanting.
        report: The newest report; `result` the accepted or claimed result; `checks` the newest check results.
        unchecked: No criterion of this node was checked by anything.
        integration: The newest integration (checks and open issues).
        reassessment: Sol's newest answer at the limit, with the `trigger` that led there.
        open_sets: Sets of open issues of integrations so far, for finding oscillation.
        tried: Goals of the splits tried or refused.
        judgements: Judge's answers by `section/rule index`, for the decision in progress.
        deciding: The decision in progress that waits for a judge: section and labels.
        partial: Stored parts of the result by key.
        redo: Effect kind to start again on resume; "" when none was interrupted.
        notes: What later attempts must know (answers, findings), newest last.
        question: What a human is asked while waiting.
        answers: What humans have answered so far, by question.
        snapshot: Of the workspace with its claimed or accepted work, where Lunas are kept apart; "" when there is none.
        merged: Snapshot with the work of its parts; "" before they were merged.
        merging: How far a merge came that a conflict has stopped: `snapshot`, `merged`, `conflict`; empty: none has.
        decisions: Records of the rules that decided, newest last (R20).
        because: Of the newest effect: what is new about it, and what the core needs back.
        since: When the newest attempt started, or before any attempt the first effect; seconds since the epoch.
        spent: Of this node alone, without its children.
    """

    path: str
    assignment: dict[str, Any]
    worker: dict[str, Any]
    state: State = State.PENDING
    kind: str = ""
    reason: str = ""
    resumable: bool = False
    children: tuple[str, ...] = ()
    generation: tuple[str, ...] = ()
    after: str = ""
    restates: bool = False
    portion: bool = False
    how: str = ""
    dimension: str = ""
    sequential: bool = False
    splits: int = 0
    refusals: int = 0
    redefined: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    report: dict[str, Any] | None = None
    stuck: str = ""
    result: Any = None
    checks: tuple[dict[str, Any], ...] = ()
    unchecked: bool = False
    integration: dict[str, Any] | None = None
    reassessment: dict[str, Any] | None = None
    open_sets: tuple[tuple[str, ...], ...] = ()
    tried: tuple[tuple[str, ...], ...] = ()
    judgements: Mapping[str, dict[str, Any]] = field(default_factory=_nothing)
    deciding: dict[str, Any] | None = None
    partial: Mapping[str, Any] = field(default_factory=_nothing)
    redo: str = ""
    notes: tuple[str, ...] = ()
    question: str = ""
    answers: Mapping[str, str] = field(default_factory=_nothing)
    snapshot: str = ""
    merged: str = ""
    merging: Mapping[str, Any] = field(default_factory=_nothing)
    decisions: tuple[dict[str, Any], ...] = ()
    because: Mapping[str, Any] = field(default_factory=_nothing)
    since: float = 0.0
    spent: Spending = field(default_factory=Spending)

    def __repr__(self) -> str:
        goal = str(self.assignment.get("goal", ""))
        return f"<Node {self.path[-60:] or 'root'}: {self.state}, {(goal if len(goal) <= 60 else goal[:59] + '…')!r}>"

    @property
    def depth(self) -> int:
        """Root is 0. Source: S11."""
        return len(self.path)

    @property
    def parent(self) -> str:
        """Path of the parent; "" for the root and its children."""
        return self.path[:-1]

    @property
    def ended(self) -> bool:
        """Whether the state is a terminal one."""
        return self.state in TERMINAL

    @property
    def paused(self) -> bool:
        """Whether its attempt was interrupted: ended for now; a resume takes it up before anything follows from it."""
        return self.state == State.CANCELLED and self.resumable


@dataclass(slots=True)
class Tree:
    """A run's whole state.

    Attributes:
        nodes: By path, in the order of creation.
        queue: Commands wanted and not yet started, oldest first.
        inflight: Commands started and without outcome, by key.
        abandoned: Keys of those in flight whose node has ended since they started: what they bring is late.
        spent: Sum over all nodes and Sol's own calls.
        reserved: What the effects in flight may still use at most.
        config: Data of the run: strategy, task, worker, whether a Sol model is set.
        status: "", then `running`, `waiting`, `interrupted`, `success` or a terminal node state's word.
        over: Name of the budget that has been passed; "" while none is.
        landed: What became of the accepted work of Lunas that were kept apart; None: nothing yet.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    queue: deque[Command] = field(default_factory=deque)
    inflight: dict[tuple[str, str, int], Command] = field(default_factory=dict)
    abandoned: set[tuple[str, str, int]] = field(default_factory=set)
    spent: Spending = field(default_factory=Spending)
    reserved: Spending = field(default_factory=Spending)
    config: dict[str, Any] = field(default_factory=dict)
    status: str = ""
    over: str = ""
    landed: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<Tree: {self.status or 'pending'}, {self.size}>"

    @property
    def size(self) -> str:
        """How many nodes there are, in words."""
        return "1 node" if len(self.nodes) == 1 else f"{len(self.nodes):,} nodes"

    @property
    def root(self) -> Node:
        """The root node."""
        return self.nodes[""]

    def subtree(self, path: str) -> list[Node]:
        """The node and all below it, parents first. Iterative: trees may be thousands of levels deep."""
        found, todo = [], [path]
        while todo:
            node = self.nodes[todo.pop()]
            found.append(node)
            todo.extend(reversed(node.children))
        return found
