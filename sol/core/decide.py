"""The task tree as a program: what follows from each event, and from what people ask of a run. Pure."""

from collections.abc import Callable, Iterable, Sequence

from sol.core.assign import checkouts_of, request
from sol.core.lifecycle import (
    accept,
    begin,
    conclude,
    follow,
    on_atomic,
    on_checked,
    on_integrated,
    on_merged,
    on_reassessed,
    on_reported,
    on_rule_answer,
    on_settled,
)
from sol.core.report import integrates_by_luna
from sol.core.split import on_proposed, on_reviewed
from sol.engine.program import NOTHING_FOLLOWS, Limits, Reaction
from sol.engine.step import close, given_up, late, on_budget_hit, reopened_cause, running
from sol.strategy.schema import Strategy
from sol.tree import effects as f
from sol.tree import events as e
from sol.tree.codec import TASK_EVENTS, Codec
from sol.tree.effects import Kind, Request
from sol.tree.events import AssignmentChanges, ByClass, CancelRequested, Command, Event, Reopened, RetryRequested
from sol.tree.fold import apply_task
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import AssignmentData, Cause, SplitAnswer, WorkerData

TRY_AGAIN = "Someone who knows of the last attempt asked for another one."
"""What a retry tells the Luna when nothing else is new. Source: S53."""


def on_cancel(tree: Tree, path: str, asked: CancelRequested, out: Reaction) -> None:
    """Someone has cancelled a node or, with the root, the run."""
    reason = asked.reason or "Cancelled on request."
    close(tree, path, State.CANCELLED, kind="cancelled", reason=reason, resumable=False, out=out)


def on_resumed(tree: Tree, out: Reaction) -> None:
    """Take up again all that was interrupted, lost or ran out of budget; nothing that was accepted is touched.

    A run is resumed by a process that has just taken it, so nobody runs its abandoned effects any more: they are closed
    and charged what was reserved for them.
    """
    out.events.extend(late(outcome) for outcome in given_up(tree))
    found, todo = [], [""]
    while todo:
        node = tree.nodes[todo.pop()]
        if node.ended and not node.resumable:
            continue
        if node.redo or node.resumable:
            found.append(node.path)
        todo.extend(node.current_children)
    open_again(tree, found, out)


def may_retry(tree: Tree, node: TaskNode) -> bool:
    """Whether a node can be tried once more: it has ended without success, and its result can still be made use of.

    That is so while it is one of the newest parts of its parent, the part that it waits for is accepted, and everything
    above waits for its parts or has ended without success.
    """
    if not node.ended or node.state == State.SUCCESS:
        return False
    if node.after and tree.nodes[node.after].state != State.SUCCESS:
        return False
    busy = {command.node for command in (*tree.queue, *running(tree))}
    below = node
    for above in tree.lineage(node):
        is_open = above.state == State.SPLIT and above.path not in busy and not above.redo
        if below.path not in above.current_children or above.state == State.SUCCESS or not (is_open or above.ended):
            return False
        below = above
    return True


def on_retry(tree: Tree, path: str, asked: RetryRequested, out: Reaction) -> None:
    """Someone wants a node tried once more, with what is new about it. Source: S53."""
    note = asked.note or ("" if asked.worker else TRY_AGAIN)
    open_again(tree, [path], out, redo=Kind.ATTEMPT, note=note, worker=asked.worker)


def open_again(
    tree: Tree, paths: Iterable[str], out: Reaction, *, redo: str = "", note: str = "", worker: WorkerData | None = None
) -> None:
    """Reopen nodes, the ancestors that ended because of them, and the siblings that were blocked by any of these."""
    targets = set(paths)
    above = {one.path for path in targets for one in tree.lineage(tree.nodes[path])} - targets
    opened: set[str] = set()
    for node in sorted((tree.nodes[path] for path in above | targets), key=lambda node: (node.depth, node.path)):
        if node.path in targets:
            again = redo or node.redo
            state = _state_again(node, again)
            out.event(node.path, Reopened(state, redo=again, was=node.redo, note=note, worker=worker))
        elif node.ended:
            out.event(node.path, Reopened(State.SPLIT))
        else:
            continue
        blocked = [one for one in _blocked_by(tree, node) if one not in targets and one not in above | opened]
        opened.update(blocked)
        for sibling in blocked:
            out.event(sibling, Reopened(State.PENDING))


def _state_again(node: TaskNode, redo: str) -> State:
    if redo == Kind.ATTEMPT:
        return State.PENDING
    if node.question:
        return State.WAITING
    return State.SPLIT if node.current_children else State.PENDING


def _blocked_by(tree: Tree, node: TaskNode) -> list[str]:
    """Siblings that wait, directly or not, for a node and were blocked."""
    if not node.path:
        return []
    found = [node.path]
    for path in tree.nodes[node.parent].current_children:
        sibling = tree.nodes[path]
        if sibling.state == State.BLOCKED and sibling.after in found:
            found.append(path)
    return found[1:]


def on_reopened(tree: Tree, node: TaskNode, data: Reopened, strategy: Strategy, out: Reaction) -> None:
    """A node is open again: start what it was doing; without that it waits for its parts, a sibling or an answer.

    The sibling may have ended while the node was not open.
    """
    if data.redo:
        out.want(node, data.redo, reopened_cause(node.cause, data))
    elif node.after and node.state == State.PENDING:
        before_it = tree.nodes[node.after]
        if before_it.ended and not before_it.paused:
            follow(before_it, node, strategy, out)


_ANSWER = Cause(new="information", what="answer")
_REASSESSMENT = Cause(new="information", what="reassessment")
_BY_SOL = frozenset(Kind) - {Kind.ATTEMPT, Kind.CHECK, Kind.MERGE, Kind.APPLY, Kind.FILE, Kind.SOLVE}
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
                return command.cause.conflict is not None
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
        return checkouts_of(state.nodes[path])


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
        case f.ApplyAnswer():
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
