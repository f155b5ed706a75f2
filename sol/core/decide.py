"""The heart: from the tree and one event to new events and commands. Pure, total, and the same on replay.

`decide` looks at the tree after the event was folded in. `step` runs it to its fixed point and admits commands.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sol.core.act import on_reassessed, on_rule_answer
from sol.core.attempt import begin, conclude, on_atomic, on_checked, on_integrated, on_reported
from sol.core.control import on_budget_hit, on_cancel, on_reopened, on_resumed, on_retry
from sol.core.integrate import on_settled
from sol.core.outcome import Out
from sol.core.requests import Kind
from sol.core.schedule import admit, passed
from sol.core.split import on_proposed, on_reviewed
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.fold import apply
from sol.tree.node import State, Tree

_OUTCOMES = frozenset({EventType.REPORTED, EventType.CHECKED, EventType.ANSWER, EventType.LOST, EventType.INTERRUPTED})


@dataclass(frozen=True, slots=True)
class Step:
    """What one step did: events to commit, in order, and the commands that they started."""

    events: list[Event]
    commands: list[Command]


def decide(tree: Tree, event: Event, strategy: Strategy) -> tuple[list[Event], list[Command]]:
    """What follows from an event that has just been folded into the tree.

    Changes nothing; the caller commits the events, folds them in, and asks again for each.

    Source: strategy.md, all of it.
    """
    out = Out()
    node = tree.nodes.get(event.node)
    match event.type:
        case EventType.RUN_STARTED:
            out.event(EventType.CREATED, "", assignment=event.data["assignment"])
        case EventType.RESUMED:
            on_resumed(tree, out)
        case EventType.CANCEL_REQUESTED:
            on_cancel(tree, event, out)
        case EventType.RETRY_REQUESTED:
            on_retry(tree, event, out)
        case EventType.BUDGET_HIT:
            on_budget_hit(tree, event, out)
        case EventType.REOPENED:
            on_reopened(tree, event, strategy, out)
        case _ if node is not None:
            _decide_node(tree, event, strategy, out)
    return out.events, out.commands


def _decide_node(tree: Tree, event: Event, strategy: Strategy, out: Out) -> None:
    node = tree.nodes[event.node]
    match event.type:
        case EventType.CREATED:
            if not node.after:
                begin(node, strategy, out)
        case EventType.REPORTED:
            on_reported(tree, node, event.data["n"], strategy, out)
        case EventType.CHECKED:
            on_checked(tree, node, strategy, out)
        case EventType.ANSWER:
            _decide_answer(tree, event, strategy, out)
        case EventType.LOST:
            data = event.data
            out.settle(node, State.FAILED, kind=data["lost"], reason=data["reason"], resumable=True)
        case EventType.ANSWERED:
            out.want(node, Kind.ATTEMPT, new="information", what="answer")
        case EventType.REDEFINED:
            out.want(node, Kind.ATTEMPT, new="information", what="reassessment")
        case EventType.SETTLED:
            on_settled(tree, node, strategy, out)
        case _:
            pass


def _decide_answer(tree: Tree, event: Event, strategy: Strategy, out: Out) -> None:
    node, answer = tree.nodes[event.node], event.data["answer"]
    match event.data["kind"]:
        case Kind.ATOMIC:
            on_atomic(node, answer, out)
        case Kind.JUDGE:
            conclude(tree, node, strategy, out)
        case Kind.SPLIT:
            on_proposed(tree, node, answer, strategy, out)
        case Kind.REVIEW:
            on_reviewed(node, answer, out)
        case Kind.INTEGRATE:
            on_integrated(tree, node, strategy, out)
        case Kind.REASSESS:
            on_reassessed(tree, node, answer, strategy, out)
        case Kind.RULE:
            on_rule_answer(tree, node, strategy, out)


def step(tree: Tree, incoming: Iterable[Event], strategy: Strategy, *, stopping: bool = False) -> Step:
    """Fold events in, decide on each, fold in what was decided, and start what the limits allow.

    The tree is changed; nothing else is. Commands may be run once the events are committed.

    Args:
        tree: The tree so far.
        incoming: New facts, oldest first. Outcomes of effects that are not in flight are ignored; those of effects
            whose node has ended are recorded as late and change no state.
        strategy: The run's strategy.
        stopping: The run is being interrupted: start nothing.
    """
    events: list[Event] = []
    wanted: dict[tuple[str, str, int], Command] = {}
    work = deque(incoming)
    while True:
        while work:
            event = _received(tree, work.popleft())
            if event is not None:
                work.extend(_take(tree, event, strategy, wanted))
                events.append(event)
        admitted = [] if stopping else admit(tree, strategy)
        if not admitted:
            break
        work.extend(admitted)
    last = [Event(EventType.QUEUED, c.node, _queued_data(c)) for c in tree.queue if c.key in wanted]
    status = _status(tree, stopping=stopping)
    if status is not None:
        last.append(Event(EventType.RUN_STATUS, "", {"status": status}))
        apply(tree, last[-1])
    started = [e for e in events if e.type == EventType.STARTED]
    commands = [tree.inflight[key] for e in started if (key := (e.node, e.data["kind"], e.data["n"])) in tree.inflight]
    return Step([*events, *last], commands)


def _take(tree: Tree, event: Event, strategy: Strategy, wanted: dict[tuple[str, str, int], Command]) -> list[Event]:
    """Fold one event in and decide on it; queue the commands it leads to; return the events that follow."""
    apply(tree, event)
    events, commands = decide(tree, event, strategy)
    for command in commands:
        tree.queue.append(command)
        wanted[command.key] = command
    if event.type == EventType.PROGRESSED and not tree.over:
        what = passed(tree, strategy.budget)
        if what is not None:
            events.append(Event(EventType.BUDGET_HIT, "", {"what": what, "limit": getattr(strategy.budget, what)}))
    return events


def _queued_data(command: Command) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": command.kind, "n": command.n}
    return data | {"because": command.because} if command.because else data


def _received(tree: Tree, event: Event) -> Event | None:
    """The event as it counts now: itself, a late one, or None when it means nothing any more."""
    node = tree.nodes.get(event.node)
    data = event.data
    if event.type in _OUTCOMES or event.type == EventType.PROGRESSED:
        if event.type == EventType.CHECKED and data["n"] == 0:
            return event
        if node is None or (event.node, data["kind"], data["n"]) not in tree.inflight:
            return None
        return event if event.type == EventType.PROGRESSED or not node.ended else _late(event)
    if event.type == EventType.ANSWERED:
        return event if node is not None and node.state == State.WAITING else None
    return None if event.type == EventType.CANCEL_REQUESTED and node is not None and node.ended else event


def _late(event: Event) -> Event:
    """What came after its node had ended: kept, counted, and without any effect. Source: case PAR-04."""
    return Event(EventType.LATE, event.node, {"was": event.type, **event.data})


def _status(tree: Tree, *, stopping: bool) -> str | None:
    """The run's new status when nothing is in flight or about to start; None when it has not changed."""
    if tree.inflight or (tree.queue and not stopping) or "" not in tree.nodes:
        return None
    if tree.root.ended and not tree.queue:
        status = str(tree.root.state)
    elif not stopping and any(node.state == State.WAITING for node in tree.nodes.values()):
        status = "waiting"
    else:
        status = "interrupted"
    return None if status == tree.status else status
