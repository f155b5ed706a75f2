"""A node's history: one function tells it, as data, as text and as HTML."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sol.errors import NotFoundError
from sol.rules import UNUSED_NEXT
from sol.tree.codec import plain_event
from sol.tree.effects import JudgeAnswer, Kind
from sol.tree.events import Answer, Checked, Decided, Event, EventType, Reported
from sol.tree.node import AnyState, Node, State, TaskNode
from sol.tree.values import JUDGED, AssignmentData, CheckResult, ReportData
from sol.view import labels, markup
from sol.view.diagrams import cut, short_path
from sol.view.markup import text

ROOT_NAME = "."


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """The result of one check.

    Attributes:
        criterion, kind, detail: See `CheckResult`.
        ok: None where nothing could check it.
        n: Number of the checking; 0 where only the newest is known.
    """

    criterion: str
    kind: str
    ok: bool | None
    detail: str = ""
    n: int = 0


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """The history of one node. As text: `print(history)`.

    Attributes:
        node: The node as it is now.
        above: The node above it; None for the root, and where a damaged journal has none.
        children: The nodes below it, oldest first, those of given-up splits included.
        events: What happened to it, oldest first; empty where only the state is known.
        began: When the run began, in seconds since the epoch; 0.0 where that is not known.
        reports: What its attempts reported, oldest first.
        checks: Results of all checks, oldest first.
        decisions: What was decided by which rules, oldest first.
    """

    node: Node
    above: Node | None
    children: tuple[Node, ...]
    events: tuple[Event, ...]
    began: float
    reports: tuple[ReportData, ...]
    checks: tuple[NodeCheck, ...]
    decisions: tuple[Decided, ...]

    @property
    def path(self) -> str:
        """Path of the node."""
        return self.node.path

    @property
    def state(self) -> State:
        """Where it stands."""
        return self.node.state

    @property
    def title(self) -> str:
        """What it is about."""
        return self.node.title

    @property
    def assignment(self) -> AssignmentData | None:
        """Its seven fields; None where it is no task of a task tree."""
        return self.node.assignment if isinstance(self.node, TaskNode) else None

    def __repr__(self) -> str:
        return f"<Story of {self.path or ROOT_NAME}: {self.state}, {len(self.events)} events>"

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def history_of(state: AnyState, path: str, events: Iterable[Event]) -> NodeHistory:
    """The history of a node.

    Args:
        state: Of the run.
        path: Path of the node; "" or "." is the root.
        events: Of the whole run, oldest first; none where only the state is known.

    Raises:
        NotFoundError: If there is no such node.
    """
    path = "" if path == ROOT_NAME else path
    node = state.nodes.get(path)
    if node is None:
        raise NotFoundError(f"There is no node {path!r} in this run of {state.size}. `to_dataframe()` lists them all.")
    began: float | None = None
    own: list[Event] = []
    for event in events:
        began = event.t if began is None else began
        if event.node == path:
            own.append(event)
    if own:
        reports = [event.data.report for event in own if isinstance(event.data, Reported)]
        decisions = [event.data for event in own if isinstance(event.data, Decided) and not event.data.wait]
        checks = _checks(own)
    else:
        reports = [] if node.report is None else [node.report]
        decisions, checks = list(node.decisions), [_numbered(check, 0) for check in node.checks]
    return NodeHistory(
        node=node,
        above=state.above(node),
        children=tuple(state.nodes[child] for child in node.children if child in state.nodes),
        events=tuple(own),
        began=began or 0.0,
        reports=tuple(reports),
        checks=tuple(checks),
        decisions=tuple(decisions),
    )


def _checks(events: Iterable[Event]) -> list[NodeCheck]:
    """All check results; what a judge said later takes the place of what programs could not check."""
    found: list[NodeCheck] = []
    newest = 0
    for event in events:
        match event.data:
            case Checked(n=n, results=results):
                newest = len(found)
                found += [_numbered(check, n) for check in results]
            case Answer(answer=JudgeAnswer(verdicts=verdicts)):
                places = range(newest, len(found))
                open_ = [place for place in places if found[place].ok is None and found[place].kind in JUDGED]
                for place, verdict in zip(open_, verdicts, strict=False):
                    found[place] = replace(found[place], ok=verdict.holds, detail=verdict.reason)
            case _:
                pass
    return found


def _numbered(check: CheckResult, n: int) -> NodeCheck:
    return NodeCheck(check.criterion, check.kind, check.ok, check.detail, n)


STEPS = 20
"""Most progress events that are told; those before are counted."""

_FIELDS = (
    ("Context", "context"),
    ("Constraints", "constraints"),
    ("Expected output", "expected_output"),
    ("Success criteria", "success_criteria"),
    ("Stop conditions", "stop_conditions"),
)
INPUT = "Input"
_KNOWN = frozenset(map(str, EventType))
_KINDS = frozenset(map(str, Kind))
_LONGEST = 300
_MARKS = {True: "holds", False: "does not hold", None: "was not checked"}


def asked_of(node: Node) -> Iterator[tuple[str, Sequence[Any]]]:
    """What a node was asked, field by field, with the values of each as JSON; of its inputs only the names."""
    task = node.assignment if isinstance(node, TaskNode) else None
    given = labels.data_of(task) if task is not None else {}
    yield "Goal" if given else "About", [node.title]
    yield INPUT, list(task.inputs) if task is not None else []
    for title, name in _FIELDS:
        value = given.get(name)
        yield title, value if isinstance(value, list | tuple) else [] if value is None else [value]
    yield "Worker", [labels.data_of(node.worker)]
    yield "Note", node.notes


def assignment_lines(node: Node) -> list[tuple[str, str]]:
    """What a node was asked, as pairs of field and value; a field with several values comes once for each."""
    inputs = node.assignment.inputs if isinstance(node, TaskNode) else {}
    return [
        (title, labels.inputs_label(one, inputs[one]) if title == INPUT else _words(one))
        for title, values in asked_of(node)
        for one in values
    ]


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
    cause = data.get("because") or {}
    new = f" (new: {cause['new']})" if cause.get("new") else ""
    trigger = f" because of {cause['trigger']}" if cause.get("trigger") else ""
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
        led = "held" if data.get("next") == UNUSED_NEXT else f"led to {data.get('next')}"
        yield labels.clean(f"{which}, {led}{reason}" + (f"; read {read}" if read else ""))


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


_FIELD = 18
EVENTS = 300
"""Most lines on what happened in HTML; the first and the last of them."""

PARTS = 50
"""Most parts that are listed in HTML."""


def as_text(history: NodeHistory) -> str:
    """The history for a terminal or a log; holds no controls but line ends."""
    node = history.node
    lines = [f"node {short_path(node.path, most=60)}: {labels.SYMBOLS[node.state][0]} {_state(node)}"]
    lines += [labels.detail_of(node)] if labels.detail_of(node) else []
    before = ""
    for field, value in [*assignment_lines(node), ("Used", _used(node))]:
        lines.append(f"{'' if field == before else field:<{_FIELD}}{value}")
        before = field
    told = _happened(history)
    lines += ["", "What happened"] if told else []
    lines += [f"{labels.duration(at):>8}  {words}" for at, words in told]
    lines += ["", "Parts"] if history.children else []
    lines += [
        f"{labels.SYMBOLS[child.state][0]} {child.state:<9} {short_path(child.path)} {_about(child, node)}"
        for child in history.children
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _state(node: Node) -> str:
    return f"{node.state} ({labels.clean(node.kind)})" if node.kind else str(node.state)


def _used(node: Node) -> str:
    return ", ".join([labels.duration(node.spent.seconds), *labels.spent_words(node.spent)])


def _happened(history: NodeHistory) -> list[tuple[float, str]]:
    if not history.events:
        return []
    shift = history.events[0].t - history.began
    return [(max(at + shift, 0.0), words) for at, words in happened(history.node, history.events)]


def _about(child: Node, node: Node) -> str:
    return " — ".join(part for part in (labels.title_of(child, node), labels.detail_of(child)) if part)


# --- HTML ------------------------------------------------------------------------------------------------------------


def as_html(history: NodeHistory) -> str:
    """The history as one self-contained piece of HTML."""
    node = history.node
    head = f'<div class="head"><b class="m">node {text(short_path(node.path, most=60))}</b>'
    head += f' {markup.badge(str(node.state), _state(node))} <span class="q">{text(_used(node))}</span></div>'
    detail = labels.detail_of(node)
    parts = [head, f'<div class="t">{text(detail)}</div>' if detail else ""]
    fields = ((f'<span class="q">{field}</span>', text(value)) for field, value in _fields(node))
    parts += [markup.table(fields, classes=("m q", "t"))]
    if node.result is not None:
        parts.append(f"<details><summary>result</summary>{markup.preview(node.result)}</details>")
    parts += _check_lines(history)
    told = list(_limited(_happened(history)))
    if told:
        rows = ((text(at), text(words)) for at, words in told)
        parts += ["<h4>What happened</h4>", markup.table(rows, classes=("n", "t"))]
    parts += _parts(history)
    return markup.box(*parts)


def _fields(node: Node) -> Iterator[tuple[str, str]]:
    before = ""
    for field, value in assignment_lines(node):
        yield "" if field == before else field, value
        before = field


def _limited(told: list[tuple[float, str]]) -> Iterator[tuple[str, str]]:
    half = EVENTS // 2
    left_out = len(told) - 2 * half
    for place, (at, words) in enumerate(told):
        if left_out > 0 and half <= place < half + left_out:
            if place == half:
                yield "", f"… {left_out:,} more lines"
            continue
        yield labels.duration(at), words


def _check_lines(history: NodeHistory) -> Iterator[str]:
    if not history.checks:
        return
    words = {True: ("✓ holds", "success"), False: ("✗ does not hold", "failed"), None: ("? not checked", "skipped")}
    rows = []
    for check in history.checks[-PARTS:]:
        said, colour = words[check.ok]
        state = f'<span class="s" style="--c:var(--sol-{colour})">{said}</span>'
        rows.append((state, text(check.criterion), text(check.detail)))
    yield "<h4>Checks</h4>"
    yield markup.table(rows, classes=("t", "t", "t q"))


def _parts(history: NodeHistory) -> Iterator[str]:
    if not history.children:
        return
    yield "<h4>Parts</h4>"
    for child in history.children[:PARTS]:
        name = f'<span class="m q">{text(short_path(child.path))}</span>'
        words = f'<span class="w t">{text(cut(_about(child, history.node), 300))}</span>'
        yield f'<div class="row">{markup.mark(child.state)} {name} {words}</div>'
