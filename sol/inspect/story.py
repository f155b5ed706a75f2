"""The story of one node: its assignment, what was tried, reported, checked and decided, and by which rule. Pure.

Told from the journal's events, so that every attempt is in it and not only the last one.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sol.inspect import labels
from sol.tree.codec import plain_event
from sol.tree.effects import Kind
from sol.tree.events import Event, EventType
from sol.tree.node import Node, TaskNode

STEPS = 20
"""Most progress events that are told; those before are counted."""

_FIELDS = (
    ("Context", "context"),
    ("Constraints", "constraints"),
    ("Expected output", "expected_output"),
    ("Success criteria", "success_criteria"),
    ("Stop conditions", "stop_conditions"),
)
_KNOWN = frozenset(map(str, EventType))
_KINDS = frozenset(map(str, Kind))
_LONGEST = 300
_MARKS = {True: "holds", False: "does not hold", None: "was not checked"}


def assignment_lines(node: Node) -> list[tuple[str, str]]:
    """What a node was asked, as pairs of field and value; a field with several values comes once for each."""
    given = labels.data_of(node.assignment) if isinstance(node, TaskNode) else {}
    pairs = [("Goal" if given else "About", labels.clean(node.title))]
    if isinstance(node, TaskNode):
        pairs += [("Input", labels.inputs_label(name, value)) for name, value in node.assignment.inputs.items()]
    for title, name in _FIELDS:
        value = given.get(name)
        values = value if isinstance(value, list | tuple) else [] if value is None else [value]
        pairs += [(title, _words(one)) for one in values]
    pairs.append(("Worker", _words(labels.data_of(node.worker))))
    pairs += [("Note", labels.clean(note)) for note in node.notes]
    return pairs


def _words(value: Any) -> str:  # noqa: ANN401 - JSON
    match value:
        case {"description": str(text), **rest}:
            shown = {name: one for name, one in rest.items() if one}
            return labels.clean(f"{text} {json.dumps(shown, ensure_ascii=False)}" if shown else text)
        case {"text": str(text), **rest} if not rest:
            return labels.clean(text)
        case {"kind": str(kind)}:
            options: Mapping[str, Any] = value.get("options") or {}
            return labels.clean(", ".join([kind, *(f"{name}={one}" for name, one in options.items())]))
        case str():
            return labels.clean(value)
        case _:
            return labels.clean(json.dumps(value, ensure_ascii=False))


def happened(node: Node, events: Iterable[Event]) -> list[tuple[float, str]]:
    """What happened to a node, oldest first: seconds since the run's first event, and one line."""
    own: list[Event] = []
    began: float | None = None
    for event in events:
        began = event.t if began is None else began
        if event.node == node.path and (event.type in _TELLERS or event.type not in _KNOWN):
            own.append(event)
    steps = [event for event in own if event.type == EventType.PROGRESSED and labels.activity_of(event)]
    left_out = set(map(id, steps[:-STEPS]))
    told: list[tuple[float, str]] = []
    for event in own:
        at = event.t - (began or 0.0)
        if id(event) in left_out:
            if event is steps[len(left_out) - 1]:
                told.append((at, f"… {labels.number(len(left_out), 'earlier step')} of work left out"))
            continue
        teller = _TELLERS.get(event.type, _own)
        told += [(at, line) for line in teller(plain_event(event), event) if line]
    return told


def _started(data: Mapping[str, Any], _event: Event) -> Iterator[str]:
    because = data.get("because") or {}
    new = f" (new: {because['new']})" if because.get("new") else ""
    trigger = f" because of {because['trigger']}" if because.get("trigger") else ""
    yield labels.clean(f"{data['kind']} {data['n']} started{trigger}{new}")


def _reported(data: Mapping[str, Any], _event: Event) -> Iterator[str]:
    report = data["report"]
    kind = f" ({report['kind']})" if report.get("kind") else ""
    words = report.get("blocker") or report.get("reason") or report.get("summary") or ""
    yield labels.clean(f"attempt {data['n']} reported {report['status']}{kind}: {words}").rstrip(": ")
    if data.get("snapshot"):
        yield labels.clean(f"  its work: {data['snapshot']}")
    for name in ("known", "unknown", "attempted", "suggested_split", "evidence", "remaining_risks"):
        for one in report.get(name) or ():
            yield "  " + labels.clean(f"{name.replace('_', ' ')}: {one}")


def _checked(data: Mapping[str, Any], _event: Event) -> Iterator[str]:
    for check in data["results"]:
        detail = f": {check['detail']}" if check.get("detail") else ""
        yield labels.clean(f"check {_MARKS[check['ok']]}: {check['criterion']}{detail}")


def _answer(data: Mapping[str, Any], _event: Event) -> Iterator[str]:
    answer, kind = data["answer"], data["kind"]
    match answer:
        case {"merged": [*merged], "conflict": conflict}:
            yield from _merged(merged, conflict)
        case {"landed": _, "note": note}:
            yield labels.clean(note)
        case {"verdicts": [*verdicts]}:
            for one in verdicts:
                yield labels.clean(f"judge: {'yes' if one['holds'] else 'no'}, {one['reason']}")
        case {"finding": finding, "remedy": remedy, "reason": reason}:
            yield labels.clean(f"reassessed as {finding}, proposed {remedy}: {reason}")
        case {"checks": dict(checks), "summary": summary}:
            yield labels.clean(f"integrated: {summary}")
            for name, one in checks.items():
                holds = f"{name.replace('_', ' ')} {_MARKS[one.get('ok')]}"
                yield "  " + labels.clean(f"{holds}: {one.get('note') or ''}").rstrip(": ")
        case {"cannot": reason}:
            yield labels.clean(f"no split was found: {reason}")
        case {"holds": holds, "reason": reason}:
            yield labels.clean(f"{kind}: {'yes' if holds else 'no'}, {reason}")
        case {"reason": reason}:
            yield labels.clean(f"{kind} answered: {reason}")
        case _:
            yield _with(f"{kind} answered", {} if kind in _KINDS else answer)


def _merged(merged: Sequence[str], conflict: Mapping[str, Any] | None) -> Iterator[str]:
    done = f"merged the work of {labels.number(len(merged), 'part')}: {', '.join(merged)}"
    yield labels.clean(done if merged else "there was nothing to merge")
    if conflict:
        files = ", ".join(conflict["files"])
        yield labels.clean(f"the work of part {conflict['part']} conflicts with that of parts before it: {files}")


def _decided(data: Mapping[str, Any], _event: Event) -> Iterator[str]:
    if data.get("wait"):
        yield labels.clean(f"a rule of {data['section']} waits for a judge")
    elif data.get("rule") is None:
        yield labels.clean(data.get("reason") or f"no rule of {data['section']} held")
    else:
        reason = f" ({data['reason']})" if data.get("reason") else ""
        read = ", ".join(f"{name}: {_words(value)}" for name, value in (data.get("read") or {}).items() if value)
        which = f"rule {data['rule'] + 1} of {data['section']}, {data.get('condition', '')}"
        yield labels.clean(f"{which}, led to {data.get('next')}{reason}" + (f"; read {read}" if read else ""))


def _split(data: Mapping[str, Any], _event: Event) -> Iterator[str]:
    how = "one after the other" if data.get("sequential") else "side by side"
    parts = ", ".join(data["children"])
    yield labels.clean(f"split by {data['how']} along {data['dimension']}, {how}: {parts}. {data.get('reason', '')}")


def _settled(data: Mapping[str, Any], _event: Event) -> Iterator[str]:
    kind = f" ({data['kind']})" if data.get("kind") else ""
    yield labels.clean(f"ended {data['state']}{kind}: {data.get('reason') or ''}").rstrip(": ")


def _budget_hit(data: Mapping[str, Any], _event: Event) -> Iterator[str]:
    limit = data["limit"]
    yield labels.clean(f"the budget of {int(limit) if limit == int(limit) else limit} {data['what']} was used up")


def _progressed(data: Mapping[str, Any], event: Event) -> Iterator[str]:
    said = labels.activity_of(event)
    observation = data["event"].get("observation")
    yield f"  {said}" + (f" -> {labels.clean(observation)[:200]}" if observation else "") if said else ""


def _own(data: Mapping[str, Any], event: Event) -> Iterator[str]:
    """An event that only the run's own program knows."""
    yield _with(event.type.replace("_", " "), data)


def _with(words: str, data: Mapping[str, Any]) -> str:
    """What only the run's own program knows, with its fields."""
    said = ", ".join(f"{name.replace('_', ' ')}: {_words(value)}" for name, value in data.items())
    return labels.clean(f"{words}: {said}" if said else words)[:_LONGEST]


def _saying(words: str) -> Callable[[Mapping[str, Any], Event], Iterator[str]]:
    """A teller for events that need no more than some of their data in a sentence; what is missing is left out."""

    def tell(data: Mapping[str, Any], _event: Event) -> Iterator[str]:
        yield labels.clean(words.format_map(_Blank(data)))

    return tell


class _Blank(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return ""


_TELLERS: Mapping[str, Callable[[Mapping[str, Any], Event], Iterator[str]]] = {
    EventType.STARTED: _started,
    EventType.PROGRESSED: _progressed,
    EventType.REPORTED: _reported,
    EventType.CHECKED: _checked,
    EventType.ANSWER: _answer,
    EventType.DECIDED: _decided,
    EventType.SPLIT: _split,
    EventType.SETTLED: _settled,
    EventType.LOST: _saying("{kind} {n} had no outcome ({lost}): {reason}"),
    EventType.LATE: _saying("{kind} {n} came after the node had ended; it changed nothing"),
    EventType.INTERRUPTED: _saying("{kind} {n} was interrupted: {reason}"),
    EventType.REFUSED: _saying("a proposed {what} was refused because {reason}"),
    EventType.ASKED: _saying("asked: {question}"),
    EventType.ANSWERED: _saying("answered by {by}: {text}"),
    EventType.REDEFINED: _saying("redefined: {goal} {information}"),
    EventType.REOPENED: _saying("taken up again {note}"),
    EventType.CANCEL_REQUESTED: _saying("cancellation asked for by {by}: {reason}"),
    EventType.RETRY_REQUESTED: _saying("another try asked for by {by}: {note}"),
    EventType.BUDGET_HIT: _budget_hit,
    EventType.RESUMED: _saying("the run was resumed"),
}
