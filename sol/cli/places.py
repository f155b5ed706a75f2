"""Where runs are kept and who works on them, for messages. Reads only; never names a password."""

from pathlib import Path

from sqlalchemy import make_url

from sol.journal import StoredRun, default_url, owner_is_alive
from sol.solver import Sol

_SQLITE = "sqlite"


def where(sol: Sol) -> str:
    """Where a Sol keeps its runs: a path as short as it can be, or the address of the store."""
    if sol.store is not None and not isinstance(sol.store, str):
        return "memory"
    url = default_url(sol.home) if sol.store is None else make_url(sol.store)
    if not url.drivername.startswith(_SQLITE) or not url.database:
        return url.render_as_string(hide_password=True)
    path = Path(url.database).absolute()
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def holder(stored: StoredRun, now: float) -> str | None:
    """Which live process holds a run, in words; None when none does."""
    holding = stored.holding
    if holding is None or not owner_is_alive(holding.owner, holding.beat_t, now):
        return None
    return str(holding)


async def holder_of(sol: Sol, run_id: str) -> str | None:
    """Like `holder`, looked up.

    Raises:
        NotFoundError: If there is no such run.
    """
    async with sol.open_journal() as journal:
        return holder(await journal.info(run_id), sol.clock.now())
