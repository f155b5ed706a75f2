"""A run as rich HTML for notebooks: where it stands, what is stuck and why, how it was split, its cost, its checks.

Pure and iterative; the size of what comes out has a limit whatever the run holds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sol.tree.node import AnyState, Node, State
from sol.tree.soundness import sound
from sol.view import labels, markup
from sol.view.diagrams import left_out, short_path
from sol.view.markup import text
from sol.view.outline import Line, outline

ROOM = 250
"""Most rows of a tree."""

OPENED = 60
"""Trees of so many rows are shown unfolded; of larger ones the upper levels and what did not succeed."""

_NESTED = 30
"""Levels that can be folded; those below stand side by side. Browsers take no more than some hundreds."""

_OPEN_RESULT = 400
"""A result of so many characters is shown unfolded."""

_CALM = frozenset({State.SUCCESS, State.SPLIT, State.PENDING})


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which columns there is something in."""

    tokens: bool
    cost: bool


def run_html(
    tree: AnyState,
    name: str,
    *,
    result: Any = None,  # noqa: ANN401 - JSON
    room: int = ROOM,
    activity: Mapping[str, str] | None = None,
) -> str:
    """A run or its nodes.

    Args:
        tree: Its state.
        name: Its id; "" when it has none.
        result: Its result, where that is to be shown.
        room: Most rows.
        activity: What workers said last, by path, while they are at work.
    """
    tree, faults = sound(tree)
    parts = [_head(tree, name), _states(tree)]
    parts += [f'<div class="bad">damaged: {text(fault)}</div>' for fault in faults]
    if "" in tree.nodes:
        root = tree.root
        if tree.status == "success" and result is not None:
            shown = markup.preview(result)
            opened = " open" if len(shown) <= _OPEN_RESULT else ""
            parts.append(f"<details{opened}><summary>result</summary>{shown}</details>")
        elif root.ended and root.reason:
            parts.append(f'<div>not solved: <span class="t">{text(root.reason)}</span></div>')
    waiting = [node for node in tree.nodes.values() if node.state == State.WAITING]
    parts += [_question(node) for node in waiting[:5]]
    return markup.box(*parts, *_rows(tree, room, labels.doing(tree, activity or {})))


def _head(tree: AnyState, name: str) -> str:
    facts = labels.spent_words(tree.spent)
    if tree.spent.seconds:
        facts.append(f"{labels.duration(tree.spent.seconds)} of work")
    if len(tree.nodes) > 1:
        counts = Counter(node.state for node in tree.nodes.values())
        facts.append(f"{labels.number(len(tree.nodes), 'node')}: {labels.counted(counts)}")
    title = f'<b class="m">{text(name)}</b> ' if name else ""
    return f'<div class="head">{title}{markup.badge(tree.status or "pending")} {_dim(" · ".join(facts))}</div>'


def _dim(words: str) -> str:
    return f'<span class="q">{text(words)}</span>' if words else ""


def _states(tree: AnyState) -> str:
    """A bar of how much of the tree is in which state; splits are no work and do not count."""
    counts = Counter[State](node.state for node in tree.nodes.values() if node.state != State.SPLIT)
    if len(tree.nodes) < 2:
        return ""
    pieces = (
        f'<i style="flex:{counts[state]};background:var(--sol-{state})" title="{counts[state]:,} {state}"></i>'
        for state in State
        if counts[state]
    )
    return f'<div class="bar">{"".join(pieces)}</div>'


def _question(node: Node) -> str:
    name = text(short_path(node.path))
    return f'<div>question of node <span class="m">{name}</span>: <b class="t">{text(node.question)}</b></div>'


def _rows(tree: AnyState, room: int, busy: Mapping[str, str]) -> Iterator[str]:
    """The rows, folded into one another. What is open is kept in a list, so that depth is no matter."""
    lines = outline(tree, room=room)
    if not tree.nodes:
        yield '<div class="q">nothing yet</div>'
    unfolded = _unfolded(lines)
    columns = _Columns(tokens=any(line.tokens for line in lines), cost=any(line.cost for line in lines))
    closing: list[tuple[int, str]] = []
    for place, line in enumerate(lines):
        while closing and closing[-1][0] >= line.depth:
            yield closing.pop()[1]
        follows = place + 1 < len(lines) and lines[place + 1].depth > line.depth
        row = _row(line, busy.get(line.node.path, ""), columns)
        if not (follows or line.hidden) or line.depth >= _NESTED:
            yield f'<div class="leaf">{row}</div>'
            if line.hidden:
                yield _more(line)
            continue
        opened = " open" if follows and line.node.path in unfolded else ""
        yield f'<details{opened}><summary>{row}</summary><div class="k">'
        closing.append((line.depth, (_more(line) if line.hidden else "") + "</div></details>"))
    yield "".join(end for _, end in reversed(closing))


def _unfolded(lines: Sequence[Line]) -> set[str]:
    """Paths of the nodes below which something is to be seen at once."""
    if len(lines) <= OPENED:
        return {line.node.path for line in lines}
    found = {line.node.path for line in lines if line.depth < 2}
    for line in reversed(lines):
        restless = line.node.state not in _CALM or any(state not in _CALM for state in line.hidden)
        if line.above is not None and (restless or line.node.path in found):
            found.add(line.above.path)
    return found


def _more(line: Line) -> str:
    return f'<div class="leaf q">{text(left_out(line.hidden))}</div>'


def _row(line: Line, doing: str, columns: _Columns) -> str:
    node = line.node
    state = State.RUNNING if doing and not node.ended else node.state
    title = text(labels.title_of(node, line.above)[:200])
    detail = text((doing or labels.detail_of(node))[:200])
    detail = f' <span class="q t">— {detail}</span>' if detail else ""
    name = f'<span class="m q" title="node {text(short_path(node.path, most=60))}">{text(short_path(node.path))}</span>'
    dimension = labels.dimension_of(node)
    notes = [text(f"by {dimension[:24]}")] if dimension else []
    notes += [_attempts(node)] if _attempts(node) else []
    cells = [" · ".join(notes), _checks(node), text(labels.duration(line.seconds)) if line.seconds else ""]
    cells += [labels.amount(line.tokens) if line.tokens else ""] if columns.tokens else []
    cells += [labels.money(line.cost) if line.cost else ""] if columns.cost else []
    right = "".join(f' <span class="n">{cell}</span>' for cell in cells)
    return f'<div class="row">{markup.mark(state)} {name} <span class="w t">{title}{detail}</span>{right}</div>'


def _checks(node: Node) -> str:
    passed, failed, unchecked = labels.check_counts(node)
    words = [f"✓{passed}" if passed else "", f"✗{failed}" if failed else "", f"?{unchecked}" if unchecked else ""]
    told = f"checks: {passed} hold, {failed} do not hold, {unchecked} were made by nothing"
    shown = " ".join(word for word in words if word)
    return f'<span title="{told}">{shown}</span>' if shown else ""


def _attempts(node: Node) -> str:
    count = node.counts.get("attempt", 0)
    return f"{count} attempts" if count > 1 else ""
