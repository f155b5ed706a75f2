"""Where Lunas work when they must not get into each other's way: a checkout for each attempt, merged on integration.

Here are only the types; `luna.workspaces.opening` opens workspaces, and loads what is needed for that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias

from luna.errors import LunaError

Isolation: TypeAlias = Literal["copy", "worktree"]
IsolationMode: TypeAlias = Literal["in_place", Isolation]
IN_PLACE: Final = "in_place"


class WorkspaceError(LunaError):
    """A workspace cannot be isolated as asked, or its repository refuses. Says why and what to do.

    Raised by `Workspaces`. Before a run starts it means that nothing was started.
    """


@dataclass(frozen=True, slots=True)
class Side:
    """One part of a merge. `label` names it to people (a node's path)."""

    label: str
    snapshot: str


@dataclass(frozen=True, slots=True)
class ConflictFile:
    """A file on which two sides disagree.

    Attributes:
        path: Relative to the workspace.
        base: Its text before both; None: it was not there, is no text, or is larger than the limit.
        ours: Its text with the parts merged so far; None likewise.
        theirs: Its text in the part that does not fit; None likewise.
    """

    path: str
    base: str | None
    ours: str | None
    theirs: str | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A part that does not fit what was merged before it. Both sides are in the checkout then, marked where git can.

    Attributes:
        side: The part.
        files: Where they disagree, in order of path.
    """

    side: Side
    files: tuple[ConflictFile, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """How far a merge came.

    Attributes:
        snapshot: All that was merged.
        merged: Labels of the parts in it, in order.
        conflict: What stopped it; None: everything is in.
    """

    snapshot: str
    merged: tuple[str, ...]
    conflict: Conflict | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """Where the result of a run is.

    Attributes:
        applied: Whether it is in the workspace itself now.
        where: The branch (worktree) or directory (copy) that holds it; "" when there is nothing but the workspace.
        note: One sentence for people: what was done, or why not and how to get it.
        changed: Paths that differ from the start, relative to the workspace.
    """

    applied: bool
    where: str
    note: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retained:
    """Something that a run left behind on purpose: work that is in no result.

    Attributes:
        run: Id of the run.
        name: Of the checkout.
        where: Branch name, or directory.
        snapshot: What it holds; "" when it is a checkout with unfinished work.
    """

    run: str
    name: str
    where: str
    snapshot: str


class Workspaces(Protocol):
    """The checkouts of one run. All methods raise `WorkspaceError` where the repository refuses.

    Methods may be called at the same time for different names, and again after a crash with the same arguments.
    """

    async def begin(self) -> str:
        """Check that the workspace can be isolated and return the snapshot that the run starts from.

        Raises:
            WorkspaceError: Uncommitted changes, submodules, no commit, no repository, no git: says which.
        """
        ...

    async def checkout(self, name: str, *, base: str, also: Sequence[Side] = ()) -> Path:
        """The directory to work in, made from `base` if it is not there yet; kept as it is if it is.

        Args:
            name: What is done in it, letters, digits, dots and dashes: `root.1`, `01.2`.
            base: What it starts from.
            also: Accepted parts to have in it as well; those that do not fit are left for integration.
        """
        ...

    async def keep(self, name: str, *, message: str) -> str:
        """Take everything in the place into a snapshot and return it; where nothing has changed, what it began with."""
        ...

    async def merge(self, name: str, *, base: str, sides: Sequence[Side], message: str) -> Merge:
        """Make the checkout anew from `base` and merge sides into it in order, up to the first that does not fit.

        The checkout is left as it is then: merged, or with both sides of the conflict in it.
        """
        ...

    async def resolve(self, name: str, *, message: str) -> str | tuple[str, ...]:
        """Finish the merge of a checkout in which someone has settled the conflict.

        Returns:
            The snapshot, which has both sides as its parents; or the paths in which conflict markers are left.
        """
        ...

    async def drop(self, name: str) -> None:
        """Remove the directory of a checkout. What was taken into snapshots stays. Does nothing if there is none."""
        ...

    async def apply(self, snapshot: str, *, base: str) -> Applied:
        """Bring a snapshot into the workspace itself, if nothing in it has changed since `base`; else say where it is.

        Never changes a file that someone else has changed meanwhile.
        """
        ...

    async def finish(self, *, result: str | None) -> tuple[Retained, ...]:
        """Remove all places of the run and the branches of work that is part of `result`; list what is kept.

        Work that is in no result is never removed. Unfinished work in a checkout is taken into a snapshot before.
        """
        ...
