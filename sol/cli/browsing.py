"""Serve the runs of a store to a browser until Ctrl-C."""

import asyncio

import typer

from sol.cli.places import has_store, require_store, where
from sol.cli.work import somebody
from sol.inspect.ui.app import Service
from sol.inspect.ui.serve import serve
from sol.solver import Sol


def browse(sol: Sol, run_id: str | None, *, port: int, again: str) -> None:
    """Serve until Ctrl-C, which is how it is meant to end."""
    try:
        asyncio.run(_serve(sol, run_id, port=port, again=again))
    except KeyboardInterrupt:
        typer.echo("", err=True)


async def _serve(sol: Sol, run_id: str | None, *, port: int, again: str) -> None:
    path = "/"
    if run_id is not None:
        require_store(sol, run_id)
        async with sol.open_journal() as journal:
            path = f"/run/{await journal.resolve(run_id)}"
    service = Service(sol=sol, by=somebody(), where=where(sol), again=again, exists=lambda: has_store(sol))

    def tell(address: str) -> None:
        typer.echo(f"Open {address}")
        typer.echo("Whoever has this address can see the runs and cancel them. Ctrl-C ends it.", err=True)

    await serve(service, port=port, path=path, tell=tell)
