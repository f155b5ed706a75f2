"""The checkouts of a run: one git worktree for each name, on a branch of its own, kept and removed without losing work.

Must never read a checkout's `.git`, which is the worker's, nor remove anything that is in no commit of a branch.
"""

import asyncio
import json
import os
import re
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from luna.clock import SystemClock
from luna.workspaces import WorkspaceError
from luna.workspaces.files import in_thread
from luna.workspaces.git import Git, LeftOut, checked_snapshot, files_below, stage
from luna.workspaces.history import Commit

RESULT: Final = "result"
"""Name of the checkout and branch that hold a result which could not be applied."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")
_READY: Final = "sol.json"
_OLDER_S: Final = 60
_ADDS = 20
_HALF_MADE = "commondir"
"""In git's message about a worktree of which it read a file that was not written yet."""
_MANY_FILES: Final = 1_000
_MANY_BYTES: Final = 1 << 24
_COMMIT: Final = re.compile(rb"[0-9a-f]{40}([0-9a-f]{24})?\n?")
_HALF_DONE: Final = (
    "MERGE_HEAD MERGE_MSG MERGE_MODE AUTO_MERGE CHERRY_PICK_HEAD REVERT_HEAD rebase-merge rebase-apply sequencer"
).split()


class Disputed(BaseModel):
    """A path in conflict: its blobs before both sides, in ours and in theirs; "" where it is in none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    base: str = ""
    ours: str = ""
    theirs: str = ""

    @property
    def raw_path(self) -> bytes:
        """The path as the system has it."""
        return self.path.encode("utf-8", "surrogateescape")


class Ready(BaseModel):
    """What a checkout was when it was handed over. Without this record it is half made, and nobody has worked in it.

    Attributes:
        base: The snapshot it was made from.
        start: The commit it was at.
        tree: Its files; those with conflict markers where a merge had stopped.
        theirs: The part that did not fit; "" when there was none.
        disputed: Where it did not fit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: str
    start: str
    tree: str
    theirs: str = ""
    disputed: tuple[Disputed, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkout:
    """A worktree.

    Attributes:
        name: Of the checkout.
        root: Its directory.
        admin: What git keeps about it, in the repository.
        git: For commands in it.
    """

    name: str
    root: Path
    admin: Path
    git: Git

    @property
    def ready(self) -> Ready | None:
        """What was handed over; None: it is half made."""
        try:
            return Ready.model_validate(json.loads((self.admin / _READY).read_bytes()))
        except (OSError, ValueError):
            return None

    @property
    def is_there(self) -> bool:
        """Whether its directory exists."""
        return self.root.is_dir() and not self.root.is_symlink()

    @property
    def is_merging(self) -> bool:
        """Whether a merge in it is not concluded."""
        return (self.admin / "MERGE_HEAD").exists()

    def hand_over(self, ready: Ready) -> None:
        """Record that it is made."""
        record = self.admin / f"{_READY}.new"
        record.write_text(json.dumps(ready.model_dump()), encoding="utf-8")  # its escapes have names that are no text
        record.replace(self.admin / _READY)

    def unlock(self) -> None:
        """Remove locks of git commands that were killed. To be called when nobody works in the place."""
        for lock in self.admin.glob("*.lock"):
            lock.unlink(missing_ok=True)

    def forget_half_done(self) -> None:
        """Let git forget a merge, rebase or the like that somebody has begun in it."""
        for name in _HALF_DONE:
            remove(self.admin / name)


def _date(root: Path, t: int) -> bool:
    """Date all files below a directory; tell whether they are many."""
    count = total_bytes = 0
    for path, size_bytes in files_below(os.fsencode(root), b"", lambda _: False):
        with suppress(OSError):  # not every file system dates links
            os.utime(root / os.fsdecode(path), (t, t), follow_symlinks=False)
        count += 1
        total_bytes += size_bytes
    return count > _MANY_FILES or total_bytes > _MANY_BYTES


def is_name(name: str) -> bool:
    """Tell whether something can be the name of a checkout or run, so of a directory and of a branch."""
    return (
        _NAME.fullmatch(name) is not None and ".." not in name and not name.endswith((".", ".lock")) and name != RESULT
    )


def checked_name(name: str) -> str:
    """Return a name that is one.

    Raises:
        WorkspaceError: If it cannot.
    """
    if not is_name(name):
        raise WorkspaceError(
            f"{name!r} cannot name a place or run; use letters, digits, single dots, dashes and underscores, "
            f"and not {RESULT!r}."
        )
    return name


def remove(path: Path) -> None:
    """Remove a file or a directory with all that is in it, also where directories in it are write-protected."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        path.chmod(0o700)
        for directory, names, _ in os.walk(path):
            for inside in (Path(directory) / name for name in names):
                if not inside.is_symlink():
                    inside.chmod(0o700)
        shutil.rmtree(path)


class Checkouts:
    """The checkouts of one run in a repository.

    Args:
        git: For the repository that all checkouts share, whatever directory it is about.
        run: Id of the run.
        directory: Where the checkouts are, without symbolic links.
        ignored: Whether snapshots have files that the repository ignores.
        left_out: What snapshots do not have.
    """

    def __init__(self, git: Git, *, run: str, directory: Path, ignored: bool, left_out: LeftOut) -> None:
        if git.repository is None:
            raise ValueError("git is for no certain repository; give it one")
        self.git = git
        self.directory = directory
        self.repository = git.repository
        self.left_out = left_out
        self._run = run
        self._ignored = ignored
        self._lock = asyncio.Lock()
        self._alone: set[str] = set()  # checkouts that were made without branches beside theirs

    def branch(self, name: str) -> str:
        """The branch of a checkout, without `refs/heads/`."""
        return f"sol/{self._run}/{name}"

    def names(self) -> list[str]:
        """What there is in the directory, and what git has of checkouts whose directory is gone; in order."""
        found = {path.name for path in self.directory.iterdir()} if self.directory.is_dir() else set()
        found |= {root.name for root in self._recorded() if root.parent == self.directory}
        return sorted(name for name in found if not name.startswith("."))

    def find(self, name: str) -> Checkout | None:
        """The checkout of that name, half made or whole; None if git has none."""
        root = self.directory / name
        if (admin := self._recorded().get(root)) is None:
            return None
        return Checkout(name, root, admin, self.git.within(root, repository=admin))

    def _recorded(self) -> dict[Path, Path]:
        """Directories of all worktrees of the repository, and what git has of each."""
        found: dict[Path, Path] = {}
        for record in self.repository.glob("worktrees/*/gitdir"):
            with suppress(OSError):  # another run is removing it
                text = record.read_text(encoding="utf-8", errors="surrogateescape").removesuffix("\n")
                found[Path(os.path.normpath(record.parent / text)).parent] = record.parent
        return found

    def existing(self, name: str) -> tuple[Checkout, Ready]:
        """The checkout of that name and what was handed over.

        Raises:
            WorkspaceError: If there is none.
        """
        checkout = self.find(name)
        ready = checkout.ready if checkout is not None else None
        if checkout is None or ready is None or not checkout.is_there:
            raise WorkspaceError(f"There is no place {name!r} in {str(self.directory)!r}; make it first.")
        checkout.unlock()
        return checkout, ready

    async def make(self, name: str, base: str) -> Checkout:
        """Make a checkout at a snapshot, on its branch. It is half made until it is handed over.

        One that is there is put away before. A directory in its way that git knows nothing of is moved aside.
        """
        checked_snapshot(base)
        await self.put_away(name)
        root = self.directory / name
        branch = f"refs/heads/{self.branch(name)}"
        there = await self.git.refs(branch, f"{branch}+*")
        self._alone.discard(name)
        if not there.keys() - {branch}:
            self._alone.add(name)
        async with self._lock:
            if root.is_symlink() or (root.exists() and any(root.iterdir())):
                root.rename(self._free_directory(name))
            root.parent.mkdir(parents=True, exist_ok=True)
            # One that is checked out elsewhere, or has other work, is brought here only once the checkout is there.
            how = ["--detach"] if branch in there else ["--no-track", "-b", self.branch(name)]
            # One at a time: git reads the files of all worktrees, also of one that is half made.
            await self._add("--quiet", *how, str(root), base)
        checkout = self.find(name)
        if checkout is None:
            raise WorkspaceError(f"git made a worktree in {str(root)!r} that is not there; has somebody removed it?")
        await self.age(checkout, base)
        if branch in there:
            await self._settle(checkout, base)
        return checkout

    async def _add(self, *words: str) -> None:
        """Let git make a worktree; again where it met one of another run that is just being made, half of it there."""
        for tries_left in reversed(range(_ADDS)):
            try:
                await self.git.run("worktree", "add", *words)
            except WorkspaceError as error:
                if not tries_left or _HALF_MADE not in str(error):
                    raise
            else:
                return

    async def age(self, checkout: Checkout, base: str) -> None:
        """Date all files of a checkout a while before a commit: what was only checked out must not pass for new."""
        dated_t = (await self.git.commit(base)).stamp_t - _OLDER_S
        if await in_thread(_date, checkout.root, dated_t):
            # Git reads files again whose dates it does not know; many of them now, and not each time.
            await checkout.git.ask("update-index", "-q", "--refresh")

    async def take(self, checkout: Checkout, ready: Ready, *, message: str, also: str | None = None) -> str:
        """Bring all that is in a checkout onto its branch and return the commit.

        Whatever the checkout is at counts, also where someone has committed, changed branches or begun anew in it.

        Args:
            checkout: Nobody works in it.
            ready: What it was.
            message: Of the commit, if one is needed.
            also: What the commit is to have in its history besides.
        """
        git = checkout.git
        merged = await git.commit_named("MERGE_HEAD") if await self._is_merged(checkout) else None
        tree = await stage(git, ignored=self._ignored, left_out=self.left_out)
        tip = await self._tip(checkout.name)
        head = await self._head(checkout) or tip or ready.start
        parents = [head]
        if not git.history.contains(head, ready.start) and (await git.ask("merge-base", head, ready.start)).code != 0:
            parents.append(ready.start)  # somebody has begun a history of its own; it could not be merged
        parents += [other for other in (also, merged) if other and not await git.contains(head, other)]
        for known in dict.fromkeys(filter(None, (head, tip))):  # the tip too: this may have been cut off before
            if await self._is_snapshot(known, tree, parents):
                commit = known
                break
        else:
            commit = await self.commit(tree, parents, message=message)
        await self._settle(checkout, commit)
        checkout.forget_half_done()
        return commit

    async def commit(self, tree: str, parents: Sequence[str], *, message: str, date: int | None = None) -> str:
        """Make a commit and return it; no branch moves."""
        parents = tuple(dict.fromkeys(parents))
        words = [word for parent in parents for word in ("-p", parent)]
        t, zone = (int(SystemClock().now()), time.strftime("%z")) if date is None else (date, "+0000")
        out = await self.git.run("commit-tree", tree, *words, stdin=f"{message}\n".encode(), date=f"@{t} {zone}")
        commit = out.decode().strip()
        self.git.history.note(commit, Commit(tree, t, parents))
        return commit

    async def move(self, name: str, commit: str) -> None:
        """Set the branch of a checkout. What it had and the commit has not stays on branches `NAME+1`, `NAME+2`."""
        old = await self._tip(name)
        if old is not None and not await self.git.contains(commit, old):
            kept = await self._set_aside(name)
            if not [True for other in kept.values() if await self.git.contains(other, old)]:
                numbers = [int(number) for ref in kept if (number := ref.rpartition("+")[2]).isdecimal()]
                aside = f"refs/heads/{self.branch(name)}+{max(numbers, default=0) + 1}"
                self._alone.discard(name)
                await self.git.run("update-ref", aside, old)
        if old != commit:
            await self.git.run("update-ref", f"refs/heads/{self.branch(name)}", commit)

    async def tidy(self, name: str, commit: str) -> None:
        """Remove the branches beside the one of a checkout that hold nothing but what a commit has."""
        if name in self._alone:
            return
        kept = await self._set_aside(name)
        await self.git.delete_refs({ref: old for ref, old in kept.items() if await self.git.contains(commit, old)})

    async def put_away(self, name: str) -> None:
        """Remove the directory of a checkout; unfinished work in it is taken onto its branch before."""
        checkout = self.find(name)
        if checkout is None:
            return
        if (ready := checkout.ready) is not None:
            if checkout.is_there:
                checkout.unlock()
                if not await self._is_untouched(checkout, ready):
                    await self.take(checkout, ready, message=f"Unfinished work in {name}")
            elif head := await self.git.commit_named(f"worktrees/{checkout.admin.name}/HEAD"):
                await self.move(name, head)
        async with self._lock:
            await in_thread(self._discard, checkout)

    async def remove(self, name: str) -> None:
        """Remove a directory of the run with whatever is in it."""
        checkout = self.find(name)
        async with self._lock:
            if checkout is not None:
                await in_thread(self._discard, checkout)
            await in_thread(remove, self.directory / name)

    async def _settle(self, checkout: Checkout, commit: str) -> None:
        """Put a checkout that has the files of a commit onto its branch, at the commit."""
        await self.move(checkout.name, commit)
        if not self._is_on_branch(checkout):
            await checkout.git.run("symbolic-ref", "HEAD", f"refs/heads/{self.branch(checkout.name)}")

    def _is_on_branch(self, checkout: Checkout) -> bool:
        """Tell whether a checkout has its own branch checked out."""
        return (checkout.admin / "HEAD").read_bytes() == f"ref: refs/heads/{self.branch(checkout.name)}\n".encode()

    async def _head(self, checkout: Checkout) -> str | None:
        """The commit that a checkout is at; None if there is none."""
        return await (self._tip(checkout.name) if self._is_on_branch(checkout) else checkout.git.commit_named("HEAD"))

    async def _is_snapshot(self, commit: str, tree: str, parents: Sequence[str]) -> bool:
        """Tell whether a commit has these files, and these others in its history."""
        if (await self.git.commit(commit)).tree != tree:
            return False
        return all([await self.git.contains(commit, parent) for parent in parents])

    async def _is_merged(self, checkout: Checkout) -> bool:
        """Tell whether somebody has begun a merge in a checkout and settled all its conflicts, but not concluded it."""
        return checkout.is_merging and not await checkout.git.run("ls-files", "--unmerged")

    async def _is_untouched(self, checkout: Checkout, ready: Ready) -> bool:
        if await self._head(checkout) != ready.start:
            return False
        return await stage(checkout.git, ignored=self._ignored, left_out=self.left_out) == ready.tree

    async def _tip(self, name: str) -> str | None:
        ref = f"refs/heads/{self.branch(name)}"
        with suppress(OSError):  # git may have it elsewhere; but what is here is what counts
            if _COMMIT.fullmatch(content := (self.repository / ref).read_bytes()):
                return content.decode().strip()
        return await self.git.commit_named(ref)

    async def _set_aside(self, name: str) -> dict[str, str]:
        return await self.git.refs(f"refs/heads/{self.branch(name)}+*")

    def _discard(self, checkout: Checkout) -> None:
        # In this order each step can be cut off: without its record it counts as half made, and is found by git's.
        (checkout.admin / _READY).unlink(missing_ok=True)
        (checkout.admin / "locked").unlink(missing_ok=True)
        remove(checkout.root)
        remove(checkout.admin)

    def _free_directory(self, name: str) -> Path:
        number = 1
        while (path := self.directory / f"{name}+{number}").exists():
            number += 1
        return path
