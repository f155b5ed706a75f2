"""Whether the Lunas of a run are kept apart, and where: set when it starts, the same at every resume. Not public."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from luna.workspaces import Apart, Isolation, WorkspaceError, Workspaces
from sol.errors import NotFoundError, UsageError
from sol.journal.ids import run_exists
from sol.runner import Setup

IN_PLACE: Isolation = "in_place"


async def isolated(setup: Setup, kind: Isolation, *, run: str, home: Path) -> tuple[Setup, dict[str, Any]]:
    """Keep the Lunas of a new run apart, if that is asked for.

    Args:
        setup: What this process brings to the run; its journal is open.
        kind: How.
        run: Its id.
        home: Directory that may hold their places.

    Returns:
        The setup with it, and what a resume must know.

    Raises:
        UsageError: If the workspace cannot be isolated so. Nothing was started.
        ConflictError: If there is a run with this id.
    """
    if kind not in get_args(Isolation):
        raise UsageError(f"Isolation is {kind!r}; it must be one of {', '.join(get_args(Isolation))}.")
    if kind == "in_place":
        return setup, {}
    with suppress(NotFoundError):
        await setup.journal.info(run)
        raise run_exists(run)  # its places must not become ours
    try:
        spaces = _open(kind, setup, run, home)
        base = await spaces.begin()
    except WorkspaceError as error:
        raise UsageError(str(error)) from error
    return replace(setup, spaces=spaces), {"isolation": kind, "base": base, "places": str(home)}


def isolated_again(setup: Setup, started: Mapping[str, Any], *, run: str) -> Setup:
    """The setup with the places of a run that was started before.

    Args:
        setup: What this process brings to the run.
        started: Data of the run's first event.
        run: Its id.
    """
    kind: Isolation = started.get("isolation", IN_PLACE)
    if kind == "in_place":
        return setup
    return replace(setup, spaces=_open(kind, setup, run, Path(started["places"])))


def _open(kind: Apart, setup: Setup, run: str, home: Path) -> Workspaces:
    from luna.workspaces.opening import open_workspaces  # noqa: PLC0415 - most runs need none of it

    return open_workspaces(kind, setup.workspace, run=run, home=home, registry=setup.processes)
