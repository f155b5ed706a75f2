"""Machine workflows as a program: what follows from each event, and from what people ask of a run. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from sol.engine.program import Limits, Reaction
from sol.engine.step import close, given_up, late, on_budget_hit, reopened_cause, running, unknown_usage
from sol.strategy.schema import Strategy
from sol.tree import events as e
from sol.tree.effects import Kind, Request
from sol.tree.events import CancelRequested, Command, Event, Reopened, RetryRequested
from sol.tree.node import State
from sol.tree.values import Cause, WorkerData
from sol.workflow.compose import request
from sol.workflow.events import CODEC, KIND, CallEnded, StepCreated, WorkflowResumed
from sol.workflow.flow import judge, on_begin, on_created, on_reported, on_settled, proceed
from sol.workflow.linked import Workflow
from sol.workflow.state import ROOT, Machine, Out, Visit, Where, apply


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
        out.then.want(visit, data.redo, reopened_cause(visit.cause, data))
    elif visit.state == State.PENDING:
        out.then.want(visit, out.kind_of(visit))


_ANSWER = Cause(new="information", what="answer")


class MachineReading:
    """What the state of a workflow's run is. See `sol.engine.program.Reading`."""

    kind = KIND
    codec = CODEC

    def empty(self) -> Machine:
        """A run without visits."""
        return Machine()

    def apply(self, state: Machine, event: Event) -> None:
        """Fold an event in."""
        apply(state, event)

    def may_retry(self, state: Machine, path: str) -> bool:
        """Whether a step can be tried once more."""
        return may_retry(state, path)


class MachineProgram(MachineReading):
    """What follows from what in a workflow's run. See `sol.engine.program.Program`.

    Args:
        workflow: What the run goes by.
        strategy: Its limits.
    """

    def __init__(self, workflow: Workflow, strategy: Strategy) -> None:
        self.workflow = workflow
        self.limits = Limits(strategy.concurrency, strategy.budget)

    def decide(self, state: Machine, event: Event) -> Reaction:
        """What follows from an event that has just been folded in.

        Raises:
            LookupError: If the definition does not have the step (any more).

        Source: R05–R14, R25.
        """
        out = Out(state, self.workflow)
        match event.data:
            case e.RunStarted() | WorkflowResumed(replay=True):
                on_begin(out)
            case e.Resumed():
                on_resumed(out)
            case e.CancelRequested() as asked:
                on_cancel(out, asked)
            case e.RetryRequested() as asked:
                on_retry(out, event.node, asked)
            case e.BudgetHit() as hit:
                on_budget_hit(state, hit, out.then)
            case _:
                visit = state.nodes.get(event.node)
                if visit is not None:
                    _decide_visit(out, visit, event)
        return out.then

    def request(self, state: Machine, command: Command) -> Request:
        """What the worker of a step gets to see, and what else an effect needs."""
        return request(Where(state, self.workflow), command)

    def may_start(self, state: Machine, command: Command) -> bool:
        """Whether the parallel steps that an effect belongs to let one more of their sub-steps work. Source: X07."""
        where = Where(state, self.workflow)
        working = [one.node for one in running(state)]
        visit = state.nodes[command.node]
        for above in state.lineage(visit):
            limit = where.step(above).concurrency if visit.inner else None
            if limit is not None:
                others = [child for child in state.within(above) if child is not visit]
                if sum(_works_below(state, child, working) for child in others) >= limit:
                    return False
            visit = above
        return True

    def costs(self, state: Machine, command: Command) -> bool:
        """Whether an effect calls a model or a Luna. A run that solves a step books what it uses by itself."""
        return command.kind == Kind.ATTEMPT or (command.kind == Kind.RULE and state.config.sol == "model")

    def level(self, state: Machine, path: str) -> int:  # noqa: ARG002 - the protocol
        """Steps are no levels of the depth limit."""
        return 0

    def before(self, state: Machine, fact: Event) -> Iterator[Event]:
        """Before a run is walked through again, the ends of all that its last process had in work."""
        if isinstance(fact.data, WorkflowResumed) and fact.data.replay:
            for command in state.inflight.values():
                ended = e.Interrupted(
                    kind=command.kind,
                    n=command.n,
                    usage=unknown_usage(command),
                    cause="changed",
                    reason="The definition has changed since it was started.",
                )
                yield Event(command.node, ended)

    def workspaces(self, state: Machine, path: str) -> Sequence[str]:  # noqa: ARG002 - the protocol
        """All steps work in the workspace itself."""
        return ()


def _decide_visit(out: Out, visit: Visit, event: Event) -> None:
    match event.data:
        case StepCreated() as created:
            on_created(out, visit, reused=created.reused)
        case e.Reported():
            on_reported(out, visit)
        case e.Answer() | CallEnded():
            judge(out, visit)
        case e.Lost() as lost:
            out.then.settle(visit, State.FAILED, kind=lost.lost, reason=lost.reason, resumable=True)
        case e.Answered():
            out.then.want(visit, out.kind_of(visit), _ANSWER)
        case e.Reopened() as reopened:
            on_reopened(out, visit, reopened)
        case e.Settled():
            on_settled(out, visit)
        case _:
            pass


def _works_below(state: Machine, visit: Visit, working: Sequence[str]) -> bool:
    """Whether an effect of a visit, or of any below it, is in work."""
    nodes = [state.nodes[path] for path in working]
    return any(one is visit or any(above is visit for above in state.lineage(one)) for one in nodes)
