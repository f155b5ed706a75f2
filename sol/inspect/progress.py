"""Show a run while it is at work: in the cell of a notebook, in a terminal, or as a line now and then. Changes nothing.

Frames are drawn between the run's own steps, in no thread; the run does not end because a display has gone away.
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from sol.engine.session import Session
from sol.inspect import labels
from sol.inspect.notebook import run_html
from sol.inspect.terminal import LiveTree, settled_line
from sol.tree.events import Event, Settled, Started

ROOM = 40
"""Most rows in a notebook while the run is at work."""

_log = logging.getLogger(__name__)
_EVERY_S = 0.3
_SHARE = 20
"""A frame may take one part in so many of the time between two frames."""


def shown(session: Session | None, run_id: str) -> AbstractAsyncContextManager[None]:
    """Show a run for as long as the context lasts; nothing where no work is done on it in this process."""
    if session is None:
        return nullcontext()
    if in_notebook():
        return _in_cell(session, run_id)
    console = _Console(stderr=True, markup=False, highlight=False, emoji=False)
    if console.is_terminal and not console.is_dumb_terminal:
        return _in_terminal(session, run_id, console)
    return _in_lines(session)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class _Console(Console):
    """A console that tells of a terminal that has gone away; others end the program then."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError("The terminal has gone away.")


@dataclass(slots=True)
class _Cell:
    """The output of a cell, drawn anew again and again in one place."""

    session: Session
    run_id: str
    handle: Any = None
    activity: dict[str, str] = field(default_factory=dict)

    def told(self, event: Event) -> None:
        said = labels.activity_of(event)
        if said:
            self.activity[event.node] = said
        elif isinstance(event.data, Started | Settled):
            self.activity.pop(event.node, None)

    def draw(self) -> None:
        tree = self.session.state
        frame = {
            "text/html": run_html(tree, self.run_id, room=ROOM, activity=self.activity),
            "text/plain": f"run {self.run_id}: {tree.status or 'pending'}, {labels.number(len(tree.nodes), 'node')}",
        }
        if self.handle is None:
            display = sys.modules["IPython"].display.display
            self.handle = display(frame, raw=True, display_id=True)
        else:
            self.handle.update(frame, raw=True)

    async def keep_drawing(self) -> None:
        clock = self.session.clock
        while True:
            began = clock.monotonic()
            self.draw_safely()
            await clock.sleep(max(_EVERY_S, _SHARE * (clock.monotonic() - began)))

    def draw_safely(self) -> None:
        """Draw; what goes wrong with that is logged, and does not end the run."""
        try:
            self.draw()
        except Exception:  # noqa: BLE001 - logged
            _log.exception("Run %s could not be shown.", self.run_id)


@asynccontextmanager
async def _in_cell(session: Session, run_id: str) -> AsyncIterator[None]:
    cell = _Cell(session, run_id)
    session.listeners.append(cell.told)
    drawing = asyncio.create_task(cell.keep_drawing())
    try:
        yield
    finally:
        _forget(session, cell.told)
        drawing.cancel()
        with suppress(asyncio.CancelledError):
            await drawing
        cell.draw_safely()


@asynccontextmanager
async def _in_terminal(session: Session, run_id: str, console: Console) -> AsyncIterator[None]:
    live = LiveTree(session.state, run_id, console, session.clock, elapsed=lambda: session.elapsed_s)
    session.listeners.append(live.told)
    try:
        async with live.shown():
            yield
    finally:
        _forget(session, live.told)


@asynccontextmanager
async def _in_lines(session: Session) -> AsyncIterator[None]:
    def told(event: Event) -> None:
        node = session.state.nodes.get(event.node)
        if isinstance(event.data, Settled) and node is not None and node.depth <= 1:
            with suppress(OSError):
                line = settled_line(node, session.state.above(node), state=event.data.state)
                print(line, file=sys.stderr, flush=True)

    session.listeners.append(told)
    try:
        yield
    finally:
        _forget(session, told)


def _forget(session: Session, listener: Callable[[Event], None]) -> None:
    """Tell it nothing more; one that failed is told nothing already."""
    with suppress(ValueError):
        session.listeners.remove(listener)
