"""Checkouts as copies of a directory that need be no repository, kept in a private one below `home`.

Must never change the workspace before its result is applied, and then no file that somebody else has changed meanwhile.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from luna.process.execute import ProcessRegistry
from luna.workspaces import Applied, Retained, WorkspaceError
from luna.workspaces.checkouts import RESULT, Ready, remove
from luna.workspaces.files import Change, Entry, bring, foreign, in_thread, told
from luna.workspaces.git import author, check_version, checked_snapshot, fields, files_below, joined, some
from luna.workspaces.isolated import GitWorkspaces, Opened, named_in

MAX_BYTES: Final = 2 << 30
MAX_FILES: Final = 200_000
_REPOSITORY: Final = ".repository"
_BEGUN_T: Final = 946_684_800
"""What the first snapshot says of its time (2000), always the same; archives have no times before 1980."""
_NO_FILE: Final = "000000"
_CONFIGURATION: Final = """
[core]
\tautocrlf = false
\tcompression = 0
\tfileMode = true
\tprotectNTFS = false
\tsymlinks = true
"""
_ATTRIBUTES: Final = "* -text !eol !filter !ident !working-tree-encoding\n"
"""Files come out of the repository byte for byte as they went in, whatever the workspace's own attributes say."""


class CopyWorkspaces(GitWorkspaces):
    """Checkouts as copies of a directory, repository or not, with ignored files and uncommitted changes.

    Not copied: `.git`, what is in `home`, byproducts such as `__pycache__`, empty directories, sockets and devices.

    Args:
        workspace: Where the task's files are.
        run: Id of the run.
        home: The `.sol` directory.
        registry: Where running git commands are recorded; None: below `home`.
        max_bytes: Largest workspace that is copied.
        max_files: Most files that are copied.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        run: str,
        home: Path,
        registry: ProcessRegistry | None = None,
        max_bytes: int = MAX_BYTES,
        max_files: int = MAX_FILES,
    ) -> None:
        super().__init__(workspace, run=run, home=home, registry=registry)
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._repository = self._directory / _REPOSITORY
        self._patterns = ("refs/heads", "refs/stash")

    @told
    async def begin(self) -> str:
        """See `Workspaces`."""
        await check_version(self._git)
        if not self._workspace.is_dir():
            raise WorkspaceError(f"Workspace {str(self._workspace)!r} is no directory; give one that exists.")
        if not self._repository.exists():
            await self._make_repository()
        opened = await self._open()
        files = await in_thread(self._all_files, opened)
        # As large files, they go into one pack each time instead of a file each.
        options = (*opened.main.options, "-c", "core.bigFileThreshold=1")
        git = replace(opened.main, options=options).with_new_index(self._repository / "begin.index")
        await git.run("update-index", "-z", "--add", "--remove", "--stdin", stdin=joined(files))
        tree = await git.line("write-tree")
        base = await opened.checkouts.commit(tree, [], message="The workspace as the run began", date=_BEGUN_T)
        await opened.checkouts.git.run("update-ref", self._base_ref, base)
        return base

    @told
    async def apply(self, snapshot: str, *, base: str) -> Applied:
        """See `Workspaces`. Files in the workspace are replaced one by one, each at once."""
        opened = await self._open()
        changes = await self._changes(opened, base, snapshot)
        names = tuple(named_in(opened.prefix, path) for path in changes)
        if not changes:
            return Applied(applied=True, where="", note="The result changes no file.")
        if others := await in_thread(foreign, self._workspace, changes):
            source = await self._result(opened, snapshot)
            why = f"since these files have changed meanwhile: {some(others)}"
            note = f"The result is in {str(source)!r} only, {why}"
            return Applied(applied=False, where=str(source), note=note, changed=names)
        await self._bring(opened, snapshot, changes)
        await opened.checkouts.remove(RESULT)
        await opened.checkouts.git.delete_refs(
            await opened.checkouts.git.refs(f"refs/heads/{opened.checkouts.branch(RESULT)}")
        )
        files = f"{len(names)} changed file{'' if len(names) == 1 else 's'}"
        note = f"The result was brought into the workspace: {files}."
        return Applied(applied=True, where="", note=note, changed=names)

    @told
    async def finish(self, *, result: str | None) -> tuple[Retained, ...]:
        """See `Workspaces`."""
        if self._repository.is_dir():
            return await super().finish(result=result)
        await self._remove_directory()  # it was finished before, or never begun
        return ()

    def _locks(self, repository: Path) -> Iterable[Path]:
        return (*repository.glob("*.lock"), *repository.glob("refs/**/*.lock"))

    def _where(self, ref: str) -> str:
        return f"{ref.removeprefix('refs/heads/')} in {self._repository}"

    async def _find(self) -> Opened:
        if not self._repository.is_dir():
            raise WorkspaceError(
                f"Run {self.run!r} has no copy below {str(self._home)!r} any more, as there was nothing in it to keep. "
                "Start its task anew."
            )
        there = self._workspace if self._workspace.is_dir() else self._repository  # what is kept outlives a workspace
        options = await author(replace(self._git, directory=there))
        git = replace(self._git, repository=self._repository, options=options)
        checkouts = self._checkouts(replace(git, directory=self._repository), root=self._workspace, ignored=True)
        return Opened(checkouts, git.within(self._workspace))

    async def _make_repository(self) -> None:
        new = self._repository.with_name(f"{_REPOSITORY}.new")
        await in_thread(remove, new)
        self._directory.mkdir(parents=True, exist_ok=True)
        words = ("--bare", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=none")
        await replace(self._git, directory=self._directory).run("init", *words, str(new))
        with (new / "config").open("a", encoding="utf-8") as file:
            file.write(_CONFIGURATION)
        (new / "info").mkdir(exist_ok=True)
        (new / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
        new.rename(self._repository)

    def _all_files(self, opened: Opened) -> list[bytes]:
        paths: list[bytes] = []
        total_bytes = 0
        for path, size_bytes in files_below(os.fsencode(self._workspace), b"", opened.checkouts.left_out):
            paths.append(path)
            total_bytes += size_bytes
            if total_bytes > self._max_bytes or len(paths) > self._max_files:
                raise WorkspaceError(
                    f"Workspace {str(self._workspace)!r} is too large to copy: more than {self._max_bytes} bytes or "
                    f"{self._max_files} files; choose a smaller directory, or the isolation 'worktree' or 'in_place'."
                )
        return paths

    async def _changes(self, opened: Opened, base: str, snapshot: str) -> dict[bytes, Change]:
        words = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
        out = fields(await opened.checkouts.git.run(*words, checked_snapshot(base), checked_snapshot(snapshot)))
        changes: dict[bytes, Change] = {}
        for about, path in zip(out[::2], out[1::2], strict=True):
            old_mode, new_mode, old, new, _ = about.decode().removeprefix(":").split(" ")
            changes[path] = Change(path, _entry(old_mode, old), _entry(new_mode, new))
        return changes

    async def _bring(self, opened: Opened, snapshot: str, changes: Mapping[bytes, Change]) -> None:
        source = self._directory / ".landing"
        await in_thread(remove, source)
        source.mkdir()
        git = opened.main.within(source).with_new_index(self._directory / ".landing.index")
        await git.run("read-tree", snapshot)
        new = joined(path for path, change in changes.items() if change.new is not None)
        await git.run("checkout-index", "-z", "--stdin", stdin=new)
        await in_thread(bring, self._workspace, source, changes, mark=self.run)
        await in_thread(remove, source)

    async def _result(self, opened: Opened, snapshot: str) -> Path:
        """The directory with the result, made if it is not there."""
        checkout = opened.checkouts.find(RESULT)
        ready = checkout.ready if checkout is not None else None
        if checkout is None or ready is None or ready.base != snapshot or not checkout.is_there:
            checkout = await opened.checkouts.make(RESULT, snapshot)
            tree = await checkout.git.line("rev-parse", "HEAD^{tree}")
            checkout.hand_over(Ready(base=snapshot, start=snapshot, tree=tree))
        return checkout.root


def _entry(mode: str, blob: str) -> Entry | None:
    return None if mode == _NO_FILE else Entry(mode, blob)
