"""One run while this process works on it: its lease, its state, its dispatcher, and the one way to commit a step.

A step is folded, committed in one transaction, told to listeners, and only then acted on. Knows no program by name.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from luna.clock import Clock
from luna.text import whole_characters
from sol.dispatch.protocol import Dispatcher, Effect
from sol.engine.program import AnyProgram
from sol.engine.requests import request_event
from sol.engine.step import take, unwanted
from sol.journal import Journal, Lease, NewRecord
from sol.tree.events import BudgetHit, Command, Event, Settled
from sol.tree.listeners import Listeners
from sol.tree.node import AnyState, State

POLL_S = 0.5
"""Seconds between looks for requests from other processes."""

BEAT_S = 5.0
"""Seconds between signs of life for other hosts."""


@dataclass(slots=True)
class Session:
    """A run in work.

    Attributes:
        state: The fold of all committed events.
        commands: Started by the last step and not yet submitted.
        stopping: Someone asked for an interruption; no new effect is started.
        listeners: Hear of each event once it is committed.
        started: Monotonic time when this session began, for the time budget.
        before_s: Seconds that earlier sessions of the run took.
        torn: A step was not committed, so that the state may be ahead of the journal: nothing more may be written.
    """

    lease: Lease
    journal: Journal
    state: AnyState
    program: AnyProgram
    dispatcher: Dispatcher
    clock: Clock
    listeners: Listeners
    commands: list[Command] = field(default_factory=list)
    stopping: str = ""
    started: float = 0.0
    before_s: float = 0.0
    polled: float = 0.0
    beaten: float = 0.0
    cancelled: set[tuple[str, str, int]] = field(default_factory=set)
    torn: bool = False

    @property
    def active(self) -> bool:
        """Whether anything is still to be waited for."""
        return bool(self.state.inflight or self.commands)

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
        self.torn = True
        done = take(self.program, self.state, incoming, stopping=bool(self.stopping), now=now)
        if not done.transitions:
            self.torn = False
            return
        encode = self.program.codec.encode
        records = [NewRecord(now, *encode(transition)) for transition in done.transitions]
        try:
            await self.journal.append(self.lease, records, status=self.state.status, summary=self._summary())
        except asyncio.CancelledError:
            self.torn = False  # what was being written was written to its end
            raise
        self.torn = False
        self.commands.extend(done.commands)
        if self.state.is_isolated:
            self._release(done.events)
        for event in done.events:
            self.listeners.on_event(event)

    def _release(self, events: Iterable[Event]) -> None:
        """Let workspaces go whose nodes have ended for good."""
        ended = [self.state.nodes[event.node] for event in events if isinstance(event.data, Settled)]
        paths = [node.path for node in ended if not node.resumable]
        names = [name for path in paths for name in self.program.workspaces(self.state, path)]
        self.dispatcher.release(names)

    async def close(self) -> None:
        """Let go of the run's workspaces once nothing runs any more; all of them when the run has ended for good."""
        state = self.state
        if state.is_isolated:
            ended = not self.torn and bool(state.nodes) and state.root.ended and not state.root.resumable
            result = state.root.snapshot if ended and state.root.state == State.SUCCESS else None
            await self.dispatcher.close(result=result, ended=ended)

    def _summary(self) -> dict[str, Any]:
        spent = self.state.spent
        return {
            "nodes": len(self.state.nodes),
            "calls": spent.calls,
            "tokens": spent.tokens,
            "cost": spent.cost,
            "elapsed_s": round(self.elapsed_s, 3),
        }

    def delegate(self) -> None:
        """Submit the commands of the last step, and stop effects whose node has ended meanwhile."""
        commands, self.commands = self.commands, []
        program, state = self.program, self.state
        for command in commands:
            if command.key in state.inflight:
                level = program.level(state, command.node)
                self.dispatcher.submit(Effect(command, program.request(state, command), level))
        for command in unwanted(state):
            if command.key not in self.cancelled:
                self.cancelled.add(command.key)
                self.dispatcher.cancel(command.key)

    async def collect(self) -> list[Event]:
        """The next outcomes, requests from people, or the end of the time; empty while nothing has happened."""
        if self.stopping:
            return await self.dispatcher.stop(cause="interrupt", reason=self.stopping)
        events = await self.dispatcher.next(timeout_s=self._patience())
        seconds = self.program.limits.budget.seconds
        if seconds is not None and not self.state.over and self.elapsed_s >= seconds:
            events.append(Event("", BudgetHit("seconds", seconds)))
        return [*events, *await self._requests()]

    def _patience(self) -> float:
        seconds = self.program.limits.budget.seconds
        left = POLL_S if seconds is None or self.state.over else seconds - self.elapsed_s
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
                self.interrupt(str(asked.payload.get("reason") or f"Stopped by {asked.by}."))
            else:
                event = request_event(self.program, self.state, asked.kind, asked.payload, by=asked.by, at=asked.t)
                found += [event] if event is not None else []
        return found

    def interrupt(self, reason: str) -> None:
        """Stop all workers at the next turn of the loop, so that the run can be resumed later."""
        self.stopping = whole_characters(reason)
        self.dispatcher.wake()

    async def let_go(self) -> None:
        """Stop what still runs after the loop was left early, commit what came of it, and give the run back."""
        try:
            if self.active or self.torn or self.state.status == "running":
                self.stopping = self.stopping or "The run was stopped."
                events = await self.dispatcher.stop(cause="interrupt", reason=self.stopping)
                if not self.torn and (events or self.state.status == "running"):
                    await self.commit(events)
            await self.close()
        finally:
            await self.journal.release(self.lease)


async def shielded(action: Callable[[], Coroutine[Any, Any, None] | asyncio.Future[None]]) -> None:
    """Finish an action although the task that waits for it is being cancelled."""
    task = asyncio.ensure_future(action())
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
    task.result()
