"""A program in forty lines: words are shouted one after the other, each by a node below the one before.

Nobody can tell from a path which node is above, and what it asks for is a request of its own.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sol.dispatch.handlers import Working
from sol.engine.kinds import Again, Options, Prepared, Settings
from sol.engine.program import Limits, Reaction
from sol.strategy.schema import Budget, Strategy
from sol.tree.codec import Codec, reader_of
from sol.tree.effects import Request
from sol.tree.events import (
    Answer,
    Command,
    Event,
    Outcome,
    Payload,
    Resumed,
    RunStarted,
    Settled,
)
from sol.tree.fold import apply_common
from sol.tree.node import Node, RunState, State
from sol.tree.values import AnswerValue


class RelayStarted(RunStarted, frozen=True, kw_only=True):
    words: tuple[str, ...]


class Passed(Payload, frozen=True):
    TYPE = "passed"
    parent: str


class ShoutRequest(Request, frozen=True):
    word: str


class Shouted(AnswerValue, frozen=True):
    word: str


class Relay:
    """The program, which is its own reading."""

    kind = "relay"
    codec = Codec((RelayStarted, Passed), {"shout": reader_of(Shouted)})
    limits = Limits(concurrency=1, budget=Budget())

    def empty(self) -> RunState[Node]:
        return RunState()

    def apply(self, state: RunState[Node], event: Event) -> None:
        apply_common(state, event)
        match event.data:
            case RelayStarted(worker=worker):
                state.nodes[""] = Node(path="", worker=worker)
            case Passed(parent=parent):
                above = state.nodes[parent]
                state.nodes[event.node] = Node(
                    path=event.node, parent=parent, depth=above.depth + 1, worker=above.worker
                )
                above.children, above.state = (event.node,), State.SPLIT
            case Answer(answer=Shouted(word=word)):
                state.nodes[event.node].result = word

    def decide(self, state: RunState[Node], event: Event) -> Reaction:
        out, node = Reaction(), state.nodes[event.node]
        match event.data:
            case RelayStarted() | Passed():
                out.want(node, "shout")
            case Answer() if node.depth + 1 < len(state.config.words):  # type: ignore[attr-defined]  # RelayStarted
                out.event(sha256(node.path.encode()).hexdigest()[:6], Passed(node.path))
            case Answer():
                out.settle(node, State.SUCCESS)
            case Settled() if node.path:
                out.settle(state.nodes[node.parent], State.SUCCESS)
            case Resumed():
                out.commands += [Command(n.path, n.redo, n.counts[n.redo] + 1) for n in state.nodes.values() if n.redo]
        return out

    def request(self, state: RunState[Node], command: Command) -> Request:
        return ShoutRequest(state.config.words[state.nodes[command.node].depth])  # type: ignore[attr-defined]  # as above

    def may_start(self, *_: Any) -> bool:
        return True

    def may_retry(self, *_: Any) -> bool:
        return False

    def costs(self, *_: Any) -> bool:
        return False

    def level(self, *_: Any) -> int:
        return 0

    def before(self, *_: Any) -> tuple[Event, ...]:
        return ()

    def workspaces(self, *_: Any) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Words:
    """What a relay is started with."""

    words: tuple[str, ...]


class Relays:
    """The kind, for `sol.run.register`; each word that is shouted is a line in the workspace's file `shouted`."""

    name, noun, reading = "relay", "runner", Relay()

    def __init__(self) -> None:
        self.handlers = {ShoutRequest: _shout}

    def takes(self, thing: object) -> bool:
        return isinstance(thing, Words)

    def prepare(self, settings: Settings, thing: Any, options: Options, *, run: str) -> Prepared:
        workspace = settings.workspace_of(None)
        strategy = settings.strategy_of(None, workspace).strategy
        fields = settings.started_with(workspace, settings.worker_of(None))
        started = RelayStarted(strategy=strategy.model_dump(mode="json"), words=thing.words, **fields)
        return Prepared(program=Relay(), strategy=strategy, started=started, title="relay", goal="relay")

    def again(self, settings: Settings, run: str, state: RunState[Node], options: Options) -> Again:
        strategy = Strategy.model_validate(state.config.strategy)
        return Again(program=Relay(), strategy=strategy, resumed=Resumed(), goal="relay")

    def as_stored(self, run: str, state: RunState[Node], *, request: str) -> Relay:
        return Relay()


async def _shout(request: ShoutRequest, on: Working) -> Outcome:
    with (on.context.workspace / "shouted").open("a") as file:
        file.write(f"{on.key} {request.word}\n")
    if request.word.endswith("…"):  # takes for ever, the first time
        waiting = on.context.workspace / "waiting"
        if not waiting.exists():
            waiting.touch()
            await on.context.clock.sleep(3600)
    return on.answer(Shouted(request.word.upper()))
