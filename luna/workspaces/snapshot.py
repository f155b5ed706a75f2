"""Takes all files of a directory into git's index: what a worker made there, without what its programs left behind.

Must never take a nested repository as a link: its files are taken as files, so that none of them is lost.
"""

import asyncio
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from luna.workspaces.git import Git, fields, joined
from luna.workspaces.history import tree_of
from luna.workspaces.protocol import WorkspaceError

LeftOut: TypeAlias = Callable[[bytes], bool]
"""Tells of a path (of a file or a directory) whether it stays outside of snapshots."""

_BYPRODUCTS: Final = frozenset(
    b"__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .ipynb_checkpoints .DS_Store".split()
)
_BYPRODUCT_ENDS: Final = (b".pyc", b".pyo")
_GITLINK: Final = b"160000 "
_OTHER: Final = b"? "
_PLAIN: Final = b"H "
_NOT_ENTRIES: Final = (b"?", b"R", b"C", b"K", b"r", b"c")
"""How files that the index has not, or has otherwise, are marked."""
_UNTAKEN: Final = re.compile(
    r"^(warning: could not open directory |Ignoring path |(?!warning: ).*: Permission denied$)", re.MULTILINE
)
"""How git says that it has passed over a file, for which its exit code is 0."""


def is_byproduct(path: bytes) -> bool:
    """Tell whether a path is what a program leaves behind and nobody wants merged."""
    return path.endswith(_BYPRODUCT_ENDS) or not _BYPRODUCTS.isdisjoint(path.split(b"/"))


def files_below(root: bytes, directory: bytes, left_out: LeftOut) -> Iterator[tuple[bytes, int]]:
    """Walk all files and symbolic links below a directory, in no repository's `.git`.

    Args:
        root: What the paths are relative to.
        directory: Relative to `root`, ending with a slash; empty for all.
        left_out: What to leave out.

    Yields:
        Path and size in bytes.
    """
    waiting = [directory]
    while waiting:
        below = waiting.pop()
        with os.scandir(os.path.join(root, below)) as entries:  # noqa: PTH118 - names that are no text
            for entry in entries:
                path = below + entry.name
                if entry.name.lower() == b".git" or left_out(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path + b"/")
                    continue
                seen = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode):
                    yield path, seen.st_size


async def stage(git: Git, *, ignored: bool, left_out: LeftOut) -> str:
    """Take everything in a work tree into its index and return the tree.

    That is all changes of files that git follows, and those it does not follow yet, unless they are left out.

    Args:
        git: For the work tree.
        ignored: Take files that the repository ignores as well.
        left_out: Paths that are not taken unless git follows them already.

    Raises:
        WorkspaceError: If a file or directory cannot be read, for example.
    """
    listing = ("ls-files", "-z", "--others", *([] if ignored else ["--exclude-standard"]))
    listed = fields(await _taking_all(git, *listing, "--stage", "--modified", "--deleted", "-v"))
    entries = [entry for entry in listed if entry[:1] not in _NOT_ENTRIES]
    others = [entry[2:] for entry in listed if entry.startswith(_OTHER)]
    is_plain = all(entry.startswith(_PLAIN) and not entry.startswith(_GITLINK, 2) for entry in entries)
    is_changed = len(entries) + len(others) < len(listed)
    if not is_plain:
        await _look_at_all(git, entries)
    if is_changed or not is_plain:
        await _taking_all(git, "add", "--update", "--sparse")
    if not is_plain:
        others = fields(await _taking_all(git, *listing))
    new = [path for path in others if not path.endswith(b"/") and not left_out(path)]
    nested = [path for path in others if path.endswith(b"/") and not left_out(path[:-1])]
    new += await _in_repositories(git, nested, ignored=ignored, left_out=left_out)
    if new:
        # A file that goes away meanwhile is no error.
        await _taking_all(git, "update-index", "-z", "--add", "--remove", "--replace", "--stdin", stdin=joined(new))
    elif is_plain and not is_changed:
        tree = await asyncio.to_thread(tree_of, [entry[2:] for entry in entries])
        if git.history.has_tree(tree):
            return tree
    return await git.line("write-tree")


async def _taking_all(git: Git, *words: str, stdin: bytes = b"") -> bytes:
    """Run a command that looks at files. Those that git cannot take must not pass for unchanged, or for none."""
    answer = await git.ask(*words, stdin=stdin)
    if answer.code == 0 and _UNTAKEN.search(answer.error) is None:
        return answer.out
    raise WorkspaceError(
        f"Not all files in {str(git.directory)!r} can be taken: {answer.error}. "
        "Make them files that can be read, with names that git allows."
    )


async def _look_at_all(git: Git, entries: list[bytes]) -> None:
    """Let git see files in place of links to repositories, and changes that it was told not to look at.

    It is told so by bits of a file, or by a sparse checkout.
    """
    if links := [entry.partition(b"\t")[2] for entry in entries if entry.startswith(_GITLINK, 2)]:
        await git.run("update-index", "-z", "--force-remove", "--stdin", stdin=joined(links))
    bits = {"--no-assume-unchanged": b"hs", "--no-skip-worktree": b"Ss"}
    for option, tags in bits.items():
        paths = [entry.partition(b"\t")[2] for entry in entries if entry[:1] in tags]
        if paths and (there := await asyncio.to_thread(_existing, os.fsencode(git.directory), paths)):
            await git.run("update-index", "-z", option, "--stdin", stdin=joined(there))


def _existing(root: bytes, paths: list[bytes]) -> list[bytes]:
    return [path for path in paths if os.path.lexists(os.path.join(root, path))]  # noqa: PTH118 - as in `files_below`


async def _in_repositories(git: Git, nested: list[bytes], *, ignored: bool, left_out: LeftOut) -> list[bytes]:
    """The files of repositories inside of this one."""
    root = os.fsencode(git.directory)
    found = await asyncio.to_thread(
        lambda: [path for directory in nested for path, _ in files_below(root, directory, left_out)]
    )
    if not found or ignored:
        return found
    excluded = set(fields((await git.ask("check-ignore", "-z", "--stdin", stdin=joined(found))).out))
    return [path for path in found if path not in excluded]
