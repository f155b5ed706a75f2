"""Whoever looks on while a run is worked on: displays, tracers, other programs. One way in for all of them.

Must not change a run, and cannot end one: what goes wrong in a listener is logged.
"""

import logging
from collections.abc import Callable

from sol.tree.events import Command, Event

_log = logging.getLogger(__name__)


class Listener:
    """Hears of one run while this process works on it; overrides what it wants to hear of.

    One that raises is logged, and hears nothing more but the end.
    """

    __slots__ = ()

    def on_event(self, event: Event) -> None:
        """An event has been committed. All events of its turn are in the run's state already."""

    def on_effect(self, command: Command) -> None:
        """An effect begins. Called inside its task before anything is done: context variables set here reach it."""

    def on_end(self, error: BaseException | None) -> None:
        """This process works on the run no more; `error` is what broke off its work, None where nothing did."""


class Listeners:
    """The listeners of one run.

    Args:
        run: Id of the run, for the log.
    """

    def __init__(self, run: str) -> None:
        self._run = run
        self._all: list[Listener] = []
        self._failed: set[int] = set()

    def __len__(self) -> int:
        return len(self._all)

    def add(self, listener: Listener) -> None:
        """Let it hear from now on."""
        self._all = [*self._all, listener]

    def remove(self, listener: Listener) -> None:
        """Let it hear nothing more, not even the end."""
        self._all = [one for one in self._all if one is not listener]

    def on_event(self, event: Event) -> None:
        """Tell of an event that has been committed."""
        self._tell(lambda one: one.on_event(event))

    def on_effect(self, command: Command) -> None:
        """Tell of an effect that begins, inside its task."""
        self._tell(lambda one: one.on_effect(command))

    def on_end(self, error: BaseException | None) -> None:
        """Tell of the end of this process's work, those too that have failed before."""
        self._failed.clear()
        self._tell(lambda one: one.on_end(error))

    def _tell(self, tell: Callable[[Listener], None]) -> None:
        for one in self._all:
            if id(one) in self._failed:
                continue
            try:
                tell(one)
            except Exception:  # noqa: BLE001 - whoever looks on must not end the run
                self._failed.add(id(one))
                _log.exception("A listener of run %s failed and is told nothing more.", self._run)
