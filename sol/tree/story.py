"""All that is known of one node, as data: what it was asked, what was tried, reported, checked and decided. Pure.

How it reads as text or as a page is none of its business; `sol.inspect` tells it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sol.errors import NotFoundError
from sol.tree.events import Event, EventType
from sol.tree.node import Node, State, Tree

ROOT_NAME = "."
_BY_WORDS = frozenset({"ai", "text"})


@dataclass(frozen=True, slots=True)
class Story:
    """The story of one node. As text: `print(story)`.

    Attributes:
        node: The node as it is now.
        above: Its parent; None for the root.
        children: The nodes it was split into, oldest first, those of given-up splits included.
        events: What happened to it, oldest first; empty where only the tree is known.
        began: When the run began, in seconds since the epoch; 0.0 where that is not known.
        reports: What its attempts reported, oldest first.
        checks: Results of all checks, oldest first: `criterion`, `kind`, `ok` (None: nothing checked it), `detail`, and
            `n`, the number of the checking.
        decisions: What was decided: `section`, `condition` of the rule that decided, `next`, what it read.
    """

    node: Node
    above: Node | None
    children: tuple[Node, ...]
    events: tuple[Event, ...]
    began: float
    reports: tuple[Mapping[str, Any], ...]
    checks: tuple[Mapping[str, Any], ...]
    decisions: tuple[Mapping[str, Any], ...]

    @property
    def path(self) -> str:
        """Path of the node."""
        return self.node.path

    @property
    def state(self) -> State:
        """Where it stands."""
        return self.node.state

    @property
    def assignment(self) -> Mapping[str, Any]:
        """Its seven fields."""
        return self.node.assignment

    def __repr__(self) -> str:
        return f"<Story of {self.path or ROOT_NAME}: {self.state}, {len(self.events)} events>"

    def __str__(self) -> str:
        return str(import_module("sol.inspect.telling").as_text(self))

    def _repr_html_(self) -> str:
        return str(import_module("sol.inspect.telling").as_html(self))


def story_of(tree: Tree, path: str, events: Iterable[Event]) -> Story:
    """The story of a node.

    Args:
        tree: The tree.
        path: Path of the node; "" or "." is the root.
        events: Of the whole run, oldest first; none where only the tree is known.

    Raises:
        NotFoundError: If there is no such node.
    """
    path = "" if path == ROOT_NAME else path
    node = tree.nodes.get(path)
    if node is None:
        raise NotFoundError(f"There is no node {path!r} in this tree of {tree.size}. `to_dataframe()` lists them all.")
    began: float | None = None
    own: list[Event] = []
    for event in events:
        began = event.t if began is None else began
        if event.node == path:
            own.append(event)
    if own:
        reports = [event.data["report"] for event in own if event.type == EventType.REPORTED]
        decisions = [event.data for event in own if event.type == EventType.DECIDED and not event.data.get("wait")]
        checks = _checks(own)
    else:
        reports = [] if node.report is None else [node.report]
        decisions, checks = list(node.decisions), list(node.checks)
    return Story(
        node=node,
        above=tree.nodes.get(node.parent) if path else None,
        children=tuple(tree.nodes[child] for child in node.children if child in tree.nodes),
        events=tuple(own),
        began=began or 0.0,
        reports=tuple(reports),
        checks=tuple(checks),
        decisions=tuple(decisions),
    )


def _checks(events: Iterable[Event]) -> list[Mapping[str, Any]]:
    """All check results; what a judge said later takes the place of what programs could not check."""
    found: list[Mapping[str, Any]] = []
    newest = 0
    for event in events:
        if event.type == EventType.CHECKED:
            newest = len(found)
            found += [{**check, "n": event.data["n"]} for check in event.data["results"]]
        elif event.type == EventType.ANSWER and event.data["kind"] == "judge":
            open_ = [
                place
                for place, check in enumerate(found[newest:], start=newest)
                if check["ok"] is None and check["kind"] in _BY_WORDS
            ]
            for place, verdict in zip(open_, event.data["answer"]["verdicts"], strict=False):
                found[place] = {**found[place], "ok": verdict["holds"], "detail": verdict["reason"]}
    return found
