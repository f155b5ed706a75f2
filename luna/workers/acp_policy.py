"""What a coding agent may do when it asks, in a run that nobody watches; and what its paths mean in the workspace.

Judges words and paths only. An agent that does not ask is not stopped here; that is what a sandbox is for.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from luna.inputs import OutsideWorkspaceError, inside

Permissions: TypeAlias = Literal["reject", "allow_reads", "allow_edits", "allow"]

_READS: Final = frozenset({"read", "search"})
_EDITS: Final = frozenset({"edit", "delete", "move"})
_NOT_WORK: Final = frozenset({".git", ".hg", ".sol"})
"""What other programs act upon: a hook written into `.git` would be run by the next commit."""


class Places:
    """The paths of one workspace as an agent names them: absolute, or relative to it.

    Args:
        workspace: Root. Not left by symbolic links either.
    """

    def __init__(self, workspace: Path) -> None:
        self._roots = tuple({workspace.absolute(): None, workspace.resolve(): None})

    def relative(self, path: str) -> str:
        """The path relative to the workspace, `.` for the workspace itself; one outside of it as it is.

        Looks at no file, so a symbolic link on the way counts as what it is called.
        """
        normal = Path(os.path.normpath(self._roots[0] / path))
        for root in self._roots:
            if normal.is_relative_to(root):
                return normal.relative_to(root).as_posix()
        return path

    def file(self, path: str) -> Path:
        """The file itself, symbolic links followed; it need not exist.

        Raises:
            OutsideWorkspaceError: If it is outside of the workspace.
        """
        return inside(self._roots[0], self.relative(path))

    def is_work(self, path: str) -> bool:
        """Whether a file is one to work on, and none of version control or of Sol.

        Raises:
            OutsideWorkspaceError: If it is outside of the workspace.
        """
        parts = self.file(path).relative_to(self._roots[-1]).parts
        return _NOT_WORK.isdisjoint(part.lower() for part in parts)


def refusal(policy: Permissions, kind: str, paths: Sequence[str], places: Places) -> str:
    """Say why an action is refused; "" when it is granted.

    Args:
        policy: What is granted.
        kind: The action's kind, as the protocol has them: read, edit, execute, …
        paths: All that it says it touches.
        places: The workspace.

    Source: S06, PAR-03.
    """
    if policy == "reject":
        return "permissions: reject grants nothing"
    try:
        work = [places.is_work(path) for path in paths]
    except OutsideWorkspaceError as error:
        return str(error)
    if policy == "allow":
        return ""
    if kind not in _READS | _EDITS or (kind in _EDITS and policy == "allow_reads"):
        return f"permissions: {policy} does not grant actions of kind {kind!r}"
    if not work:
        return f"it does not say which file it touches, which permissions: {policy} needs to know"
    if kind in _EDITS and not all(work):
        return f"files below {', '.join(sorted(_NOT_WORK))} are not part of the work"
    return ""


def may_edit(policy: Permissions) -> bool:
    """Whether files of the workspace may be written."""
    return policy in {"allow_edits", "allow"}
