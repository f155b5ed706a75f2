"""Read a run for looking at it: as much of its journal as can be read, with what is missing. Writes nothing."""

from collections.abc import Callable

from sol.engine.program import AnyReading
from sol.journal import Journal
from sol.tree.events import Event
from sol.tree.node import AnyState
from sol.tree.soundness import Salvage

PAGE = 2_000
"""Transitions that are read at a time, so that others get their turn in between."""


async def read_anyway(
    journal: Journal, reading: AnyReading, run: str, *, on_events: Callable[[list[Event]], object] | None = None
) -> Salvage[AnyState]:
    """The state of a run as far as its journal tells it; `on_events` gets the events as they are read.

    Raises:
        NotFoundError: If there is no such run.
    """
    read: Salvage[AnyState] = Salvage(reading)
    after = 0
    while rows := await journal.read(run, after=after, limit=PAGE):
        after = rows[-1].seq
        for row in rows:
            events = read.take(row)
            if on_events is not None:
                on_events(events)
    return read
