"""What the page of a run shows, as plain data."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from luna.text import strip_controls
from sol.rules import UNUSED_NEXT
from sol.tree.codec import plain_event
from sol.tree.effects import IntegrateAnswer
from sol.tree.events import Event, EventType, Settled, Started
from sol.tree.node import AnyState, Node, TaskNode
from sol.tree.soundness import sound
from sol.tree.timeline import Span, timeline
from sol.view import labels
from sol.view.history import INPUT, asked_of, happened

EVENTS: Final = 200
"""Most events that a history tells, half of them from its beginning."""

ITEMS: Final = 100
"""Most items of a list that are shown."""

Row = list[str]
"""A label, a text, and how it is shown: "" as it is, `code`, `good`, `bad` or `open`."""

_LISTS = ("known", "unknown", "attempted", "suggested_split", "evidence", "remaining_risks")
_TONES: Mapping[bool | None, str] = {True: "good", False: "bad", None: "open"}
_MARKS: Mapping[bool | None, str] = {True: "holds", False: "does not hold", None: "not checked"}


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
_WIDE = 80
"""Characters up to which a list or mapping stays on one line."""


def history(node: Node, events: Iterable[Event], *, began: float, characters: int) -> dict[str, Any]:
    """The history of a node.

    Args:
        node: The node.
        events: Its own events, oldest first.
        began: When the run began, in seconds since the epoch.
        characters: Most characters of one text.
    """
    sections = (
        ("Question", _question(node)),
        ("Result", _result(node)),
        ("Checks", _checks(node)),
        ("Decisions", _decisions(node)),
        ("Assignment", _assignment(node)),
        ("Last report", _report(node)),
        ("Integration", _integration(node.integration) if isinstance(node, TaskNode) else ()),
        ("Reassessment", _reassessment(node) if isinstance(node, TaskNode) else ()),
        ("Stored parts", _pairs(node.partial)),
    )
    rows = [[title, [_cut(row, characters) for row in found]] for title, found in sections]
    own = list(events)
    left_out = max(len(own) - EVENTS, 0)
    if left_out:
        own = own[: EVENTS // 2] + own[-EVENTS // 2 :]
    return {
        "sections": [[title, found] for title, found in rows if found],
        "events": [_event(node, event, began=began, characters=characters) for event in own],
        "leftOut": left_out,
    }


def _event(node: Node, event: Event, *, began: float, characters: int) -> list[Any]:
    """When, what type, in words, and its data."""
    data = plain_event(event)
    lines = [line for _, line in happened(node, [event])] or [_other(event.type, data)]
    words = [_short(line, characters) for line in lines]
    return [round(event.t - began, 3), str(event.type), words, _short(_json(data), characters)]


def _other(kind: str, data: Mapping[str, Any]) -> str:
    """Events that the terminal leaves out, in words."""
    match kind:
        case EventType.CREATED:
            return "created"
        case EventType.QUEUED:
            return labels.clean(f"{data.get('kind')} {data.get('n')} waits for its turn")
        case EventType.ANALYSED if "blocker" in data:
            return labels.clean(f"stuck because of {data.get('kind')}: {data['blocker']}")
        case EventType.RUN_STATUS:
            return labels.clean(f"the run is {data.get('status')}")
        case EventType.PROGRESSED:
            return labels.clean((data.get("event") or {}).get("text") or "sign of life")
        case _:
            return kind.replace("_", " ")


# --- sections --------------------------------------------------------------------------------------------------------


def _question(node: Node) -> Iterator[Row]:
    if node.question:
        yield ["", node.question, ""]


def _result(node: Node) -> Iterator[Row]:
    if node.reason:
        yield ["Reason", node.reason, ""]
    if node.result is not None and node.result != ():
        yield ["", *_value(node.result)]


def _checks(node: Node) -> Iterator[Row]:
    for check in _some(node.checks):
        detail = f"\n{check.detail}" if check.detail else ""
        yield [_MARKS[check.ok], check.criterion + detail, _TONES[check.ok]]
    yield from _more(node.checks)


def _assignment(node: Node) -> Iterator[Row]:
    inputs = node.assignment.inputs if isinstance(node, TaskNode) else {}
    for title, values in asked_of(node):
        for one in _some(values):
            yield [f"{title} {one}", *_value(inputs[one])] if title == INPUT else [title, *_criterion(one)]
        yield from _more(values)


def _report(node: Node) -> Iterator[Row]:
    report = node.report
    if report is None:
        return
    tone = {"SUCCESS": "good", "FAILED": "bad"}.get(report.status, "open")
    yield [report.kind, report.status, tone]
    for name in ("summary", "blocker", "reason", "question"):
        if getattr(report, name):
            yield [name.capitalize(), getattr(report, name), ""]
    for name in _LISTS:
        items: Sequence[str] = getattr(report, name)
        for one in _some(items):
            yield [name.replace("_", " ").capitalize(), one, ""]
        yield from _more(items)
    if report.suggestions:
        yield ["Suggestions", *_value(report.suggestions)]


def _integration(found: IntegrateAnswer | None) -> Iterator[Row]:
    if found is None:
        return
    if found.summary:
        yield ["Summary", found.summary, ""]
    for name, one in found.checks.items():
        yield [f"{name.replace('_', ' ')}: {_MARKS[one.ok]}", one.note, _TONES[one.ok]]
    for issue in found.open:
        yield ["Left open", issue, "open"]


def _reassessment(node: TaskNode) -> Iterator[Row]:
    if node.reassessment is not None:
        cause = {"trigger": node.trigger} if node.trigger else {}
        yield from _pairs(labels.data_of(node.reassessment) | cause)


def _decisions(node: Node) -> Iterator[Row]:
    for one in _some(node.decisions):
        data = labels.data_of(one)  # programs have fields of their own in it
        reason = f"\n{one.reason}" if one.reason else ""
        if one.rule is None:
            yield [one.section, str(data.get("verdict") or "no rule") + reason, ""]
            continue
        read = f"\nread {_json(data['read'])}" if one.read else ""
        led = " held" if one.next == UNUSED_NEXT else f" → {one.next}"
        yield [f"{one.section}, rule {one.rule + 1}", f"{one.condition}{led}{reason}{read}", ""]
    yield from _more(node.decisions)


def _pairs(found: Mapping[str, Any]) -> Iterator[Row]:
    names = [name for name in found if found[name] not in (None, "", [], {})]
    for name in _some(names):
        yield [name.replace("_", " "), *_value(found[name])]
    yield from _more(names)


# --- texts -----------------------------------------------------------------------------------------------------------


def _criterion(value: Any) -> tuple[str, str]:  # noqa: ANN401 - JSON
    match value:
        case {"text": str(text), **rest} if not rest:
            return text, ""
        case {"description": str(text), **rest}:
            shown = {name: one for name, one in rest.items() if one}
            return (f"{text}\n{_json(shown)}", "") if shown else (text, "")
        case _:
            return _value(value)


def _value(value: Any) -> tuple[str, str]:  # noqa: ANN401 - JSON
    """A value as text, and how it is shown."""
    match value:
        case str():
            return value, ""
        case {"kind": str(kind), **rest} if not any(rest.values()):
            return kind, ""
        case dict() | list() | tuple():
            flat = _json(value)
            return (
                flat if len(flat) <= _WIDE else json.dumps(value, ensure_ascii=False, indent=2, default=str)
            ), "code"
        case _:
            return _json(value), "code"


def _json(value: Any) -> str:  # noqa: ANN401 - JSON
    return _ENCODER.encode(value)


def _some(items: Sequence[Any]) -> Sequence[Any]:
    return items[:ITEMS]


def _more(items: Sequence[Any]) -> Iterator[Row]:
    if len(items) > ITEMS:
        yield ["", f"… and {len(items) - ITEMS:,} more", "open"]


def _cut(row: Row, characters: int) -> Row:
    label, text, tone = row
    return [_short(label, min(characters, 80)), _short(text, characters), tone]


def _short(text: str, characters: int) -> str:
    """A text without controls that says how much of it was left out."""
    # What is cut away anyway is not looked through: a result may have megabytes.
    whole = strip_controls(text[: 2 * characters])
    left_out = len(text) - characters
    return (
        whole if len(whole) <= characters and left_out <= 0 else f"{whole[:characters]}… ({left_out:,} more characters)"
    )


TITLE_CHARACTERS: Final = 160
DETAIL_CHARACTERS: Final = 240
"""Most characters of a row's title and detail; the node's history has the whole text."""

HISTORY_CHARACTERS: Final = (400, 20_000)
"""Least and most characters that one text of a history may keep."""

STORIES_CHARACTERS: Final = 12_000_000
"""What the texts of all histories may take together if each node had one text as long as is allowed."""


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
        `about`; `rows` in the order of creation; `spans` of effects; `histories`, one for each row.
    """
    by_node: dict[str, list[Event]] = {}
    activity: dict[str, str] = {}
    every = list(events)
    for event in every:
        by_node.setdefault(event.node, []).append(event)
        note_activity(activity, event)
    rows = Rows(tree)
    began = every[0].t if every else about.created_t
    room = history_room(len(tree.nodes))
    return {
        "about": about_data(tree, about, began=began),
        "rows": rows.of(tree.nodes, activity),
        "spans": [rows.span(span, began) for span in timeline(every, tree.nodes)],
        "histories": [
            history(node, by_node.get(path, ()), began=began, characters=room) for path, node in tree.nodes.items()
        ],
    }


def history_room(nodes: int) -> int:
    """Most characters that one text of a history keeps in a tree of this many nodes."""
    least, most = HISTORY_CHARACTERS
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
