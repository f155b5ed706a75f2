"""What the end of a child means for its siblings and its parent."""

from sol.core.act import ruled
from sol.core.attempt import begin
from sol.core.ruling import active_children
from sol.engine.program import Reaction
from sol.strategy.schema import Strategy
from sol.tree.node import State, TaskNode, Tree


def on_settled(tree: Tree, node: TaskNode, strategy: Strategy, out: Reaction) -> None:
    """A node has ended: start or block those that waited for it; when all siblings have ended, decide on the parent.

    Source: S24, S25, S56, S63.
    """
    if not node.path:
        return
    parent = tree.nodes[node.parent]
    if parent.ended or node.path not in parent.generation:
        return
    siblings = [tree.nodes[path] for path in parent.generation]
    for sibling in siblings:
        if sibling.after == node.path and sibling.state == State.PENDING:
            follow(node, sibling, strategy, out)
    if all(sibling.ended and not sibling.paused for sibling in siblings):
        _conclude(tree, parent, strategy, out)


def follow(node: TaskNode, sibling: TaskNode, strategy: Strategy, out: Reaction) -> None:
    """What the end of a part means for the one that waits for it. Source: S24."""
    if node.state == State.SUCCESS:
        begin(sibling, strategy, out)
    else:
        reason = f"It needs part {node.path}, which is {node.state}."
        out.settle(sibling, State.BLOCKED, kind=node.kind, reason=reason, resumable=node.resumable)


def _conclude(tree: Tree, parent: TaskNode, strategy: Strategy, out: Reaction) -> None:
    children = [tree.nodes[path] for path in active_children(tree, parent)]
    broken = [child for child in children if child.resumable]
    if broken:
        first = broken[0]
        reason = f"Part {first.path} is {first.state} and can be taken up again: {first.reason}"
        state = State.EXHAUSTED if first.state == State.EXHAUSTED else State.BLOCKED
        out.settle(parent, state, kind=first.kind, reason=reason, resumable=True)
    else:
        ruled(tree, parent, "children", [], strategy, out)
