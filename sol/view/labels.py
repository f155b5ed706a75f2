"""The words that runs are shown with: states, titles, amounts, times, what a node is doing. Plain text, one line each.

Knows neither terminals nor markup; every text of a task passes `clean` before it leaves.
"""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from luna.text import strip_controls
from sol.tree.events import Event, Progressed
from sol.tree.node import AnyState, Node, Spending, State, TaskNode
from sol.tree.values import ProgressData

ROOT_NAME = "."
"""How the root is called where a path is shown or typed: its own path is the empty text."""

MAX_CHARACTERS = 2_000

SYMBOLS: Mapping[State, tuple[str, str]] = {
    State.PENDING: ("·", "."),
    State.RUNNING: ("◐", ">"),
    State.WAITING: ("?", "?"),
    State.SPLIT: ("◇", "+"),
    State.SUCCESS: ("✓", "*"),
    State.FAILED: ("✗", "x"),
    State.SKIPPED: ("⊘", "-"),
    State.BLOCKED: ("‖", "|"),
    State.CANCELLED: ("■", "#"),
    State.EXHAUSTED: ("▽", "$"),
}
"""Each state's symbol, and the one for terminals that know only ASCII. Always shown beside the word."""

_ATTENTION = (
    State.WAITING,
    State.RUNNING,
    State.FAILED,
    State.EXHAUSTED,
    State.CANCELLED,
    State.BLOCKED,
    State.SKIPPED,
    State.PENDING,
    State.SUCCESS,
)

_DOING = {
    "atomic": "deciding whether to split at once",
    "attempt": "at work",
    "check": "checking the result",
    "judge": "judging the result",
    "split": "looking for a split",
    "review": "reviewing a split",
    "merge": "merging the work of the parts",
    "integrate": "putting the parts together",
    "land": "bringing the work into the workspace",
    "reassess": "reassessing the task",
    "rule": "asking what a rule asks",
}


def clean(text: object) -> str:
    """Any text as one line that cannot steer a terminal and can be written as UTF-8."""
    return " ".join(strip_controls(str(text)[:MAX_CHARACTERS]).encode("utf-8", "replace").decode().split())


def data_of(value: object) -> dict[str, Any]:
    """What a report, an assignment, … holds as plain data, whatever texts are in it; what says nothing is left out."""
    found: dict[str, Any] = msgspec.to_builtins(value)
    return found


def name_of(path: str) -> str:
    """A node's path as people see and type it."""
    return path or ROOT_NAME


def path_of(name: str) -> str:
    """The path that a person typed, `.` standing for the root."""
    return "" if name == ROOT_NAME else name


def title_of(node: Node, above: Node | None) -> str:
    """What a node is about, in contrast to the one above: its own goal, or else what its inputs have become."""
    title = clean(node.title)
    if not isinstance(node, TaskNode) or not isinstance(above, TaskNode) or node.title != above.title:
        return title
    inputs, before = node.assignment.inputs, above.assignment.inputs
    changed = [
        inputs_label(name, value, before=before.get(name))
        for name, value in inputs.items()
        if value != before.get(name)
    ]
    return ", ".join(changed) or title


def inputs_label(name: str, value: Any, *, before: Any = None) -> str:  # noqa: ANN401 - JSON
    """What an input holds, in a few words: `records: lines 1–250 of data.txt`.

    `before`: what it held in the node above; the name of the same file is not said again.
    """
    match value:
        case {"file": str()}:
            known = isinstance(before, dict) and before.get("file") == value["file"]
            part = _slice_words(value, named=not known)
        case [{"file": str()} as single]:
            [before] = before if isinstance(before, list) and len(before) == 1 else [None]
            return inputs_label(name, single, before=before)
        case [single]:
            part = clean(single)
        case list():
            part = f"{len(value)} items"
        case str():
            lines = value.count("\n") + 1
            part = f"{lines} lines" if lines > 1 else clean(value)
        case _:
            part = clean(value)
    return f"{clean(name)}: {part}"


def _slice_words(place: Mapping[str, Any], *, named: bool) -> str:
    file = clean(place["file"])
    unit, start, stop = place.get("unit") or "lines", place.get("start") or 0, place.get("stop")
    if stop is None:
        return f"{unit} from {start + 1} of {file}" if start else file
    which = f"{str(unit).rstrip('s')} {stop}" if stop == start + 1 else f"{unit} {start + 1}–{stop}"
    return f"{which} of {file}" if named else which


def doing(tree: AnyState, activity: Mapping[str, str]) -> dict[str, str]:
    """What each node with an effect in flight is doing, by path; `activity` holds what workers said last."""
    found: dict[str, str] = {}
    for command in tree.inflight.values():
        if command.kind == "attempt":
            again = f", attempt {command.n}" if command.n > 1 else ""
            found[command.node] = activity.get(command.node) or f"{_DOING['attempt']}{again}"
        else:
            found[command.node] = _DOING.get(command.kind, clean(command.kind))
    return found


def activity_of(event: Event) -> str:
    """What a progress event tells about what its node does now; "" when nothing."""
    return _said(event.data.event) if isinstance(event.data, Progressed) else ""


def _said(said: ProgressData) -> str:
    match said.type:
        case "action":
            arguments = ", ".join(str(value) for value in said.arguments.values())
            return clean(f"{said.name} {arguments}{' (failed)' if said.error else ''}")
        case "progress":
            return clean(f"{said.stage}: {said.evidence}").rstrip(": ")
        case "partial":
            return clean(f"has {said.key}")
        case "waiting":
            return clean(f"waits for {said.what}")
        case "said":
            return clean(said.text)
        case _:
            return ""


def detail_of(node: Node) -> str:
    """Why a node stands where it stands, in one line: its question, its reason, why it was split, or `unchecked`."""
    if node.state == State.WAITING:
        return clean(node.question)
    if node.state == State.SUCCESS and node.kind == "unchecked":
        return "unchecked"
    if isinstance(node, TaskNode) and node.current_children and node.stuck and not node.reason:
        return clean(f"split: {node.stuck}")
    return clean(node.reason)


def is_split(node: Node) -> bool:
    """Whether a node is a task that is split at present."""
    return isinstance(node, TaskNode) and bool(node.current_children)


def dimension_of(node: Node) -> str:
    """Along which dimension a task is split at present; "" when it is not."""
    return clean(node.dimension) if isinstance(node, TaskNode) and node.current_children else ""


def counted(counts: Mapping[State, int]) -> str:
    """How many nodes are in which state, what needs attention first: `3 running, 12 success`. Splits do not count."""
    return ", ".join(f"{counts[state]:,} {state}" for state in _ATTENTION if counts.get(state))


def number(count: int, thing: str) -> str:
    """A count with its noun in the right number."""
    plural = "es" if thing.endswith("s") else "s"
    return f"{count:,} {thing}{'' if count == 1 else plural}"


def duration(seconds: float) -> str:
    """Seconds for people: `0.4s`, `12s`, `1:02`, `3:01:05`."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = math.floor(seconds + 0.5)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d}"
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def age(seconds: float) -> str:
    """How long ago something was: `5 s`, `12 min`, `3 h`, `4 d`."""
    for limit, unit, size in ((60, "s", 1), (3600, "min", 60), (86_400, "h", 3600)):
        if seconds < limit:
            return f"{max(int(seconds), 0) // size} {unit}"
    return f"{int(seconds) // 86_400} d"


def amount(count: int) -> str:
    """A number in at most five characters: `950`, `12.3k`, `4.0M`."""
    if count < 1_000:
        return str(count)
    if count < 999_950:
        return f"{count / 1_000:.1f}k"
    return f"{count / 1_000_000:.1f}M"


def money(dollars: float) -> str:
    """US dollars, small sums with enough digits to be seen."""
    return f"${dollars:.2f}" if dollars >= 1 or not dollars else f"${dollars:.4f}"


def spent_words(spent: Spending) -> list[str]:
    """What was used, in words; what was not used is left out."""
    words = [number(spent.calls, "call")] if spent.calls else []
    words += [f"{amount(spent.tokens)} tokens"] if spent.tokens else []
    words += [money(spent.cost)] if spent.cost else []
    return words + ([f"{spent.unreported} did not say what they used"] if spent.unreported else [])


def check_counts(node: Node) -> tuple[int, int, int]:
    """How many of a node's newest checks hold, do not hold, and were made by nothing."""
    found = [check.ok for check in node.checks]
    return (sum(ok is True for ok in found), sum(ok is False for ok in found), sum(ok is None for ok in found))


def settled_line(node: Node, above: Node | None, *, state: str = "") -> str:
    """One line on a node that has ended, for where nothing can be drawn; `state`: how, if it has gone on since."""
    words = f"{name_of(node.path)} {state or node.state}: {title_of(node, above)}"
    detail = detail_of(node)
    return f"{words} ({detail})" if detail else words
