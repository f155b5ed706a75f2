"""All that is known of one node, as data: what it was asked, what was tried, reported, checked and decided. Pure.

How it reads as text or as a page is none of its business; `sol.inspect` tells it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module

from sol.errors import NotFoundError
from sol.tree.effects import JudgeAnswer
from sol.tree.events import Answer, Checked, Decided, Event, Reported
from sol.tree.node import AnyState, Node, State, TaskNode
from sol.tree.values import JUDGED, AssignmentData, CheckResult, ReportData

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
class Story:
    """The story of one node. As text: `print(story)`.

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
        return str(import_module("sol.inspect.telling").as_text(self))

    def _repr_html_(self) -> str:
        return str(import_module("sol.inspect.telling").as_html(self))


def story_of(state: AnyState, path: str, events: Iterable[Event]) -> Story:
    """The story of a node.

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
    return Story(
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
