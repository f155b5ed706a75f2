"""How a state machine takes facts: one after the other, each followed to its end. Pure, and the same on replay.

The task tree and machine workflows share this; what follows from an event is theirs to decide.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sol.core.control import late
from sol.core.schedule import admit, passed
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.node import Node, State, Tree

_OUTCOMES = frozenset({EventType.REPORTED, EventType.CHECKED, EventType.ANSWER, EventType.LOST, EventType.INTERRUPTED})

AnyTree = TypeVar("AnyTree", bound=Tree)


@dataclass(frozen=True, slots=True)
class Step:
    """What one step did: events to commit, in order, and the commands that they started."""

    events: list[Event]
    commands: list[Command]


@dataclass(frozen=True, slots=True)
class Laws(Generic[AnyTree]):
    """What a state machine goes by.

    Attributes:
        strategy: Gives the limits.
        apply: Folds an event into the state.
        decide: What follows from an event that has just been folded in: events, and commands. Changes nothing.
        may_retry: Whether a node can be tried once more.
        may_start: Whether limits other than the strategy's let a command start.
    """

    strategy: Strategy
    apply: Callable[[AnyTree, Event], None]
    decide: Callable[[AnyTree, Event], tuple[list[Event], list[Command]]]
    may_retry: Callable[[AnyTree, Node], bool]
    may_start: Callable[[AnyTree, Command], bool] = lambda _tree, _command: True


def take(tree: AnyTree, incoming: Iterable[Event], laws: Laws[AnyTree], *, stopping: bool, now: float) -> Step:
    """Fold facts in one by one, each with all that follows from it, then start what the limits allow.

    The state is changed; nothing else is. Commands may be run once the events are committed.

    Args:
        tree: The state so far.
        incoming: New facts, oldest first. What no longer means anything is ignored; outcomes of effects whose node has
            ended since they started are recorded as late and change no state.
        laws: What it goes by.
        stopping: The run is being interrupted: start nothing.
        now: Seconds since the epoch; the time of all events of the step.
    """
    events: list[Event] = []
    for fact in incoming:
        received = _received(tree, fact, laws)
        if received is not None:
            _follow(tree, [received], laws, now, events)
    while not stopping and (
        admitted := admit(tree, laws.strategy, may_start=lambda command: laws.may_start(tree, command))
    ):
        _follow(tree, admitted, laws, now, events)
    status = _status(tree, stopping=stopping)
    if status is not None:
        _follow(tree, [Event(EventType.RUN_STATUS, "", {"status": status})], laws, now, events)
    started = [_key(event) for event in events if event.type == EventType.STARTED]
    at_once = set(started)
    # A command that starts in the step that wants it is never seen waiting: its queueing needs no record.
    kept = [event for event in events if event.type != EventType.QUEUED or _key(event) not in at_once]
    return Step(kept, [tree.inflight[key] for key in started if key in tree.inflight])


def _follow(tree: AnyTree, facts: Iterable[Event], laws: Laws[AnyTree], now: float, events: list[Event]) -> None:
    """Fold facts in, and whatever is decided because of them, until nothing follows any more; add it all to `events`.

    One fact is followed to its end before the next is looked at: no decision is made on a tree that another decision,
    made but not folded in yet, is about to change.
    """
    budget = laws.strategy.budget
    work = deque(facts)
    while work:
        event = work.popleft()
        event = Event(event.type, event.node, event.data, now)
        laws.apply(tree, event)
        events.append(event)
        decided, commands = laws.decide(tree, event)
        work.extend(decided)
        work.extend(Event(EventType.QUEUED, command.node, _queued_data(command)) for command in commands)
        if event.type == EventType.PROGRESSED and not tree.over:
            what = passed(tree, budget)
            if what is not None:
                work.append(Event(EventType.BUDGET_HIT, "", {"what": what, "limit": getattr(budget, what)}))


def _key(event: Event) -> tuple[str, str, int]:
    return (event.node, event.data["kind"], event.data["n"])


def _queued_data(command: Command) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": command.kind, "n": command.n}
    return data | {"because": command.because} if command.because else data


def _received(tree: AnyTree, event: Event, laws: Laws[AnyTree]) -> Event | None:
    """The fact as it counts now: itself, a late one, or None when it means nothing any more."""
    node = tree.nodes.get(event.node)
    match event.type:
        case EventType.RUN_STARTED:
            return None if tree.nodes else event
        case EventType.RESUMED:
            return event if tree.nodes else None
        case EventType.BUDGET_HIT:
            return event if tree.nodes and not tree.over else None
        case EventType.PROGRESSED:
            return event if _key(event) in tree.inflight else None
        case _ if event.type in _OUTCOMES:
            if _key(event) not in tree.inflight:
                return None
            return late(event) if _key(event) in tree.abandoned else event
        case EventType.ANSWERED if node is not None:
            return event if node.state == State.WAITING else None
        case EventType.CANCEL_REQUESTED if node is not None:
            return None if node.ended and not node.paused else event
        case EventType.RETRY_REQUESTED if node is not None:
            return event if laws.may_retry(tree, node) else None
        case _:
            return None


def _status(tree: Tree, *, stopping: bool) -> str | None:
    """The run's new status when nothing that counts is in flight or about to start; None when it has not changed."""
    if len(tree.inflight) > len(tree.abandoned) or (tree.queue and not stopping) or "" not in tree.nodes:
        return None
    if tree.root.ended and not tree.root.paused:
        status = str(tree.root.state)
    elif not tree.queue and _only_questions(tree):
        status = "waiting"
    else:
        status = "interrupted"
    return None if status == tree.status else status


def _only_questions(tree: Tree) -> bool:
    """Whether answers from people are all that the run needs to go on."""
    asked = any(node.state == State.WAITING for node in tree.nodes.values())
    return asked and not any(node.paused or (node.redo and not node.ended) for node in tree.nodes.values())
