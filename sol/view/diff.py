"""Two trees compared: what differs, as data, as text and as HTML."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sol.tree.node import AnyState, Node, Spending, TaskNode
from sol.tree.values import WorkerData
from sol.view import labels, markup
from sol.view.diagrams import cut, short_path
from sol.view.markup import text

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
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


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
    if not isinstance(node, TaskNode) or not node.current_children:
        return None
    return node.how, node.dimension, len(node.current_children)


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


LISTED = 40
"""Most nodes of each kind that are listed."""

_VALUE = 70


def as_text(diff: TreeDiff) -> str:
    """The difference for a terminal or a log; holds no controls but line ends."""
    lines = [_summary(diff)]
    for title, rows in _sections(diff):
        lines += ["", title]
        lines += [f"  {'  '.join(row)}".rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def as_html(diff: TreeDiff) -> str:
    """The difference as one self-contained piece of HTML."""
    parts = [f"<div>{text(_summary(diff))}</div>"]
    for title, rows in _sections(diff):
        cells = (tuple(text(cell) for cell in row) for row in rows)
        parts += [f"<h4>{text(title)}</h4>", markup.table(cells, classes=("m", "q", "t"))]
    return markup.box(*parts)


def _summary(diff: TreeDiff) -> str:
    if diff.same:
        said = f"The same: {labels.number(len(diff.pairs), 'node')}"
    else:
        said = f"{labels.number(len(diff.pairs), 'node')} in both, {len(diff.changed):,} of them changed"
        said += f"; {len(diff.only_here):,} only here, {len(diff.only_there):,} only there"
    return f"{said}. There: {_delta_text(diff.delta)}."


def _delta_text(delta: Delta) -> str:
    """What was used more, or less."""
    words = [f"{'+' if delta.seconds >= 0 else '-'}{labels.duration(abs(delta.seconds))}"]
    words += [f"{delta.calls:+,} calls"] if delta.calls else []
    words += [f"{delta.tokens:+,} tokens"] if delta.tokens else []
    if delta.cost:
        words.append(f"{'+' if delta.cost > 0 else '-'}{labels.money(abs(delta.cost))}")
    return ", ".join(words)


def _sections(diff: TreeDiff) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    changed = diff.changed
    if changed:
        rows = [row for pair in changed[:LISTED] for row in _pair_rows(pair)]
        yield "Changed", rows + _more(changed)
    for title, tree, nodes in (("Only here", diff.here, diff.only_here), ("Only there", diff.there, diff.only_there)):
        if nodes:
            yield title, [_node_row(node, tree) for node in nodes[:LISTED]] + _more(nodes)


def _more(found: Sequence[object]) -> list[tuple[str, str, str]]:
    return [("…", "", f"{len(found) - LISTED:,} more")] if len(found) > LISTED else []


def _node_row(node: Node, tree: AnyState) -> tuple[str, str, str]:
    state = f"{labels.SYMBOLS[node.state][0]} {node.state}"
    return (
        short_path(node.path),
        state,
        cut(labels.title_of(node, tree.above(node)), _VALUE),
    )


def _pair_rows(pair: Pair) -> Iterator[tuple[str, str, str]]:
    name = short_path(pair.here.path)
    for field, (here, there) in pair.changes.items():
        yield name, field, f"{_value(field, here)} → {_value(field, there)}"
        name = ""


def _value(field: str, value: Any) -> str:  # noqa: ANN401 - JSON
    match field, value:
        case "path", str(path):
            return short_path(path)
        case "split", (how, dimension, parts):
            return labels.clean(f"{parts} by {how} along {dimension}")
        case _, None | "":
            return "nothing"
        case "worker", WorkerData(kind=kind):
            return labels.clean(kind)
        case _:
            return cut(labels.clean(value), _VALUE)
