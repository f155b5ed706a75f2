"""What people and limits ask of a workflow's run: cancel, take up again, try once more, stop. Pure."""

from collections.abc import Iterable
from typing import Any

from sol.tree.events import Event, EventType
from sol.tree.node import State
from sol.workflow.machine.flow import enter
from sol.workflow.machine.out import Out
from sol.workflow.machine.state import ROOT, Visit


def stop_all(out: Out, state: State, *, kind: str, reason: str, resumable: bool) -> None:
    """End everything that has not ended, outermost first, so that nothing follows from the ends below."""
    running = {command.node: command for command in out.machine.inflight.values()}
    queued = {command.node: command for command in out.machine.queue}
    for visit in out.machine.visits:
        if visit.ended:
            continue
        waiting = queued.get(visit.path)
        if waiting is not None:
            out.event(EventType.DROPPED, visit.path, keys=[[waiting.kind, waiting.n]])
        was = running.get(visit.path) or waiting
        more: dict[str, Any] = {}
        if resumable and was is not None:
            more = {"redo": was.kind, "because": was.because}
        elif resumable and visit.path not in out.machine.frames and not out.step(visit).parallel:
            more = {"redo": out.kind_of(visit)}
        out.settle(visit, state, kind=kind, reason=reason, resumable=resumable, **more)


def on_cancel(out: Out, event: Event) -> None:
    """Someone has cancelled the run, or a step, with which the run ends too."""
    reason = event.data.get("reason") or "Cancelled on request."
    stop_all(out, State.CANCELLED, kind="cancelled", reason=reason, resumable=False)


def on_resumed(out: Out) -> None:
    """Take up again what was interrupted, lost, or stopped by a limit."""
    stopped = [visit for visit in out.machine.visits if visit.redo]
    if out.machine.pending:
        stopped.append(out.machine.visit(out.machine.pending[0]))
    open_again(out, stopped)


def on_retry(out: Out, event: Event) -> None:
    """Someone wants the step tried once more that the run ended with; those before it are kept. Source: S53."""
    front = _front(out, out.machine.visit(ROOT))
    more = {name: event.data[name] for name in ("note", "worker") if event.data.get(name)}
    wanted = {visit.path for visit in _front(out, out.machine.visit(event.node))}
    open_again(out, [visit for visit in front if visit.path in wanted], anew=True, **more)


def _front(out: Out, visit: Visit) -> list[Visit]:
    """The visits that a visit came to its end with: of the newest step, and there of the sub-steps that matter."""
    frame = out.machine.frames.get(visit.path)
    if frame is not None:
        return _front(out, out.machine.visit(frame.current)) if frame.current and not out.machine.pending else []
    children = out.machine.within(visit)
    if not children:
        return [visit]
    open_ = [child for child in children if child.state != State.SUCCESS or child.verdict is None]
    return [leaf for child in open_ or children for leaf in _front(out, child)]


def open_again(out: Out, visits: Iterable[Visit], *, anew: bool = False, **more: Any) -> None:  # noqa: ANN401 - JSON
    """Reopen visits, and whatever above them ended because of them.

    Args:
        out: Gets the events.
        visits: What to take up.
        anew: Do them once more, rather than go on with what was stopped.
        more: What is new about them.
    """
    targets = {visit.path: visit for visit in visits}
    above: set[str] = set()
    for visit in targets.values():
        path = visit.path
        while path:
            path = out.machine.visit(path).up
            above.add(path)
    for visit in out.machine.visits:
        if visit.path in targets and visit.path not in above:
            again = out.kind_of(visit) if anew else visit.redo
            data: dict[str, Any] = {"redo": again, "was": visit.redo, "pending": list(out.machine.pending), **more}
            out.event(EventType.REOPENED, visit.path, state=State.PENDING if again else State.SPLIT, **data)
        elif visit.path in above and visit.ended:
            out.event(EventType.REOPENED, visit.path, state=State.SPLIT, redo="")


def on_reopened(out: Out, event: Event) -> None:
    """A visit is open again: start what it was doing, or enter the step that a limit kept out."""
    visit = out.machine.visit(event.node)
    redo = event.data.get("redo")
    if redo:
        before = dict(visit.because) if redo == event.data.get("was") else {}
        out.want(visit, redo, **before | {"new": "information" if event.data.get("note") else "resumed"})
    elif event.data.get("pending"):
        path, name = event.data["pending"]
        for frame in out.machine.frames.values():
            if frame.path == path:
                enter(out, frame, name)
