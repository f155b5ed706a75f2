"""Where Lunas work when they must not get into each other's way: a place for each attempt, merged on integration.

Here are only the types; `luna.workspaces.opening` opens workspaces, and loads what is needed for that.
"""

from luna.workspaces.protocol import (
    Apart,
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
    "Apart",
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
