"""Undoes a fast-forward of a work tree that was killed in the middle, so that git can do it again from the start.

Must never change a file that is not as git had it before, was to have it afterwards, or was just writing it.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from luna.workspaces.calls import in_thread
from luna.workspaces.files import Change, Entry, bring, read_file, state
from luna.workspaces.git import Git, fields, joined

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
