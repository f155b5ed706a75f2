"""What the command line shows of a run while it is at work. It must not break the run when its terminal goes away."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Any

from rich.text import Text

from sol.cli import output
from sol.cli.output import Shown
from sol.cli.stops import Stops
from sol.inspect.terminal import LiveTree, headline, page_of, settled_line
from sol.run import Run
from sol.solver import Sol
from sol.tree.codec import plain_event
from sol.tree.events import Asked, Event, RunStarted, Settled

_TOP = 1
"""Deepest level of nodes that get a line of their own where nothing can be drawn."""


class View:
    """What is shown of a run while it is at work: a live tree, a line now and then, JSON lines, or nothing.

    Attributes:
        draws: It is the live tree.
        gone: Whoever read the JSON lines has gone away; the run was stopped because of that.
    """

    def __init__(self, run: Run, sol: Sol, shown: Shown, stops: Stops) -> None:
        self._run = run
        self._sol = sol
        self._shown = shown
        self._stops = stops
        self._console = shown.console()
        speaks = not (shown.quiet or shown.as_json)
        self.draws = speaks and self._console.is_terminal and not self._console.is_dumb_terminal
        self.gone = False
        self._live = LiveTree(run.state, run.id, self._console, sol.clock, elapsed=self._elapsed)
        stops.say = self._say
        stops.has_cursor = self.draws

    def _elapsed(self) -> float:
        return self._run.session.elapsed_s if self._run.session is not None else 0.0

    def _say(self, text: str) -> None:
        if self.draws:
            self._live.note = text
        else:
            self._shown.say(text)

    def headline(self) -> Text:
        """The run in one line."""
        page = page_of(self._console, self._sol.clock.now())
        return headline(self._run.state, page, run_id=self._run.id, elapsed_s=self._elapsed())

    def told(self, event: Event) -> None:
        """Show an event. Never raises for what is wrong with the place where it is shown."""
        if isinstance(event.data, RunStarted) and not self._shown.quiet:
            said: Any = plain_event(event).get("warnings") or ()  # workflows have some
            for warning in said:
                self._warn(str(warning))
        if self._shown.as_json:
            self._print(output.event_line(self._run.id, event))
        elif self.draws:
            self._live.told(event)
        elif isinstance(event.data, Settled | Asked):
            node = self._run.state.nodes.get(event.node)
            if node is not None and node.depth <= _TOP:
                state = event.data.state if isinstance(event.data, Settled) else ""
                self._shown.say(settled_line(node, self._run.state.above(node), state=state))

    def _warn(self, text: str) -> None:
        """Say it on standard error even where events go to standard output."""
        with suppress(OSError):
            self._console.print(text, soft_wrap=True)

    def _print(self, line: str) -> None:
        if self.gone:
            return
        try:
            print(line, flush=True)
        except BrokenPipeError:
            self.gone = True
            _drop_stdout()
            self._run.interrupt("The reader of the events has gone away.")

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Show the run for as long as the context lasts."""
        async with self._live.shown() if self.draws else nullcontext():
            yield


def _drop_stdout() -> None:
    """Let nothing more go to a reader that is gone: what is buffered would fail once more when Python exits."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
