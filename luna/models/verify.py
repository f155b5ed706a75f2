"""Tells whether a weights file is what it should be, and remembers the answer so that start-up need not hash it again.

A remembered answer counts only while the file's size and times are the same. It is kept in the user's cache,
never beside the file.
"""

import hashlib
import json
import os
from pathlib import Path

from luna.models.catalogue import LocalModel


def sha256_of(path: Path) -> str:
    """Hash a file of any size in constant memory; lower-case hex.

    Raises:
        OSError: If the file cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def has_publisher_hash(path: Path, model: LocalModel, *, memory: Path) -> bool:
    """Tell whether the file at `path` is exactly the publisher's.

    Args:
        path: An existing file.
        model: What it should be.
        memory: Directory for remembered answers; made on demand. Where it cannot be written nothing is remembered.

    Raises:
        OSError: If the file cannot be read.
    """
    if path.stat().st_size != model.size_bytes:
        return False
    note = memory / f"{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]}.json"
    before = _stamp(path)
    if _recall(note) == {**before, "sha256": model.sha256}:
        return True
    digest = sha256_of(path)
    if digest == model.sha256 and _stamp(path) == before:
        _remember(note, {**before, "sha256": digest})
    return digest == model.sha256


def _stamp(path: Path) -> dict[str, int]:
    """What changes when a file is written or replaced. Copying tools can set the first time, but not the second."""
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "ctime_ns": status.st_ctime_ns}


def _recall(note: Path) -> object:
    try:
        return json.loads(note.read_bytes())
    except (OSError, ValueError):
        return None


def _remember(note: Path, answer: dict[str, int | str]) -> None:
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        half = note.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(answer), encoding="ascii")
        half.replace(note)
    except OSError:
        return  # a cache that cannot be written costs a second at each start, no more
