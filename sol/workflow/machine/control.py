"""What people ask of a workflow's run: cancel, take up again, try once more. Pure.

Closing what is open is as for the task tree; where a run goes on is not.
"""

from collections.abc import Iterable
from typing import Any

from sol.core.control import close, given_up, late
from sol.tree.events import Event, EventType
from sol.tree.node import Node, State
from sol.workflow.machine.flow import proceed
from sol.workflow.machine.out import Out
from sol.workflow.machine.state import ROOT, Machine, Visit


def on_cancel(out: Out, event: Event) -> None:
    """Someone has cancelled the run, or a step, with which the run ends too."""
    reason = event.data.get("reason") or "Cancelled on request."
    close(out.machine, ROOT, State.CANCELLED, kind="cancelled", reason=reason, resumable=False, out=out)


def on_resumed(out: Out) -> None:
    """Take up again what was interrupted, lost, or stopped by a limit; what the run has gone on from stays as it is."""
    out.events.extend(late(outcome) for outcome in given_up(out.machine))
    open_again(out, _stopped(out.machine, out.machine.visit(ROOT)))


def _stopped(machine: Machine, visit: Visit) -> list[Visit]:
    """Where a run was when it stopped: visits to be taken up so that it goes on."""
    if visit.state == State.SUCCESS:
        return []
    frame = machine.frames.get(visit.path)
    if frame is not None:
        if frame.pending:
            return [visit]
        return _stopped(machine, machine.visit(frame.current)) if frame.current else []
    if visit.redo:
        return [visit]
    children = machine.within(visit)
    if children:
        return [found for child in children for found in _stopped(machine, child)]
    return [visit] if visit.ended and visit.resumable else []


def may_retry(machine: Machine, node: Node) -> bool:
    """Whether a step can be tried once more: the run has ended without success, and ended with this step."""
    root = machine.root
    over = root.ended and not root.paused and root.state != State.SUCCESS
    return over and bool(_wanted(machine, machine.visit(node.path)))


def on_retry(out: Out, event: Event) -> None:
    """Someone wants the step tried once more that the run ended with; those before it are kept. Source: S53."""
    more = {name: event.data[name] for name in ("note", "worker") if event.data.get(name)}
    open_again(out, _wanted(out.machine, out.machine.visit(event.node)), anew=True, **more)


def _wanted(machine: Machine, visit: Visit) -> list[Visit]:
    own = {one.path for one in _ended_with(machine, visit)}
    return [one for one in _ended_with(machine, machine.visit(ROOT)) if one.path in own]


def _ended_with(machine: Machine, visit: Visit) -> list[Visit]:
    """The visits that a visit came to its end with: of the newest step, and there of the sub-steps that matter."""
    frame = machine.frames.get(visit.path)
    if frame is not None:
        return _ended_with(machine, machine.visit(frame.current)) if frame.current and not frame.pending else []
    children = machine.within(visit)
    if not children:
        return [visit]
    open_ = [child for child in children if child.state != State.SUCCESS or child.verdict is None]
    return [leaf for child in open_ or children for leaf in _ended_with(machine, child)]


def open_again(out: Out, visits: Iterable[Visit], *, anew: bool = False, **more: Any) -> None:  # noqa: ANN401 - JSON
    """Reopen visits, and whatever above them ended because of them.

    Args:
        out: Gets the events.
        visits: What to take up.
        anew: Do them once more, rather than go on with what was stopped.
        more: What is new about them.
    """
    targets = {visit.path for visit in visits}
    above: set[str] = set()
    for target in targets:
        path = target
        while path:
            path = out.machine.visit(path).up
            above.add(path)
    for visit in out.machine.visits:
        if visit.path in targets:
            again = out.kind_of(visit) if anew else visit.redo
            state = State.SPLIT if visit.path in out.machine.frames else _state_again(visit, again)
            out.event(EventType.REOPENED, visit.path, state=state, redo=again, was=visit.redo, **more)
        elif visit.path in above and visit.ended:
            out.event(EventType.REOPENED, visit.path, state=State.SPLIT)


def _state_again(visit: Visit, redo: str) -> State:
    return State.WAITING if visit.question and not redo else State.PENDING


def on_reopened(out: Out, event: Event) -> None:
    """A visit is open again: start what it was doing, or enter the step that a limit kept out."""
    visit, redo = out.machine.visit(event.node), event.data.get("redo")
    frame = out.machine.frames.get(visit.path)
    if frame is not None:
        if frame.pending:
            proceed(out, frame, frame.pending)
    elif redo:
        before = dict(visit.because) if redo == event.data.get("was") else {}
        new = "information" if event.data.get("note") else "approach" if event.data.get("worker") else "resumed"
        out.want(visit, redo, **before | {"new": new})
    elif visit.state == State.PENDING:
        out.want(visit, out.kind_of(visit))
