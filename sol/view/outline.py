"""Which nodes of a tree to show in a limited number of lines, and what is to be said about those left out. Pure.

What needs attention comes first: questions, work in progress, failures. Everything else is shown while there is room.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from sol.tree.node import AnyState, Node, State

LEVELS = 64
"""Levels of indentation that a line remembers, counted from its own end."""

_BAD = frozenset({State.FAILED, State.EXHAUSTED, State.CANCELLED, State.BLOCKED, State.SKIPPED})


@dataclass(slots=True)
class Line:
    """One node that is shown.

    Attributes:
        node: The node.
        above: The node it stands below; None for the root, and for what hangs in the air in a damaged journal. Not its
            parent where levels between are left out.
        levels: For each level of indentation, outermost first, whether more follows there; the last is its own.
        depth: Levels of indentation in all, of which `levels` holds the last ones.
        hidden: States of the nodes below it that are shown by no line of their own.
        tokens, cost, seconds: What it and everything below it have used.
    """

    node: Node
    above: Node | None = None
    levels: tuple[bool, ...] = ()
    depth: int = 0
    hidden: Counter[State] = field(default_factory=Counter)
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


def outline(tree: AnyState, *, room: int | None) -> list[Line]:
    """The lines of a run's nodes, in tree order.

    Args:
        tree: The run's state; it may be large and deep, and is in order: see `sol.tree.soundness.sound`.
        room: Most lines, at least 1; None: one for each node.
    """
    if not tree.nodes:
        return []
    lines = _totals(tree, _chosen(tree, max(room, 1)) if room is not None else tree.nodes)
    return list(_in_order(lines))


def _chosen(tree: AnyState, room: int) -> Collection[str]:
    if len(tree.nodes) <= room:
        return tree.nodes
    chosen = {next(iter(tree.nodes))}
    urgent, bad, rest = _classes(tree, room)
    _fill(tree, urgent, chosen, room)
    _fill(tree, bad, chosen, min(max(room // 2, len(chosen) + 1), room))  # leaves room for the shape of the tree
    _fill(tree, rest, chosen, room)
    _fill(tree, bad, chosen, room)
    return chosen


def _fill(tree: AnyState, candidates: list[Node], chosen: set[str], room: int) -> None:
    """Add candidates, each with all that is above it; where that does not fit, the node alone."""
    for node in candidates:
        if len(chosen) >= room:
            return
        chain: dict[str, None] = {}
        above: Node | None = node
        while above is not None and above.path not in chosen and above.path not in chain:
            chain[above.path] = None
            above = tree.above(above)
        chosen.update(chain if len(chosen) + len(chain) <= room else [node.path])


def _classes(tree: AnyState, room: int) -> tuple[list[Node], list[Node], list[Node]]:
    """Candidates, each class in the order of creation and no longer than can be of use."""
    busy = {command.node for command in tree.inflight.values()}
    waiting: list[Node] = []
    running: list[Node] = []
    bad: list[Node] = []
    rest: list[Node] = []
    for node in tree.nodes.values():
        if node.state == State.WAITING:
            kind = waiting
        elif node.path in busy or node.state == State.RUNNING:
            kind = running
        elif node.state in _BAD and not node.children:
            kind = bad
        else:
            kind = rest
        if len(kind) < room:
            kind.append(node)
    return waiting + running, bad, rest


def _totals(tree: AnyState, chosen: Collection[str]) -> dict[str, Line]:
    """A line for each chosen node, with what is hidden below it and what it has used in all."""
    lines: dict[str, Line] = {}
    owners: dict[str, Line] = {}
    for node in tree.nodes.values():  # parents come before their children, where they are there
        owner = owners.get(node.parent) if node.path else None
        if owner is None and lines and node.path not in chosen:
            owner = next(iter(lines.values()))  # one piece of many in a damaged journal
        if owner is None or node.path in chosen:
            line = lines[node.path] = Line(node, above=owner.node if owner else None)
        else:
            line = owner
            line.hidden[node.state] += 1
        owners[node.path] = line
        spent = node.spent
        line.tokens += spent.tokens
        line.cost += spent.cost
        line.seconds += spent.seconds
    for line in reversed(list(lines.values())):
        if line.above is not None:
            above = lines[line.above.path]
            above.tokens += line.tokens
            above.cost += line.cost
            above.seconds += line.seconds
    return lines


def _in_order(lines: dict[str, Line]) -> Iterator[Line]:
    below: dict[str, list[Line]] = {}
    tops: list[Line] = []
    for line in lines.values():
        (below.setdefault(line.above.path, []) if line.above is not None else tops).append(line)
    todo = tops[::-1]
    while todo:
        line = todo.pop()
        yield line
        children = below.get(line.node.path, [])
        for child in reversed(children):
            child.levels = (*line.levels[-LEVELS + 1 :], child is not children[-1])
            child.depth = line.depth + 1
            todo.append(child)
