"""Machine workflows as a program: from a run's state and one event to new events and commands. Pure, same on replay.

Looking at a run needs `MachineReading` only, and no files; going on with one needs its workflow.
"""

from collections.abc import Iterator, Sequence

from sol.engine.program import Limits, Reaction
from sol.engine.step import on_budget_hit, running, unknown_usage
from sol.strategy.schema import Strategy
from sol.tree import events as e
from sol.tree.effects import Kind, Request
from sol.tree.events import Command, Event
from sol.tree.node import State
from sol.tree.values import Cause
from sol.workflow.machine.compose import request
from sol.workflow.machine.control import may_retry, on_cancel, on_reopened, on_resumed, on_retry
from sol.workflow.machine.events import CODEC, KIND, CallEnded, StepCreated, WorkflowResumed
from sol.workflow.machine.flow import on_begin, on_created, on_settled
from sol.workflow.machine.judging import judge, on_reported
from sol.workflow.machine.out import Out, Where
from sol.workflow.machine.state import Machine, Visit, apply
from sol.workflow.machine.workflow import Workflow

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
