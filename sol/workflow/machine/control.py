"""What people ask of a workflow's run: cancel, take up again, try once more. Pure.

Closing what is open is as for the task tree; where a run goes on is not.
"""

from collections.abc import Iterable, Iterator

from sol.engine.step import close, given_up, late, reopened_cause
from sol.tree.events import CancelRequested, Reopened, RetryRequested
from sol.tree.node import State
from sol.tree.values import WorkerData
from sol.workflow.machine.flow import proceed
from sol.workflow.machine.out import Out
from sol.workflow.machine.state import ROOT, Machine, Visit


def on_cancel(out: Out, asked: CancelRequested) -> None:
    """Someone has cancelled the run, or a step, with which the run ends too."""
    reason = asked.reason or "Cancelled on request."
    close(out.machine, ROOT, State.CANCELLED, kind="cancelled", reason=reason, resumable=False, out=out.then)


def on_resumed(out: Out) -> None:
    """Take up again what was interrupted, lost, or stopped by a limit; what the run has gone on from stays as it is."""
    out.then.events.extend(late(outcome) for outcome in given_up(out.machine))
    open_again(out, _stopped(out.machine, out.machine.nodes[ROOT]))


def _stopped(machine: Machine, visit: Visit) -> list[Visit]:
    """Where a run was when it stopped: visits to be taken up so that it goes on."""
    if visit.state == State.SUCCESS:
        return []
    frame = machine.frames.get(visit.path)
    if frame is not None:
        if frame.pending:
            return [visit]
        return _stopped(machine, machine.nodes[frame.current]) if frame.current else []
    if visit.redo:
        return [visit]
    children = machine.within(visit)
    if children:
        return [found for child in children for found in _stopped(machine, child)]
    return [visit] if visit.ended and visit.resumable else []


def may_retry(machine: Machine, path: str) -> bool:
    """Whether a step can be tried once more: the run has ended without success, and ended with this step."""
    root = machine.root
    over = root.ended and not root.paused and root.state != State.SUCCESS
    return over and bool(_wanted(machine, machine.nodes[path]))


def on_retry(out: Out, path: str, asked: RetryRequested) -> None:
    """Someone wants the step tried once more that the run ended with; those before it are kept. Source: S53."""
    visits = _wanted(out.machine, out.machine.nodes[path])
    open_again(out, visits, anew=True, note=asked.note, worker=asked.worker)


def _wanted(machine: Machine, visit: Visit) -> list[Visit]:
    own = {one.path for one in _ended_with(machine, visit)}
    return [one for one in _ended_with(machine, machine.nodes[ROOT]) if one.path in own]


def _ended_with(machine: Machine, visit: Visit) -> list[Visit]:
    """The visits that a visit came to its end with: of the newest step, and there of the sub-steps that matter."""
    frame = machine.frames.get(visit.path)
    if frame is not None:
        return _ended_with(machine, machine.nodes[frame.current]) if frame.current and not frame.pending else []
    children = machine.within(visit)
    if not children:
        return [visit]
    open_ = [child for child in children if child.state != State.SUCCESS or child.verdict is None]
    return [leaf for child in open_ or children for leaf in _ended_with(machine, child)]


def at_work(machine: Machine) -> Iterator[Visit]:
    """The visits where a run is, or has ended: the newest of each workflow at work, with its sub-steps."""
    todo = [ROOT]
    while todo:
        frame = machine.frames.get(todo.pop())
        if frame is not None and frame.current:
            visit = machine.nodes[frame.current]
            found = [visit, *machine.within(visit)]
            yield from found
            todo.extend(one.path for one in found)


def open_again(
    out: Out, visits: Iterable[Visit], *, anew: bool = False, note: str = "", worker: WorkerData | None = None
) -> None:
    """Reopen visits, and whatever above them ended because of them.

    Args:
        out: Gets the events.
        visits: What to take up.
        anew: Do them once more, rather than go on with what was stopped.
        note: What is new about them.
        worker: Who is to do them from now on.
    """
    targets = {visit.path: visit for visit in visits}
    above = {one.path for visit in targets.values() for one in out.machine.lineage(visit)}
    for visit in out.machine.nodes.values():
        if visit.path in targets:
            again = out.kind_of(visit) if anew else visit.redo
            state = State.SPLIT if visit.path in out.machine.frames else _state_again(visit, again)
            out.then.event(visit.path, Reopened(state, redo=again, was=visit.redo, note=note, worker=worker))
        elif visit.path in above and visit.ended:
            out.then.event(visit.path, Reopened(State.SPLIT))


def _state_again(visit: Visit, redo: str) -> State:
    return State.WAITING if visit.question and not redo else State.PENDING


def on_reopened(out: Out, visit: Visit, data: Reopened) -> None:
    """A visit is open again: start what it was doing, or enter the step that a limit kept out."""
    frame = out.machine.frames.get(visit.path)
    if frame is not None:
        if frame.pending:
            proceed(out, frame, frame.pending)
    elif data.redo:
        out.then.want(visit, data.redo, reopened_cause(visit.because, data))
    elif visit.state == State.PENDING:
        out.then.want(visit, out.kind_of(visit))
