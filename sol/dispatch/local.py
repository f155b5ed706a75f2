"""Run effects in this process: a task for each, one limit, one gate for each provider.

What an effect is asked for and what it answers is the handlers' business. What goes wrong inside a worker is an
outcome; only what breaks the dispatcher itself is raised.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextvars import copy_context
from functools import partial

from msgspec import structs

from luna.errors import Interruption, LunaError, ModelError, WorkerConfigError
from luna.process.group import ENCLOSING_REGISTRY
from luna.protocol import Usage
from luna.supervisor import lost_kind
from luna.workspaces import WorkspaceError
from sol.dispatch.context import RunContext
from sol.dispatch.handlers import HANDLERS, Handler, Working
from sol.dispatch.isolation import Isolated
from sol.dispatch.protocol import Effect
from sol.errors import PlannerError, SolError
from sol.tree import events as e
from sol.tree.effects import FileRequest, Request, SolveRequest
from sol.tree.events import Event, Outcome

Key = tuple[str, str, int]
_STOPPED = ("cancelled", "Stopped by Sol.")


class LocalDispatcher:
    """Effects as tasks of the running event loop. See `sol.dispatch.protocol.Dispatcher`.

    Args:
        context: What they have to work with.
        handlers: Of requests that only the run's own program makes.
    """

    def __init__(self, context: RunContext, handlers: Mapping[type[Request], Handler] | None = None) -> None:
        self._context = context
        self._handlers = {**HANDLERS, **(handlers or {})}
        self._isolation: Isolated | None = None
        if context.workspaces is not None:
            self._isolation = Isolated(context.run, context.workspaces, context_bytes=context.strategy.context_bytes)
        self._running: dict[Key, asyncio.Task[None]] = {}
        self._arrived: list[Event] = []
        self._woken = asyncio.Event()
        self._broken: BaseException | None = None
        # Effects must not see the context variables of the graph whose node submits them.
        self._variables = copy_context()

    def submit(self, effect: Effect) -> None:
        """Start an effect. Returns at once."""
        command = effect.command
        on = Working(
            context=self._context,
            isolation=self._isolation,
            command=command,
            level=effect.level,
            tell=lambda told: self._arrive(Event(command.node, told)),
        )
        task = asyncio.create_task(self._run(effect, on), context=self._variables.copy())
        self._running[command.key] = task
        task.add_done_callback(lambda task: self._never_ran(on) if task.cancelled() else None)

    def cancel(self, key: Key) -> None:
        """Stop an effect; its outcome still comes."""
        task = self._running.get(key)
        if task is not None:
            task.cancel()

    def wake(self) -> None:
        """Let a waiting `next` return at once."""
        self._woken.set()

    async def next(self, *, timeout_s: float | None) -> list[Event]:
        """What has arrived, oldest first; waits until there is anything, `wake` is called, or the time is over."""
        if not self._arrived and not self._woken.is_set():
            try:
                async with asyncio.timeout(timeout_s):
                    await self._woken.wait()
            except TimeoutError:
                return []
        self._woken.clear()
        await asyncio.sleep(0)
        if self._broken is not None:
            raise self._broken
        return self._fetch()

    async def stop(self, *, cause: str, reason: str) -> list[Event]:
        """Stop everything that runs; what was stopped comes back as `interrupted`."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        return [_interrupted(event, cause, reason) for event in self._fetch()]

    def release(self, checkouts: Iterable[str]) -> None:
        """Remove checkouts of Lunas that nothing needs any more."""
        if self._isolation is not None:
            self._isolation.release(checkouts)

    async def close(self, *, result: str | None, ended: bool) -> None:
        """Let go of the run's checkouts; see the protocol."""
        if self._isolation is not None:
            await self._isolation.close(result=result, ended=ended)

    def _fetch(self) -> list[Event]:
        arrived, self._arrived = self._arrived, []
        return arrived

    def _arrive(self, event: Event) -> None:
        self._arrived.append(event)
        self._woken.set()

    def _never_ran(self, on: Working) -> None:
        """A task that is cancelled before its first step runs none of its code; its outcome comes from here."""
        self._running.pop(on.command.key, None)
        self._arrive(Event(on.command.node, on.lost(*_STOPPED)))

    async def _run(self, effect: Effect, on: Working) -> None:
        command, context = effect.command, self._context
        started = context.clock.monotonic()
        if context.processes is not None:
            ENCLOSING_REGISTRY.set(partial(context.processes.for_node, context.run, command.node))
        outcome: Outcome
        try:
            context.listeners.on_effect(command)
            outcome = await self._handlers[type(effect.request)](effect.request, on)
        except asyncio.CancelledError:
            outcome = on.lost(*_STOPPED, usage=_of_stopped(on))
        except Exception as error:  # noqa: BLE001 - an outcome, or handed to whoever waits for outcomes
            outcome = _lost(error, effect.request, on)
            if outcome.lost == "internal":
                self._broken = error
        if not outcome.seconds:
            outcome = structs.replace(outcome, seconds=round(context.clock.monotonic() - started, 6))
        self._running.pop(command.key, None)
        self._arrive(Event(command.node, outcome))


def _of_stopped(on: Working) -> Usage | None:
    """What an effect is charged that was stopped once it was its turn."""
    if not on.begun or on.command.reserve is None:
        return None
    told = bool(on.booked.tokens or on.booked.cost)
    return on.rest(Usage(calls=1, reported=told))


def _lost(error: Exception, request: Request, on: Working) -> e.Lost:
    """What the failure of an effect means for the run; `internal`: Sol itself is broken."""
    match error:
        case Interruption():
            return on.lost(error.kind, str(error))
        case PlannerError():
            return on.lost("planner", str(error), usage=error.usage)
        case ModelError() | WorkerConfigError():
            return on.lost(lost_kind(error), str(error))
        case WorkspaceError():
            return on.lost("workspace", str(error))
        case SolError() | LunaError() | OSError() if isinstance(request, FileRequest | SolveRequest):
            return on.lost(on.command.kind, str(error))
        case _:
            return on.lost("internal", f"{type(error).__name__} inside Sol")


def _interrupted(event: Event, cause: str, reason: str) -> Event:
    lost = event.data
    if not isinstance(lost, e.Lost) or lost.lost != "cancelled":
        return event
    said = e.Interrupted(kind=lost.kind, n=lost.n, usage=lost.usage, seconds=lost.seconds, cause=cause, reason=reason)
    return Event(event.node, said)
