"""A run as a diagram in Mermaid's or Graphviz' language, limited in size, every text escaped. Pure."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sol.tree.node import AnyState, State
from sol.tree.soundness import sound
from sol.view import labels
from sol.view.outline import Line, outline

TITLE = 60
DETAIL = 80
_PATH = 12

FILLS = {
    State.PENDING: ("#eceff1", "#90a4ae"),
    State.RUNNING: ("#e1f5fe", "#0288d1"),
    State.WAITING: ("#f3e5f5", "#8e24aa"),
    State.SPLIT: ("#e8eaf6", "#5c6bc0"),
    State.SUCCESS: ("#e8f5e9", "#388e3c"),
    State.FAILED: ("#ffebee", "#d32f2f"),
    State.SKIPPED: ("#fff8e1", "#f9a825"),
    State.BLOCKED: ("#fff8e1", "#f9a825"),
    State.CANCELLED: ("#fff8e1", "#f9a825"),
    State.EXHAUSTED: ("#fff3e0", "#ef6c00"),
}
"""Fill and stroke of each state; text on them is dark."""

_MERMAID_SPECIAL = re.compile(r"""[&<>"`#;]""")


@dataclass(frozen=True, slots=True)
class _Box:
    """A node of the diagram: a node of the run, what was left out below one, or a fault."""

    lines: tuple[str, ...]
    state: State | None = None
    above: int | None = None
    far: bool = False


def _boxes(tree: AnyState, room: int) -> Iterator[_Box]:
    tree, faults = sound(tree)
    numbers: dict[str, int] = {}
    number = 0
    for line in outline(tree, room=room):
        node = line.node
        above = numbers[line.above.path] if line.above is not None else None
        numbers[node.path] = number
        yield _Box(_words(line), node.state, above, far=line.above is not None and line.above.path != node.parent)
        number += 1
        if line.hidden:
            yield _Box((left_out(line.hidden),), None, numbers[node.path])
            number += 1
    for fault in faults:
        yield _Box(("damaged", fault), State.FAILED)
    if not tree.nodes and not faults:
        yield _Box(("nothing yet",))


def left_out(hidden: Counter[State]) -> str:
    """How many nodes were left out, and in which states they are."""
    counted = labels.counted(hidden)
    return f"… {hidden.total():,} more" + (f" ({counted})" if counted else "")


def short_path(path: str, *, most: int = _PATH) -> str:
    """The end of a path, where it is long."""
    name = labels.name_of(path)
    return name if len(name) <= most else "…" + name[-most + 1 :]


def cut(text: str, most: int) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _words(line: Line) -> tuple[str, ...]:
    node = line.node
    title = cut(labels.title_of(node, line.above), TITLE)
    found = [f"{labels.SYMBOLS[node.state][0]} {short_path(node.path)} {title}"]
    detail = labels.detail_of(node)
    if detail and node.state != State.SPLIT:
        found.append(cut(detail, DETAIL))
    dimension = labels.dimension_of(node)
    if dimension:
        found.append(f"split: {dimension}")
    return tuple(found)


# --- Mermaid ---------------------------------------------------------------------------------------------------------


def mermaid(tree: AnyState, *, room: int) -> str:
    """A flow chart of at most `room` nodes of a run. Entities make every text harmless, for Mermaid and for HTML."""
    out = ["flowchart TD"]
    used: set[State] = set()
    for number, box in enumerate(_boxes(tree, room)):
        label = "<br/>".join(_mermaid_text(line) for line in box.lines)
        style = f":::{box.state}" if box.state else ""
        shape = f'["{label}"]' if box.state else f'("{label}")'
        out.append(f"  n{number}{shape}{style}")
        if box.above is not None:
            out.append(f"  n{box.above} {'-.->' if box.far or box.state is None else '-->'} n{number}")
        used |= {box.state} if box.state else set()
    for state in sorted(used):
        fill, stroke = FILLS[state]
        out.append(f"  classDef {state} fill:{fill},stroke:{stroke},color:#222222")
    return "\n".join(out) + "\n"


def _mermaid_text(text: str) -> str:
    return _MERMAID_SPECIAL.sub(lambda found: f"#{ord(found[0])};", text)


# --- Graphviz --------------------------------------------------------------------------------------------------------


def dot(tree: AnyState, *, room: int) -> str:
    """A directed graph of at most `room` nodes of a run."""
    out = [
        "digraph run {",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=10, fillcolor="#ffffff"];',
        '  edge [color="#78909c"];',
    ]
    for number, box in enumerate(_boxes(tree, room)):
        label = "\\n".join(_dot_text(line) for line in box.lines)
        if box.state:
            fill, stroke = FILLS[box.state]
            out.append(f'  n{number} [label="{label}", fillcolor="{fill}", color="{stroke}"];')
        else:
            out.append(f'  n{number} [label="{label}", style="dashed,rounded"];')
        if box.above is not None:
            dashed = " [style=dashed]" if box.far or box.state is None else ""
            out.append(f"  n{box.above} -> n{number}{dashed};")
    return "\n".join([*out, "}"]) + "\n"


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
