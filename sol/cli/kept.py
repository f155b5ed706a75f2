"""List and remove what runs have kept of work that is in no result: places, and branches of git."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import typer

from luna.workspaces import Kept
from luna.workspaces.opening import list_kept as kept_below
from luna.workspaces.opening import remove_kept
from sol.cli import output
from sol.cli.places import has_store, holder_of, require_store, where
from sol.errors import ConflictError, NotFoundError
from sol.journal import Journal
from sol.solver import Sol

_PAGE = 200


def list_kept(sol: Sol, *, as_json: bool) -> None:
    """Print what runs have kept, by run."""
    found = asyncio.run(_all_kept(sol)) if has_store(sol) else []
    if as_json:
        for status, one in found:
            data = {"run": one.run, "status": status, "place": one.name, "where": one.where, "snapshot": one.snapshot}
            typer.echo(output.as_json(data))
    elif not found:
        typer.echo(f"No run in {where(sol)} has kept anything.", err=True)
    else:
        rows = [(one.run, status, one.name, one.snapshot[:12] or "-", one.where) for status, one in found]
        for line in output.table(("RUN", "STATUS", "PLACE", "SNAPSHOT", "WHERE"), rows):
            typer.echo(line)


def clean(sol: Sol, run: str) -> None:
    """Remove what a run has kept, and say what that was.

    Raises:
        NotFoundError: If there is no such run.
        ConflictError: If a live process works on it.
        WorkspaceError: If git refuses.
    """
    require_store(sol, run)
    removed = asyncio.run(_clean(sol, run))
    for one in removed:
        typer.echo(f"removed {one.name}: {one.where}")
    if not removed:
        typer.echo("There was nothing to remove.", err=True)


async def _clean(sol: Sol, run: str) -> tuple[Kept, ...]:
    async with sol.open_journal() as journal:
        try:
            found = await journal.resolve(run)
        except NotFoundError:
            own = sol.home / ".sol"
            if run in {one.run for one in await kept_below(sol.home, own)}:  # killed before it was recorded
                return await remove_kept(sol.home, own, run)
            raise
        started = await _started(journal, found)
    at_work = await holder_of(sol, found)
    if at_work is not None:
        raise ConflictError(f"Run {found} is at work: {at_work}. Stop it first.")
    if not started.places:
        return ()
    return await remove_kept(Path(started.workspace), Path(started.places), found)


async def _all_kept(sol: Sol) -> list[tuple[str, Kept]]:
    """What is kept in all workspaces that runs of this store have isolated, with the status of each run."""
    statuses: dict[str, str] = {}
    ground_of: dict[str, tuple[Path, Path]] = {}
    own = (sol.home, sol.home / ".sol")
    async with sol.open_journal() as journal:
        async for run_id, status in _runs(journal):
            started = await _started(journal, run_id)
            if started.places:
                statuses[run_id] = status
                ground_of[run_id] = (Path(started.workspace), Path(started.places))
    found: dict[Kept, str] = {}  # several workspaces may have their places below the same directory
    for ground in sorted({own, *ground_of.values()}):
        for one in await kept_below(*ground):
            if ground_of.get(one.run, ground) == ground:
                found[one] = statuses.get(one.run, "unknown")
    return [(found[one], one) for one in sorted(found, key=lambda one: (one.run, one.name))]


async def _runs(journal: Journal) -> AsyncIterator[tuple[str, str]]:
    """All runs of the store with their status."""
    before: str | None = None
    while page := await journal.list(limit=_PAGE, before=before):
        for run in page:
            yield run.id, run.status
        before = page[-1].id


class _Started(msgspec.Struct):
    """Where a run of any kind works, and where it keeps its places; "": it has none."""

    workspace: str = ""
    places: str = ""


async def _started(journal: Journal, run_id: str) -> _Started:
    """What the first event of a run says about it."""
    first = await journal.read(run_id, limit=1)
    return msgspec.json.decode(first[0].data, type=_Started) if first else _Started()
