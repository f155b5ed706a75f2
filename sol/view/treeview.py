"""`run.tree`: the tree of a run with all ways to look at it; and the tree as rows of a table."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sol.errors import required
from sol.tree.events import Event
from sol.tree.node import AnyState, Node, State, TaskNode
from sol.tree.soundness import in_order, sound
from sol.tree.timeline import Span, timeline
from sol.view import labels
from sol.view.diagrams import dot, mermaid
from sol.view.diff import TreeDiff, compare
from sol.view.history import NodeHistory, history_of
from sol.view.notebook import run_html

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.figure import Figure


def row_of(node: Node) -> dict[str, Any]:
    """A node as a row. Seconds, tokens and cost (US dollars) are its own, without its parts."""
    passed, failed, unchecked = labels.check_counts(node)
    return {
        "path": node.path,
        "depth": node.depth,
        "goal": node.title,
        "state": str(node.state),
        "kind": node.kind,
        "reason": node.reason,
        "worker": node.worker.kind,
        "dimension": node.dimension if isinstance(node, TaskNode) else "",
        "children": len(node.children),
        "attempts": node.counts.get("attempt", 0),
        "seconds": node.spent.seconds,
        "calls": node.spent.calls,
        "tokens": node.spent.tokens,
        "cost": node.spent.cost,
        "passed": passed,
        "failed": failed,
        "unchecked": unchecked,
    }


def to_dataframe(nodes: Iterable[Node]) -> "pd.DataFrame":
    """The nodes as a data frame, indexed by path."""
    pandas = required("pandas", what="to_dataframe")
    rows = [row_of(node) for node in nodes]
    frame: pd.DataFrame = pandas.DataFrame(rows, columns=list(rows[0]) if rows else ["path"])
    return frame.set_index("path")


LARGEST_DIAGRAM = 200
"""Most nodes of a diagram or figure, unless more are asked for; it says how many more there are."""


class TreeView:
    """The nodes of a run, of whatever kind, for people and programs that look into it.

    Iterates over nodes, parents before their children; what hangs in the air in a damaged journal comes last.

    Args:
        tree: State of the run.
        history: Reads the run's events, oldest first; None: only the state is known.
        name: What it is called, such as the run's id.
    """

    def __init__(self, tree: AnyState, history: Callable[[], Sequence[Event]] | None = None, *, name: str = "") -> None:
        self._tree = tree
        self._history = history
        self._name = name

    def __iter__(self) -> Iterator[Node]:
        return in_order(self._tree)

    def __len__(self) -> int:
        return len(self._tree.nodes)

    def __getitem__(self, path: str) -> Node:
        return self._tree.nodes[path]

    def __contains__(self, path: object) -> bool:
        return path in self._tree.nodes

    def __repr__(self) -> str:
        name = f"{self._name}: " if self._name else ""
        states = ", ".join(f"{count:,} {state}" for state, count in self.counts().items())
        return f"<TreeView {name}{self._tree.size}{f', {states}' if states else ''}>"

    def _repr_html_(self) -> str:
        return run_html(self._tree, self._name)

    @property
    def root(self) -> Node:
        """The root node."""
        return self._tree.root

    @property
    def faults(self) -> list[str]:
        """What is missing or contradicts itself, one line each: only where a journal is damaged."""
        return sound(self._tree)[1]

    def leaves(self) -> list[Node]:
        """Nodes with none below them, in tree order."""
        return [node for node in self if not node.children]

    def counts(self) -> dict[str, int]:
        """How many nodes are in each state, states without nodes left out."""
        found: dict[str, int] = {}
        for node in self:
            found[str(node.state)] = found.get(str(node.state), 0) + 1
        return found

    def set_aside(self) -> list[Node]:
        """Nodes that the strategy set aside because they can neither be done nor split."""
        return [
            node
            for node in self
            if node.state == State.SKIPPED and not (isinstance(node, TaskNode) and node.current_children)
        ]

    def node(self, path: str) -> NodeHistory:
        """The whole history of one node, from its assignment to what became of it; `print` it, or look at its parts.

        Args:
            path: Path of the node; "" or "." is the root.

        Raises:
            NotFoundError: If there is no such node.
        """
        return history_of(self._tree, path, self._events())

    def timeline(self) -> list[Span]:
        """Who was at work when, in the order of starting, with the critical path; empty where no events are known."""
        return timeline(self._events(), self._tree.nodes)

    def diff(self, other: "TreeView") -> TreeDiff:
        """How another run of the same or a similar task differs from this one; `print` it, or look at its parts."""
        return compare(self._tree, other._tree)  # noqa: SLF001 - of its own class

    def to_networkx(self) -> "nx.DiGraph[str]":
        """The nodes as a directed graph, parent to child; they carry goal, state, kind, reason and spending."""
        import networkx as nx  # noqa: PLC0415 - takes long to import

        graph: nx.DiGraph[str] = nx.DiGraph()
        for node in self:
            graph.add_node(node.path, **self._attributes(node))
            if node.path and node.parent in self._tree.nodes:
                graph.add_edge(node.parent, node.path)
        return graph

    def to_dataframe(self) -> "pd.DataFrame":
        """One row a node, indexed by path: state, worker, split, attempts, spending, checks. Needs pandas.

        Raises:
            MissingPackageError: If pandas is not installed; names the extra that brings it.
        """
        return to_dataframe(self)

    def to_mermaid(self, *, nodes: int = LARGEST_DIAGRAM) -> str:
        """The tree as a Mermaid flow chart of at most so many nodes; what was left out is counted in it."""
        return mermaid(self._tree, room=nodes)

    def to_dot(self, *, nodes: int = LARGEST_DIAGRAM) -> str:
        """The tree in Graphviz' language, of at most so many nodes; what was left out is counted in it."""
        return dot(self._tree, room=nodes)

    def plot(self, *, nodes: int = LARGEST_DIAGRAM) -> "Figure":
        """A figure of the tree and its time line, of at most so many nodes. Needs matplotlib.

        Raises:
            MissingPackageError: If matplotlib is not installed; names the extra that brings it.
        """
        from sol.view.figure import plot  # noqa: PLC0415 - loads matplotlib

        figure: Figure = plot(self._tree, self.timeline(), room=nodes, title=self._name)
        return figure

    def _events(self) -> Sequence[Event]:
        return self._history() if self._history is not None else ()

    @staticmethod
    def _attributes(node: Node) -> dict[str, Any]:
        return {
            "goal": node.title,
            "state": str(node.state),
            "kind": node.kind,
            "reason": node.reason,
            "depth": node.depth,
            "worker": node.worker.kind,
            "dimension": node.dimension if isinstance(node, TaskNode) else "",
            "attempts": node.counts.get("attempt", 0),
            "seconds": node.spent.seconds,
            "tokens": node.spent.tokens,
            "cost": node.spent.cost,
        }
