"""The heart of machine workflows: from the state and one event to new events and commands. Pure, same on replay.

`decide` looks at the state after the event was folded in; `advance` runs it to its fixed point and admits commands.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sol.core.schedule import admit, passed
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.node import State
from sol.workflow.machine.control import on_cancel, on_reopened, on_resumed, on_retry, stop_all
from sol.workflow.machine.flow import on_begin, on_created, on_settled
from sol.workflow.machine.judging import judge, on_reported
from sol.workflow.machine.out import Out
from sol.workflow.machine.program import Program
from sol.workflow.machine.state import ATTEMPT, FILE, ROOT, SOLVE, Machine, Visit, apply

_OUTCOMES = frozenset({EventType.REPORTED, EventType.ANSWER, EventType.LOST, EventType.INTERRUPTED})
_FREE = frozenset({FILE, SOLVE})
"""Kinds of effects that cost nothing themselves: a child run books what it uses when it ends."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step did: events to commit, in order, and the commands that they started."""

    events: list[Event]
    commands: list[Command]


@dataclass(frozen=True, slots=True)
class Rules:
    """What a run goes by: its program, and the limits of its strategy."""

    program: Program
    strategy: Strategy


def decide(machine: Machine, event: Event, program: Program) -> tuple[list[Event], list[Command]]:
    """What follows from an event that has just been folded in. Changes nothing.

    Source: R05–R14, R25.
    """
    out = Out(machine, program)
    match event.type:
        case EventType.RUN_STARTED:
            on_begin(out)
        case EventType.RESUMED:
            on_begin(out) if event.data.get("replay") else on_resumed(out)
        case EventType.CANCEL_REQUESTED:
            on_cancel(out, event)
        case EventType.RETRY_REQUESTED:
            on_retry(out, event)
        case EventType.BUDGET_HIT:
            reason = f"The budget of {event.data['limit']:g} {event.data['what']} is used up."
            stop_all(out, State.EXHAUSTED, kind="budget", reason=reason, resumable=True)
        case EventType.REOPENED:
            on_reopened(out, event)
        case _ if event.node in machine.nodes:
            _decide_visit(out, machine.visit(event.node), event)
    return out.events, out.commands


def _decide_visit(out: Out, visit: Visit, event: Event) -> None:
    match event.type:
        case EventType.CREATED:
            on_created(out, visit, reused=bool(event.data.get("reused")))
        case EventType.REPORTED:
            on_reported(out, visit)
        case EventType.ANSWER | EventType.ANALYSED:
            judge(out, visit)
        case EventType.LOST:
            out.settle(visit, State.FAILED, kind=event.data["lost"], reason=event.data["reason"], resumable=True)
        case EventType.ANSWERED:
            out.want(visit, visit.redo or out.kind_of(visit), new="information", what="answer")
        case EventType.SETTLED:
            on_settled(out, visit)
        case _:
            pass


def advance(machine: Machine, incoming: Iterable[Event], rules: Rules, *, stopping: bool = False) -> Step:
    """Fold events in, decide on each, fold in what was decided, and start what the limits allow.

    The state is changed; nothing else is. Commands may be run once the events are committed.

    Args:
        machine: The state so far.
        incoming: New facts, oldest first. Outcomes of effects that are not in flight are ignored; those of effects
            whose visit has ended are recorded as late and change nothing.
        rules: What the run goes by.
        stopping: The run is being interrupted: start nothing.
    """
    taking = _Taking(machine, rules)
    work = deque(incoming)
    while True:
        while work:
            event = _received(machine, work.popleft())
            if event is not None:
                work.extend(taking.take(event))
        admitted = [] if stopping else _admit(machine, rules.strategy)
        if not admitted:
            break
        work.extend(admitted)
    return taking.done(stopping=stopping)


@dataclass(slots=True)
class _Taking:
    """One step under way."""

    machine: Machine
    rules: Rules
    events: list[Event] = field(default_factory=list)
    wanted: set[tuple[str, str, int]] = field(default_factory=set)

    def take(self, event: Event) -> list[Event]:
        """Fold one event in and decide on it; queue its commands; return the events that follow."""
        machine, budget = self.machine, self.rules.strategy.budget
        apply(machine, event)
        self.events.append(event)
        events, commands = decide(machine, event, self.rules.program)
        machine.queue.extend(commands)
        self.wanted.update(command.key for command in commands)
        if event.type == EventType.PROGRESSED and not machine.over:
            what = passed(machine, budget)
            if what is not None:
                events.append(Event(EventType.BUDGET_HIT, ROOT, {"what": what, "limit": getattr(budget, what)}))
        return events

    def done(self, *, stopping: bool) -> Step:
        """What is to be committed and run."""
        machine = self.machine
        last = [
            Event(EventType.QUEUED, command.node, _queued(command))
            for command in machine.queue
            if command.key in self.wanted
        ]
        status = _status(machine, stopping=stopping)
        if status is not None:
            last.append(Event(EventType.RUN_STATUS, ROOT, {"status": status}))
            apply(machine, last[-1])
        keys = [(e.node, e.data["kind"], e.data["n"]) for e in self.events if e.type == EventType.STARTED]
        commands = [machine.inflight[key] for key in keys if key in machine.inflight]
        return Step([*self.events, *last], commands)


def _admit(machine: Machine, strategy: Strategy) -> list[Event]:
    """Events that start the next queued command, or end its visit for lack of budget."""
    if machine.queue and machine.queue[0].kind in _FREE and len(machine.inflight) < strategy.concurrency:
        command = machine.queue[0]
        return [Event(EventType.STARTED, command.node, _queued(command))]
    return admit(machine, strategy)


def _queued(command: Command) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": command.kind, "n": command.n}
    return data | {"because": command.because} if command.because else data


def _received(machine: Machine, event: Event) -> Event | None:
    """The event as it counts now: itself, a late one, or None when it means nothing any more."""
    node = machine.nodes.get(event.node)
    if event.type in _OUTCOMES or event.type == EventType.PROGRESSED:
        key = (event.node, event.data["kind"], event.data["n"])
        if node is None or key not in machine.inflight:
            return None
        if event.type == EventType.PROGRESSED or not node.ended:
            return event
        return Event(EventType.LATE, event.node, {"was": event.type, **event.data})
    if event.type == EventType.ANSWERED:
        return event if node is not None and node.state == State.WAITING else None
    return None if event.type == EventType.CANCEL_REQUESTED and (node is None or node.ended) else event


def _status(machine: Machine, *, stopping: bool) -> str | None:
    """The run's new status when nothing is in flight or about to start; None when it has not changed."""
    if machine.inflight or (machine.queue and not stopping) or ROOT not in machine.nodes:
        return None
    if machine.root.ended and not machine.queue:
        status = str(machine.root.state)
    elif not stopping and any(node.state == State.WAITING for node in machine.nodes.values()):
        status = "waiting"
    else:
        status = "interrupted"
    return None if status == machine.status else status


__all__ = ["ATTEMPT", "Rules", "Step", "advance", "decide"]
