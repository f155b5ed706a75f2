"""Write the page of a run to a file. Reads the journal; changes nothing in it."""

import os
from collections.abc import Sequence
from pathlib import Path

from luna.clock import Clock, SystemClock
from sol.errors import UsageError
from sol.inspect.page.data import About, page_data
from sol.inspect.page.render import render
from sol.inspect.reading import read_anyway
from sol.journal import Liveness, StoredRun, owner_is_alive
from sol.run import Run
from sol.tree.events import Event

KILLED = "killed"
"""Status of a run that says that work goes on while nobody does any."""

_BUSY = frozenset({"pending", "running"})


async def write_page(run: Run, file: Path | str, *, clock: Clock | None = None) -> Path:
    """Write a run's page as one self-contained HTML file, replacing what was there only once it is complete.

    Args:
        run: The run, live or read from the journal.
        file: Where to.
        clock: Time; None: the system's.

    Returns:
        The file.

    Raises:
        UsageError: If the file cannot be written.
    """
    path = Path(file)
    now = (clock or SystemClock()).now()
    async with run.reader() as journal:
        stored = await journal.info(run.id)
        events: list[Event] = []
        read = await read_anyway(journal, run.kind.reading, run.id, told=events.extend)
    about = about_run(stored, now=now, unread=read.faults)
    text = render(page_data(read.state, events, about))
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)  # noqa: PTH105 - the same in one word
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(f"Cannot write the page to {str(path)!r}: {error.strerror}. Name another file.") from error
    return path


def about_run(
    stored: StoredRun, *, now: float, unread: Sequence[str] = (), is_alive: Liveness = owner_is_alive
) -> About:
    """What the journal knows of a run beside its events; `unread`: what of those could not be read."""
    holding = stored.holding
    held = holding is not None and is_alive(holding.owner, holding.beat_t, now)
    return About(
        run_id=stored.id,
        status=KILLED if stored.status in _BUSY and not held else stored.status,
        now=now,
        created_t=stored.created_t,
        elapsed_s=(stored.summary or {}).get("elapsed_s"),
        held_by=str(holding) if held else None,
        unread=tuple(unread),
    )
