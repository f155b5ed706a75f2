"""Where Lunas work when they must not get into each other's way: a place for each attempt, merged on integration."""

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

__all__ = [
    "Conflict",
    "ConflictFile",
    "Isolation",
    "Kept",
    "Landed",
    "Merge",
    "Side",
    "WorkspaceError",
    "Workspaces",
]
