"""A third kind of run, to show that the engine and all that looks at runs know no program by name.

It counts down: a node that stands at a number has two nodes below it that stand at the number before, until zero.
Nothing can be told from its paths. Register it with `sol.run.register(Countdowns())`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

from sol.dispatch.handlers import Handler, Working
from sol.engine.kinds import Again, Options, Prepared, Settings
from sol.engine.program import Limits, Reaction
from sol.engine.step import close, given_up, late
from sol.strategy.schema import Strategy
from sol.tree.codec import Codec, reader_of
from sol.tree.effects import Request
from sol.tree.events import (
    Answer,
    Answered,
    Asked,
    CancelRequested,
    Command,
    Event,
    Lost,
    Outcome,
    Payload,
    Reopened,
    Resumed,
    RunStarted,
    Settled,
)
from sol.tree.fold import apply_common
from sol.tree.node import Node, RunState, State
from sol.tree.values import AnswerValue

COUNT = "count"
"""The one kind of effect."""


class CountdownStarted(RunStarted, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A countdown was started. At these numbers a node asks, and fails; -1: nowhere."""

    number: int
    asks_at: int = -1
    fails_at: int = -1


class Spawned(Payload, frozen=True, gc=False):
    """A node is there, below another one."""

    TYPE: ClassVar[str] = "spawned"
    parent: str
    number: int


class CountRequest(Request, frozen=True, omit_defaults=True, gc=False):
    """What is the number before this one?"""

    number: int


class Counted(AnswerValue, frozen=True, gc=False):
    """The number before."""

    before: int


class Evidence(Node, kw_only=True, gc=False):
    """A node that stands at a number."""

    number: int

    @property
    def title(self) -> str:
        """What it is about."""
        return f"count from {self.number}"


class CountdownState(RunState[Evidence], kw_only=True, gc=False):
    """The state of a countdown."""

    @property
    def told(self) -> CountdownStarted:
        """What it was started with."""
        assert isinstance(self.config, CountdownStarted)
        return self.config


class CountdownReading:
    """What the state of a countdown is."""

    kind = "countdown"
    codec = Codec((CountdownStarted, Spawned), {COUNT: reader_of(Counted)})

    def empty(self) -> CountdownState:
        return CountdownState()

    def apply(self, state: CountdownState, event: Event) -> None:
        apply_common(state, event)
        match event.data:
            case CountdownStarted(number=number, worker=worker):
                state.nodes[""] = Evidence(path="", number=number, worker=worker)
            case Spawned(parent=parent, number=number):
                above = state.nodes[parent]
                state.nodes[event.node] = Evidence(
                    path=event.node, parent=parent, depth=above.depth + 1, number=number, worker=above.worker
                )
                above.children, above.state = (*above.children, event.node), State.SPLIT
            case Settled(state=State.SUCCESS):
                node = state.nodes[event.node]
                node.result = [node.number, *(state.nodes[path].result for path in node.children)]

    def may_retry(self, state: CountdownState, path: str) -> bool:
        return False


class CountdownProgram(CountdownReading):
    """What follows from what in a countdown."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def decide(self, state: CountdownState, event: Event) -> Reaction:
        out = Reaction()
        node = state.nodes[event.node]
        match event.data:
            case CountdownStarted() | Spawned():
                out.want(node, COUNT)
            case Answer() if node.number == state.told.fails_at:
                out.settle(node, State.FAILED, kind="number", reason=f"{node.number} is a number it fails at.")
            case Answer() if node.number == state.told.asks_at:
                out.event(node.path, Asked(f"Go on from {node.number}?"))
            case Answer() | Answered():
                self._spawn(node, out)
            case Lost(lost=lost, reason=reason):
                out.settle(node, State.FAILED, kind=lost, reason=reason, resumable=True)
            case Settled() if node.path:
                self._ended(state, state.nodes[node.parent], out)
            case CancelRequested():
                close(
                    state, node.path, State.CANCELLED, kind="cancelled", reason="Cancelled.", resumable=False, out=out
                )
            case Resumed():
                out.events.extend(late(one) for one in given_up(state))
                for one in state.nodes.values():
                    if one.resumable or (one.redo and not one.ended):
                        out.event(one.path, Reopened(State.SPLIT if one.children else State.PENDING, redo=one.redo))
            case Reopened(redo=redo) if redo:
                out.want(node, redo)
        return out

    @staticmethod
    def _spawn(node: Evidence, out: Reaction) -> None:
        for place in range(2 if node.number else 0):
            out.event(_name(node, place), Spawned(node.path, node.number - 1))
        if not node.number:
            out.settle(node, State.SUCCESS)

    @staticmethod
    def _ended(state: CountdownState, above: Evidence, out: Reaction) -> None:
        parts = [state.nodes[path] for path in above.children]
        if above.ended or not all(part.ended for part in parts):
            return
        bad = [part for part in parts if part.state != State.SUCCESS]
        if not bad:
            out.settle(above, State.SUCCESS)
        else:
            again = any(part.resumable for part in bad)
            out.settle(above, bad[0].state, kind=bad[0].kind, reason="A part has failed.", resumable=again)

    def request(self, state: CountdownState, command: Command) -> Request:
        return CountRequest(state.nodes[command.node].number)

    def may_start(self, state: CountdownState, command: Command) -> bool:
        return True

    def costs(self, state: CountdownState, command: Command) -> bool:
        return False

    def level(self, state: CountdownState, path: str) -> int:
        return state.nodes[path].depth

    def before(self, state: CountdownState, fact: Event) -> Iterable[Event]:
        return ()

    def workspaces(self, state: CountdownState, path: str) -> Sequence[str]:
        return ()


def _name(above: Node, place: int) -> str:
    """A path that tells nothing about the node above, nor about the number."""
    return "n" + blake2b(f"{above.path}/{place}".encode(), digest_size=3).hexdigest()


async def count(request: CountRequest, on: Working) -> Outcome:
    """Carry a request out."""
    return on.answer(Counted(request.number - 1))


@dataclass(frozen=True)
class Countdown:
    """What a countdown is started with."""

    number: int
    asks_at: int = -1
    fails_at: int = -1


class Countdowns:
    """This kind of run, for `sol.run.register`. `count`: the handler, where another one is wanted."""

    name = CountdownReading.kind
    noun = "number"
    reading = CountdownReading()

    def __init__(self, handler: Handler = count) -> None:
        self.handlers: Mapping[type[Request], Handler] = {CountRequest: handler}

    def takes(self, thing: object) -> bool:
        return isinstance(thing, Countdown)

    def prepare(self, settings: Settings, thing: object, options: Options, *, run: str) -> Prepared:
        assert isinstance(thing, Countdown)
        workspace = settings.workspace_of(None)
        strategy = settings.strategy_of(None, workspace).strategy
        started = CountdownStarted(
            strategy=strategy.model_dump(mode="json"),
            number=thing.number,
            asks_at=thing.asks_at,
            fails_at=thing.fails_at,
            **settings.started_with(workspace, settings.worker_of(None)),
        )
        title = f"count from {thing.number}"
        return Prepared(program=_program(strategy), strategy=strategy, started=started, title=title, goal=title)

    def again(self, settings: Settings, run: str, state: CountdownState, options: Options) -> Again:
        strategy = settings.limits_again(Strategy.model_validate(state.config.strategy))
        resumed = Resumed(strategy.model_dump(mode="json"))
        return Again(program=_program(strategy), strategy=strategy, resumed=resumed, goal=state.root.title)

    def as_stored(self, run: str, state: CountdownState, *, request: str) -> CountdownProgram:
        return _program(Strategy.model_validate(state.config.strategy))


def _program(strategy: Strategy) -> CountdownProgram:
    return CountdownProgram(Limits(strategy.concurrency, strategy.budget))
