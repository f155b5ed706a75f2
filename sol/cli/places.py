"""Where runs are kept and who works on them, for messages. Reads only; never names a password."""

from pathlib import Path

from sqlalchemy import make_url

from sol.errors import NotFoundError
from sol.journal import StoredRun, default_url, owner_is_alive
from sol.journal.engine import store_url
from sol.solver import Sol

_SQLITE = "sqlite"


def where(sol: Sol) -> str:
    """Where a Sol keeps its runs: a path as short as it can be, or the address of the store."""
    file = _file(sol)
    if file is None:
        return make_url(str(sol.store)).render_as_string(hide_password=True) if isinstance(sol.store, str) else "memory"
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def has_store(sol: Sol) -> bool:
    """Whether there is anything to look into. Looking must not make a store where none is."""
    file = _file(sol)
    return file is None or file.is_file()


def require_store(sol: Sol, run_id: str) -> None:
    """Do nothing if there is a store to look into.

    Raises:
        NotFoundError: Otherwise.
    """
    if not has_store(sol):
        raise NotFoundError(f"There is no run {run_id!r}: {where(sol)} does not exist. Give --workspace or --store.")


def _file(sol: Sol) -> Path | None:
    """The file that the runs are in; None when they are in no SQLite file.

    Raises:
        UsageError: If the store's URL cannot be used.
    """
    if sol.store is not None and not isinstance(sol.store, str):
        return None
    url = default_url(sol.home) if sol.store is None else store_url(sol.store)
    plain = url.drivername.startswith(_SQLITE) and url.database and not url.database.startswith("file:")
    return Path(str(url.database)).absolute() if plain else None


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
