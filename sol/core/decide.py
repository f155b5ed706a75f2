"""The task tree as a program: from the tree and one event to new events and commands. Pure, and the same on replay.

Source: strategy.md, all of it.
"""

from collections.abc import Callable, Iterable, Sequence

from sol.core.act import accept, on_reassessed, on_rule_answer
from sol.core.assign import request
from sol.core.attempt import begin, conclude, on_atomic, on_checked, on_integrated, on_merged, on_reported
from sol.core.control import may_retry, on_cancel, on_reopened, on_resumed, on_retry
from sol.core.integrate import on_settled
from sol.core.places import places_of
from sol.core.ruling import integrates_by_luna
from sol.core.split import on_proposed, on_reviewed
from sol.engine.program import NOTHING_FOLLOWS, Limits, Reaction
from sol.engine.step import on_budget_hit
from sol.strategy.schema import Strategy
from sol.tree import effects as f
from sol.tree import events as e
from sol.tree.codec import TASK_EVENTS, Codec
from sol.tree.effects import Kind, Request
from sol.tree.events import AssignmentChanges, ByClass, Command, Event
from sol.tree.fold import apply_task
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import AssignmentData, Cause, SplitAnswer

_ANSWER = Cause(new="information", what="answer")
_REASSESSMENT = Cause(new="information", what="reassessment")
_BY_SOL = frozenset(Kind) - {Kind.ATTEMPT, Kind.CHECK, Kind.MERGE, Kind.LAND, Kind.FILE, Kind.SOLVE}
"""Kinds of effects that Sol's model does, if there is one."""


class TreeReading:
    """What the state of a task tree is. See `sol.engine.program.Reading`."""

    kind = "tree"
    codec = Codec(TASK_EVENTS)

    def empty(self) -> Tree:
        """A tree without nodes."""
        return Tree()

    def apply(self, state: Tree, event: Event) -> None:
        """Fold an event in."""
        apply_task(state, event)

    def may_retry(self, state: Tree, path: str) -> bool:
        """Whether a node can be tried once more."""
        return may_retry(state, state.nodes[path])


class TreeProgram(TreeReading):
    """What follows from what in a task tree, by a strategy. See `sol.engine.program.Program`."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.limits = Limits(strategy.concurrency, strategy.budget)

    def decide(self, state: Tree, event: Event) -> Reaction:
        """What follows from an event that has just been folded in."""
        data = event.data
        of_run, of_node = _OF_RUN[type(data)], _OF_NODE[type(data)]
        if of_node is not None:
            node = state.nodes.get(event.node)
            if node is not None:
                out = Reaction()
                of_node(state, node, data, self.strategy, out)
                return out
        elif of_run is not None:
            out = Reaction()
            of_run(state, event.node, data, out)
            return out
        return NOTHING_FOLLOWS

    def request(self, state: Tree, command: Command) -> Request:
        """What a Luna or the planner gets to see."""
        return request(state, command, self.strategy)

    def may_start(self, state: Tree, command: Command) -> bool:  # noqa: ARG002 - the protocol
        """There are no limits but the engine's."""
        return True

    def costs(self, state: Tree, command: Command) -> bool:
        """Whether an effect calls a model or a Luna."""
        match command.kind:
            case Kind.ATTEMPT:
                return True
            case Kind.INTEGRATE if integrates_by_luna(state.nodes[command.node], self.strategy):
                return True
            case Kind.MERGE:
                return command.because.conflict is not None
            case kind:
                return kind in _BY_SOL and state.config.sol == "model"

    def level(self, state: Tree, path: str) -> int:
        """Each level of the tree is one of the depth limit's."""
        return state.nodes[path].depth

    def before(self, state: Tree, fact: Event) -> Iterable[Event]:  # noqa: ARG002 - the protocol
        """Nothing has to be taken in first."""
        return ()

    def workspaces(self, state: Tree, path: str) -> Sequence[str]:
        """Names of all workspaces that there may be of a node."""
        return places_of(state.nodes[path])


def whole(assignment: AssignmentData) -> AssignmentChanges:
    """A whole assignment, as the event of the root has it."""
    return AssignmentChanges(*(getattr(assignment, name) for name in AssignmentChanges.__struct_fields__))


# --- events of the run, and requests ---------------------------------------------------------------------------------


def _started(_tree: Tree, _path: str, data: e.TaskStarted, out: Reaction) -> None:
    out.event("", e.Created(whole(data.assignment)))


def _resumed(tree: Tree, _path: str, _data: e.Resumed, out: Reaction) -> None:
    on_resumed(tree, out)


def _budget_hit(tree: Tree, _path: str, data: e.BudgetHit, out: Reaction) -> None:
    on_budget_hit(tree, data, out)


_OF_RUN: ByClass[Callable[..., None]] = ByClass(
    {
        e.TaskStarted: _started,
        e.Resumed: _resumed,
        e.CancelRequested: on_cancel,
        e.RetryRequested: on_retry,
        e.BudgetHit: _budget_hit,
    }
)

# --- events of a node ------------------------------------------------------------------------------------------------


def _created(_tree: Tree, node: TaskNode, _data: e.Created, strategy: Strategy, out: Reaction) -> None:
    if not node.after:
        begin(node, strategy, out)


def _reported(tree: Tree, node: TaskNode, data: e.Reported, strategy: Strategy, out: Reaction) -> None:
    on_reported(tree, node, data.report, data.n, strategy, out)


def _checked(tree: Tree, node: TaskNode, _data: e.Checked, strategy: Strategy, out: Reaction) -> None:
    on_checked(tree, node, strategy, out)


def _lost(_tree: Tree, node: TaskNode, data: e.Lost, _strategy: Strategy, out: Reaction) -> None:
    out.settle(node, State.FAILED, kind=data.lost, reason=data.reason, resumable=True)


def _answered(_tree: Tree, node: TaskNode, _data: e.Answered, _strategy: Strategy, out: Reaction) -> None:
    out.want(node, Kind.ATTEMPT, _ANSWER)


def _redefined(_tree: Tree, node: TaskNode, _data: e.Redefined, _strategy: Strategy, out: Reaction) -> None:
    out.want(node, Kind.ATTEMPT, _REASSESSMENT)


def _settled(tree: Tree, node: TaskNode, _data: e.Settled, strategy: Strategy, out: Reaction) -> None:
    on_settled(tree, node, strategy, out)


def _decide_answer(tree: Tree, node: TaskNode, data: e.Answer, strategy: Strategy, out: Reaction) -> None:
    answer = data.answer
    match answer:
        case f.JudgeAnswer():
            conclude(tree, node, strategy, out)
        case SplitAnswer() | f.CannotSplit():
            on_proposed(tree, node, answer, strategy, out)
        case f.IntegrateAnswer():
            on_integrated(tree, node, answer, strategy, out)
        case f.AtomicAnswer():
            on_atomic(node, answer, out)
        case f.Judged() if data.kind == Kind.REVIEW:
            on_reviewed(node, answer, out)
        case f.Judged():
            on_rule_answer(tree, node, strategy, out)
        case f.MergeAnswer():
            on_merged(tree, node, answer, strategy, out)
        case f.LandAnswer():
            accept(node, out)
        case f.ReassessAnswer():
            on_reassessed(tree, node, answer, strategy, out)
        case _:
            pass


_OF_NODE: ByClass[Callable[..., None]] = ByClass(
    {
        e.Created: _created,
        e.Reported: _reported,
        e.Checked: _checked,
        e.Answer: _decide_answer,
        e.Lost: _lost,
        e.Answered: _answered,
        e.Redefined: _redefined,
        e.Reopened: on_reopened,
        e.Settled: _settled,
    }
)
