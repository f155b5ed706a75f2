"""Who was at work when, from a run's events, and which of it the run had to wait for. Pure; reads no clock."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from sol.tree.events import Event, Late, Outcome, Started
from sol.tree.node import Node

_STEP = 64
"""Most outcomes of one step among which the cause of a start is looked for."""

_Key = tuple[str, str, int]


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

    key: _Key
    start: float
    first: int
    end: float = 0.0
    last: int = 0
    ended: bool = False
    critical: bool = False

    def close(self, end: float, last: int, *, ended: bool) -> None:
        self.end, self.last, self.ended = max(end, self.start), last, ended


class Timeline:
    """The effects of a run, put together as its events come in."""

    def __init__(self) -> None:
        self._found: list[_Effect] = []
        self._running: dict[_Key, _Effect] = {}
        self._place = 0
        self._newest = 0.0

    def take(self, event: Event) -> None:
        """Take the next event in."""
        self._place += 1
        self._newest = max(self._newest, event.t)
        effect = effect_of(event)
        if effect is None:
            return
        key = (event.node, str(effect.kind), effect.n)
        starts = isinstance(effect, Started)
        before = self._running.pop(key, None)
        if before is not None:
            before.close(event.t, self._place - starts, ended=True)
        if starts:
            self._running[key] = _Effect(key, event.t, self._place)
            self._found.append(self._running[key])

    def spans(self, nodes: Mapping[str, Node]) -> list[Span]:
        """All effects so far as spans, in the order they were started, the critical ones marked.

        Args:
            nodes: Of the run, by path; they tell who stands above whom.
        """
        for one in self._found:
            one.critical = False
        for one in self._running.values():
            one.close(self._newest, self._place + 1, ended=False)
        _mark(self._found, nodes)
        return [Span(*one.key, one.start, one.end, one.ended, one.critical) for one in self._found]


def timeline(events: Iterable[Event], nodes: Mapping[str, Node]) -> list[Span]:
    """All effects of a run as spans, in the order they were started, the critical ones marked.

    The critical path is followed backwards from the span that ended last: before each span stands one whose outcome was
    committed in the step that started it (of several the one nearest in the tree), or else the one that had ended last.

    An effect that was started again, after a kill, is one more span.

    Args:
        events: Of the whole run, oldest first.
        nodes: Of the run, by path.
    """
    found = Timeline()
    for event in events:
        found.take(event)
    return found.spans(nodes)


def effect_of(event: Event) -> Started | Outcome | None:
    """What an event says about the start or the end of an effect; None when it says nothing about that."""
    match event.data:
        case Late(outcome=outcome):
            return outcome
        case Started() | Outcome():
            return event.data
        case _:
            return None


def _mark(effects: list[_Effect], nodes: Mapping[str, Node]) -> None:
    """Mark the critical path. Each step goes back among the events, so that it ends whatever the clock did."""
    by_end = sorted(effects, key=lambda one: one.last)
    ends = [one.last for one in by_end]
    current = by_end[-1] if by_end else None
    while current is not None:
        current.critical = True
        until = bisect_left(ends, current.first)
        before = by_end[max(until - _STEP, 0) : until]
        causes = [one for one in before if one.end == current.start] or before[-1:]
        current = min(causes, key=partial(_distance, nodes, current), default=None)


def _distance(nodes: Mapping[str, Node], one: _Effect, other: _Effect) -> int:
    """How near two effects are in the tree: the same node, parent and child, siblings, anything else."""
    a, b = one.key[0], other.key[0]
    if a == b:
        return 0
    above_a, above_b = _above(nodes, a), _above(nodes, b)
    if a == above_b or b == above_a:
        return 1
    return 2 if above_a is not None and above_a == above_b else 3


def _above(nodes: Mapping[str, Node], path: str) -> str | None:
    """Path of the node above; None for the root and for nodes that are not known."""
    node = nodes.get(path)
    return node.parent if node is not None and path else None
