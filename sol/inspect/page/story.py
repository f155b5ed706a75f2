"""The story of one node for its panel on the page, as plain JSON: titled sections of labelled texts, and its events.

Texts keep their lines; each is cut to a size. Nothing here knows HTML.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from luna.text import strip_controls
from sol.inspect import labels
from sol.inspect.story import happened
from sol.tree.codec import plain_event
from sol.tree.effects import IntegrateAnswer
from sol.tree.events import Event, EventType
from sol.tree.node import Node, TaskNode

EVENTS: Final = 200
"""Most events that a story tells, half of them from its beginning."""

ITEMS: Final = 100
"""Most items of a list that are shown."""

Row = list[str]
"""A label, a text, and how it is shown: "" as it is, `code`, `good`, `bad` or `open`."""

_FIELDS = (
    ("Context", "context"),
    ("Constraint", "constraints"),
    ("Expected output", "expected_output"),
    ("Success criterion", "success_criteria"),
    ("Stop condition", "stop_conditions"),
)
_LISTS = ("known", "unknown", "attempted", "suggested_split", "evidence", "remaining_risks")
_TONES: Mapping[bool | None, str] = {True: "good", False: "bad", None: "open"}
_MARKS: Mapping[bool | None, str] = {True: "holds", False: "does not hold", None: "not checked"}


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
_WIDE = 80
"""Characters up to which a list or mapping stays on one line."""


def story(node: Node, events: Iterable[Event], *, began: float, characters: int) -> dict[str, Any]:
    """The story of a node.

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
    given = labels.data_of(node.assignment) if isinstance(node, TaskNode) else {}
    yield ["Goal" if given else "About", node.title, ""]
    inputs = node.assignment.inputs if isinstance(node, TaskNode) else {}
    for name in _some(list(inputs)):
        yield [f"Input {name}", *_value(inputs[name])]
    yield from _more(list(inputs))
    for title, name in _FIELDS:
        value = given.get(name)
        values = value if isinstance(value, list | tuple) else [] if value is None else [value]
        for one in _some(values):
            yield [title, *_criterion(one)]
        yield from _more(values)
    yield ["Worker", *_value(labels.data_of(node.worker))]
    for note in node.notes:
        yield ["Note", note, ""]


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
        because = {"trigger": node.trigger} if node.trigger else {}
        yield from _pairs(labels.data_of(node.reassessment) | because)


def _decisions(node: Node) -> Iterator[Row]:
    for one in _some(node.decisions):
        data = labels.data_of(one)  # programs have fields of their own in it
        reason = f"\n{one.reason}" if one.reason else ""
        if one.rule is None:
            yield [one.section, str(data.get("verdict") or "no rule") + reason, ""]
            continue
        read = f"\nread {_json(data['read'])}" if one.read else ""
        yield [f"{one.section}, rule {one.rule + 1}", f"{one.condition} → {one.next}{reason}{read}", ""]
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
