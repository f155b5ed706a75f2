"""One run, as its callers see it: status, result, tree, events; wait, interrupt. And all kinds of runs by name."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from typing_extensions import override

from sol.engine.kinds import RunKind
from sol.engine.requests import is_resumable
from sol.engine.session import Session, shielded
from sol.errors import NotFoundError, UsageError
from sol.journal import Journal, Record, StoredRun
from sol.tree.events import Event
from sol.tree.listeners import Listener
from sol.tree.node import AnyState, Spending, State, TaskNode
from sol.tree.values import Json, ReportData
from sol.view.notebook import run_html
from sol.view.treeview import TreeView

T = TypeVar("T")


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run the coroutine that `make` makes and return its result.

    Inside a running event loop it runs on a loop of its own in another thread; the caller's loop stands still until it
    ends. KeyboardInterrupt cancels the coroutine, waits until it has cleaned up, and is raised.

    Source: case NB-01.
    """
    return _in_thread(make) if _loop_is_running() else asyncio.run(make())


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_thread(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    outcome: list[T] = []
    broken: list[BaseException] = []
    begun, ended = threading.Event(), threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def main() -> T:
        task = asyncio.ensure_future(make())
        running.append((asyncio.get_running_loop(), task))
        begun.set()
        return await task

    def work() -> None:
        try:
            outcome.append(asyncio.run(main()))
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            broken.append(error)
        finally:
            begun.set()
            ended.set()

    threading.Thread(target=work, name="sol", daemon=True).start()
    # Not `join`: when that is interrupted, Python 3.11 takes the thread for ended, and a second one returns at once.
    try:
        ended.wait()
    except KeyboardInterrupt:
        begun.wait()
        for loop, task in running:
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel)
        ended.wait()
        raise
    if broken:
        raise broken[0]
    return outcome[0]


TASK = "tree"
WORKFLOW = "workflow"

_registered: dict[str, RunKind] = {}


def register(kind: RunKind) -> None:
    """Add a kind of run, or put another in its place."""
    _registered[kind.name] = kind


def kind_named(name: str) -> RunKind:
    """The kind of this name.

    Raises:
        NotFoundError: If there is none.
    """
    if name not in _registered:
        if name == TASK:
            from sol.task import TaskRuns  # noqa: PLC0415 - loaded when needed

            register(TaskRuns())
        elif name == WORKFLOW:
            from sol.workflow.prepare import WorkflowRuns  # noqa: PLC0415 - as above

            register(WorkflowRuns())
        else:
            raise NotFoundError(f"There is no kind of run {name!r} here. The program that has it must register it.")
    return _registered[name]


def kind_of(run: StoredRun) -> RunKind:
    """The kind of a stored run. Task trees of the first version say nothing."""
    return kind_named(str(run.meta.get("kind") or TASK))


def kind_for(thing: object) -> RunKind:
    """The kind of run that a thing starts.

    Raises:
        UsageError: If nothing can be started with it.
    """
    for name in (TASK, *(set(_registered) - {TASK, WORKFLOW}), WORKFLOW):
        kind = kind_named(name)
        if kind.takes(thing):
            return kind
    raise UsageError(
        f"Nothing can be started with {thing!r:.60} ({type(thing).__name__}). Give a task: text, a mapping, a file or "
        "a `Task`, or a `Workflow`."
    )


PAGE = 1000
SOLVED = "success"


class _Waking(Listener):
    """Wakes whoever waits for events."""

    def __init__(self, changed: asyncio.Event) -> None:
        self._changed = changed

    @override
    def on_event(self, event: Event) -> None:
        self._changed.set()


@dataclass(slots=True)
class Run:
    """A run, live or read from the journal.

    Attributes:
        id: Its id.
        kind: What there is to its kind of run.
        state: The fold of its events; changes while the run is live.
        reader: Opens the journal for reading.
        session: While this process works on it; None: it only looks at it.
        task: The work, as a task of the event loop; None as above.
    """

    id: str
    kind: RunKind
    state: AnyState
    reader: Callable[[], AbstractAsyncContextManager[Journal]]
    session: Session | None = None
    task: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _past: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listen(_Waking(self.changed))

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.status or 'pending'}, {self.state.size}>"

    def _repr_html_(self) -> str:
        return run_html(self.state, self.id, result=self.result)

    @property
    def status(self) -> str:
        """`running`, `waiting` for an answer, `interrupted`, or the state the root has ended in."""
        return self.state.status

    @property
    def solved(self) -> bool:
        """Whether the task is done and its result accepted."""
        return self.status == SOLVED

    @property
    def resumable(self) -> bool:
        """Whether a resume can take it further as it is."""
        return is_resumable(self.state)

    @property
    def result(self) -> Any:  # noqa: ANN401 - whatever the task asks for
        """The accepted result; None while there is none."""
        return self.state.root.result if self.solved else None

    @property
    def reason(self) -> str:
        """Why the run ended without success, in one sentence; "" otherwise."""
        return "" if self.solved or not self.state.nodes else self.state.root.reason

    @property
    def report(self) -> ReportData:
        """What the run means for a run that it works for: only an accepted result is a success."""
        if self.solved:
            root = self.state.root
            said = (root.integration if isinstance(root, TaskNode) else None) or root.report
            result: Json = self.result
            return ReportData("SUCCESS", summary=said.summary if said is not None else "", result=result)
        reason = self.reason or "; ".join(self.questions.values()) or f"the run is {self.status}"
        return ReportData("FAILED", kind="not_solved", reason=f"Run {self.id} ended {self.status}: {reason}")

    @property
    def tree(self) -> TreeView:
        """The task tree."""
        return TreeView(self.state, self.history, name=self.id)

    @property
    def spent(self) -> Spending:
        """What the run has used so far."""
        return self.state.spent

    @property
    def questions(self) -> dict[str, str]:
        """Questions that wait for a human, by node path."""
        return {node.path: node.question for node in self.state.nodes.values() if node.state == State.WAITING}

    def listen(self, listener: Listener) -> None:
        """Let a listener hear of the run while this process works on it; where none does, it hears nothing."""
        if self.session is not None:
            self.session.listeners.add(listener)

    async def wait(self, *, progress: bool = False) -> "Run":
        """Wait until nothing is left to do. If the waiting task is cancelled, the run is interrupted in good order.

        Args:
            progress: Show the tree meanwhile: in the notebook's cell, or in the terminal on standard error.
        """
        if self.task is not None:
            from sol.view.live import shown  # noqa: PLC0415 - loads rich

            async with shown(self.session, self.id) if progress else nullcontext():
                await self._done(self.task)
        return self

    async def _done(self, task: asyncio.Task[None]) -> None:
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                self.interrupt("The caller was cancelled.")
                await shielded(lambda: task)
            raise

    def interrupt(self, reason: str = "Interrupted.") -> None:
        """Stop all workers and end this process's work on the run, so that it can be resumed."""
        if self.session is not None:
            self.session.interrupt(reason)

    async def events(self) -> AsyncIterator[Event]:
        """All events of the run, from the first one on; of a live run also those to come, until it stops."""
        after = 0
        async with self.reader() as journal:
            while True:
                self.changed.clear()
                live = self.task is not None and not self.task.done()
                records = await journal.read(self.id, after=after, limit=PAGE)
                for record in records:
                    after = record.seq
                    for event in self.kind.reading.codec.unfold(record):
                        yield event
                if not records and not live:
                    return
                if not records:
                    await self.changed.wait()

    def history(self) -> list[Event]:
        """All events committed so far. Reads the journal and blocks, also where an event loop is running."""
        run_blocking(self._catch_up)
        unfold = self.kind.reading.codec.unfold
        return [event for record in list(self._past) for event in unfold(record)]

    async def _catch_up(self) -> None:
        async with self.reader() as journal:
            while records := await journal.read(self.id, after=len(self._past), limit=PAGE):
                for one in records:
                    if one.seq == len(self._past) + 1:  # another thread may be at it too
                        self._past.append(one)
