"""Make a tree that can be drawn of whatever a damaged journal holds, and say what was wrong. Pure.

A node's path says where it belongs, so cycles can only stand in the lists of children; those are what is mended.
"""

from dataclasses import replace

from sol.inspect import labels
from sol.tree.node import Node, Tree

MOST = 20
"""Most faults that are told one by one."""


def sound(tree: Tree) -> tuple[Tree, list[str]]:
    """The tree itself and no faults, or a mended copy of it and one line for each fault, the last one counting more."""
    faults: list[str] = []
    nodes: dict[str, Node] = {}
    for path in tree.nodes if _in_order(tree) else sorted(tree.nodes, key=lambda path: (len(path), path)):
        node = tree.nodes[path]
        above = nodes.get(path[:-1])
        if node.path != path:
            faults.append(f"the node at {_name(path)} calls itself {_name(node.path)}")
        elif path and above is None:
            faults.append(f"node {_name(path)} hangs in the air: there is no node {_name(path[:-1])} above it")
        else:
            nodes[path] = node
            if above is not None and path not in above.children:
                faults.append(f"node {_name(path)} is not among the parts of the node above it")
    for node in nodes.values():
        faults += _wrong_children(node, tree)
    if not faults:
        return tree, []
    more = len(faults) - MOST
    told = [*faults[:MOST], f"… and {more:,} more faults"] if more > 0 else faults
    return replace(tree, nodes=nodes), told


def _in_order(tree: Tree) -> bool:
    seen: set[str] = set()
    for path in tree.nodes:
        if path and path[:-1] not in seen:
            return False
        seen.add(path)
    return True


def _wrong_children(node: Node, tree: Tree) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for child in node.children:
        if node.path.startswith(child):
            found.append(f"a circle: node {_name(node.path)} has {_name(child)}, which is above it, among its parts")
        elif child in seen:
            found.append(f"node {_name(node.path)} lists its part {_name(child)} twice")
        elif child not in tree.nodes:
            found.append(f"node {_name(node.path)} has a part {_name(child)} that does not exist")
        elif child[:-1] != node.path:
            found.append(f"node {_name(node.path)} lists {_name(child)}, which belongs elsewhere, among its parts")
        seen.add(child)
    return found


def _name(path: str) -> str:
    name = labels.name_of(path)
    return labels.clean(name if len(name) <= 40 else "…" + name[-39:])
