"""Trees for the tests of what looks at trees."""

from typing import Any

from sol.tree.events import Command
from sol.tree.node import Node, State, Tree

ASSIGNMENT: dict[str, Any] = {
    "goal": "Convert each of the records",
    "context": "none",
    "inputs": {"records": {"file": "records.txt", "unit": "lines", "start": 0, "stop": 64}},
    "constraints": [],
    "expected_output": {"description": "Lines"},
    "success_criteria": [{"text": "Each is converted"}],
    "stop_conditions": ["The file is missing"],
}


def grown(nodes: int) -> Tree:
    """A binary tree of halved inputs; all leaves are accepted."""
    tree = Tree(status="running")
    tree.nodes[""] = Node("", ASSIGNMENT, {"kind": "command"}, state=State.SUCCESS)
    todo = [""]
    while len(tree.nodes) < nodes:
        above = tree.nodes[todo.pop(0)]
        place = above.assignment["inputs"]["records"]
        middle = (place["start"] + place["stop"]) // 2
        above.state = State.SPLIT
        for digit, (start, stop) in enumerate(((place["start"], middle), (middle, place["stop"]))):
            path = f"{above.path}{digit}"
            inputs = {"records": place | {"start": start, "stop": stop}}
            tree.nodes[path] = Node(path, ASSIGNMENT | {"inputs": inputs}, {"kind": "command"}, state=State.SUCCESS)
            above.children = [*above.children, path]
            todo.append(path)
    return tree


def chain(levels: int) -> Tree:
    """A tree that is one path; its last node runs."""
    tree = Tree(status="running")
    for depth in range(levels):
        path = "0" * depth
        tree.nodes[path] = Node(path, ASSIGNMENT, {"kind": "command"}, state=State.SPLIT)
        if path:
            tree.nodes[path[:-1]].children = [path]
    run(tree, "0" * (levels - 1))
    return tree


def run(tree: Tree, path: str, kind: str = "attempt", n: int = 1) -> Node:
    """Put a node to work."""
    node = tree.nodes[path]
    node.state = State.RUNNING
    command = Command(path, kind, n)
    tree.inflight[command.key] = command
    return node
