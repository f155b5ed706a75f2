"""What people ask of a task tree: cancel, take up again, try once more."""

from collections.abc import Iterable

from sol.core.integrate import follow
from sol.engine.program import Reaction
from sol.engine.step import close, given_up, late, reopened_cause, running
from sol.strategy.schema import Strategy
from sol.tree.effects import Kind
from sol.tree.events import CancelRequested, Reopened, RetryRequested
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import WorkerData

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
        todo.extend(node.generation)
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
        if below.path not in above.generation or above.state == State.SUCCESS or not (is_open or above.ended):
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
    return State.SPLIT if node.generation else State.PENDING


def _blocked_by(tree: Tree, node: TaskNode) -> list[str]:
    """Siblings that wait, directly or not, for a node and were blocked."""
    if not node.path:
        return []
    found = [node.path]
    for path in tree.nodes[node.parent].generation:
        sibling = tree.nodes[path]
        if sibling.state == State.BLOCKED and sibling.after in found:
            found.append(path)
    return found[1:]


def on_reopened(tree: Tree, node: TaskNode, data: Reopened, strategy: Strategy, out: Reaction) -> None:
    """A node is open again: start what it was doing; without that it waits for its parts, a sibling or an answer.

    The sibling may have ended while the node was not open.
    """
    if data.redo:
        out.want(node, data.redo, reopened_cause(node.because, data))
    elif node.after and node.state == State.PENDING:
        before_it = tree.nodes[node.after]
        if before_it.ended and not before_it.paused:
            follow(before_it, node, strategy, out)
