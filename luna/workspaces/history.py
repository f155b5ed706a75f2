"""What is known of commits without asking git: those that we have made or read, which never change.

Must never guess: what is not known for certain is asked.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

_DIRECTORY: Final = "40000"
_SHA1_WIDTH: Final = 40
_Tree: TypeAlias = "dict[bytes, tuple[str, str] | _Tree]"


@dataclass(frozen=True, slots=True)
class Commit:
    """What is in a commit.

    Attributes:
        tree: Its files.
        stamp_t: Its date, in seconds since 1970.
        parents: What it was made from; None: not known.
    """

    tree: str
    stamp_t: int
    parents: tuple[str, ...] | None = None


class History:
    """The commits known so far, by id; several runs may share one."""

    def __init__(self) -> None:
        self._commits: dict[str, Commit] = {}
        self._trees: set[str] = set()

    def note(self, name: str, commit: Commit) -> None:
        """Take note of a commit that is there."""
        self._commits[name] = commit
        self._trees.add(commit.tree)

    def commit(self, name: str) -> Commit | None:
        """What is known of a commit."""
        return self._commits.get(name)

    def has_tree(self, tree: str) -> bool:
        """Tell whether a tree is known to be there."""
        return tree in self._trees

    def contains(self, whole: str, part: str) -> bool | None:
        """Tell whether the history of the commit `whole` has the commit `part` in it; None: not known."""
        if whole == part:
            return True
        below, is_complete = self._below(whole)
        if part in below:
            return True
        if is_complete or whole in self._below(part)[0]:
            return False
        return None

    def _below(self, whole: str) -> tuple[set[str], bool]:
        """All known commits in the history of one, itself too, and whether that is all of its history."""
        found, waiting, is_complete = {whole}, [whole], True
        while waiting:
            commit = self._commits.get(waiting.pop())
            if commit is None or commit.parents is None:
                is_complete = False
                continue
            new = [parent for parent in commit.parents if parent not in found]
            found.update(new)
            waiting += new
        return found, is_complete


def tree_of(entries: Iterable[bytes]) -> str:
    """The id that git gives to the tree of an index; "" where there is none.

    Args:
        entries: As `git ls-files --stage` lists them, all at stage 0: mode, blob, stage, a tab and the path.
    """
    root: _Tree = {}
    width = 0
    for entry in entries:
        about, _, path = entry.partition(b"\t")
        mode, blob, _ = about.decode().split(" ")
        width = len(blob)
        *above, name = path.split(b"/")
        tree = root
        for part in above:
            deeper = tree.setdefault(part, {})
            if not isinstance(deeper, dict):
                return ""
            tree = deeper
        tree[name] = (mode, blob)
    return _id(root, "sha1" if width == _SHA1_WIDTH else "sha256") if root else ""


def _id(tree: _Tree, algorithm: str) -> str:
    lines: list[tuple[bytes, bytes]] = []
    for name, what in tree.items():
        is_tree = isinstance(what, dict)
        mode, blob = (_DIRECTORY, _id(what, algorithm)) if isinstance(what, dict) else what
        lines.append((name + b"/" if is_tree else name, b"%b %b\0%b" % (mode.encode(), name, bytes.fromhex(blob))))
    content = b"".join(line for _, line in sorted(lines))
    return hashlib.new(algorithm, b"tree %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
