"""The heart of machine workflows: from the state and one event to new events and commands. Pure, same on replay.

`decide` looks at the state after the event was folded in; `advance` takes facts one by one, as the task tree does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sol.core.control import on_budget_hit
from sol.core.stepping import Laws, Step, take
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.node import State
from sol.workflow.machine.control import may_retry, on_cancel, on_reopened, on_resumed, on_retry
from sol.workflow.machine.flow import on_begin, on_created, on_settled
from sol.workflow.machine.judging import judge, on_reported
from sol.workflow.machine.out import Out, Where
from sol.workflow.machine.program import Program
from sol.workflow.machine.state import Machine, Visit, apply


@dataclass(frozen=True, slots=True)
class Rules:
    """What a run goes by: its program, and the limits of its strategy."""

    program: Program
    strategy: Strategy


def decide(machine: Machine, event: Event, program: Program) -> tuple[list[Event], list[Command]]:
    """What follows from an event that has just been folded in. Changes nothing.

    Source: R05–R14, R25.
    """
    out = Out(machine=machine, program=program)
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
            on_budget_hit(machine, event, out)
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
            out.want(visit, out.kind_of(visit), new="information", what="answer")
        case EventType.SETTLED:
            on_settled(out, visit)
        case _:
            pass


def advance(
    machine: Machine, incoming: Iterable[Event], rules: Rules, *, stopping: bool = False, now: float = 0.0
) -> Step:
    """Take facts into a workflow's run; see `sol.core.stepping.take`."""
    program = rules.program
    laws: Laws[Machine] = Laws(
        rules.strategy,
        apply,
        lambda machine, event: decide(machine, event, program),
        may_retry,
        lambda machine, command: _may_start(Where(machine, program), command),
    )
    return take(machine, _with_ends(machine, incoming), laws, stopping=stopping, now=now)


def _with_ends(machine: Machine, incoming: Iterable[Event]) -> Iterator[Event]:
    """The facts; before a run is walked through again, the ends of all that its last process had in work."""
    for fact in incoming:
        if fact.type == EventType.RESUMED and fact.data.get("replay"):
            said = {"cause": "changed", "reason": "The definition has changed since it was started."}
            for command in list(machine.inflight.values()):
                usage = {**command.reserve, "reported": not command.reserve}
                data = {"kind": command.kind, "n": command.n, **said, "usage": usage}
                yield Event(EventType.INTERRUPTED, command.node, data)
        yield fact


def _may_start(where: Where, command: Command) -> bool:
    """Whether the parallel steps that an effect belongs to let one more of their sub-steps work. Source: X07."""
    machine = where.machine
    working = [command.node for key, command in machine.inflight.items() if key not in machine.abandoned]
    visit = machine.visit(command.node)
    while visit.path:
        above = machine.visit(visit.up)
        limit = where.step(above).concurrency if visit.inner else None
        if limit is not None:
            others = [child.path for child in machine.within(above) if child is not visit]
            busy = sum(any(f"{node}/".startswith(f"{path}/") for node in working) for path in others)
            if busy >= limit:
                return False
        visit = above
    return True
