"""Ctrl-C and signals while a run is at work: the first stops it in good order, the second ends everything at once."""

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Self

from luna.leftovers import ProcessRegistry
from sol.cli.failures import Code
from sol.run import Run

_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "the end of its terminal"}
_SHOW_CURSOR = b"\x1b[?25h\n"


@dataclass(slots=True)
class Stops:
    """Takes signals over for as long as its context lasts. To be entered in the main thread, inside the event loop.

    These are plain signal handlers and not the loop's own: a worker that holds up the loop must not hold up the second
    Ctrl-C.

    Attributes:
        processes: What to kill at the second signal.
        say: Told that the run is being stopped.
        has_cursor: The live view is on: the cursor must come back.
        end: Ends the process without any further ado.
        asked: Name of the signal that came; "" while none has.
    """

    processes: ProcessRegistry
    say: Callable[[str], None] | None = None
    has_cursor: bool = False
    end: Callable[[int], object] = os._exit
    asked: str = ""
    _run: Run | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _before: dict[signal.Signals, Any] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        for number in _NAMES:
            self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def watch(self, run: Run) -> None:
        """Name the run to stop; a signal that has come already stops it now."""
        self._run = run
        if self.asked:
            self._stop()

    def _received(self, number: int, _frame: FrameType | None) -> None:
        if self.asked:
            self._end_at_once()
        self.asked = _NAMES[signal.Signals(number)]
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._run is not None:
            self._run.interrupt(f"Stopped by {self.asked}.")
            if self.say is not None:
                self.say("Stopping the workers; the run can be resumed. Ctrl-C again ends everything at once.")

    def _end_at_once(self) -> None:
        try:
            self.processes.kill_all_now()
            if self.has_cursor:
                os.write(2, _SHOW_CURSOR)
        finally:
            self.end(Code.INTERRUPTED)
