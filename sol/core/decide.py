"""The heart: from the tree and one event to new events and commands. Pure, total, and the same on replay.

`decide` looks at the tree after the event was folded in. `step` runs it to its fixed point and admits commands.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sol.core.act import on_reassessed, on_rule_answer
from sol.core.attempt import begin, conclude, on_atomic, on_checked, on_integrated, on_reported
from sol.core.control import late, may_retry, on_budget_hit, on_cancel, on_reopened, on_resumed, on_retry
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
            on_reassessed(tree, node, strategy, out)
        case Kind.RULE:
            on_rule_answer(tree, node, strategy, out)


def step(
    tree: Tree, incoming: Iterable[Event], strategy: Strategy, *, stopping: bool = False, now: float = 0.0
) -> Step:
    """Fold facts in one by one, each with all that follows from it, then start what the limits allow.

    The tree is changed; nothing else is. Commands may be run once the events are committed.

    Args:
        tree: The tree so far.
        incoming: New facts, oldest first. What no longer means anything is ignored; outcomes of effects whose node has
            ended since they started are recorded as late and change no state.
        strategy: The run's strategy.
        stopping: The run is being interrupted: start nothing.
        now: Seconds since the epoch; the time of all events of the step.
    """
    events: list[Event] = []
    for fact in incoming:
        received = _received(tree, fact)
        if received is not None:
            _follow(tree, [received], strategy, now, events)
    while not stopping and (admitted := admit(tree, strategy)):
        _follow(tree, admitted, strategy, now, events)
    status = _status(tree, stopping=stopping)
    if status is not None:
        _follow(tree, [Event(EventType.RUN_STATUS, "", {"status": status})], strategy, now, events)
    started = [_key(event) for event in events if event.type == EventType.STARTED]
    at_once = set(started)
    # A command that starts in the step that wants it is never seen waiting: its queueing needs no record.
    kept = [event for event in events if event.type != EventType.QUEUED or _key(event) not in at_once]
    return Step(kept, [tree.inflight[key] for key in started if key in tree.inflight])


def _follow(tree: Tree, facts: Iterable[Event], strategy: Strategy, now: float, events: list[Event]) -> None:
    """Fold facts in, and whatever is decided because of them, until nothing follows any more; add it all to `events`.

    One fact is followed to its end before the next is looked at: no decision is made on a tree that another decision,
    made but not folded in yet, is about to change.
    """
    work = deque(facts)
    while work:
        event = work.popleft()
        event = Event(event.type, event.node, event.data, now)
        apply(tree, event)
        events.append(event)
        decided, commands = decide(tree, event, strategy)
        work.extend(decided)
        work.extend(Event(EventType.QUEUED, command.node, _queued_data(command)) for command in commands)
        if event.type == EventType.PROGRESSED and not tree.over:
            what = passed(tree, strategy.budget)
            if what is not None:
                data = {"what": what, "limit": getattr(strategy.budget, what)}
                work.append(Event(EventType.BUDGET_HIT, "", data))


def _key(event: Event) -> tuple[str, str, int]:
    return (event.node, event.data["kind"], event.data["n"])


def _queued_data(command: Command) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": command.kind, "n": command.n}
    return data | {"because": command.because} if command.because else data


def _received(tree: Tree, event: Event) -> Event | None:
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
            return event if may_retry(tree, node) else None
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
