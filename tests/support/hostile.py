"""Trees that are hard to show: large, deep, full of hostile text, damaged."""

from typing import Any

from sol.tree.node import DIGITS, State, TaskNode, Tree
from sol.tree.values import WorkerData
from tests.support.trees import a_node

ATTACK = "<img src=x onerror=alert(1)>"
STEERING = ']]> \x1b[31mred\x1b]0;title\x07 "quoted" `code` #35; \u202e \ud800 </script><!--'


def monster(result: Any, *, levels: int = 3_000, leaves: int = 20_000) -> Tree:
    """A tree of so many levels and leaves, with a large result, a large reason, and hostile goals."""
    tree = Tree(status="success")
    tree.nodes[""] = a_node(goal=ATTACK, worker=WorkerData(ATTACK), state=State.SUCCESS, result=result)
    path = ""
    for level in range(levels):
        path = _add(tree, path, "0", f"{STEERING} {level}").path
    todo, number = [""], 0
    while number < leaves:
        above = todo.pop(0)
        for digit in DIGITS[1:11]:
            node = _add(tree, above, digit, f"task {number}")
            node.state = State.FAILED if number % 50 == 0 else State.SUCCESS
            node.reason = "why " * 2_500_000 if number == 50 else f"because {ATTACK}"
            todo.append(node.path)
            number += 1
    return tree


def _add(tree: Tree, above: str, digit: str, goal: str) -> TaskNode:
    node = a_node(above + digit, goal=goal, state=State.SUCCESS)
    tree.nodes[node.path] = node
    parent = tree.nodes[above]
    parent.children += (node.path,)
    parent.current_children, parent.dimension, parent.how = parent.children, ATTACK, "inputs"
    return node


def damaged() -> Tree:
    """A tree as only a damaged file can hold it: circles, parts that are missing, twice there, or hang in the air."""
    tree = Tree(status="running")
    tree.nodes["0"] = a_node("0", children=("", "00", "00", "0f"))
    tree.nodes[""] = a_node("", children=("0", "", "00", "2"))
    tree.nodes["00"] = a_node("00", children=("0",))
    tree.nodes["2"] = a_node("1")
    tree.nodes["777"] = a_node("777")
    tree.nodes["1"] = a_node("1")
    for path, parent in (("8", "9"), ("9", "8")):
        tree.nodes[path] = a_node(path, children=(parent,))
        tree.nodes[path].parent = parent
    return tree
