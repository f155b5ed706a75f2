"""Runs in a terminal: lines for a given width and height.

All text is put into `Text` objects, never into markup.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from sol.tree.node import AnyState, State
from sol.tree.soundness import sound
from sol.view import labels
from sol.view.outline import Line, outline

STYLES: Mapping[State, str] = {
    State.PENDING: "dim",
    State.RUNNING: "bold cyan",
    State.WAITING: "bold magenta",
    State.SPLIT: "blue",
    State.SUCCESS: "green",
    State.FAILED: "bold red",
    State.SKIPPED: "yellow",
    State.BLOCKED: "yellow",
    State.CANCELLED: "yellow",
    State.EXHAUSTED: "yellow",
}

STATUS_STYLES: Mapping[str, str] = {**{str(state): style for state, style in STYLES.items()}, "interrupted": "yellow"}

GUIDES = ("├╴", "└╴", "│ ", "  ", "┊ ")
GUIDES_ASCII = ("|-", "`-", "| ", "  ", ": ")

_WORD = 9
_PATH = 12
_WORKER_FROM = 60
_TOKENS_FROM = 72
_COST_FROM = 96
"""Widths from which a column is shown; what it sums up to is in the headline as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What lines are made for.

    Attributes:
        width: Columns.
        now: Seconds since the epoch, for how long running nodes have been at it.
        ascii_only: Use no other characters for what is drawn.
    """

    width: int
    now: float
    ascii_only: bool = False


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which columns a tree needs beside state and title."""

    worker: bool
    tokens: bool
    cost: bool


def tree_lines(
    tree: AnyState, page: Page, *, room: int | None = None, activity: Mapping[str, str] | None = None
) -> list[Text]:
    """A run's nodes as lines: what waits, runs or failed first, the rest while there is room, summed up where not.

    Seconds, tokens and cost of a line are those of the node and of everything below it.

    Args:
        tree: State of the run; what is missing in a damaged one is said in lines at the end.
        page: What the lines are made for; none is wider.
        room: Most lines; None: one for each node.
        activity: What workers said last, by path.
    """
    tree, faults = sound(tree)
    lines = outline(tree, room=room)
    kinds = {line.node.worker.kind for line in lines}
    columns = _Columns(
        worker=page.width >= _WORKER_FROM and len(kinds) > 1,
        tokens=page.width >= _TOKENS_FROM and any(line.tokens for line in lines),
        cost=page.width >= _COST_FROM and any(line.cost for line in lines),
    )
    busy = labels.doing(tree, activity or {})
    made = [_line(line, page, columns, busy.get(line.node.path, "")) for line in lines]
    return made + [fault_line(fault, page) for fault in faults]


def fault_line(fault: str, page: Page) -> Text:
    """What is wrong with a damaged journal, as a line."""
    text = Text(f"damaged: {labels.clean(fault)}", STYLES[State.FAILED], no_wrap=True)
    text.truncate(page.width, overflow="crop" if page.ascii_only else "ellipsis")
    return text


def _line(line: Line, page: Page, columns: _Columns, doing: str) -> Text:
    node = line.node
    # What is in flight decides: a node whose result is being checked is at work although its attempt is over.
    state = State.RUNNING if doing and not node.ended else node.state
    style = STYLES[state]
    left = Text(no_wrap=True)
    left.append(_guide(line, page), "dim")
    left.append(f"{labels.SYMBOLS[state][page.ascii_only]} {state:<{_WORD}} ", style)
    left.append(f"{_short_path(node.path, page)} ", "dim")
    right = _right(line, page, columns, busy=bool(doing))
    room = page.width - left.cell_len - right.cell_len - 1
    title, detail = _shared(labels.title_of(node, line.above), _detail(line, doing), max(room, 1), page)
    left.append(title, "dim" if state == State.PENDING else "")
    left.append(detail, style if state in {State.WAITING, State.FAILED} else "dim")
    left.truncate(page.width - right.cell_len, pad=True)
    return left.append_text(right)


def _guide(line: Line, page: Page) -> str:
    """Indentation; of very deep nodes only the innermost levels."""
    if not line.depth:
        return ""
    branch, end, through, blank, left_out = GUIDES_ASCII if page.ascii_only else GUIDES
    most = max(page.width // 8, 2)
    levels = line.levels[-most:]
    cut = left_out if line.depth > len(levels) else ""
    skipped = line.above is not None and line.node.parent != line.above.path
    own = left_out if skipped else branch if levels[-1] else end
    # The levels above say whether more follows below each of them; the first one stands below the root's own line.
    return cut + "".join(through if more else blank for more in levels[:-1]) + own


def _short_path(path: str, page: Page) -> str:
    name = labels.name_of(path)
    return name if len(name) <= _PATH else ("~" if page.ascii_only else "…") + name[-_PATH + 1 :]


def _detail(line: Line, doing: str) -> str:
    hidden = labels.counted(line.hidden)
    below = f"below: {hidden}" if hidden else ""
    return "; ".join(part for part in (doing or labels.detail_of(line.node), below) if part)


def _shared(title: str, detail: str, room: int, page: Page) -> tuple[str, str]:
    """Title and detail, shortened to fit: the title gives way first, but keeps two fifths of the room."""
    dash = " - " if page.ascii_only else " — "
    if not detail:
        return _cut(title, room, page), ""
    needed = Text(detail).cell_len + len(dash)
    kept = max(room - needed, room * 2 // 5)
    title = _cut(title, kept, page)
    return title, _cut(dash + detail, room - Text(title).cell_len, page)


def _cut(text: str, width: int, page: Page) -> str:
    found = Text(text)
    if found.cell_len <= width:
        return text
    if not page.ascii_only:
        found.truncate(max(width, 1), overflow="ellipsis")
        return found.plain
    found.truncate(max(width - 2, 0), overflow="crop")
    return found.plain + ".."


def _right(line: Line, page: Page, columns: _Columns, *, busy: bool) -> Text:
    seconds = line.seconds
    if busy and not line.node.children and line.node.since:
        seconds = max(seconds, page.now - line.node.since)
    text = Text(no_wrap=True)
    if columns.worker:
        text.append(f" {labels.clean(line.node.worker.kind)[:8]:>8}", "dim")
    text.append(f" {labels.duration(seconds) if seconds or busy else '':>7}", "" if busy else "dim")
    if columns.tokens:
        text.append(f" {labels.amount(line.tokens) if line.tokens else '':>6}", "dim")
    if columns.cost:
        text.append(f" {labels.money(line.cost) if line.cost else '':>8}", "dim")
    return text


def headline(tree: AnyState, page: Page, *, run_id: str, elapsed_s: float | None, status: str = "") -> Text:
    """The run in one line: id, status, time, how many nodes are in which state, what was spent.

    Args:
        tree: State of the run.
        page: What the line is made for.
        run_id: Id of the run.
        elapsed_s: Seconds of work on it; None: not known.
        status: Instead of the tree's own.
    """
    status = status or tree.status or "pending"
    text = Text(no_wrap=True)
    text.append(f"{labels.clean(run_id)} ", "bold")
    text.append(f"{status}", STATUS_STYLES.get(status, ""))
    facts = [] if elapsed_s is None else [labels.duration(elapsed_s)]
    counts: dict[State, int] = {}
    for node in tree.nodes.values():
        counts[node.state] = counts.get(node.state, 0) + 1
    facts += labels.spent_words(tree.spent)
    if len(tree.nodes) > 1:
        facts.append(f"{labels.number(len(tree.nodes), 'node')}: {labels.counted(counts)}")
    separator = " | " if page.ascii_only else " · "
    text.append("".join(separator + fact for fact in facts), "dim")
    text.truncate(page.width, overflow="crop" if page.ascii_only else "ellipsis")
    return text


def page_of(console: Console, now: float) -> Page:
    """The page that a console is."""
    options = console.options
    return Page(width=max(options.max_width, 20), now=now, ascii_only=options.ascii_only)
