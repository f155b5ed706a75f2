"""A run as the page shows it, as plain JSON: what is known of the run, a row for each node, a bar for each effect.

The same data fills a file and goes over the wire. Nothing here knows HTML; texts are cut to a size, never marked up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from luna.text import strip_controls
from sol.inspect import labels
from sol.inspect.page.story import story
from sol.tree.events import Event, Settled, Started
from sol.tree.node import AnyState, Node, TaskNode
from sol.tree.soundness import sound
from sol.tree.timeline import Span, timeline

TITLE_CHARACTERS: Final = 160
DETAIL_CHARACTERS: Final = 240
"""Most characters of a row's title and detail; the node's story has the whole text."""

STORY_CHARACTERS: Final = (400, 20_000)
"""Least and most characters that one text of a story may keep."""

STORIES_CHARACTERS: Final = 12_000_000
"""What the texts of all stories may take together if each node had one text as long as is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of a run beside its state.

    Attributes:
        run_id: Its id.
        status: Its status in a word; `killed` where work should go on and nobody does any.
        now: When it was looked at, in seconds since the epoch.
        created_t: When it was created, in seconds since the epoch.
        elapsed_s: Seconds of work on it; None: not known.
        held_by: Which process works on it, in words; None when none does.
        unread: What of its journal could not be read, one line each.
    """

    run_id: str
    status: str
    now: float
    created_t: float
    elapsed_s: float | None = None
    held_by: str | None = None
    unread: tuple[str, ...] = ()


def page_data(tree: AnyState, events: Iterable[Event], about: About) -> dict[str, Any]:
    """All that a page shows of a run.

    Args:
        tree: The run's state.
        events: All its events, oldest first.
        about: What is known of it beside.

    Returns:
        `about`; `rows` in the order of creation; `spans` of effects; `stories`, one for each row.
    """
    by_node: dict[str, list[Event]] = {}
    activity: dict[str, str] = {}
    every = list(events)
    for event in every:
        by_node.setdefault(event.node, []).append(event)
        note_activity(activity, event)
    rows = Rows(tree)
    began = every[0].t if every else about.created_t
    room = story_room(len(tree.nodes))
    return {
        "about": about_data(tree, about, began=began),
        "rows": rows.of(tree.nodes, activity),
        "spans": [rows.span(span, began) for span in timeline(every, tree.nodes)],
        "stories": [
            story(node, by_node.get(path, ()), began=began, characters=room) for path, node in tree.nodes.items()
        ],
    }


def story_room(nodes: int) -> int:
    """Most characters that one text of a story keeps in a tree of this many nodes."""
    least, most = STORY_CHARACTERS
    return max(least, min(most, STORIES_CHARACTERS // max(nodes, 1)))


def note_activity(activity: dict[str, str], event: Event) -> None:
    """Keep what workers said last, by path."""
    said = labels.activity_of(event)
    if said:
        activity[event.node] = said
    elif isinstance(event.data, Started | Settled):
        activity.pop(event.node, None)


def about_data(tree: AnyState, about: About, *, began: float) -> dict[str, Any]:
    """The run itself."""
    spent = tree.spent
    config = {} if tree.started is None else labels.data_of(tree.started)  # programs have fields of their own in it
    strategy: Mapping[str, Any] = {} if tree.started is None else tree.started.strategy
    root = tree.nodes.get("")
    return {
        "id": about.run_id,
        "title": cut(root.title if root else "", DETAIL_CHARACTERS),
        "status": about.status,
        "reason": cut(labels.detail_of(root), DETAIL_CHARACTERS) if root and root.ended else "",
        "resumable": tree.status in {"interrupted", "waiting"} or bool(root and root.resumable),
        "heldBy": about.held_by,
        "created": about.created_t,
        "began": began,
        "now": about.now,
        "elapsed": about.elapsed_s,
        "strategy": cut(strategy.get("name", ""), TITLE_CHARACTERS),
        "workflow": cut(config.get("name", ""), TITLE_CHARACTERS),
        "models": {name: cut(config.get(f"{name}_model") or "", TITLE_CHARACTERS) for name in ("sol", "luna")},
        "budget": {
            name: limit
            for name in ("calls", "tokens", "cost", "seconds")
            if (limit := (strategy.get("budget") or {}).get(name)) is not None
        },
        "maxDepth": strategy.get("max_depth"),
        "spent": {
            "calls": spent.calls,
            "tokens": spent.tokens,
            "cost": spent.cost,
            "seconds": spent.seconds,
            "unreported": spent.unreported,
        },
        "faults": [cut(fault, DETAIL_CHARACTERS) for fault in (*about.unread, *sound(tree)[1])],
    }


class Rows:
    """Nodes as short rows, each named by its place in the order of creation. A tree only ever grows at its end."""

    def __init__(self, tree: AnyState) -> None:
        self._tree = tree
        self._places: dict[str, int] = {}

    def place(self, path: str) -> int:
        """A node's place; -1 when there is no such node."""
        if len(self._places) < len(self._tree.nodes):
            for new in islice(self._tree.nodes, len(self._places), None):
                self._places[new] = len(self._places)
        return self._places.get(path, -1)

    def of(self, paths: Iterable[str], activity: Mapping[str, str]) -> list[list[Any]]:
        """The rows of some nodes; the page's script names the columns."""
        doing = labels.doing(self._tree, activity)
        return [self._row(self.place(path), self._tree.nodes[path], doing.get(path, "")) for path in paths]

    def _row(self, own: int, node: Node, doing: str) -> list[Any]:
        place = self.place(node.parent)
        # Only in a damaged file is the node above younger or missing; what hangs in the air is shown below the first.
        fits = 0 <= place < own
        above = self._tree.nodes[node.parent] if fits else None
        spent = node.spent
        return [
            place if fits else min(own, 1) - 1,
            _path_of(node) if fits else [node.path],
            str(node.state),
            node.kind,
            cut(labels.title_of(node, above), TITLE_CHARACTERS),
            cut(labels.detail_of(node), DETAIL_CHARACTERS),
            cut(doing, DETAIL_CHARACTERS),
            cut(node.worker.kind, TITLE_CHARACTERS),
            node.counts.get("attempt", 0),
            node.dimension if isinstance(node, TaskNode) else "",
            node.splits if isinstance(node, TaskNode) else 0,
            [sum(1 for check in node.checks if check.ok is wanted) for wanted in (True, False, None)],
            [spent.calls, spent.tokens, round(spent.cost, 6), round(spent.seconds, 3)],
        ]

    def span(self, span: Span, began: float) -> list[Any]:
        """An effect as a bar: place of its node, kind, which one, start and end in seconds, whether critical.

        The end of one that has none yet is None.
        """
        end = round(span.end - began, 3) if span.ended else None
        return [self.place(span.path), span.kind, span.n, round(span.start - began, 3), end, int(span.critical)]


def _path_of(node: Node) -> str | list[str]:
    """A path for the wire: the whole of it in a list or, where it begins with the one above, only the rest.

    Paths of task trees grow with the depth, those of others need not begin alike.
    """
    rest = node.path.removeprefix(node.parent)
    return rest if len(rest) + len(node.parent) == len(node.path) else [node.path]


def cut(text: object, characters: int) -> str:
    """A text as it may be shown: without controls, and no longer than this."""
    whole = str(text)
    kept = whole if len(whole) <= characters else f"{whole[: characters - 1]}…"
    return kept if kept.isprintable() else strip_controls(kept)
