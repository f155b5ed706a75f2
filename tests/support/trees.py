"""Trees for the tests of what looks at trees."""

from typing import Any

from msgspec import structs

from sol.tree.events import Command
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import AssignmentData, CriterionData, ExpectedData, WorkerData

ASSIGNMENT = AssignmentData(
    goal="Convert each of the records",
    context="none",
    inputs={"records": {"file": "records.txt", "unit": "lines", "start": 0, "stop": 64}},
    constraints=(),
    expected_output=ExpectedData("Lines"),
    success_criteria=(CriterionData(text="Each is converted"),),
    stop_conditions=("The file is missing",),
)


def a_node(path: str = "", **fields: Any) -> TaskNode:
    """A node of a tree whose paths have one digit a level; its assignment's fields can be given one by one."""
    own = {name: fields.pop(name) for name in AssignmentData.__struct_fields__ if name in fields}
    assignment = structs.replace(fields.pop("assignment", ASSIGNMENT), **own)
    worker = fields.pop("worker", WorkerData("command"))
    return TaskNode(path=path, parent=path[:-1], depth=len(path), assignment=assignment, worker=worker, **fields)


def grown(nodes: int) -> Tree:
    """A binary tree of halved inputs; all leaves are accepted."""
    tree = Tree(status="running")
    tree.nodes[""] = a_node(state=State.SUCCESS)
    todo = [""]
    while len(tree.nodes) < nodes:
        above = tree.nodes[todo.pop(0)]
        place: Any = above.assignment.inputs["records"]
        middle = (place["start"] + place["stop"]) // 2
        above.state = State.SPLIT
        for digit, (start, stop) in enumerate(((place["start"], middle), (middle, place["stop"]))):
            path = f"{above.path}{digit}"
            inputs = {"records": place | {"start": start, "stop": stop}}
            tree.nodes[path] = a_node(path, inputs=inputs, state=State.SUCCESS)
            above.children = (*above.children, path)
            todo.append(path)
    return tree


def chain(levels: int) -> Tree:
    """A tree that is one path; its last node runs."""
    tree = Tree(status="running")
    for depth in range(levels):
        path = "0" * depth
        tree.nodes[path] = a_node(path, state=State.SPLIT)
        if path:
            tree.nodes[path[:-1]].children = (path,)
    run(tree, "0" * (levels - 1))
    return tree


def run(tree: Tree, path: str, kind: str = "attempt", n: int = 1) -> TaskNode:
    """Put a node to work."""
    node = tree.nodes[path]
    node.state = State.RUNNING
    command = Command(path, kind, n)
    tree.inflight[command.key] = command
    return node
