"""Whether the Lunas of a run are kept apart, and where: set when it starts, the same at every resume. Not public."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from luna.workspaces import Isolation, WorkspaceError, Workspaces
from sol.errors import UsageError
from sol.runner import Setup

IN_PLACE: Isolation = "in_place"


async def isolated(setup: Setup, kind: Isolation, *, run: str, home: Path) -> tuple[Setup, dict[str, Any]]:
    """Keep the Lunas of a new run apart, if that is asked for.

    Args:
        setup: What this process brings to the run.
        kind: How.
        run: Its id.
        home: Directory that may hold their places.

    Returns:
        The setup with it, and what a resume must know.

    Raises:
        UsageError: If the workspace cannot be isolated so. Nothing was started.
    """
    if kind not in get_args(Isolation):
        raise UsageError(f"Isolation is {kind!r}; it must be one of {', '.join(get_args(Isolation))}.")
    try:
        spaces = None if kind == IN_PLACE else _open(kind, setup, run, home)
        base = None if spaces is None else await spaces.begin()
    except WorkspaceError as error:
        raise UsageError(str(error)) from error
    if spaces is None:
        return setup, {}
    return replace(setup, spaces=spaces), {"isolation": kind, "base": base, "places": str(home)}


def isolated_again(setup: Setup, started: Mapping[str, Any], *, run: str) -> Setup:
    """The setup with the places of a run that was started before.

    Args:
        setup: What this process brings to the run.
        started: Data of the run's first event.
        run: Its id.
    """
    kind = started.get("isolation", IN_PLACE)
    if kind == IN_PLACE:
        return setup
    return replace(setup, spaces=_open(kind, setup, run, Path(started["places"])))


def _open(kind: Isolation, setup: Setup, run: str, home: Path) -> Workspaces | None:
    from luna.workspaces.opening import open_workspaces  # noqa: PLC0415 - most runs need none of it

    return open_workspaces(kind, setup.workspace, run=run, home=home, registry=setup.processes)
