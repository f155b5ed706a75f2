"""WorkerOptions of a coding agent, and what it is permitted: pure decisions on what it asks for."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from pydantic import Field, StrictBool, StrictStr

from luna.fileslice import NOT_WORK
from luna.inputs import OutsideWorkspaceError, inside
from luna.process.sandbox import ConfinementOptions
from luna.protocol import Text

Permissions: TypeAlias = Literal["reject", "allow_reads", "allow_edits", "allow"]

_READS: Final = frozenset({"read", "search"})
_EDITS: Final = frozenset({"edit", "delete", "move"})


class AgentPaths:
    """The paths of one workspace as an agent names them: absolute, relative to it, from `~`, or as `file://`.

    Args:
        workspace: Root. Not left by symbolic links either.
    """

    def __init__(self, workspace: Path) -> None:
        self._roots = tuple({workspace.absolute(): None, workspace.resolve(): None})

    def relative(self, path: str) -> str:
        """The path relative to the workspace, `.` for the workspace itself; the absolute one where it is outside.

        Looks at no file, so a symbolic link on the way counts as what it is called.
        """
        normal = Path(os.path.normpath(self._roots[0] / _plain(path)))
        for root in self._roots:
            if normal.is_relative_to(root):
                return normal.relative_to(root).as_posix()
        return normal.as_posix()

    def file(self, path: str) -> Path:
        """The file itself, symbolic links followed; it need not exist.

        Raises:
            OutsideWorkspaceError: If it is outside of the workspace.
        """
        return inside(self._roots[0], self.relative(path))

    def is_work(self, path: str) -> bool:
        """Whether a path names what there is to work on: not the workspace as a whole, version control or Sol's files.

        Raises:
            OutsideWorkspaceError: If it is outside of the workspace.
        """
        root = self._roots[-1]
        # Programs differ in what `..` after a symbolic link is; both must be right.
        followed = Path(os.path.realpath(self._roots[0] / _plain(path)))
        if not followed.is_relative_to(root):
            raise OutsideWorkspaceError(f"{path!r} is outside of the workspace")
        return all(_is_work(file.relative_to(root).parts) for file in (self.file(path), followed))


def _is_work(parts: Sequence[str]) -> bool:
    return len(parts) > 0 and NOT_WORK.isdisjoint(part.lower() for part in parts)


def _plain(path: str) -> str:
    """The path that is meant by what most agents would not take for the name of a file here."""
    return os.path.expanduser(unquote(urlsplit(path).path) if path.startswith("file://") else path)  # noqa: PTH111


def refusal(policy: Permissions, kind: str, paths: Sequence[str], places: AgentPaths) -> str:
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
        return f"the workspace as a whole and files below {', '.join(sorted(NOT_WORK))} are not part of the work"
    return ""


def may_read(policy: Permissions) -> bool:
    """Whether files of the workspace may be read."""
    return policy != "reject"


def may_edit(policy: Permissions) -> bool:
    """Whether files of the workspace may be written."""
    return policy in {"allow_edits", "allow"}


_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class AcpOptions(ConfinementOptions):
    """WorkerOptions of the kind `acp`, beside those of its sandbox and its limits.

    Of `grace_s`, half is for ending its turn when it is cancelled, half between SIGTERM and being killed.

    Attributes:
        command: What starts the agent as an ACP server on its standard streams: `opencode acp`. An argument list, or
            one string that is split by shell-like rules. No shell runs it.
        model: Model to choose, by the agent's own id; None: the agent's choice.
        mode: AcpSession mode to choose, by the agent's own id; None: the agent's choice.
        config: Further config options of the agent to set, from id to value. Each is checked against what the agent
            offers; a wrong one is refused before the task begins, with what there is.
        permissions: What the agent gets when it asks, which is all that Luna can grant or refuse: agents ask before
            what their own settings say, many before everything but reading, some before nothing. Nobody is asked.
            reject: nothing. allow_reads: to read and search files of the workspace. allow_edits: to change, move and
            delete them too, but nothing in `.git`, `.hg` and `.sol`. allow: everything (commands, fetching) that names
            no file outside of the workspace. Put a sandbox round the agent where that matters.
        timeout_s: Seconds until it is ended as STUCK; None: no limit.
        inactivity_s: Seconds without a byte of output until then; None: no limit.
        start_s: Seconds that it may take to open a session.
        env: Names of variables it gets from our environment, beside the harmless ones: where it finds its key.
    """

    command: Annotated[tuple[str, ...], Field(min_length=1)] | Text
    model: Text | None = None
    mode: Text | None = None
    config: dict[str, StrictBool | StrictStr] = Field(default_factory=dict)
    permissions: Permissions = "allow_edits"
    timeout_s: float | None = Field(default=1800.0, gt=0, allow_inf_nan=False)
    inactivity_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    start_s: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    env: tuple[_Variable, ...] = ()
