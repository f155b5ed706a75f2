"""One run of a task, as its callers see it: status, result, tree, events; wait for it, interrupt it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from sol.blocking import run_blocking
from sol.engine.kinds import RunKind
from sol.engine.requests import is_resumable
from sol.engine.session import Session, shielded
from sol.journal import Journal, Record
from sol.tree.events import Event
from sol.tree.node import AnyState, Spending, State, TaskNode
from sol.tree.values import Json, ReportData
from sol.tree.view import TreeView, presenter

PAGE = 1000
SOLVED = "success"


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

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.status or 'pending'}, {self.state.size}>"

    def _repr_html_(self) -> str:
        return str(presenter("notebook").run_html(self.state, self.id, result=self.result))

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

    async def wait(self, *, progress: bool = False) -> "Run":
        """Wait until nothing is left to do. If the waiting task is cancelled, the run is interrupted in good order.

        Args:
            progress: Show the tree meanwhile: in the notebook's cell, or in the terminal on standard error.
        """
        if self.task is not None:
            async with presenter("progress").shown(self.session, self.id) if progress else nullcontext():
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
