"""Files of a workspace: listed, copied, compared, removed; all in a thread, so that the event loop goes on."""

import asyncio
import hashlib
import os
import stat
from collections.abc import Callable, Coroutine, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final, Literal, ParamSpec, TypeAlias, TypeVar

from luna.workspaces import WorkspaceError

P = ParamSpec("P")
T = TypeVar("T")
_Method: TypeAlias = Callable[P, Coroutine[Any, Any, T]]


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread; a cancellation waits for its end."""
    task = asyncio.create_task(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        task.exception()  # it is told as cancelled, not as failed
        raise


def told(method: _Method[P, T]) -> _Method[P, T]:
    """Let a method raise `WorkspaceError` where the file system refuses."""

    @wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except OSError as error:
            raise WorkspaceError(
                f"The file system refuses what is needed for isolated workspaces: {error}. "
                "Make room or access for it and try again."
            ) from error

    return call


_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_CHUNK: Final = 1 << 20
LINK: Final = "120000"
PROGRAM: Final = "100755"
PLAIN: Final = "100644"


@dataclass(frozen=True, slots=True)
class Entry:
    """What git says of a file: its mode, and the SHA-1 of its blob."""

    mode: str
    blob: str


State: TypeAlias = Entry | Literal["missing", "directory", "behind", "special"]
"""What is at a path. behind: one of the directories above it is none."""


@dataclass(frozen=True, slots=True)
class Change:
    """A path that a result changes. None: there is no such file before (`old`), or afterwards (`new`)."""

    path: bytes
    old: Entry | None
    new: Entry | None


@contextmanager
def _above(root: Path, path: bytes, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
    """Open the directory that a path is in; gives its handle and the last part of the path.

    Raises:
        OSError: If a part of the path is missing or no directory.
    """
    *above, name = path.split(b"/")
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in above:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
            deeper = os.open(part, _DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = deeper
        yield handle, name
    finally:
        os.close(handle)


def read_file(root: Path, path: bytes, *, limit_bytes: int) -> bytes | None:
    """The beginning of a regular file; None if there is none at this path."""
    try:
        with _above(root, path) as (handle, name), os.fdopen(os.open(name, _FILE, dir_fd=handle), "rb") as file:
            return file.read(limit_bytes) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


def state(root: Path, path: bytes) -> State:
    """Tell what is at a path."""
    try:
        with _above(root, path) as (handle, name):
            seen = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISLNK(seen.st_mode):
                return Entry(LINK, _blob_of(os.readlink(name, dir_fd=handle)))
            if stat.S_ISREG(seen.st_mode):
                mode = PROGRAM if seen.st_mode & stat.S_IXUSR else PLAIN
                return Entry(mode, _hash(handle, name, seen.st_size))
            return "directory" if stat.S_ISDIR(seen.st_mode) else "special"
    except FileNotFoundError:
        return "missing"
    except NotADirectoryError:
        return "behind"


def _blob_of(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _hash(handle: int, name: bytes, size_bytes: int) -> str:
    digest = hashlib.sha1(b"blob %d\0" % size_bytes, usedforsecurity=False)
    with os.fdopen(os.open(name, _FILE, dir_fd=handle), "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def foreign(root: Path, changes: Mapping[bytes, Change]) -> list[bytes]:
    """The paths that somebody else has changed: they are neither as before nor as afterwards.

    Files may be in any mixture of both, which is how an application that was cut off leaves them.
    """
    return [change.path for change in changes.values() if not _is_expected(root, change, changes)]


def _is_expected(root: Path, change: Change, changes: Mapping[bytes, Change]) -> bool:
    now = state(root, change.path)
    if now in (change.old or "missing", change.new or "missing"):
        return True
    if now == "behind":  # a file above goes away for a directory, or has come for one already; it is judged itself
        above = [changes[parent] for parent in _parents(change.path) if parent in changes]
        return any(change.new is None or parent.new is None for parent in above)
    if now == "directory" and change.new is None:
        return any(other.new is not None and other.path.startswith(change.path + b"/") for other in changes.values())
    if now == "directory":
        return all(path in changes and changes[path].new is None for path in _all_below(root, change.path))
    return False


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


def _all_below(root: Path, path: bytes) -> Iterator[bytes]:
    """Everything below a directory that is no directory itself."""
    for directory, names, files in os.walk(root / os.fsdecode(path)):
        links = [name for name in names if (Path(directory) / name).is_symlink()]
        for name in (*files, *links):
            yield os.fsencode((Path(directory) / name).relative_to(root))


def bring(root: Path, source: Path, changes: Mapping[bytes, Change], *, mark: str) -> None:
    """Make the changes in a directory. To be called again with the same if it was cut off.

    Args:
        root: The directory; nothing in it is `foreign`.
        source: A directory that has all new files.
        changes: By path.
        mark: Stands in the name of a file as long as it is not whole; the same when called again.

    Raises:
        OSError: If a file cannot be written; what is done so far stays.
    """
    unfinished = f".sol-{mark}.part".encode()
    needed = {parent for change in changes.values() if change.new is not None for parent in _parents(change.path)}
    for change in sorted(changes.values(), key=lambda change: change.path, reverse=True):
        if change.new is None:
            _delete(root, change, needed)
    for change in sorted(changes.values(), key=lambda change: change.path):
        if change.new is not None:
            _write(root, source, change, unfinished)


def _delete(root: Path, change: Change, needed: AbstractSet[bytes]) -> None:
    if state(root, change.path) == change.old:
        with _above(root, change.path) as (handle, name):
            os.unlink(name, dir_fd=handle)
    for parent in reversed(_parents(change.path)):
        if parent in needed:
            return
        with suppress(OSError), _above(root, parent) as (handle, name):  # it is not empty, or gone
            os.rmdir(name, dir_fd=handle)


def _write(root: Path, source: Path, change: Change, unfinished: bytes) -> None:
    now = state(root, change.path)
    if now == "directory":
        _remove_empty(root, change.path)
    with _above(root, change.path, make=True) as (handle, name):
        with suppress(FileNotFoundError):
            os.unlink(unfinished, dir_fd=handle)
        if now == change.new:
            return
        try:
            with _above(source, change.path) as (origin, _):
                if change.new is not None and change.new.mode == LINK:
                    os.symlink(os.readlink(name, dir_fd=origin), unfinished, dir_fd=handle)
                else:
                    _copy(origin, handle, name, unfinished)
            os.rename(unfinished, name, src_dir_fd=handle, dst_dir_fd=handle)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(unfinished, dir_fd=handle)
            raise


def _copy(origin: int, handle: int, name: bytes, unfinished: bytes) -> None:
    """Copy a file; one that replaces another keeps who may read and write it."""
    made = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=handle)
    with os.fdopen(made, "wb") as copy, os.fdopen(os.open(name, _FILE, dir_fd=origin), "rb") as file:
        mode = given = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        with suppress(FileNotFoundError):
            seen = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISREG(seen.st_mode):
                mode = stat.S_IMODE(seen.st_mode) & ~0o111
                mode |= (mode & 0o444) >> 2 if given & stat.S_IXUSR else 0
        os.fchmod(copy.fileno(), mode)
        while chunk := file.read(_CHUNK):
            copy.write(chunk)


def _remove_empty(root: Path, path: bytes) -> None:
    for directory, _, _ in os.walk(root / os.fsdecode(path), topdown=False):
        Path(directory).rmdir()
