"""A figure of a run: its tree, and beside each node when it was at work; by matplotlib, without its global state.

Large trees are summed up; what is drawn stays legible from one node to some hundreds.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from sol.errors import required
from sol.tree.node import AnyState, State
from sol.tree.soundness import sound
from sol.tree.timeline import Span
from sol.view import labels
from sol.view.diagrams import FILLS, cut, left_out, short_path
from sol.view.outline import Line, outline

SUMMARY = 80
"""So many nodes of a tree that is too large to be drawn as a whole."""

_WHAT = "plot"
_KINDS = {
    "attempt": "#4c8dc9",
    "check": "#3aa76d",
    "judge": "#8bc34a",
    "split": "#9575cd",
    "review": "#b39ddb",
    "merge": "#f0a030",
    "integrate": "#f0a030",
    "land": "#f0a030",
    "reassess": "#e57373",
}
_OTHER = "#90a4ae"
_CRITICAL = "#c62828"
_INK, _DIM, _GUIDE = "#222222", "#6b7280", "#b0bec5"
_TREE_IN, _TIME_IN, _ALONE_IN = 5.4, 4.6, 8.0
_INDENT_IN = 0.17
_DPI = 130
_DEEPEST = 12
"""Levels of indentation; deeper ones stand where this one does."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the figure: a node, or what was left out below one (`line` is then that node's)."""

    line: Line
    depth: int
    above: int | None
    words: str
    detail: str = ""
    rest: bool = False


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes for so many rows: the more rows, the smaller, within what can be read."""

    rows: int

    @property
    def row_in(self) -> float:
        return 0.24 if self.rows <= 40 else 0.17

    @property
    def font(self) -> float:
        return 8.5 if self.rows <= 40 else 7.0

    @property
    def height_in(self) -> float:
        return self.rows * self.row_in + 1.1

    def characters(self, inches: float) -> int:
        """How many characters fit into so many inches."""
        return max(int(inches * 72 / (self.font * 0.54)), 8)


def plot(tree: AnyState, spans: Sequence[Span], *, room: int, title: str) -> Any:  # noqa: ANN401 - a matplotlib Figure
    """The figure. Shows itself where it is the last value of a notebook's cell; `savefig` writes it.

    Args:
        tree: State of the run.
        spans: Its time line; empty: only the tree is drawn.
        room: Most nodes, at least 1. A tree with more is summed up in `SUMMARY` of them.
        title: Name of the run.
    """
    figure_module = required("matplotlib.figure", what=_WHAT)
    tree, faults = sound(tree)
    rows = _rows(tree, room if len(tree.nodes) <= room else min(room, SUMMARY))
    sizes = _Sizes(max(len(rows) + len(faults), 1))
    width = _TREE_IN + _TIME_IN if spans else _ALONE_IN
    figure = _shown(figure_module.Figure)(figsize=(width, sizes.height_in), dpi=100, facecolor="white")
    bottom, top = 0.45 / sizes.height_in, 1 - 0.6 / sizes.height_in
    share = (_TREE_IN if spans else _ALONE_IN) / width
    left = figure.add_axes((0.01, bottom, share - 0.02, top - bottom))
    _draw_tree(left, rows, sizes, (_TREE_IN if spans else _ALONE_IN) - 0.25, faults)
    heading = f"{labels.clean(title)}  {tree.status or 'pending'}, {labels.number(len(tree.nodes), 'node')}".strip()
    figure.text(
        0.01, 1 - 0.22 / sizes.height_in, _drawable(heading), fontsize=10, color=_INK, va="center", parse_math=False
    )
    if spans:
        right = figure.add_axes((share, bottom, 1 - share - 0.02, top - bottom))
        _draw_time(right, _placed(rows, spans, tree), sizes)
    return figure


def _shown(figure: Any) -> Any:  # noqa: ANN401 - a class of matplotlib
    """The class of figures, with what notebooks ask for: a plain one is only shown once pyplot has been imported."""

    def as_png(self: Any) -> bytes:  # noqa: ANN401 - a Figure
        out = BytesIO()
        self.savefig(out, format="png", dpi=_DPI)
        return out.getvalue()

    return type("TreeFigure", (figure,), {"_repr_png_": as_png, "__doc__": "A figure that notebooks show."})


def _drawable(text: str) -> str:
    """The text with a box for every character that the font lacks; matplotlib would warn of each."""
    manager, fonts = required("matplotlib.font_manager", what=_WHAT), required("matplotlib.ft2font", what=_WHAT)
    known = fonts.FT2Font(manager.findfont("DejaVu Sans")).get_charmap() if text and not text.isascii() else {}
    return text if text.isascii() else "".join(one if ord(one) in known else "\N{WHITE SQUARE}" for one in text)


# --- the tree --------------------------------------------------------------------------------------------------------


def _rows(tree: AnyState, room: int) -> list[_Row]:
    rows: list[_Row] = []
    places: dict[str, int] = {}
    waiting: list[Line] = []
    for line in outline(tree, room=room):
        while waiting and waiting[-1].depth >= line.depth:
            _add_rest(rows, waiting.pop(), places)
        node = line.node
        places[node.path] = len(rows)
        above = places[line.above.path] if line.above is not None else None
        words = f"{short_path(node.path)}  {labels.title_of(node, line.above)}"
        rows.append(_Row(line, min(line.depth, _DEEPEST), above, words, labels.detail_of(node)))
        if line.hidden:
            waiting.append(line)
    while waiting:
        _add_rest(rows, waiting.pop(), places)
    return rows


def _add_rest(rows: list[_Row], line: Line, places: dict[str, int]) -> None:
    depth = min(line.depth + 1, _DEEPEST)
    rows.append(_Row(line, depth, places[line.node.path], left_out(line.hidden), rest=True))


def _draw_tree(axes: Any, rows: Sequence[_Row], sizes: _Sizes, width_in: float, faults: Sequence[str]) -> None:  # noqa: ANN401 - Axes
    axes.set_xlim(0, width_in)
    axes.set_ylim(sizes.rows - 0.5, -0.5)
    axes.axis("off")
    write = {"fontsize": sizes.font, "va": "center", "parse_math": False}
    guides = []
    for place, row in enumerate(rows):
        x = row.depth * _INDENT_IN + 0.08
        if row.above is not None:
            from_x = rows[row.above].depth * _INDENT_IN + 0.08
            guides.append([(from_x, row.above + 0.35), (from_x, place), (max(x - 0.08, from_x), place)])
        fits = sizes.characters(width_in - x - 0.2)
        if row.rest:
            axes.text(x, place, _drawable(cut(row.words, fits)), color=_DIM, style="italic", **write)
            continue
        state = row.line.node.state
        symbol = labels.SYMBOLS[state][0]
        axes.text(x, place, _drawable(symbol), color=FILLS[state][1], weight="bold", ha="center", **write)
        words = cut(row.words, fits if not row.detail else max(fits * 3 // 5, fits - len(row.detail) - 3))
        words = _drawable(words)
        axes.text(x + 0.13, place, words, color=_INK, **write)
        rest = fits - len(words) - 3
        if row.detail and rest > 8:
            _beside(axes, x + 0.13, place, words, _drawable(f"— {cut(row.detail, rest)}"), write)
    for place, fault in enumerate(faults, start=len(rows)):
        words = _drawable(cut(f"damaged: {fault}", sizes.characters(width_in)))
        axes.text(0.08, place, words, color=FILLS[State.FAILED][1], **write)
    collection = required("matplotlib.collections", what=_WHAT).LineCollection
    axes.add_collection(collection(guides, colors=_GUIDE, linewidths=0.8))


def _beside(axes: Any, x: float, y: float, before: str, words: str, write: dict[str, Any]) -> None:  # noqa: ANN401 - Axes
    """Write words behind others, where those end."""
    path = required("matplotlib.textpath", what=_WHAT).TextPath((0, 0), before, size=write["fontsize"])
    axes.text(x + path.get_extents().x1 / 72 + 0.12, y, words, color=_DIM, **write)


# --- the time line ---------------------------------------------------------------------------------------------------


def _draw_time(axes: Any, placed: Sequence[tuple[int, Span]], sizes: _Sizes) -> None:  # noqa: ANN401 - Axes
    began = min((span.start for _, span in placed), default=0.0)
    total = max(max((span.end for _, span in placed), default=0.0) - began, 1e-3)
    least = total / 250
    bars: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    critical = []
    for place, span in placed:
        start, length = span.start - began, max(span.seconds, least)
        kind = span.kind if span.kind in _KINDS else "other"
        bars[kind].append((place, start, length))
        if span.critical:
            critical.append([(start, place + 0.4), (start + length, place + 0.4)])
    collections = required("matplotlib.collections", what=_WHAT)
    for kind in (*_KINDS, "other"):
        shapes = [
            [
                (start, place - 0.28),
                (start + length, place - 0.28),
                (start + length, place + 0.28),
                (start, place + 0.28),
            ]
            for place, start, length in _merged(bars[kind])
        ]
        if shapes:
            axes.add_collection(collections.PolyCollection(shapes, facecolors=_KINDS.get(kind, _OTHER), label=kind))
    axes.add_collection(collections.LineCollection(critical, colors=_CRITICAL, linewidths=1.6, label="critical path"))
    axes.set_xlim(-total * 0.01, total * 1.01 + least)
    axes.set_ylim(sizes.rows - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_xlabel("seconds since the run began", fontsize=8, color=_DIM)
    axes.tick_params(labelsize=7.5, colors=_DIM)
    axes.grid(axis="x", color="#eceff1", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_GUIDE)
    axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, fontsize=7, frameon=False, handlelength=1.1,
        columnspacing=1.0, borderaxespad=0.2, labelcolor=_INK,
    )  # fmt: skip


def _placed(rows: Sequence[_Row], spans: Iterable[Span], tree: AnyState) -> list[tuple[int, Span]]:
    """Each span with the row of its node, or of what was left out below the nearest node above it that is shown."""
    own = {row.line.node.path: place for place, row in enumerate(rows) if not row.rest}
    rest = {row.line.node.path: place for place, row in enumerate(rows) if row.rest}
    shown: dict[str, str] = {}  # the node itself, or the nearest above it that has a row
    for path, node in tree.nodes.items():
        shown[path] = path if path in own else shown.get(node.parent, "")
    found = []
    for span in spans:
        place = own.get(span.path, rest.get(shown.get(span.path, "")))
        if place is not None:
            found.append((place, span))
    return found


def _merged(bars: Iterable[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    """Bars of one kind with those of a row that touch one another made one."""
    found: list[tuple[int, float, float]] = []
    for place, start, length in sorted(bars):
        if found and found[-1][0] == place and start <= found[-1][1] + found[-1][2]:
            before = found[-1]
            found[-1] = (place, before[1], max(before[2], start + length - before[1]))
        else:
            found.append((place, start, length))
    return found
