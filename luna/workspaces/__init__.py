"""Where Lunas work when they must not get into each other's way: a place for each attempt, merged on integration."""

from luna.workspaces.copies import CopySpaces
from luna.workspaces.opening import list_kept, open_workspaces, remove_kept
from luna.workspaces.protocol import (
    Conflict,
    ConflictFile,
    Isolation,
    Kept,
    Landed,
    Merge,
    Side,
    WorkspaceError,
    Workspaces,
)
from luna.workspaces.worktree import WorktreeSpaces

__all__ = [
    "Conflict",
    "ConflictFile",
    "CopySpaces",
    "Isolation",
    "Kept",
    "Landed",
    "Merge",
    "Side",
    "WorkspaceError",
    "Workspaces",
    "WorktreeSpaces",
    "list_kept",
    "open_workspaces",
    "remove_kept",
]
