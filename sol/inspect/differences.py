"""The difference between two runs as text and as HTML for notebooks, limited in size. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from sol.inspect import labels, markup
from sol.inspect.diagrams import cut, short_path
from sol.inspect.markup import text
from sol.tree.diff import Delta, Pair, TreeDiff
from sol.tree.node import AnyState, Node
from sol.tree.values import WorkerData

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
    return f"{said}. There: {_delta(diff.delta)}."


def _delta(delta: Delta) -> str:
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
