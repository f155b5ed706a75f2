"""One run while this process works on it: its lease, its tree, its dispatcher, and the one way to commit a step.

A step is folded, committed in one transaction, told to listeners, and only then acted on.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from luna.clock import Clock
from luna.protocol import WorkerSpec
from sol.core.assign import request
from sol.core.control import may_retry
from sol.core.decide import step
from sol.core.places import is_isolated, places_of
from sol.core.schedule import unwanted
from sol.core.stepping import Step
from sol.dispatch.protocol import Dispatcher, Effect
from sol.journal import Journal, Lease, NewRecord
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.node import Node, State, Tree

POLL_S = 0.5
"""Seconds between looks for requests from other processes."""

BEAT_S = 5.0
"""Seconds between signs of life for other hosts."""

Listener = Callable[[Event], None]


@dataclass(slots=True)
class Session:
    """A run in work.

    Attributes:
        tree: The fold of all committed events.
        commands: Started by the last step and not yet submitted.
        stopping: Someone asked for an interruption; no new effect is started.
        listeners: Told each event once it is committed.
        entering: Called in the task of each effect before it does anything, to set context variables.
        started: Monotonic time when this session began, for the time budget.
        before_s: Seconds that earlier sessions of the run took.
    """

    lease: Lease
    journal: Journal
    tree: Tree
    strategy: Strategy
    dispatcher: Dispatcher
    clock: Clock
    commands: list[Command] = field(default_factory=list)
    stopping: str = ""
    listeners: list[Listener] = field(default_factory=list)
    entering: list[Callable[[Command], None]] = field(default_factory=list)
    started: float = 0.0
    before_s: float = 0.0
    polled: float = 0.0
    beaten: float = 0.0
    cancelled: set[tuple[str, str, int]] = field(default_factory=set)

    @property
    def active(self) -> bool:
        """Whether anything is still to be waited for."""
        return bool(self.tree.inflight or self.commands)

    @property
    def elapsed_s(self) -> float:
        """Seconds of work on the run, earlier sessions included."""
        return self.before_s + self.clock.monotonic() - self.started

    async def commit(self, incoming: Iterable[Event]) -> None:
        """Take facts in: decide, commit, tell; leaves the commands to `delegate`.

        Raises:
            ConflictError: If another process has taken the run over. Nothing was written.
        """
        now = self.clock.now()
        done = self.take(incoming, now=now)
        if not done.events:
            return
        records = [NewRecord(now, event.type, event.node, event.data) for event in done.events]
        await self.journal.append(self.lease, records, status=self.tree.status, summary=self._summary())
        self.commands.extend(done.commands)
        self._release(done.events)
        for listener in self.listeners:
            for event in done.events:
                listener(event)

    def _release(self, events: Iterable[Event]) -> None:
        """Let places go whose nodes have ended for good."""
        if not is_isolated(self.tree):
            return
        ended = [self.tree.nodes[event.node] for event in events if event.type == EventType.SETTLED]
        self.dispatcher.release(name for node in ended if not node.resumable for name in places_of(node))

    async def close(self) -> None:
        """Let go of the run's places once nothing runs any more; all of them when the run has ended for good."""
        tree = self.tree
        if is_isolated(tree):
            ended = bool(tree.nodes) and tree.root.ended and not tree.root.resumable
            result = tree.root.snapshot if ended and tree.root.state == State.SUCCESS else None
            await self.dispatcher.close(result=result, ended=ended)

    def take(self, incoming: Iterable[Event], *, now: float) -> Step:
        """Fold facts in, decide what follows, and start what the limits allow."""
        return step(self.tree, incoming, self.strategy, stopping=bool(self.stopping), now=now)

    def submit(self, command: Command) -> None:
        """Have an effect run."""
        self.dispatcher.submit(Effect(command, request(self.tree, command, self.strategy)))

    def may_retry(self, node: Node) -> bool:
        """Whether a node can be tried once more."""
        return may_retry(self.tree, node)

    def _summary(self) -> dict[str, Any]:
        spent = self.tree.spent
        return {
            "nodes": len(self.tree.nodes),
            "calls": spent.calls,
            "tokens": spent.tokens,
            "cost": spent.cost,
            "elapsed_s": round(self.elapsed_s, 3),
        }

    def delegate(self) -> None:
        """Submit the commands of the last step, and stop effects whose node has ended meanwhile."""
        commands, self.commands = self.commands, []
        for command in commands:
            if command.key in self.tree.inflight:
                self.submit(command)
        for command in unwanted(self.tree):
            if command.key not in self.cancelled:
                self.cancelled.add(command.key)
                self.dispatcher.cancel(command.key)

    async def collect(self) -> list[Event]:
        """The next outcomes, requests from people, or the end of the time; empty while nothing has happened."""
        if self.stopping:
            return await self.dispatcher.stop(cause="interrupt", reason=self.stopping)
        events = await self.dispatcher.next(timeout_s=self._patience())
        seconds = self.strategy.budget.seconds
        if seconds is not None and not self.tree.over and self.elapsed_s >= seconds:
            events.append(Event(EventType.BUDGET_HIT, "", {"what": "seconds", "limit": seconds}))
        return [*events, *await self._requests()]

    def _patience(self) -> float:
        seconds = self.strategy.budget.seconds
        left = POLL_S if seconds is None or self.tree.over else seconds - self.elapsed_s
        return max(min(POLL_S, left), 0.0)

    async def _requests(self) -> list[Event]:
        """What other processes asked of this run since the last look."""
        now = self.clock.monotonic()
        if now - self.polled < POLL_S:
            return []
        self.polled = now
        if now - self.beaten >= BEAT_S:
            self.beaten = now
            await self.journal.heartbeat(self.lease, self.clock.now())
        found = []
        for asked in await self.journal.take(self.lease):
            if asked.kind == "stop":
                self.interrupt(asked.payload.get("reason") or f"Stopped by {asked.by}.")
            else:
                said = {"by": asked.by, "at": asked.t}
                event = request_event(self.tree, asked.kind, asked.payload, said, may_retry=self.may_retry)
                found += [event] if event is not None else []
        return found

    def interrupt(self, reason: str) -> None:
        """Stop all workers at the next turn of the loop, so that the run can be resumed later."""
        self.stopping = reason
        self.dispatcher.wake()


def request_event(
    tree: Tree, kind: str, payload: Mapping[str, Any], said: Mapping[str, Any], *, may_retry: Callable[[Node], bool]
) -> Event | None:
    """The event of what a person asked for; None when it names nothing that is there any more.

    Args:
        tree: The run.
        kind: `cancel`, `answer` or `retry`.
        payload: `node` and what belongs to the kind.
        said: Who asked, `by`, and when, `at`.
        may_retry: Whether a node can be tried once more.
    """
    node = tree.nodes.get(str(payload.get("node", "")))
    if node is None:
        return None
    match kind:
        case "cancel" if not node.ended or node.paused:
            return Event(EventType.CANCEL_REQUESTED, node.path, {"reason": str(payload.get("reason", "")), **said})
        case "answer" if node.state == State.WAITING:
            return Event(EventType.ANSWERED, node.path, {"text": str(payload.get("text", "")), **said})
        case "retry" if may_retry(node):
            return _retry(node.path, payload, said)
        case _:
            return None


def _retry(path: str, payload: Mapping[str, Any], said: Mapping[str, Any]) -> Event | None:
    """The event of a retry; None when the worker it names cannot be read."""
    more: dict[str, Any] = {"note": str(payload["note"])} if payload.get("note") else {}
    if payload.get("worker"):
        try:
            more["worker"] = WorkerSpec.parse(payload["worker"]).model_dump(mode="json", exclude_defaults=True)
        except ValidationError:
            return None
    return Event(EventType.RETRY_REQUESTED, path, {**more, **said})


async def wind_down(session: Session) -> None:
    """Stop what still runs after the loop was left early, and commit what came of it."""
    session.stopping = session.stopping or "The run was stopped."
    events = await session.dispatcher.stop(cause="interrupt", reason=session.stopping)
    if events or session.tree.status == "running":
        await session.commit(events)


async def shielded(action: Callable[[], Any]) -> None:
    """Finish an action although the task that waits for it is being cancelled."""
    task = asyncio.ensure_future(action())
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
    task.result()
