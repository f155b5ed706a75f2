"""What a program is: all that the engine asks of it. Pure; imports neither asyncio nor the journal nor the dispatcher.

The engine knows runs, nodes, effects, budgets and people's requests. What follows from what is the program's.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from sol.strategy.schema import Budget
from sol.tree.codec import Codec
from sol.tree.effects import Request
from sol.tree.events import Command, Event, Payload, Settled
from sol.tree.node import AnyState, Node
from sol.tree.values import Cause, Usage

S = TypeVar("S", bound=AnyState)


class Reaction(Struct, gc=False):
    """What a program makes of an event: events to commit, and commands to run once they are, each in order."""

    events: list[Event] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)

    def event(self, node: str, data: Payload) -> None:
        """Add an event."""
        self.events.append(Event(node, data))

    def want(self, node: Node, kind: str, cause: Cause | None = None) -> None:
        """Add a command: the next effect of this kind on the node."""
        n = node.counts.get(kind, 0) + 1
        self.commands.append(Command(node.path, kind, n) if cause is None else Command(node.path, kind, n, cause))

    def settle(self, node: Node, state: str, *, kind: str = "", reason: str = "", resumable: bool = False) -> None:
        """Add the event that ends a node."""
        self.events.append(Event(node.path, Settled(str(state), kind=kind, reason=reason, resumable=resumable)))


NOTHING_FOLLOWS = Reaction()
"""What follows from most events. Never written to."""


class Limits:
    """What the engine keeps a run to.

    Attributes:
        concurrency: Effects at the same time.
        budget: What all of them may use.
        accounts: Names of what is limited of it, each with its limit; seconds are the session's business.
        reserve: What one effect that costs something may use at most.
    """

    __slots__ = ("accounts", "budget", "concurrency", "reserve")

    def __init__(self, concurrency: int, budget: Budget) -> None:
        limits: list[tuple[str, float | None]] = [
            ("calls", budget.calls),
            ("tokens", budget.tokens),
            ("cost", budget.cost),
        ]
        self.concurrency = concurrency
        self.budget = budget
        self.accounts = tuple((name, limit) for name, limit in limits if limit is not None)
        self.reserve = Usage(calls=1, tokens=budget.per_call.tokens or 0, cost=budget.per_call.cost or 0.0)


class Reading(Protocol[S]):
    """The half of a program that says what a run's state is. Looking at a run needs no more, and no files."""

    kind: str
    """Its name, stored with each run."""
    codec: Codec
    """Writes and reads its events."""

    def empty(self) -> S:
        """The state of a run of which nothing is known yet."""
        ...

    def apply(self, state: S, event: Event) -> None:
        """Fold an event into the state, which nothing else writes."""
        ...

    def may_retry(self, state: S, path: str) -> bool:
        """Whether a node can be tried once more when somebody asks for it."""
        ...


class Program(Reading[S], Protocol[S]):
    """What follows from what in runs of one kind.

    All of it is pure: the same state and event give the same answer, live, on replay, and in simulation.
    """

    @property
    def limits(self) -> Limits:
        """What the engine keeps the run to."""
        ...

    def decide(self, state: S, event: Event) -> Reaction:
        """What follows from an event that has just been folded in. Changes nothing, nor does whoever gets it."""
        ...

    def request(self, state: S, command: Command) -> Request:
        """All that the effect of a command needs, as a value."""
        ...

    def may_start(self, state: S, command: Command) -> bool:
        """Whether limits of its own let a command start now."""
        ...

    def costs(self, state: S, command: Command) -> bool:
        """Whether the effect calls a model or a Luna, so that the budget counts it."""
        ...

    def level(self, state: S, path: str) -> int:
        """How many levels of the strategy's depth limit are used at a node."""
        ...

    def before(self, state: S, fact: Event) -> Iterable[Event]:
        """Facts that have to be taken in before this one."""
        ...

    def workspaces(self, state: S, path: str) -> Sequence[str]:
        """Names of all workspaces that there may be of a node, where Lunas are kept apart."""
        ...


# A program and the state that it made belong together; where both are handed on, nobody looks at what state that is.
AnyReading: TypeAlias = Reading[Any]
AnyProgram: TypeAlias = Program[Any]
