"""Show a run while it is at work: in the cell of a notebook, in a terminal, or as a line now and then. Changes nothing.

Frames are drawn between the run's own steps, in no thread; the run does not end because a display has gone away.
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from rich.console import Console, ConsoleOptions
from rich.live import Live
from rich.text import Text

from luna.clock import Clock
from sol.tree.events import Event, Settled, Started
from sol.tree.listeners import Listener, Listeners
from sol.tree.node import AnyState
from sol.view import labels
from sol.view.notebook import run_html
from sol.view.terminal import headline, page_of, tree_lines

ROOM = 40
"""Most rows in a notebook while the run is at work."""

_log = logging.getLogger(__name__)
_EVERY_S = 0.3
_FASTEST_S = 0.2
_SHARE = 20
"""A frame may take one part in so many of the time between two frames."""


class AtWork(Protocol):
    """A run that this process works on, as far as showing it needs to know.

    Attributes:
        listeners: Hear of each event once it is committed.
    """

    listeners: Listeners

    @property
    def state(self) -> AnyState:
        """What has happened so far; changes."""

    @property
    def clock(self) -> Clock:
        """Time."""

    @property
    def elapsed_s(self) -> float:
        """Seconds of work on the run."""


def shown(session: AtWork | None, run_id: str) -> AbstractAsyncContextManager[None]:
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
class _Cell(Listener):
    """The output of a cell, drawn anew again and again in one place."""

    session: AtWork
    run_id: str
    handle: Any = None
    activity: dict[str, str] = field(default_factory=dict)

    def on_event(self, event: Event) -> None:
        _note(self.activity, event)

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
async def _in_cell(session: AtWork, run_id: str) -> AsyncIterator[None]:
    cell = _Cell(session, run_id)
    session.listeners.add(cell)
    drawing = asyncio.create_task(cell.keep_drawing())
    try:
        yield
    finally:
        session.listeners.remove(cell)
        drawing.cancel()
        with suppress(asyncio.CancelledError):
            await drawing
        cell.draw_safely()


@asynccontextmanager
async def _in_terminal(session: AtWork, run_id: str, console: Console) -> AsyncIterator[None]:
    live = LiveTree(session.state, run_id, console, session.clock, elapsed=lambda: session.elapsed_s)
    session.listeners.add(live)
    try:
        async with live.shown():
            yield
    finally:
        session.listeners.remove(live)


@dataclass(slots=True)
class _Lines(Listener):
    """A line on standard error for each of the upper nodes that has ended."""

    state: AnyState

    def on_event(self, event: Event) -> None:
        node = self.state.nodes.get(event.node)
        if isinstance(event.data, Settled) and node is not None and node.depth <= 1:
            with suppress(OSError):
                line = labels.settled_line(node, self.state.above(node), state=event.data.state)
                print(line, file=sys.stderr, flush=True)


@asynccontextmanager
async def _in_lines(session: AtWork) -> AsyncIterator[None]:
    lines = _Lines(session.state)
    session.listeners.add(lines)
    try:
        yield
    finally:
        session.listeners.remove(lines)


@dataclass(slots=True)
class LiveTree(Listener):
    """A run's tree, redrawn while the run is at work. Uses no thread: frames are drawn between the run's own steps.

    Attributes:
        tree: State of the run, which changes.
        run_id: Id of the run.
        console: Where to draw; a terminal that can move its cursor.
        clock: Time.
        elapsed: Tells the seconds of work on the run.
        activity: What each running node does now, by path.
        note: A line below the tree, such as that the run is being stopped; "" for none.
    """

    tree: AnyState
    run_id: str
    console: Console
    clock: Clock
    elapsed: Callable[[], float]
    note: str = ""
    activity: dict[str, str] = field(default_factory=dict)

    def on_event(self, event: Event) -> None:
        """Take note of an event of the run."""
        _note(self.activity, event)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        page = page_of(console, self.clock.now())
        yield headline(self.tree, page, run_id=self.run_id, elapsed_s=self.elapsed())
        room = max((options.height or console.size.height) - 3 - bool(self.note), 1)
        yield from tree_lines(self.tree, page, room=room, activity=self.activity)
        if self.note:
            yield Text(self.note, "bold yellow", no_wrap=True, overflow="ellipsis")

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Draw for as long as the context lasts; the last frame stays. No fault of the display is raised."""
        live = Live(self, console=self.console, auto_refresh=False, redirect_stdout=False, vertical_overflow="crop")
        drawing = asyncio.create_task(self._draw(live))
        try:
            yield
        finally:
            drawing.cancel()
            with suppress(asyncio.CancelledError):
                await drawing
            with _harmless():
                live.refresh()
            with _harmless():
                live.stop()

    async def _draw(self, live: Live) -> None:
        with _harmless():
            live.start()
            while True:
                began = self.clock.monotonic()
                live.refresh()
                await self.clock.sleep(max(_FASTEST_S, _SHARE * (self.clock.monotonic() - began)))


@contextmanager
def _harmless() -> Iterator[None]:
    """Let no display end a run: a terminal that has gone away is nothing to tell, a fault of ours is logged."""
    try:
        yield
    except OSError:
        pass
    except Exception:  # noqa: BLE001 - logged
        _log.exception("The run cannot be shown any more.")


def _note(activity: dict[str, str], event: Event) -> None:
    """Take note of what a node does now."""
    said = labels.activity_of(event)
    if said:
        activity[event.node] = said
    elif isinstance(event.data, Started | Settled):
        activity.pop(event.node, None)
