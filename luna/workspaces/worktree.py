"""Checkouts that are git worktrees, and how a change to a repository is undone."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from luna.workspaces import Applied, WorkspaceError
from luna.workspaces.checkouts import RESULT, remove
from luna.workspaces.files import Change, Entry, bring, in_thread, read_file, state, told
from luna.workspaces.git import Git, author, check_version, checked_snapshot, fields, joined, some
from luna.workspaces.isolated import GitWorkspaces, Opened, named_in

_WHOLE_FILE: Final = 1 << 27


@dataclass(frozen=True, slots=True)
class _View:
    """How the work tree differs from a snapshot.

    Attributes:
        snapshot: The snapshot.
        git: With the snapshot as its index.
        files: All paths in it.
        different: Those of them that the work tree does not have so.
    """

    snapshot: str
    git: Git
    files: frozenset[bytes]
    different: frozenset[bytes]

    def is_at(self, path: bytes) -> bool:
        """Tell whether the work tree is as the snapshot at a path."""
        if path in self.files:
            return path not in self.different
        return not isinstance(state(self.git.directory, path), Entry)

    async def is_begun(self, path: bytes) -> bool:
        """Tell whether the work tree has the beginning of the snapshot's file, and no more."""
        begun = read_file(self.git.directory, path, limit_bytes=_WHOLE_FILE) if path in self.files else None
        if begun is None:
            return False
        whole = await self.git.run("cat-file", "--filters", f"{self.snapshot}:{os.fsdecode(path)}")
        return whole.startswith(begun)


async def undo_fast_forward(main: Git, *, base: str, snapshot: str, scratch: Path) -> None:
    """Bring what a killed fast-forward has changed back to where it was.

    Args:
        main: Git in the work tree, with HEAD at `base`.
        base: Where it was.
        snapshot: Where it should go.
        scratch: An existing directory for index files.
    """
    if (await main.ask("diff-index", "--cached", "--quiet", snapshot)).code == 0:
        await main.run("read-tree", base)  # only HEAD was left to move
    before = await _view(main, base, scratch / ".before.index")
    after = await _view(main, snapshot, scratch / ".after.index")
    paths = fields(await main.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, snapshot))
    undone = {
        path
        for path in paths
        if not before.is_at(path) and (after.is_at(path) or await after.is_begun(path) or await before.is_begun(path))
    }
    root = main.directory
    added = {path: entry for path in undone - before.files if isinstance(entry := state(root, path), Entry)}
    removals = {path: Change(path, entry, None) for path, entry in added.items()}
    await in_thread(bring, root, root, removals, mark="")
    await before.git.run("checkout-index", "-z", "--force", "--stdin", stdin=joined(undone & before.files))


async def _view(main: Git, snapshot: str, index: Path) -> _View:
    git = main.with_new_index(index)
    await git.run("read-tree", snapshot)
    await git.ask("update-index", "-q", "--refresh")
    files = frozenset(fields(await git.run("ls-files", "-z")))
    return _View(snapshot, git, files, frozenset(fields(await git.run("diff-files", "-z", "--name-only"))))


_IN_PROGRESS: Final = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
_OR_COPY: Final = "or choose the isolation 'copy'"


class WorktreeWorkspaces(GitWorkspaces):
    """Checkouts as git worktrees below `home`; the workspace is a git repository or a directory in one.

    A checkout starts with what is committed. Neither checkouts nor snapshots have ignored files.
    """

    @told
    async def begin(self) -> str:
        """See `Workspaces`."""
        await check_version(self._git)
        opened = await self._open()
        main = opened.main
        head = await main.commit_named("HEAD")
        if head is None:
            raise WorkspaceError(f"Repository {str(main.directory)!r} has no commit yet; make one, {_OR_COPY}.")
        await self._check_repository(main, opened.prefix)
        if dirty := await self._dirty(opened):
            raise WorkspaceError(
                f"Repository {str(main.directory)!r} has changes that are not committed: {some(dirty)}; "
                f"commit, stash or ignore them, {_OR_COPY}."
            )
        await opened.checkouts.git.run("update-ref", self._base_ref, head)
        return head

    @told
    async def apply(self, snapshot: str, *, base: str) -> Applied:
        """See `Workspaces`. In the workspace it is a fast-forward of whatever is checked out there."""
        opened = await self._open()
        main, checkouts = opened.main, opened.checkouts
        words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames")
        paths = fields(await main.run(*words, checked_snapshot(base), checked_snapshot(snapshot)))
        names = tuple(named_in(opened.prefix, path) for path in paths)
        head = await main.commit_named("HEAD")
        if head is not None and await main.contains(head, snapshot):
            note = "The result is in the workspace." if paths else "The result changes no file."
            return Applied(applied=True, where="", note=note, changed=names)
        why = "another commit is checked out now"
        if head == base:
            why = await self._fast_forward(opened, base, snapshot)
        if not why:
            note = f"The workspace was fast-forwarded from {base[:12]} to {snapshot[:12]}."
            return Applied(applied=True, where="", note=note, changed=names)
        await checkouts.move(RESULT, snapshot)
        branch = checkouts.branch(RESULT)
        note = f"The result is on branch {branch} only, since {why}; get it with: git merge {branch}"
        return Applied(applied=False, where=branch, note=note, changed=names)

    def _locks(self, repository: Path) -> Iterable[Path]:
        return (*repository.glob(f"refs/heads/sol/{self.run}/*.lock"), *repository.glob(f"refs/sol/{self.run}/*.lock"))

    def _where(self, ref: str) -> str:
        return ref.removeprefix("refs/heads/")

    async def _find(self) -> Opened:
        workspace = str(self._workspace)
        answer = await self._git.ask("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
        if answer.code != 0:
            raise WorkspaceError(
                f"Workspace {workspace!r} is in no git repository that can be used ({answer.error}); "
                f"make one with `git init` and a commit, {_OR_COPY}."
            )
        bare, inside = answer.out.split()
        if inside != b"true":
            what = "a bare repository" if bare == b"true" else "inside of a repository's own files"
            raise WorkspaceError(f"Workspace {workspace!r} is {what}; use a clone or a work tree of it.")
        top = Path(await self._git.line("rev-parse", "--show-toplevel"))
        common = Path(await self._git.line("rev-parse", "--path-format=absolute", "--git-common-dir"))
        main = replace(self._git, directory=top, options=await author(self._git))
        checkouts = self._checkouts(replace(main, directory=common, repository=common), root=top, ignored=False)
        return Opened(checkouts, main, self._workspace.relative_to(top).as_posix())

    async def _check_repository(self, main: Git, prefix: str) -> None:
        """Refuse what worktrees cannot keep apart, or would lose."""
        top = str(main.directory)
        own = Path(await main.line("rev-parse", "--absolute-git-dir"))
        for name, what in _IN_PROGRESS.items():
            if (own / name).exists():
                raise WorkspaceError(f"Repository {top!r} is in the middle of a {what}; finish or abort it first.")
        entries = fields(await main.run("ls-files", "-z", "--stage"))
        modules = [entry.partition(b"\t")[2] for entry in entries if entry.startswith(b"160000 ")]
        if modules or (main.directory / ".gitmodules").exists():
            raise WorkspaceError(
                f"Repository {top!r} has submodules ({some(modules or [b'.gitmodules'])}), which worktrees do not "
                "carry over; choose the isolation 'copy'."
            )
        if prefix != "." and (await main.ask("check-ignore", "--quiet", "--", prefix)).code == 0:
            raise WorkspaceError(
                f"Workspace {str(self._workspace)!r} is ignored by the repository {top!r} that it is in, so nothing "
                "made there would be kept; choose the isolation 'copy'."
            )
        taken = {"refs/heads/sol", f"refs/heads/sol/{self.run}"} & set(await main.refs("refs/heads/sol"))
        for ref in taken:
            raise WorkspaceError(f"Branch {self._where(ref)!r} is in the way of the run's branches; rename it.")

    async def _dirty(self, opened: Opened) -> list[bytes]:
        """Paths with changes that are not committed, and new files, but for byproducts and what is in `home`."""
        words = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
        paths = [entry[3:] for entry in fields(await opened.main.run(*words))]
        return [path for path in paths if not opened.checkouts.left_out(path.rstrip(b"/"))]

    async def _fast_forward(self, opened: Opened, base: str, snapshot: str) -> str:
        """Fast-forward the workspace; say why not if that cannot be."""
        begun = self._directory / ".landing"
        try:
            if begun.exists() and begun.read_text() == snapshot:
                await undo_fast_forward(opened.main, base=base, snapshot=snapshot, scratch=self._directory)
            if dirty := await self._dirty(opened):
                return f"there are changes that are not committed: {some(dirty)}"
            self._directory.mkdir(parents=True, exist_ok=True)
            begun.write_text(snapshot)
            words = ("--quiet", "--ff-only", "--no-squash", "--no-overwrite-ignore")
            await opened.main.run("merge", *words, snapshot)
        except WorkspaceError as error:
            return " ".join(str(error).split()).rstrip(".")
        remove(begun)
        return ""
