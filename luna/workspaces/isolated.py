"""Workspaces of a run that keeps attempts apart: a checkout for each, merged in order, brought back at the end."""

import asyncio
import logging
import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from luna.process.execute import ProcessRegistry
from luna.workspaces import Conflict, ConflictFile, Merge, Retained, Side, WorkspaceError
from luna.workspaces.checkouts import RESULT, Checkout, Checkouts, Disputed, Ready, checked_name, remove
from luna.workspaces.files import in_thread, read_file, told
from luna.workspaces.git import Git, LeftOut, checked_snapshot, fields, is_byproduct, shown

TEXT_BYTES: Final = 65_536
"""Largest text of a conflict that is told."""
_SEARCHED_BYTES: Final = 1 << 24
_MERGE: Final = ("merge", "--quiet", "--no-commit", "--no-ff", "--allow-unrelated-histories", "--strategy=ort")
_SIGNS: Final = (b"<", b"|", b"=", b">")
_MARKERS: Final = tuple(
    re.compile(rb"^%b{7}(?=[ \r\n]|\Z)%b" % (re.escape(sign), longer), re.MULTILINE)
    # An attribute makes markers longer, and so does a move; only with git's own words are such lines no text.
    for sign, longer in zip(_SIGNS, (rb"|^<{8,} HEAD(?=[:\r\n]|\Z)", b"", b"", b""), strict=True)
)
_STAGES: Final = {b"1": "base", b"2": "ours", b"3": "theirs"}


async def merge_side(
    checkouts: Checkouts, checkout: Checkout, side: Side, *, head: str, message: str
) -> tuple[str, tuple[Disputed, ...]]:
    """Merge a side into a checkout on its branch, without other changes in it.

    Args:
        checkouts: What the checkout belongs to.
        checkout: Where.
        side: What.
        head: The commit that the checkout is at.
        message: Of the commit, if one is needed.

    Returns:
        The commit that the checkout is at now; and where the side does not fit: then the checkout has both
        sides with markers.

    Raises:
        WorkspaceError: If git cannot merge it for another reason than a conflict.
    """
    git, theirs = checkout.git, checked_snapshot(side.snapshot)
    if await git.contains(head, theirs):
        return head, ()
    if await git.contains(theirs, head):
        await git.run("merge", "--quiet", "--ff-only", theirs)
        return theirs, ()
    if disputed := await start_merge(checkout, theirs):
        return head, disputed
    tree = await git.line("write-tree")
    date = max((await git.commit(head)).stamp_t, (await git.commit(theirs)).stamp_t)
    text = f"{message}\n\nPart: {side.label}"
    commit = await checkouts.commit(tree, [head, theirs], message=text, date=date)
    await git.run("update-ref", "HEAD", commit)
    checkout.forget_half_done()
    return commit, ()


async def start_merge(checkout: Checkout, theirs: str) -> tuple[Disputed, ...]:
    """Merge a commit into the files of a checkout without concluding it; tell where they conflict."""
    answer = await checkout.git.ask(*_MERGE, theirs)
    if answer.code == 0:
        return ()
    if disputed := await _disputed(checkout.git):
        return disputed
    raise WorkspaceError(
        f"git cannot merge {theirs!r} in {str(checkout.root)!r}: {answer.error or answer.out.decode()}"
    )


async def _disputed(git: Git) -> tuple[Disputed, ...]:
    blobs: dict[str, dict[str, str]] = {}
    for entry in fields(await git.run("ls-files", "-z", "--unmerged")):
        about, _, path = entry.partition(b"\t")
        _, blob, number = about.split(b" ")
        blobs.setdefault(path.decode("utf-8", "surrogateescape"), {})[_STAGES[number]] = blob.decode()
    return tuple(Disputed(path=path, **found) for path, found in sorted(blobs.items()))


async def conflict_files(
    git: Git, disputed: Sequence[Disputed], *, named: Callable[[bytes], str]
) -> tuple[ConflictFile, ...]:
    """Tell the texts of files in conflict.

    Args:
        git: For the repository.
        disputed: The files.
        named: Gives the name that a path has in the workspace.
    """
    contents = await _contents(git, disputed, limit_bytes=TEXT_BYTES)
    texts = {blob: _text(content) for blob, content in contents.items()}
    return tuple(
        ConflictFile(named(one.raw_path), texts.get(one.base), texts.get(one.ours), texts.get(one.theirs))
        for one in disputed
    )


async def unsettled(checkout: Checkout, disputed: Sequence[Disputed], *, theirs: str) -> tuple[bytes, ...]:
    """The files in conflict in which markers are left: lines that are in none of their sides.

    Args:
        checkout: Where the merge has stopped.
        disputed: The files.
        theirs: The commit that did not fit; git ends each conflict with its id.
    """
    end = re.compile(rb"^>+ %b(?=[:\r\n]|\Z)" % theirs.encode(), re.MULTILINE)
    contents = await _contents(checkout.git, disputed, limit_bytes=_SEARCHED_BYTES)
    # Where both sides have moved a file, git's markers are in what it gives as a side.
    marks = {blob: _marks(b"" if end.search(content) else content) for blob, content in contents.items()}
    none = _marks(b"")
    found = []
    for one in disputed:
        content = read_file(checkout.root, one.raw_path, limit_bytes=_SEARCHED_BYTES) or b""
        now = _marks(content)
        sides = zip(*(marks.get(blob, none) for blob in (one.base, one.ours, one.theirs)), strict=True)
        # Both sides may have brought in a heading underlined with seven "=", which looks like a marker.
        limits = [sum(side) if sign == b"=" else max(side) for sign, side in zip(_SIGNS, sides, strict=True)]
        if end.search(content) or any(count > limit for count, limit in zip(now, limits, strict=True)):
            found.append(one.raw_path)
    return tuple(found)


def _marks(content: bytes) -> list[int]:
    return [len(marker.findall(content)) for marker in _MARKERS]


def _text(content: bytes) -> str | None:
    """The text of a file; None where it is none."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


async def _contents(git: Git, disputed: Sequence[Disputed], *, limit_bytes: int) -> dict[str, bytes]:
    """The contents of all sides, by blob, except those over the limit."""
    blobs = dict.fromkeys(blob for one in disputed for blob in (one.base, one.ours, one.theirs) if blob)
    request = "".join(f"{blob}\n" for blob in blobs).encode()
    sizes = [line.split(b" ") for line in (await git.run("cat-file", "--batch-check", stdin=request)).splitlines()]
    small = [blob for blob, kind, *size in sizes if kind == b"blob" and int(size[0]) <= limit_bytes]
    out = await git.run("cat-file", "--batch", stdin=b"".join(blob + b"\n" for blob in small))
    contents: dict[str, bytes] = {}
    start = 0
    for blob in small:
        head_end = out.index(b"\n", start)
        end = head_end + 1 + int(out[start:head_end].split(b" ")[2])
        contents[blob.decode()] = out[head_end + 1 : end]
        start = end + 1
    return contents


_GRACE_S: Final = 5.0
"""How long a git command that outlived a killed engine may take to end by itself once it is told to."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """A repository found or made.

    Attributes:
        checkouts: The run's checkouts in it.
        main: Git for the workspace's own files, not those of a checkout.
        prefix: Where the workspace is in it; "." when it is its root.
    """

    checkouts: Checkouts
    main: Git
    prefix: str = "."


class GitWorkspaces(ABC):
    """Checkouts of one run in a git repository.

    Args:
        workspace: Where the task's files are.
        run: Id of the run.
        home: The `.sol` directory; checkouts are below it.
        registry: Where running git commands are recorded; None: below `home`.
    """

    def __init__(self, workspace: Path, *, run: str, home: Path, registry: ProcessRegistry | None = None) -> None:
        self._workspace = workspace.resolve()
        self.run = checked_name(run)
        self._home = home.resolve()
        self._directory = self._home / "worktrees" / run
        processes = registry or ProcessRegistry(self._home / "processes")
        self._registry = replace(processes, directory=processes.directory / f"git-{run}", run=run)
        self._base_ref = f"refs/sol/{run}/base"
        self._patterns: tuple[str, ...] = (f"refs/heads/sol/{run}",)
        self._git = Git(directory=self._workspace, registry=self._registry)
        self._opened: Opened | None = None
        self._opening = asyncio.Lock()

    @abstractmethod
    async def _find(self) -> Opened:
        """Find the repository; changes nothing."""

    @abstractmethod
    def _locks(self, repository: Path) -> Iterable[Path]:
        """Locks in a repository that can only be of git commands of this run."""

    @abstractmethod
    def _where(self, ref: str) -> str:
        """Tell people where a branch is."""

    async def _open(self) -> Opened:
        """The repository, ready for use: nothing that a killed engine has left runs in it or locks it."""
        async with self._opening:
            if self._opened is None:
                if left := await self._registry.end_leftovers(grace_s=_GRACE_S):
                    raise WorkspaceError(
                        f"Git of an earlier engine still runs as process {left[0].pid} and cannot be ended; "
                        "end it and try again."
                    )
                opened = await self._find()
                await in_thread(self._prepare, opened)
                self._opened = opened
            return self._opened

    def _prepare(self, opened: Opened) -> None:
        parent = self._directory.parent
        parent.mkdir(parents=True, exist_ok=True)
        (parent / ".gitignore").write_text("*\n")  # checkouts are no files of the repository that `home` may be in
        for lock in self._locks(opened.checkouts.repository):
            lock.unlink(missing_ok=True)

    def _checkouts(self, repository: Git, *, root: Path, ignored: bool) -> Checkouts:
        """The run's checkouts in a repository whose files are below `root`."""
        home = self._home.relative_to(root) if self._home.is_relative_to(root) else None
        left_out = is_byproduct if home is None else _with_home_left_out(bytes(home))
        return Checkouts(repository, run=self.run, directory=self._directory, ignored=ignored, left_out=left_out)

    @told
    async def checkout(self, name: str, *, base: str, also: Sequence[Side] = ()) -> Path:
        """See `Workspaces`."""
        opened = await self._open()
        checkouts = opened.checkouts
        checkout = checkouts.find(checked_name(name))
        if checkout is None or checkout.ready is None or not checkout.is_there:
            checkout = await checkouts.make(name, base)
            head = base
            for side in also:
                head, disputed = await merge_side(checkouts, checkout, side, head=head, message=f"Start of {name}")
                if disputed:
                    await checkout.git.run("reset", "--hard", "--quiet")
            if also:
                await checkouts.age(checkout, base)
            await self._hand_over(checkouts, checkout, base, head)
        inside = checkout.root / opened.prefix
        await in_thread(inside.mkdir, parents=True, exist_ok=True)  # git has no empty directories
        return inside

    @told
    async def keep(self, name: str, *, message: str) -> str:
        """See `Workspaces`."""
        checkouts = (await self._open()).checkouts
        checkout, ready = checkouts.existing(checked_name(name))
        taken = await checkouts.take(checkout, ready, message=message)
        same = taken == ready.start or await checkout.git.contains(ready.start, taken)
        return ready.start if same else taken

    @told
    async def merge(self, name: str, *, base: str, sides: Sequence[Side], message: str) -> Merge:
        """See `Workspaces`."""
        opened = await self._open()
        checkouts = opened.checkouts
        checkout = await checkouts.make(checked_name(name), base)
        merged: list[str] = []
        head = base
        for side in sides:
            head, disputed = await merge_side(checkouts, checkout, side, head=head, message=message)
            if disputed:
                await self._hand_over(checkouts, checkout, base, head, theirs=side.snapshot, disputed=disputed)
                files = await conflict_files(checkout.git, disputed, named=partial(named_in, opened.prefix))
                return Merge(head, tuple(merged), Conflict(side, files))
            merged.append(side.label)
        await self._hand_over(checkouts, checkout, base, head)
        return Merge(head, tuple(merged))

    @told
    async def resolve(self, name: str, *, message: str) -> str | tuple[str, ...]:
        """See `Workspaces`."""
        opened = await self._open()
        checkout, ready = opened.checkouts.existing(checked_name(name))
        if not ready.theirs:
            raise WorkspaceError(f"The merge in {name!r} had no conflict; take it with `keep`.")
        head = await checkout.git.line("rev-parse", "HEAD")
        if not checkout.is_merging and not await checkout.git.contains(head, ready.theirs):
            # Whoever should have settled it has given the merge up; its own result would be without the other side.
            if head == ready.start and not await checkout.git.run("status", "--porcelain"):
                await start_merge(checkout, ready.theirs)
            return tuple(named_in(opened.prefix, one.raw_path) for one in ready.disputed)
        if left := await unsettled(checkout, ready.disputed, theirs=ready.theirs):
            return tuple(named_in(opened.prefix, path) for path in left)
        return await opened.checkouts.take(checkout, ready, message=message, also=ready.theirs)

    @told
    async def drop(self, name: str) -> None:
        """See `Workspaces`. Unfinished work is taken onto the branch of the checkout before."""
        await (await self._open()).checkouts.put_away(checked_name(name))

    @told
    async def finish(self, *, result: str | None) -> tuple[Retained, ...]:
        """See `Workspaces`."""
        opened = await self._open()
        checkouts = opened.checkouts
        for name in checkouts.names():
            if name != RESULT:
                try:
                    await checkouts.put_away(name)
                except (OSError, WorkspaceError) as error:
                    _log.warning("Place %r of run %s stays: %s", name, self.run, error)
        refs = await checkouts.git.refs(*self._patterns, self._base_ref)
        base = refs.pop(self._base_ref, None)
        needless = await self._needless(opened, refs, result=result, base=base)
        if needless.keys() == refs.keys() and not checkouts.names():
            await self._forget(opened, refs if base is None else refs | {self._base_ref: base})
            kept: tuple[Retained, ...] = ()
        else:
            await checkouts.git.delete_refs(needless)
            kept = await self._kept(opened)
        self._forget_commands()
        return kept

    async def _needless(
        self, opened: Opened, refs: dict[str, str], *, result: str | None, base: str | None
    ) -> dict[str, str]:
        """Those branches that hold nothing but what the result, the start or the workspace's own branch has."""
        git = opened.checkouts.git
        in_result = f"refs/heads/{opened.checkouts.branch(RESULT)}"
        needless: dict[str, str] = {}
        for whole in filter(None, (result, base)):
            needless |= await self._merged(git, refs, needless, whole)
        if needless.keys() == refs.keys() and in_result not in needless:
            return needless
        head = await opened.main.commit_named("HEAD")
        if head is not None:
            needless |= await self._merged(git, refs, needless, head)
        if in_result in needless and (head is None or not await git.contains(head, needless[in_result])):
            del needless[in_result]
        return needless

    async def _merged(self, git: Git, refs: dict[str, str], but: dict[str, str], whole: str) -> dict[str, str]:
        """Those branches, but for some, that are in the history of a commit."""
        rest = {ref: commit for ref, commit in refs.items() if ref not in but}
        known = {ref: git.history.contains(whole, commit) for ref, commit in rest.items()}
        if None in known.values():
            return await git.refs(*self._patterns, merged=whole)
        return {ref: commit for ref, commit in rest.items() if known[ref]}

    @told
    async def kept(self) -> tuple[Retained, ...]:
        """List the checkouts and branches that are there now; changes nothing, so the run may be going on.

        A run that has not come to either, or was killed before it could, has at least its start.
        """
        opened = await self._find()
        kept = await self._kept(opened)
        if kept:
            return kept
        base = await opened.checkouts.git.commit_named(self._base_ref)
        return (Retained(self.run, "start", str(self._directory) if base is None else self._base_ref, base or ""),)

    @told
    async def remove_all(self) -> None:
        """Remove all checkouts and branches with whatever is in them."""
        opened = await self._open()
        for name in opened.checkouts.names():
            await opened.checkouts.remove(name)
        await self._forget(opened, await opened.checkouts.git.refs(*self._patterns, self._base_ref))
        self._forget_commands()

    async def _kept(self, opened: Opened) -> tuple[Retained, ...]:
        checkouts = opened.checkouts
        refs = await checkouts.git.refs(*self._patterns)
        tips = {ref.removeprefix(f"refs/heads/{checkouts.branch('')}"): (ref, commit) for ref, commit in refs.items()}
        kept = [Retained(self.run, name, str(checkouts.directory / name), "") for name in checkouts.names()]
        return (*kept, *(Retained(self.run, name, self._where(ref), commit) for name, (ref, commit) in tips.items()))

    async def _forget(self, opened: Opened, refs: dict[str, str]) -> None:
        """Remove what is left once nothing is kept."""
        if not opened.checkouts.repository.is_relative_to(self._directory):  # or it goes as well
            await opened.checkouts.git.delete_refs(refs)
        await self._remove_directory()
        self._opened = None

    def _forget_commands(self) -> None:
        """Remove the records of git commands: none is running, and those of killed ones have been ended before."""
        remove(self._registry.directory)

    async def _remove_directory(self) -> None:
        gone = self._directory.with_name(f".{self.run}.gone")  # nobody takes a half removed one for a whole one
        await in_thread(remove, gone)
        with suppress(FileNotFoundError):
            self._directory.rename(gone)
        await in_thread(remove, gone)

    async def _hand_over(
        self,
        checkouts: Checkouts,
        checkout: Checkout,
        base: str,
        start: str,
        *,
        theirs: str = "",
        disputed: tuple[Disputed, ...] = (),
    ) -> None:
        """Record that a checkout is made, and at which commit it is."""
        if disputed:
            tree = await checkout.git.line("rev-parse", "AUTO_MERGE")
        else:
            tree = (await checkout.git.commit(start)).tree
        await checkouts.tidy(checkout.name, start)
        checkout.hand_over(Ready(base=base, start=start, tree=tree, theirs=theirs, disputed=disputed))


def _with_home_left_out(home: bytes) -> LeftOut:
    return lambda path: path == home or path.startswith(home + b"/") or is_byproduct(path)


def named_in(prefix: str, path: bytes) -> str:
    """The name that a path in the repository has in the workspace."""
    return shown(posixpath.relpath(path, prefix.encode()))
