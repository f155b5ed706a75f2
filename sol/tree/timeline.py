"""Who was at work when, from a run's events, and which of it the run had to wait for. Pure; reads no clock."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from sol.tree.events import Event, EventType

_ENDS = frozenset(
    {
        EventType.REPORTED,
        EventType.CHECKED,
        EventType.ANSWER,
        EventType.LOST,
        EventType.LATE,
        EventType.INTERRUPTED,
    }
)
_STEP = 64
"""Most outcomes of one step among which the cause of a start is looked for."""


@dataclass(frozen=True, slots=True)
class Span:
    """One effect from its start to its outcome.

    Attributes:
        path: Path of its node.
        kind: Kind of effect: `attempt`, `check`, `split`, …
        n: Which one of its kind on this node, from 1.
        start: When it was started, in seconds since the epoch.
        end: When its outcome was committed; of one without outcome, the time of the newest event.
        ended: Whether there is an outcome, or it was started anew because there was none.
        critical: Part of the chain without which the run would have been over sooner.
    """

    path: str
    kind: str
    n: int
    start: float
    end: float
    ended: bool = True
    critical: bool = False

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


@dataclass(slots=True, eq=False)
class _Effect:
    """A span in the making, with the places of its ends among the events: times may be equal, places never are."""

    key: tuple[str, str, int]
    start: float
    first: int
    end: float = 0.0
    last: int = 0
    ended: bool = True
    critical: bool = False

    def close(self, end: float, last: int) -> None:
        self.end, self.last = max(end, self.start), last


def timeline(events: Iterable[Event]) -> list[Span]:
    """All effects of a run as spans, in the order they were started, the critical ones marked.

    The critical path is followed backwards from the span that ended last: before each span stands one whose outcome was
    committed in the step that started it (of several the one nearest in the tree), or else the one that had ended last.

    An effect that was started again, after a kill, is one more span.
    """
    found: list[_Effect] = []
    running: dict[tuple[str, str, int], _Effect] = {}
    place, newest = 0, 0.0
    for place, event in enumerate(events, start=1):
        newest = max(newest, event.t)
        if event.type != EventType.STARTED and event.type not in _ENDS:
            continue
        key = (event.node, str(event.data["kind"]), int(event.data["n"]))
        before = running.pop(key, None)
        if before is not None:
            before.close(event.t, place if event.type in _ENDS else place - 1)
        if event.type == EventType.STARTED:
            running[key] = _Effect(key, event.t, place)
            found.append(running[key])
    for one in running.values():
        one.close(newest, place + 1)
        one.ended = False
    _mark(found)
    return [Span(*one.key, one.start, one.end, one.ended, one.critical) for one in found]


def _mark(effects: list[_Effect]) -> None:
    """Mark the critical path. Each step goes back among the events, so that it ends whatever the clock did."""
    by_end = sorted(effects, key=lambda one: one.last)
    ends = [one.last for one in by_end]
    current = by_end[-1] if by_end else None
    while current is not None:
        current.critical = True
        until = bisect_left(ends, current.first)
        before = by_end[max(until - _STEP, 0) : until]
        causes = [one for one in before if one.end == current.start] or before[-1:]
        current = min(causes, key=partial(_distance, current), default=None)


def _distance(one: _Effect, other: _Effect) -> int:
    """How near two effects are in the tree: the same node, parent and child, siblings, anything else."""
    a, b = one.key[0], other.key[0]
    if a == b:
        return 0
    if a == b[:-1] or b == a[:-1]:
        return 1
    return 2 if a[:-1] == b[:-1] else 3
