"""What a decision collects: the events to commit, and the commands to run once they are."""

from dataclasses import dataclass, field
from typing import Any

from sol.tree.events import Command, Event, EventType
from sol.tree.node import Node


@dataclass(slots=True)
class Out:
    """Events and commands of one call of `decide`, in order."""

    events: list[Event] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)

    def event(self, type_: EventType, node: str, **data: Any) -> None:  # noqa: ANN401 - JSON
        """Add an event."""
        self.events.append(Event(type_, node, data))

    def want(self, node: Node, kind: str, **because: Any) -> None:  # noqa: ANN401 - JSON
        """Add a command: the next attempt of this kind on the node."""
        self.commands.append(Command(node.path, kind, node.counts.get(kind, 0) + 1, because))

    def settle(self, node: Node, state: str, *, kind: str = "", reason: str = "", **more: Any) -> None:  # noqa: ANN401
        """Add the event that ends a node."""
        self.event(EventType.SETTLED, node.path, state=str(state), kind=kind, reason=reason, **more)
