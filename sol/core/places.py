"""Where the work on a node starts when every Luna has a place of its own, and what is merged into it. Pure.

Snapshots are opaque texts here; making places and merging them is the dispatcher's business.
"""

from collections.abc import Iterable

from sol.tree.effects import Kind, Place
from sol.tree.events import Command
from sol.tree.node import State, TaskNode, Tree

ROOT = "root"
"""How places of the root are called, whose path is the empty text."""


def start_of(tree: Tree, node: TaskNode) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The snapshot that work on a node starts from, and the accepted parts, by path, that belong into it as well.

    A task that was put together before starts from that; one that follows another from where that ended; any other one
    from where its parent started. What earlier splits have brought belongs into it. Source: S24, S25.
    """
    also: list[tuple[str, str]] = []
    while True:
        over = [path for path in node.children if path not in node.generation]
        also = [*accepted(tree, over), *also]
        if node.merged or not node.path:
            return node.merged or tree.config.base, tuple(also)
        if node.after and (before := tree.nodes[node.after]).snapshot:
            return before.snapshot, tuple(also)
        node = tree.nodes[node.after or node.parent]


def accepted(tree: Tree, paths: Iterable[str]) -> list[tuple[str, str]]:
    """Path and snapshot of those nodes that are accepted and have changed anything."""
    found = [tree.nodes[path] for path in paths]
    return [(node.path, node.snapshot) for node in found if node.state == State.SUCCESS and node.snapshot]


def place_of(tree: Tree, node: TaskNode, command: Command) -> Place | None:
    """The place of an attempt, check or integration; None when all work in the workspace itself."""
    if not tree.is_isolated:
        return None
    label = node.path or ROOT
    base, also = start_of(tree, node)
    if command.kind == Kind.ATTEMPT:
        return Place(f"{label}.{command.n}", base, also)
    if command.kind == Kind.INTEGRATE or node.integration is not None:
        return Place(f"{label}.merge", node.snapshot or base)
    return Place(f"{label}.{node.counts.get(Kind.ATTEMPT, 0)}", node.snapshot or base)


def places_of(node: TaskNode) -> list[str]:
    """Names of all places that there may be of a node."""
    label = node.path or ROOT
    return [f"{label}.{n}" for n in range(1, node.counts.get(Kind.ATTEMPT, 0) + 1)] + [f"{label}.merge"]


def merge_of(tree: Tree, node: TaskNode) -> Place:
    """The place where the accepted parts of a node are merged, and those that are to be merged into it now.

    That is everything accepted or, after a conflict, what is not in yet.
    """
    base, also = start_of(tree, node)
    sides = dict([*also, *accepted(tree, node.generation)])
    if node.merging:
        base = node.merging.snapshot
        sides = {path: snapshot for path, snapshot in sides.items() if path not in node.merging.merged}
    return Place(f"{node.path or ROOT}.merge", base, tuple(sides.items()))
