"""What a damaged journal still tells: read it as far as it goes, put its nodes in an order, say what is wrong. Pure.

Nobody resumes what is read here. Who stands below whom is what each node says of itself; lists of children only have to
agree with it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from msgspec import structs

from luna.text import strip_controls
from sol.errors import StoreError
from sol.tree.codec import Codec, StoredRow
from sol.tree.events import Event
from sol.tree.node import AnyState, Node

MOST = 20
"""Most faults that are told one by one."""

S = TypeVar("S", bound=AnyState)


class Readable(Protocol[S]):
    """As much of a program as reading its journals needs; see `sol.engine.program.Reading`."""

    codec: Codec

    def empty(self) -> S:
        """The state of a run of which nothing is known yet."""
        ...

    def apply(self, state: S, event: Event) -> None:
        """Fold an event into the state."""
        ...


class Salvage(Generic[S]):
    """Reads a journal row by row; what cannot be read, or fits nothing that is there, is counted and passed over.

    Attributes:
        state: What has been read so far.
    """

    def __init__(self, reading: Readable[S]) -> None:
        self._reading: Readable[S] = reading
        self.state: S = reading.empty()
        self._unread: list[str] = []
        self._lost: Counter[str] = Counter()

    def take(self, row: StoredRow) -> list[Event]:
        """Fold in what a row says; its events, also those that fit nothing."""
        events = self.unfold(row)
        for event in events:
            self.fold(event)
        return events

    def unfold(self, row: StoredRow) -> list[Event]:
        """The events of a row; none where it cannot be read."""
        try:
            return self._reading.codec.unfold(row)
        except StoreError as error:
            self._unread.append(str(error))
            return []

    def fold(self, event: Event) -> None:
        """Fold one event in, if it fits."""
        try:
            self._reading.apply(self.state, event)
        except Exception:  # noqa: BLE001 - whatever is missing that it builds on
            self._lost[event.node] += 1

    @property
    def faults(self) -> list[str]:
        """What could not be read, one line each."""
        nodes = self.state.nodes
        lost = [
            f"{_events(n)} of node {_name(path)} {'cannot be read' if path in nodes else 'fit no node that is there'}"
            for path, n in self._lost.items()
        ]
        return _told([*self._unread, *lost])


def _events(n: int) -> str:
    return "1 event" if n == 1 else f"{n:,} events"


def in_order(state: AnyState) -> Iterator[Node]:
    """All nodes, each after the one above it and before the next one beside it.

    What hangs in the air in a damaged journal comes last, each such piece with what is below it.
    """
    nodes = state.nodes
    below: dict[str, list[str]] = {}
    tops: list[str] = []
    for path, node in nodes.items():
        if path and node.parent in nodes:
            below.setdefault(node.parent, []).append(path)
        else:
            tops.append(path)
    seen: set[str] = set()
    for top in (*tops, *nodes):  # nodes that stand in a circle are below no top
        todo = [top]
        while todo:
            path = todo.pop()
            if path not in seen:
                seen.add(path)
                if nodes[path].path == path:
                    yield nodes[path]
                todo += reversed(below.get(path, ()))


def sound(state: S) -> tuple[S, list[str]]:
    """The state itself and no faults, or a copy and one line for each fault, the last one counting more.

    In the copy each node comes after the one above it, if that is there at all.
    """
    faults: list[str] = []
    nodes = state.nodes
    ordered = nodes if _is_ordered(nodes) else {node.path: node for node in in_order(state)}
    seen: set[str] = set()
    for path, node in nodes.items():
        if node.path != path:
            faults.append(f"the node at {_name(path)} calls itself {_name(node.path)}")
    for path, node in ordered.items():
        if path and node.parent not in seen:
            how = "in a circle of nodes" if node.parent in ordered else "in the air"
            faults.append(f"node {_name(path)} hangs {how}: there is no node {_name(node.parent)} above it")
        elif path and path not in ordered[node.parent].children:
            faults.append(f"node {_name(path)} is not among the parts of the node above it")
        seen.add(path)
    for node in ordered.values():
        faults += _wrong_children(node, nodes)
    return (structs.replace(state, nodes=dict(ordered)), _told(faults)) if faults else (state, [])


def _is_ordered(nodes: Mapping[str, Node]) -> bool:
    seen: set[str] = set()
    for path, node in nodes.items():
        if node.path != path or (path and node.parent not in seen):
            return False
        seen.add(path)
    return True


def _wrong_children(node: Node, nodes: Mapping[str, Node]) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for child in node.children:
        if child in seen:
            found.append(f"node {_name(node.path)} lists its part {_name(child)} twice")
        elif child not in nodes:
            found.append(f"node {_name(node.path)} has a part {_name(child)} that does not exist")
        elif nodes[child].parent != node.path or not child:
            found.append(f"node {_name(node.path)} lists {_name(child)}, which belongs elsewhere, among its parts")
        seen.add(child)
    return found


def _told(faults: list[str]) -> list[str]:
    more = len(faults) - MOST
    return [*faults[:MOST], f"… and {more:,} more faults"] if more > 0 else faults


def _name(path: str) -> str:
    """A path as it can be shown: without controls, the end of a long one."""
    name = path if len(path) <= 40 else "…" + path[-39:]
    return " ".join(strip_controls(name).encode("utf-8", "replace").decode().split()) or "."
