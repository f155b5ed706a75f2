"""Merges in a place: one side after the other, a conflict told with both sides, conflict markers found again.

Must never settle a conflict, and must give the same commits for the same snapshots.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from luna.workspaces.files import read_file
from luna.workspaces.git import Git, checked_snapshot, fields
from luna.workspaces.places import Disputed, Place, Places
from luna.workspaces.protocol import ConflictFile, Side, WorkspaceError

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
    places: Places, place: Place, side: Side, *, head: str, message: str
) -> tuple[str, tuple[Disputed, ...]]:
    """Merge a side into a place on its branch, without other changes in it.

    Args:
        places: What the place belongs to.
        place: Where.
        side: What.
        head: The commit that the place is at.
        message: Of the commit, if one is needed.

    Returns:
        The commit that the place is at now; and where the side does not fit, and then the place has both sides with
        markers.

    Raises:
        WorkspaceError: If git cannot merge it for another reason than a conflict.
    """
    git, theirs = place.git, checked_snapshot(side.snapshot)
    if await git.contains(head, theirs):
        return head, ()
    if await git.contains(theirs, head):
        await git.run("merge", "--quiet", "--ff-only", theirs)
        return theirs, ()
    if disputed := await start_merge(place, theirs):
        return head, disputed
    tree = await git.line("write-tree")
    date = max((await git.commit(head)).stamp_t, (await git.commit(theirs)).stamp_t)
    text = f"{message}\n\nPart: {side.label}"
    commit = await places.commit(tree, [head, theirs], message=text, date=date)
    await git.run("update-ref", "HEAD", commit)
    place.forget_half_done()
    return commit, ()


async def start_merge(place: Place, theirs: str) -> tuple[Disputed, ...]:
    """Merge a commit into the files of a place without concluding it; tell where they conflict."""
    answer = await place.git.ask(*_MERGE, theirs)
    if answer.code == 0:
        return ()
    if disputed := await _disputed(place.git):
        return disputed
    raise WorkspaceError(f"git cannot merge {theirs!r} in {str(place.root)!r}: {answer.error or answer.out.decode()}")


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


async def unsettled(place: Place, disputed: Sequence[Disputed], *, theirs: str) -> tuple[bytes, ...]:
    """The files in conflict in which markers are left: lines that are in none of their sides.

    Args:
        place: Where the merge has stopped.
        disputed: The files.
        theirs: The commit that did not fit; git ends each conflict with its id.
    """
    end = re.compile(rb"^>+ %b(?=[:\r\n]|\Z)" % theirs.encode(), re.MULTILINE)
    contents = await _contents(place.git, disputed, limit_bytes=_SEARCHED_BYTES)
    # Where both sides have moved a file, git's markers are in what it gives as a side.
    marks = {blob: _marks(b"" if end.search(content) else content) for blob, content in contents.items()}
    none = _marks(b"")
    found = []
    for one in disputed:
        content = read_file(place.root, one.raw_path, limit_bytes=_SEARCHED_BYTES) or b""
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
