"""One run of a task, as its callers see it: status, result, tree, events; wait for it, interrupt it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from sol.journal import Journal
from sol.session import Session, shielded
from sol.tree.events import Event, EventType
from sol.tree.node import Spending, State, Tree
from sol.tree.view import TreeView

PAGE = 1000
SOLVED = "success"
RESUMABLE = frozenset({"running", "interrupted", "waiting"})


@dataclass(slots=True)
class Run:
    """A run, live or read from the journal.

    Attributes:
        id: Its id.
        state: The fold of its events; changes while the run is live.
        reader: Opens the journal for reading.
        session: While this process works on it; None: it only looks at it.
        task: The work, as a task of the event loop; None as above.
    """

    id: str
    state: Tree
    reader: Callable[[], AbstractAsyncContextManager[Journal]]
    session: Session | None = None
    task: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

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
        return self.status in RESUMABLE or (bool(self.state.nodes) and self.state.root.resumable)

    @property
    def result(self) -> Any:  # noqa: ANN401 - whatever the task asks for
        """The accepted result; None while there is none."""
        return self.state.root.result if self.solved else None

    @property
    def reason(self) -> str:
        """Why the run ended without success, in one sentence; "" otherwise."""
        return "" if self.solved or not self.state.nodes else self.state.root.reason

    @property
    def tree(self) -> TreeView:
        """The task tree."""
        return TreeView(self.state)

    @property
    def spent(self) -> Spending:
        """What the run has used so far."""
        return self.state.spent

    @property
    def questions(self) -> dict[str, str]:
        """Questions that wait for a human, by node path."""
        return {node.path: node.question for node in self.state.nodes.values() if node.state == State.WAITING}

    async def wait(self) -> "Run":
        """Wait until nothing is left to do. If the waiting task is cancelled, the run is interrupted in good order."""
        if self.task is not None:
            try:
                await asyncio.shield(self.task)
            except asyncio.CancelledError:
                if not self.task.done():
                    self.interrupt("The caller was cancelled.")
                    await shielded(lambda: self.task or asyncio.sleep(0))
                raise
        return self

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
                    yield Event(EventType(record.type), record.node, record.data, record.t)
                if not records and not live:
                    return
                if not records:
                    await self.changed.wait()
