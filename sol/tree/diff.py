"""How two runs differ: which nodes only one of them has, and what became of those that both have. Pure."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from typing import Any

from sol.tree.node import AnyState, Node, Spending, TaskNode

_TaskKey = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Delta:
    """The second run's spending less the first one's."""

    seconds: float
    calls: int
    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class Pair:
    """One node in both runs.

    Attributes:
        here, there: The two nodes.
        changes: What differs, each with both values: `path`, `goal`, `inputs`, `state`, `reason`, `result`, `split`,
            `worker`, `attempts`.
        delta: What it alone took more there; its parts are not counted.
    """

    here: Node
    there: Node
    changes: Mapping[str, tuple[Any, Any]]
    delta: Delta


@dataclass(frozen=True, slots=True)
class TreeDiff:
    """What differs between two runs. As text: `print(diff)`.

    Attributes:
        pairs: The nodes of both, in the order of the first: with the same goal and inputs, wherever they stand, or
            else at the same place.
        only_here: Nodes of the first alone.
        only_there: Nodes of the second alone.
        delta: What the second run took more.
        here, there: The states of the two runs.
    """

    pairs: tuple[Pair, ...]
    only_here: tuple[Node, ...]
    only_there: tuple[Node, ...]
    delta: Delta
    here: AnyState
    there: AnyState

    @property
    def changed(self) -> tuple[Pair, ...]:
        """The pairs in which something differs but time and cost."""
        return tuple(pair for pair in self.pairs if pair.changes)

    @property
    def same(self) -> bool:
        """Whether both did the same with the same outcome, at whatever cost."""
        return not (self.changed or self.only_here or self.only_there)

    def __repr__(self) -> str:
        only = f"{len(self.only_here):,} only here, {len(self.only_there):,} only there"
        return f"<TreeDiff: {len(self.pairs):,} in both, {len(self.changed):,} of them changed, {only}>"

    def __str__(self) -> str:
        return str(import_module("sol.inspect.differences").as_text(self))

    def _repr_html_(self) -> str:
        return str(import_module("sol.inspect.differences").as_html(self))


def compare(here: AnyState, there: AnyState) -> TreeDiff:
    """How the second tree differs from the first."""
    tasks_here, tasks_there = _tasks(here), _tasks(there)
    matched = {path: path for path, task in tasks_here.items() if tasks_there.get(path) == task}
    taken = set(matched.values())
    waiting: dict[_TaskKey, list[str]] = defaultdict(list)
    for path, task in reversed(tasks_there.items()):
        if path not in taken:
            waiting[task].append(path)
    for path, task in tasks_here.items():
        if path not in matched and waiting[task]:
            matched[path] = waiting[task].pop()
    taken = set(matched.values())
    matched |= {path: path for path in tasks_here if path not in matched and path in tasks_there.keys() - taken}
    taken = set(matched.values())
    return TreeDiff(
        pairs=tuple(
            _pair(node, there.nodes[matched[node.path]]) for node in here.nodes.values() if node.path in matched
        ),
        only_here=tuple(node for node in here.nodes.values() if node.path not in matched),
        only_there=tuple(node for node in there.nodes.values() if node.path not in taken),
        delta=_delta(here.spent, there.spent),
        here=here,
        there=there,
    )


def _tasks(tree: AnyState) -> dict[str, _TaskKey]:
    """What each node is about, by path. Inputs are hashed once for all nodes that share them."""
    known: dict[int, bytes] = {}
    found: dict[str, _TaskKey] = {}
    for node in tree.nodes.values():
        inputs = node.assignment.inputs if isinstance(node, TaskNode) else None
        if id(inputs) not in known:
            text = json.dumps(inputs, sort_keys=True, default=str)
            known[id(inputs)] = blake2b(text.encode(), digest_size=16).digest()
        found[node.path] = (node.title, known[id(inputs)])
    return found


def _split(node: Node) -> tuple[str, str, int] | None:
    if not isinstance(node, TaskNode) or not node.generation:
        return None
    return node.how, node.dimension, len(node.generation)


_COMPARED: Mapping[str, Callable[[Node], Any]] = {
    "path": lambda node: node.path,
    "goal": lambda node: node.title,
    "inputs": lambda node: node.assignment.inputs if isinstance(node, TaskNode) else None,
    "state": lambda node: str(node.state),
    "reason": lambda node: node.reason,
    "result": lambda node: node.result,
    "split": _split,
    "worker": lambda node: node.worker,
    "attempts": lambda node: node.counts.get("attempt", 0),
}


def _pair(here: Node, there: Node) -> Pair:
    changes = {}
    for name, read in _COMPARED.items():
        before, after = read(here), read(there)
        if before != after:
            changes[name] = (before, after)
    return Pair(here, there, changes, _delta(here.spent, there.spent))


def _delta(here: Spending, there: Spending) -> Delta:
    return Delta(
        seconds=there.seconds - here.seconds,
        calls=there.calls - here.calls,
        tokens=there.tokens - here.tokens,
        cost=there.cost - here.cost,
    )
