"""Which kind of workspaces a run has: opened for a new run, listed and removed for those of the past.

Must never remove anything unless asked, nor anything of another run.
"""

from pathlib import Path
from typing import assert_never

from luna.process.execute import ProcessRegistry
from luna.workspaces import Isolation, Retained, Workspaces
from luna.workspaces.checkouts import checked_name, is_name, remove
from luna.workspaces.copy import CopyWorkspaces
from luna.workspaces.files import in_thread, told
from luna.workspaces.git import Git
from luna.workspaces.isolated import GitWorkspaces
from luna.workspaces.worktree import WorktreeWorkspaces


def open_workspaces(
    isolation: Isolation, workspace: Path, *, run: str, home: Path, registry: ProcessRegistry | None = None
) -> Workspaces:
    """The workspaces of a run. Nothing is made before `begin`.

    Args:
        isolation: worktree: `WorktreeWorkspaces`. copy: `CopyWorkspaces`.
        workspace: Where the task's files are.
        run: Id of the run.
        home: The `.sol` directory; checkouts are below it.
        registry: Where running git commands are recorded; None: below `home`.

    Raises:
        WorkspaceError: If the run's id cannot name a branch.
    """
    match isolation:
        case "worktree":
            return WorktreeWorkspaces(workspace, run=run, home=home, registry=registry)
        case "copy":
            return CopyWorkspaces(workspace, run=run, home=home, registry=registry)
        case _:
            assert_never(isolation)


@told
async def list_retained(workspace: Path, home: Path) -> list[Retained]:
    """List the checkouts and branches of all runs, also of those that go on. Changes nothing.

    Args:
        workspace: Where the tasks' files are, or were.
        home: The `.sol` directory.
    """
    kept: list[Retained] = []
    runs = await _all_runs(workspace, home)
    for workspaces in runs:
        kept += await workspaces.kept()
    known = {workspaces.run for workspaces in runs}
    for checkout in sorted((home / "worktrees").glob("[!.]*/[!.]*/")):
        if checkout.parent.name not in known:  # of a repository that is gone
            kept.append(Retained(checkout.parent.name, checkout.name, str(checkout), ""))
    return kept


@told
async def remove_retained(workspace: Path, home: Path, run: str) -> tuple[Retained, ...]:
    """Remove the checkouts and branches of a run with all work in them, and return what was removed.

    Args:
        workspace: Where the tasks' files are, or were.
        home: The `.sol` directory.
        run: Id of a run that has ended; the caller knows that it has.

    Raises:
        WorkspaceError: If git refuses.
    """
    checked_name(run)
    removed = tuple(one for one in await list_retained(workspace, home) if one.run == run)
    for workspaces in await _all_runs(workspace, home):
        if workspaces.run == run:
            await workspaces.remove_all()
    await in_thread(remove, home / "worktrees" / run)
    return removed


async def _all_runs(workspace: Path, home: Path) -> list[GitWorkspaces]:
    """The workspaces of all runs that have left something, in order of their ids."""
    parent = home / "worktrees"
    copies = {path.parent.name for path in parent.glob("*/.repository") if is_name(path.parent.name)}
    worktrees: set[str] = set()
    if await in_thread(workspace.is_dir) and (await Git(directory=workspace).ask("rev-parse", "--git-dir")).code == 0:
        refs = await Git(directory=workspace).refs("refs/sol/*/base")
        worktrees = {ref.split("/")[2] for ref in refs}
        worktrees |= {path.name for path in parent.glob("*/") if is_name(path.name)} - copies
    found: list[GitWorkspaces] = [CopyWorkspaces(workspace, run=run, home=home) for run in copies]
    found += [WorktreeWorkspaces(workspace, run=run, home=home) for run in worktrees]
    return sorted(found, key=lambda workspaces: workspaces.run)
