"""Slices of workspace files: where their lines, records and bytes begin, and what is inside them.

Reads files of the workspace only; never writes, never guesses at a file outside it.
"""

import base64
import codecs
import csv
import io
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Literal, NoReturn, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from luna.errors import LunaError
from luna.strictjson import loads

Unit: TypeAlias = Literal["lines", "bytes", "records"]
NOT_WORK = frozenset({".git", ".hg", ".sol"})
"""What other programs act upon: a hook written into `.git` would be run by the next commit."""

_Position = Annotated[int, Field(strict=True, ge=0)]
_Stamp: TypeAlias = tuple[int, int, int]  # inode, size, mtime in ns: another stamp is another file

_CHUNK = 1 << 20
_WINDOW = 1 << 16  # how far from the middle of a byte range a line border is looked for
_CHARACTER = 4  # bytes of the longest UTF-8 sequence
_MARK, _CONTINUATION = 0xC0, 0x80  # how UTF-8 marks the bytes inside a character
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = frozenset({".jsonl", ".ndjson"})


class InputError(LunaError):
    """An input cannot be read or split as it is written. The message names the file or the slice."""


class OutsideWorkspaceError(InputError):
    """A path leads out of the workspace, or is no path inside it at all."""


class InputTooLargeError(InputError):
    """An input is larger than what a worker may be given at once; a half of it may fit."""


class NotSplittableError(InputError):
    """An input has fewer than two units, so it has no halves."""


class FileRef(BaseModel):
    """A file of the workspace, or a half-open slice of it.

    Attributes:
        file: Path relative to the workspace.
        unit: What `start` and `stop` count; None: records for .csv, .tsv, .jsonl and .ndjson, lines for other text,
            bytes for the rest.
        start: First unit, from 0. A CSV header is no record.
        stop: The unit after the last one; None: to the end of the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(min_length=1)
    unit: Unit | None = None
    start: _Position = 0
    stop: _Position | None = None

    @model_validator(mode="after")
    def _slice_has_unit(self) -> Self:
        if self.unit is None and (self.start or self.stop is not None):
            raise ValueError("start and stop need a unit: lines, bytes or records")
        if self.stop is not None and self.stop < self.start:
            raise ValueError(f"stop {self.stop} lies before start {self.start}")
        return self


def inside(workspace: Path, path: str) -> Path:
    """The absolute path of `path` in the workspace, symbolic links resolved; it need not exist.

    Args:
        workspace: Root that must not be left.
        path: Relative, with `/` between its parts.

    Raises:
        OutsideWorkspaceError: If `path` is empty, absolute, has a `..` part, or leads outside by a symbolic link.
    """
    pure = PurePosixPath(path)
    if not path.strip() or "\0" in path or pure.is_absolute() or ".." in pure.parts:
        raise OutsideWorkspaceError(f"{path!r} is no path inside the workspace; write it relative to it, without '..'")
    root = workspace.resolve()
    try:
        resolved = (root / pure).resolve()
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError up to Python 3.12
        raise OutsideWorkspaceError(f"{path!r} cannot be followed to a file: {error}") from None
    if not resolved.is_relative_to(root):
        raise OutsideWorkspaceError(f"{path!r} leads out of the workspace by a symbolic link")
    return resolved


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A checked slice of an existing file: `start` to `stop` of its `unit`, both within the file.

    Attributes:
        name: The path as it was written.
        path: The file itself.
        length: Units of the whole file.
    """

    name: str
    path: Path
    unit: Unit
    start: int
    stop: int
    stamp: _Stamp

    @classmethod
    def open(cls, ref: FileRef, workspace: Path) -> Self:
        """Find the file and check the borders.

        Raises:
            OutsideWorkspaceError: If the path leaves the workspace.
            InputError: If there is no such file, or the slice is not within it.
        """
        path = inside(workspace, ref.file)
        try:
            stat = path.stat()
        except OSError as error:
            raise InputError(f"input file {ref.file!r} cannot be read: {error.strerror}") from None
        if not path.is_file():
            raise InputError(f"input {ref.file!r} is no regular file")
        stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        unit = ref.unit or _default_unit(path, stamp)
        try:
            length = stat.st_size if unit == "bytes" else len(_index(path, unit, stamp).offsets) - 1
        except (InputError, OSError) as error:
            raise InputError(f"input file {ref.file!r} cannot be read as {unit}: {error}") from None
        stop = length if ref.stop is None else ref.stop
        if not ref.start <= stop <= length:
            raise InputError(f"{unit} {ref.start} to {stop} are not in {ref.file!r}: it has {length}")
        return cls(ref.file, path, unit, ref.start, stop, stamp)

    @property
    def size(self) -> int:
        """Units that it can be halved into; 1 for the bytes of a single character."""
        count = self.stop - self.start
        if self.unit == "bytes" and 1 < count <= _CHARACTER and self._cut() is None:
            return 1
        return count

    @property
    def byte_length(self) -> int:
        """Bytes that reading it takes, a repeated header included."""
        if self.unit == "bytes":
            return self.stop - self.start
        index = _index(self.path, self.unit, self.stamp)
        return len(index.header) + index.offsets[self.stop] - index.offsets[self.start]

    def halves(self) -> tuple[JsonValue, JsonValue]:
        """Two references that together are this slice; the first is the larger by at most one line or record.

        Bytes of a text are cut at the line border nearest to the middle, or between two characters.

        Raises:
            NotSplittableError: If it has fewer than two units.
        """
        cut = (self._cut() if self.unit == "bytes" else self.start + (self.stop - self.start + 1) // 2) or 0
        if not self.start < cut < self.stop:
            raise NotSplittableError(f"{self.unit} {self.start} to {self.stop} of {self.name!r} cannot be halved")
        return self._part(self.start, cut), self._part(cut, self.stop)

    def raw(self) -> bytes:
        """Its bytes as they are in the file; records of a CSV file with the header before them."""
        if self.unit == "bytes":
            return _read(self.path, self.start, self.stop)
        index = _index(self.path, self.unit, self.stamp)
        return index.header + _read(self.path, index.offsets[self.start], index.offsets[self.stop])

    def value(self) -> JsonValue:
        """Text for lines and bytes, a list for records, `{base64: …}` for bytes of a file that is no text.

        Raises:
            InputError: If it is not what its unit says: no UTF-8, no JSON, a CSV row of another width.
        """
        raw = self.raw()
        if self.unit == "bytes" and not _is_text(self.path, self.stamp):
            return {"base64": base64.b64encode(raw).decode("ascii")}
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            self._refuse(f"no UTF-8 at byte {error.start} of the slice; use unit: bytes")
        if self.unit != "records":
            return text
        suffix = self.path.suffix.lower()
        if suffix in _DELIMITERS:
            return list(self._rows(text, _DELIMITERS[suffix]))
        return list(self._json_lines(text))

    def _rows(self, text: str, delimiter: str) -> Iterator[JsonValue]:
        rows = (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row)
        header = [name.removeprefix("\ufeff") for name in next(rows, [])]
        if len(set(header)) < len(header):
            self._refuse(f"two columns have the same name in {header!r}; use unit: lines")
        for number, row in enumerate(rows, self.start):
            if len(row) != len(header):
                self._refuse(f"record {number} has {len(row)} cells, the header {len(header)}; use unit: lines")
            yield dict(zip(header, row, strict=True))

    def _json_lines(self, text: str) -> Iterator[JsonValue]:
        lines = (line for line in text.split("\n") if line.strip())
        for number, line in enumerate(lines, self.start):
            try:
                yield loads(line.removeprefix("\ufeff"))
            except ValueError as error:
                self._refuse(f"record {number} is no JSON: {error}")

    def _refuse(self, reason: str) -> NoReturn:
        raise InputError(f"input file {self.name!r}, {self.unit} {self.start} to {self.stop}: {reason}")

    def _part(self, start: int, stop: int) -> JsonValue:
        return {"file": self.name, "unit": self.unit, "start": start, "stop": stop}

    def _cut(self) -> int | None:
        """Where a byte range is halved; None when nothing lies between its ends."""
        middle = (self.start + self.stop) // 2
        if middle == self.start or not _is_text(self.path, self.stamp):
            return middle if middle > self.start else None
        low, high = max(self.start, middle - _WINDOW), min(self.stop, middle + _WINDOW)
        window, offset = _read(self.path, low, high), middle - low
        lines = [low + window.rfind(b"\n", 0, offset) + 1, low + window.find(b"\n", offset) + 1]
        borders = [cut for cut in lines if low < cut < self.stop]
        if not borders:
            near = range(max(low + 1, middle - _CHARACTER), min(high, middle + _CHARACTER))
            borders = [cut for cut in near if window[cut - low] & _MARK != _CONTINUATION]
        return min(borders, key=lambda cut: (abs(cut - middle), cut), default=None)


@dataclass(frozen=True, slots=True)
class _Index:
    """Where each unit of a file begins, and at the end where the last one stops."""

    offsets: Sequence[int]
    header: bytes = b""


def _default_unit(path: Path, stamp: _Stamp) -> Unit:
    if path.suffix.lower() in _DELIMITERS or path.suffix.lower() in _JSON_LINES:
        return "records"
    return "lines" if _is_text(path, stamp) else "bytes"


def _read(path: Path, start: int, stop: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(stop - start)


@lru_cache(maxsize=64)
def _is_text(path: Path, stamp: _Stamp) -> bool:  # noqa: ARG001 - the stamp is there for the cache
    """Whether the whole file is UTF-8 without NUL."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        try:
            while chunk := file.read(_CHUNK):
                if b"\0" in chunk:
                    return False
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


@lru_cache(maxsize=16)
def _index(path: Path, unit: Unit, stamp: _Stamp) -> _Index:  # noqa: ARG001 - the stamp is there for the cache
    with path.open("rb") as file:
        if unit == "lines":
            return _Index(_line_offsets(file))
        suffix = path.suffix.lower()
        if suffix in _DELIMITERS:
            return _csv_index(file, _DELIMITERS[suffix])
        if suffix in _JSON_LINES:
            return _Index(_json_line_offsets(file))
    raise InputError("records need a .csv, .tsv, .jsonl or .ndjson file; use unit: lines")


def _line_offsets(file: IO[bytes]) -> Sequence[int]:
    offsets, position = array("Q", [0]), 0
    while chunk := file.read(_CHUNK):
        offsets.extend(position + found.end() for found in re.finditer(b"\n", chunk))
        position += len(chunk)
    if offsets[-1] != position:
        offsets.append(position)
    return offsets


def _json_line_offsets(file: IO[bytes]) -> Sequence[int]:
    offsets, position = array("Q"), 0
    for line in file:
        if line.strip():
            offsets.append(position)
        position += len(line)
    offsets.append(position)
    return offsets


def _csv_index(file: IO[bytes], delimiter: str) -> _Index:
    position = 0

    def lines() -> Iterator[str]:
        nonlocal position
        for line in file:
            position += len(line)
            yield line.decode("utf-8")

    offsets, before = array("Q"), 0
    try:
        for row in csv.reader(lines(), delimiter=delimiter, strict=True):
            if row:
                offsets.append(before)
            before = position
    except UnicodeDecodeError:
        raise InputError("it is no UTF-8; use unit: bytes") from None
    except csv.Error as error:
        raise InputError(f"{error}; use unit: lines") from None
    offsets.append(position)
    if len(offsets) == 1:
        return _Index(offsets)
    file.seek(0)
    header = file.read(offsets[1])
    return _Index(offsets[1:], header if header.endswith(b"\n") else header + b"\n")
