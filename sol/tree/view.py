"""Look at a task tree: nodes by path, as a graph, as lines of text. Reads only."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sol.tree.node import Node, State, Tree

if TYPE_CHECKING:
    import networkx as nx


class TreeView:
    """A task tree for people and programs that look into it.

    Iterates over nodes, parents before their children.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def __iter__(self) -> Iterator[Node]:
        return iter(self._tree.subtree("")) if self._tree.nodes else iter(())

    def __len__(self) -> int:
        return len(self._tree.nodes)

    def __getitem__(self, path: str) -> Node:
        return self._tree.nodes[path]

    def __contains__(self, path: object) -> bool:
        return path in self._tree.nodes

    @property
    def root(self) -> Node:
        """The root node."""
        return self._tree.root

    def leaves(self) -> list[Node]:
        """Nodes that were never split, in tree order."""
        return [node for node in self if not node.children]

    def counts(self) -> dict[str, int]:
        """How many nodes are in each state, states without nodes left out."""
        found: dict[str, int] = {}
        for node in self:
            found[str(node.state)] = found.get(str(node.state), 0) + 1
        return found

    def set_aside(self) -> list[Node]:
        """Nodes that the strategy set aside because they can neither be done nor split."""
        return [node for node in self if node.state == State.SKIPPED and not node.generation]

    def to_networkx(self) -> "nx.DiGraph[str]":
        """The tree as a directed graph, parent to child; nodes carry goal, state, kind, reason and spending."""
        import networkx as nx  # noqa: PLC0415 - takes long to import

        graph: nx.DiGraph[str] = nx.DiGraph()
        for node in self:
            graph.add_node(node.path, **self._attributes(node))
            if node.path:
                graph.add_edge(node.parent, node.path)
        return graph

    @staticmethod
    def _attributes(node: Node) -> dict[str, Any]:
        return {
            "goal": node.assignment["goal"],
            "state": str(node.state),
            "kind": node.kind,
            "reason": node.reason,
            "depth": node.depth,
            "worker": node.worker["kind"],
            "dimension": node.dimension,
            "attempts": node.counts.get("attempt", 0),
            "seconds": node.spent.seconds,
            "tokens": node.spent.tokens,
            "cost": node.spent.cost,
        }
