"""Run effects in this process: asyncio tasks for workers and planner calls, one limit, one gate for each provider.

What goes wrong inside a worker is an outcome; only what breaks the dispatcher itself is raised.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from luna.clock import Clock
from luna.errors import Interruption, ModelError, WorkerConfigError
from luna.gate import Gates
from luna.leftovers import AMBIENT, ProcessRegistry
from luna.monitor import Monitors
from luna.protocol import (
    Action,
    Assignment,
    Delivery,
    Failed,
    Gated,
    Note,
    ProgressEvent,
    Said,
    Spent,
    Stuck,
    Success,
    Usage,
    Worker,
    WorkerSpec,
)
from luna.sandbox import Confining
from luna.supervisor import AttemptLimits, Finished, Lost, Surroundings, lost_kind, supervise
from luna.text import clip
from luna.verify import verify
from luna.workspaces import WorkspaceError, Workspaces
from sol.core.requests import (
    Answered,
    AttemptRequest,
    CheckRequest,
    IntegrateRequest,
    Json,
    LandRequest,
    MergeRequest,
    as_data,
)
from sol.dispatch.grounds import Grounds, Work
from sol.dispatch.integration import assignment_of, read_integration
from sol.dispatch.protocol import Effect
from sol.errors import PlannerError
from sol.planner.protocol import Planner, PlannerRequest
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType

TEXT_BYTES = 2_000
"""Most bytes of an observation or a said text that the journal keeps."""

Key = tuple[str, str, int]
_STOPPED = {"lost": "cancelled", "reason": "Stopped by Sol."}


@dataclass(frozen=True, slots=True)
class Resources:
    """What effects of a run need.

    Attributes:
        run: Id of the run.
        planner: Sol's own effects.
        make_worker: Makes a worker of a specification; called once for each different one.
        workspace: Where workers and checks work.
        spaces: Gives each attempt a place of its own instead; None: it does not.
        clock: Time.
        gates: Of the providers, shared by all runs of the process.
        strategy: For monitors and the limits of an attempt.
        limiter: Most effects at the same time over all runs; None: only the strategy's own limit.
        processes: Where child processes are recorded; None: nowhere.
        luna_model: Name of the Luna model; None when none is set.
        sol_provider: Whose gate Sol's calls respect; "" for none.
        fence: Random token of the run.
        around: Called inside each attempt's task with the node's depth and a way to book usage on the attempt, so that
            runs which the worker starts inherit limits; None: they do not.
        entering: Called inside each effect's task before it does anything, to set context variables.
    """

    run: str
    planner: Planner
    make_worker: Callable[[WorkerSpec], Worker]
    workspace: Path
    clock: Clock
    gates: Gates
    strategy: Strategy
    limiter: asyncio.Semaphore | None = None
    processes: ProcessRegistry | None = None
    spaces: Workspaces | None = None
    luna_model: str | None = None
    sol_provider: str = ""
    fence: str = ""
    around: Callable[[int, Callable[[Usage], None]], None] | None = None
    entering: Sequence[Callable[[Command], None]] = ()


@dataclass(slots=True)
class _Running:
    """An effect in flight.

    Attributes:
        booked: Usage that its progress events have already told.
        begun: It has got beyond waiting for its turn, so that it costs something even if it is stopped.
    """

    command: Command
    task: asyncio.Task[None] | None = None
    booked: Usage = field(default_factory=Usage)
    begun: bool = False


class LocalDispatcher:
    """Effects as tasks of the running event loop. See `sol.dispatch.protocol.Dispatcher`."""

    def __init__(self, resources: Resources) -> None:
        self._use = resources
        context_bytes = resources.strategy.context_bytes
        self._grounds = Grounds(resources.run, resources.workspace, resources.spaces, context_bytes=context_bytes)
        self._running: dict[Key, _Running] = {}
        self._arrived: list[Event] = []
        self._woken = asyncio.Event()
        self._broken: BaseException | None = None
        self._workers: dict[str, tuple[WorkerSpec, Worker]] = {}
        # Effects must not see the context variables of the graph whose node submits them.
        self._context = copy_context()

    def submit(self, effect: Effect) -> None:
        """Start an effect. Returns at once."""
        running = _Running(effect.command)
        self._running[effect.command.key] = running
        running.task = asyncio.create_task(self._run(effect, running), context=self._context.copy())
        running.task.add_done_callback(lambda task: self._never_ran(effect.command) if task.cancelled() else None)

    def cancel(self, key: Key) -> None:
        """Stop an effect; its outcome still comes."""
        running = self._running.get(key)
        if running is not None and running.task is not None:
            running.task.cancel()

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
        tasks = [running.task for running in self._running.values() if running.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        return [_interrupted(event, cause, reason) for event in self._fetch()]

    def release(self, places: Iterable[str]) -> None:
        """Remove places of Lunas that nothing needs any more."""
        self._grounds.release(places)

    async def close(self, *, result: str | None, ended: bool) -> None:
        """Let go of the run's places; see the protocol."""
        await self._grounds.close(result=result, ended=ended)

    def _fetch(self) -> list[Event]:
        arrived, self._arrived = self._arrived, []
        return arrived

    def _arrive(self, event: Event) -> None:
        self._arrived.append(event)
        self._woken.set()

    def _never_ran(self, command: Command) -> None:
        """A task that is cancelled before its first step runs none of its code; its outcome comes from here."""
        self._running.pop(command.key, None)
        data = {"kind": command.kind, "n": command.n, **_STOPPED, "seconds": 0.0}
        self._arrive(Event(EventType.LOST, command.node, data))

    async def _run(self, effect: Effect, running: _Running) -> None:
        command = effect.command
        started = self._use.clock.monotonic()
        if self._use.processes is not None:
            AMBIENT.set(partial(self._use.processes.for_node, self._use.run, command.node))
        try:
            for enter in self._use.entering:
                enter(command)
            type_, data = await self._outcome(effect, running)
        except asyncio.CancelledError:
            type_, data = EventType.LOST, dict(_STOPPED)
            if running.begun and command.reserve:
                told = bool(running.booked.tokens or running.booked.cost)
                data["usage"] = self._rest(Usage(calls=1, reported=told), running)
        except Interruption as error:
            type_, data = EventType.LOST, {"lost": error.kind, "reason": str(error)}
        except PlannerError as error:
            type_, data = EventType.LOST, {"lost": "planner", "reason": str(error)}
            if error.usage is not None:
                data["usage"] = _usage(error.usage)
        except (ModelError, WorkerConfigError) as error:
            type_, data = EventType.LOST, {"lost": lost_kind(error), "reason": str(error)}
        except WorkspaceError as error:
            type_, data = EventType.LOST, {"lost": "workspace", "reason": str(error)}
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for outcomes
            self._broken = error
            type_, data = EventType.LOST, {"lost": "internal", "reason": f"{type(error).__name__} inside Sol"}
        data = {"kind": command.kind, "n": command.n, **data}
        data.setdefault("seconds", round(self._use.clock.monotonic() - started, 6))
        self._running.pop(command.key, None)
        running.task = None  # task, context, ambient limits and this object would be a cycle
        self._arrive(Event(type_, command.node, data))

    async def _outcome(self, effect: Effect, running: _Running) -> tuple[EventType, dict[str, Any]]:
        request = effect.request
        match request:
            case AttemptRequest():
                return await self._grounds.attempt(request, self._work(effect.command, running))
            case CheckRequest():
                return await self._check(request)
            case MergeRequest():
                return await self._grounds.merge(request, self._work(effect.command, running))
            case LandRequest():
                return EventType.ANSWER, {"answer": await self._grounds.land(request)}
            case IntegrateRequest(worker=worker) if worker is not None:
                return await self._integrate(effect.command, request, running)
            case _:
                answered = await self._plan(request, running)
                return EventType.ANSWER, {"answer": as_data(answered.answer), "usage": _usage(answered.usage)}

    async def _plan(self, request: PlannerRequest, running: _Running) -> Answered:
        async def call() -> Answered:
            async with self._slot(running):
                return await self._use.planner.answer(request)

        provider = self._use.sol_provider
        return await self._use.gates.run(provider, call) if provider else await call()

    @asynccontextmanager
    async def _slot(self, running: _Running) -> AsyncIterator[None]:
        async with self._use.limiter or nullcontext():
            running.begun = True
            yield

    def _work(self, command: Command, running: _Running) -> Work:
        return lambda request, path: self._attempt(command, request, running, path)

    async def _attempt(
        self, command: Command, request: AttemptRequest, running: _Running, path: Path
    ) -> tuple[EventType, dict[str, Any]]:
        spec, worker = self._worker(request.worker)
        assignment = Assignment.model_validate(request.assignment)
        use = self._use
        if use.around is not None:
            use.around(len(command.node), lambda usage: self._progress(command, running, Spent(usage=usage)))
        delivery = Delivery(
            key=f"{use.run}/{command.node}/{command.kind}/{command.n}",
            workspace=path,
            partial=request.partial,
            answers=request.answers,
            fence=use.fence,
            model=use.luna_model,
        )
        limits = use.strategy.limits
        ended = await supervise(
            worker,
            assignment,
            delivery,
            monitors=Monitors.from_settings(use.strategy.monitor_settings, assignment),
            limits=AttemptLimits(timeout_s=limits.timeout_s, inactivity_s=limits.inactivity_s),
            clock=use.clock,
            around=Surroundings(
                gates=use.gates,
                provider=worker.gate(use.luna_model) if isinstance(worker, Gated) else "",
                slot=lambda: self._slot(running),
                on_event=lambda event: self._progress(command, running, event),
                on_error=spec.on_error,
            ),
        )
        return self._ended(ended, running)

    def _ended(self, ended: Finished | Lost, running: _Running) -> tuple[EventType, dict[str, Any]]:
        data: dict[str, Any] = {"usage": self._rest(ended.usage, running), "seconds": round(ended.seconds, 6)}
        if isinstance(ended, Lost):
            return EventType.LOST, data | {"lost": ended.kind, "reason": ended.reason}
        return EventType.REPORTED, data | {"report": _report(ended.report)}

    def _rest(self, usage: Usage, running: _Running) -> dict[str, Any]:
        """What the outcome adds to what progress events have told; the declared maximum where usage is unknown."""
        per_call = self._use.strategy.budget.per_call
        told = running.booked
        if not usage.reported:
            tokens = max(usage.tokens, per_call.tokens or 0)
            cost = max(usage.cost, per_call.cost or 0.0)
            usage = Usage(calls=usage.calls, tokens=tokens, cost=cost, reported=False)
        return _usage(
            Usage(
                calls=max(usage.calls, 1) - min(told.calls, max(usage.calls, 1)),
                tokens=max(usage.tokens - told.tokens, 0),
                cost=max(usage.cost - told.cost, 0.0),
                reported=usage.reported or not (per_call.tokens or per_call.cost),
            )
        )

    def _progress(self, command: Command, running: _Running, event: ProgressEvent) -> None:
        data: dict[str, Any] = {"kind": command.kind, "n": command.n}
        match event:
            case Note():
                return
            case Spent(usage=usage):
                running.booked = running.booked.plus(usage)
                data["usage"] = _usage(usage)
            case Said(text=text):
                event = Said(text=clip(text, limit_bytes=TEXT_BYTES).text)
            case Action(observation=observation):
                event = event.model_copy(update={"observation": clip(observation, limit_bytes=TEXT_BYTES).text})
            case _:
                pass
        self._arrive(Event(EventType.PROGRESSED, command.node, data | {"event": event.model_dump(mode="json")}))

    async def _check(self, request: CheckRequest) -> tuple[EventType, dict[str, Any]]:
        assignment = Assignment.model_validate(request.assignment)
        _, worker = self._worker(request.worker)
        results = await verify(
            assignment.checks,
            assignment=assignment,
            result=request.result,
            workspace=await self._grounds.at(request.place),
            started_t=request.started_t,
            confinement=worker.confinement if isinstance(worker, Confining) else None,
        )
        return EventType.CHECKED, {"results": msgspec.to_builtins(list(results))}

    async def _integrate(
        self, command: Command, request: IntegrateRequest, running: _Running
    ) -> tuple[EventType, dict[str, Any]]:
        attempt = AttemptRequest(assignment_of(request), request.worker or {}, place=request.place)
        type_, data = await self._grounds.attempt(attempt, self._work(command, running))
        if type_ == EventType.LOST:
            return type_, data
        return EventType.ANSWER, {"answer": as_data(read_integration(data.pop("report"), request)), **data}

    def _worker(self, data: Json) -> tuple[WorkerSpec, Worker]:
        """The worker of a specification; made once, since most nodes share their parent's."""
        key = json.dumps(data, sort_keys=True)
        if key not in self._workers:
            spec = WorkerSpec.model_validate(data)
            self._workers[key] = spec, self._use.make_worker(spec)
        return self._workers[key]


def _interrupted(event: Event, cause: str, reason: str) -> Event:
    if event.type != EventType.LOST or event.data["lost"] != "cancelled":
        return event
    data: dict[str, Any] = {name: event.data[name] for name in ("kind", "n", "seconds", "usage") if name in event.data}
    return Event(EventType.INTERRUPTED, event.node, {**data, "cause": cause, "reason": reason})


def _report(report: Success | Stuck | Failed) -> dict[str, Any]:
    """A report as JSON, without the fields that say nothing."""
    data = report.model_dump(mode="json", exclude_defaults=True) | {"status": report.status}
    return data if isinstance(report, Success) else {**data, "kind": str(report.kind)}


def _usage(usage: Usage) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(usage)
    return data
