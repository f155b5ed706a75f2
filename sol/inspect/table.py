"""A run as a table, one row a node, for pandas. Reads only; nothing is shortened."""

from collections.abc import Iterable
from typing import Any

from sol.inspect.optional import required
from sol.tree.node import Node, TaskNode


def check_counts(node: Node) -> tuple[int, int, int]:
    """How many of a node's newest checks hold, do not hold, and were made by nothing."""
    found = [check.ok for check in node.checks]
    return (sum(ok is True for ok in found), sum(ok is False for ok in found), sum(ok is None for ok in found))


def row_of(node: Node) -> dict[str, Any]:
    """A node as a row. Seconds, tokens and cost (US dollars) are its own, without its parts."""
    passed, failed, unchecked = check_counts(node)
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


def to_dataframe(nodes: Iterable[Node]) -> Any:  # noqa: ANN401 - a pandas.DataFrame
    """The nodes as a data frame, indexed by path."""
    pandas = required("pandas", what="to_dataframe")
    rows = [row_of(node) for node in nodes]
    frame = pandas.DataFrame(rows, columns=list(rows[0]) if rows else ["path"])
    return frame.set_index("path")
