"""Effects that only workflows have: writing report files, and solving a step by a run of its own.

Everything else goes to the dispatcher of the task tree. Each effect brings exactly one outcome.
"""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec

from luna.errors import LunaError
from luna.inputs import inside
from luna.protocol import Partial, Spent
from sol.dispatch.protocol import Dispatcher, Effect
from sol.errors import SolError
from sol.run import Run
from sol.tree.events import Command, Event, EventType

CHILD: str = "run"
"""Name under which a solving step tells which run solves it."""

Data: TypeAlias = tuple[EventType, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class FileRequest:
    """Keep a step's answer as report files.

    Attributes:
        directory: Relative to the workspace.
        texts: Text of each file by name, for files that the worker has not written itself.
        known: SHA-256 of each file as it was left before.
    """

    directory: str
    texts: Mapping[str, str]
    known: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SolveRequest:
    """Solve a step by decomposition. `resumed`: go on with the run that an earlier attempt has begun."""

    assignment: Mapping[str, Any]
    worker: Mapping[str, Any]
    strategy: str | None
    resumed: bool


class Solver(Protocol):
    """Starts or resumes child runs within the limits that the run around leaves."""

    async def begin(self, request: SolveRequest, *, key: tuple[str, str, int]) -> Run:
        """Start the child run, or take it up again: the same key never makes two."""
        ...


class MachineDispatcher(Dispatcher):
    """Runs effects of workflows: its own two kinds here, all others by the dispatcher within."""

    def __init__(self, inner: Dispatcher, *, workspace: Path, solver: Solver) -> None:
        self._inner = inner
        self._workspace = workspace
        self._solver = solver
        self._tasks: dict[tuple[str, str, int], asyncio.Task[None]] = {}
        self._arrived: list[Event] = []

    def submit(self, effect: Effect) -> None:
        """Start an effect of the task tree's kinds."""
        self._inner.submit(effect)

    def write(self, command: Command, request: FileRequest) -> None:
        """Start to write report files."""
        self._start(command, lambda: self._write(request))

    def solve(self, command: Command, request: SolveRequest) -> None:
        """Start to solve a step by a run of its own."""
        self._start(command, lambda: self._solve(command, request))

    def cancel(self, key: tuple[str, str, int]) -> None:
        """Stop an effect; its outcome still comes."""
        task = self._tasks.get(key)
        if task is None:
            self._inner.cancel(key)
        else:
            task.cancel()

    def wake(self) -> None:
        """Let a waiting `next` return at once."""
        self._inner.wake()

    async def next(self, *, timeout_s: float | None) -> list[Event]:
        """What has arrived, oldest first."""
        events = await self._inner.next(timeout_s=0 if self._arrived else timeout_s)
        return [*self._fetch(), *events]

    async def stop(self, *, cause: str, reason: str) -> list[Event]:
        """Stop everything that runs; what was stopped comes back as `interrupted`."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        mine = [_interrupted(event, cause, reason) for event in self._fetch()]
        return [*mine, *await self._inner.stop(cause=cause, reason=reason)]

    def release(self, places: Iterable[str]) -> None:
        """Remove places of Lunas; see the protocol."""
        self._inner.release(places)

    async def close(self, *, result: str | None, ended: bool) -> None:
        """Let go of the run's places; see the protocol."""
        await self._inner.close(result=result, ended=ended)

    def _fetch(self) -> list[Event]:
        arrived, self._arrived = self._arrived, []
        return arrived

    def _start(self, command: Command, work: Callable[[], Coroutine[Any, Any, Data]]) -> None:
        self._tasks[command.key] = asyncio.create_task(self._run(command, work))

    async def _run(self, command: Command, work: Callable[[], Coroutine[Any, Any, Data]]) -> None:
        try:
            type_, data = await work()
        except asyncio.CancelledError:
            type_, data = EventType.LOST, {"lost": "cancelled", "reason": "Stopped by Sol."}
        except (SolError, LunaError, OSError) as error:
            type_, data = EventType.LOST, {"lost": command.kind, "reason": str(error)}
        self._tasks.pop(command.key, None)
        self._arrive(Event(type_, command.node, {"kind": command.kind, "n": command.n, **data}))

    def _arrive(self, event: Event) -> None:
        self._arrived.append(event)
        self._inner.wake()

    def book(self, key: tuple[str, str, int], spent: Spent) -> None:
        """Book usage of a child run on the step that it solves."""
        usage = msgspec.to_builtins(spent.usage)
        self._progress(key, {"usage": usage, "event": spent.model_dump(mode="json")})

    def _progress(self, key: tuple[str, str, int], data: dict[str, Any]) -> None:
        node, kind, n = key
        self._arrive(Event(EventType.PROGRESSED, node, {"kind": kind, "n": n, **data}))

    async def _write(self, request: FileRequest) -> Data:
        files = await asyncio.to_thread(write_reports, self._workspace, request)
        return EventType.ANSWER, {"answer": {"files": files}}

    async def _solve(self, command: Command, request: SolveRequest) -> Data:
        run = await self._solver.begin(request, key=command.key)
        event = Partial(key=CHILD, value=run.id).model_dump(mode="json")
        self._progress(command.key, {"event": event})
        await run.wait()
        return EventType.REPORTED, {"report": _report(run)}


def _interrupted(event: Event, cause: str, reason: str) -> Event:
    if event.type != EventType.LOST or event.data["lost"] != "cancelled":
        return event
    data = {"kind": event.data["kind"], "n": event.data["n"], "cause": cause, "reason": reason}
    return Event(EventType.INTERRUPTED, event.node, data)


def _report(run: Run) -> dict[str, Any]:
    """What a child run means for its step: only an accepted result is a success."""
    if run.solved:
        node = run.state.root
        summary = (node.integration or node.report or {}).get("summary", "")
        return {"status": "SUCCESS", "summary": summary, "result": run.result}
    questions = "; ".join(run.questions.values())
    reason = run.reason or questions or f"the run is {run.status}"
    return {"status": "FAILED", "kind": "not_solved", "reason": f"Run {run.id} ended {run.status}: {reason}"}


def write_reports(workspace: Path, request: FileRequest) -> dict[str, str]:
    """Write report files and return the SHA-256 of each as it is then.

    A file that differs from how it was left was written by the worker and stays as it is. Doing this twice changes
    nothing.

    Raises:
        luna.inputs.InputError: If the directory leads out of the workspace.
        OSError: If a file cannot be written.
    """
    left: dict[str, str] = {}
    for name, text in request.texts.items():
        target = inside(workspace, f"{request.directory}/{name}")
        now = sha256(target.read_bytes()).hexdigest() if target.is_file() else None
        if now is None or now == request.known.get(name):
            data = text.encode("utf-8", "replace")
            _replace(target, data)
            now = sha256(data).hexdigest()
        left[name] = now
    return left


def _replace(target: Path, data: bytes) -> None:
    """Write a file as a whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    draft.write_bytes(data)
    draft.replace(target)
