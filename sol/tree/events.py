"""Events: what happened, in the order it was committed. The task tree is nothing but their fold.

An event is a type, a node path and JSON data. This module only names them; what they do is in `sol.tree.fold`.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class EventType(StrEnum):
    """All event types of a run.

    Outcomes come from effects, requests from people, the rest are decisions of the core.
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


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        type: What.
        node: Path of the node it happened to; "" is the root (and the run itself).
        data: JSON data of the type.
        t: Seconds since the epoch when it was committed; 0.0 until then.
    """

    type: EventType
    node: str
    data: dict[str, Any] = field(default_factory=dict)
    t: float = 0.0


@dataclass(frozen=True, slots=True)
class Command:
    """What the core wants done: an effect with its key.

    Attributes:
        node: Path of the node.
        kind: Kind of effect.
        n: Which one of its kind on this node, from 1.
        because: What is new about it, so that it is no blind repetition (S53), and what the core needs back.
        reserve: What it may use at most, reserved in the budget while it runs.
    """

    node: str
    kind: str
    n: int
    because: dict[str, Any] = field(default_factory=dict)
    reserve: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int]:
        """Node, kind and attempt number; unique within a run."""
        return (self.node, self.kind, self.n)
