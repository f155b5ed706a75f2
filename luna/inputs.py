"""Task inputs as data: plain JSON, or references to files of the workspace that can be halved without copying.

A reference is `{file: PATH}`, or a half-open slice `{file: PATH, unit: lines|bytes|records, start: 0, stop: 10}`; an
input is one reference, a list of them, or plain JSON. References deeper inside a value are plain data.
"""

import copy
import json
import math
from collections.abc import Mapping
from pathlib import Path

import msgspec
from pydantic import JsonValue, ValidationError

from luna.fileslice import (
    FileRef,
    FileSlice,
    InputError,
    InputTooLargeError,
    NotSplittableError,
    OutsideWorkspaceError,
    inside,
)

__all__ = [
    "FileRef",
    "InputError",
    "InputTooLargeError",
    "NotSplittableError",
    "OutsideWorkspaceError",
    "as_bytes",
    "elements_of",
    "file_ref",
    "halve",
    "inside",
    "materialise",
    "materialise_all",
    "plain_inputs",
    "size_of",
]

_REF_KEYS = frozenset(FileRef.model_fields)


def file_ref(value: JsonValue) -> FileRef | None:
    """Read `value` as a reference to a file; None when it is plain data.

    A mapping is a reference when `file` is a text and it has no keys but those of a reference.

    Raises:
        InputError: If it is a reference, but a wrong one.
    """
    if not _is_ref(value):
        return None
    try:
        return FileRef.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{value!r} is no reference to a file: {where} {first['msg']}") from None


def _is_ref(value: JsonValue) -> bool:
    return isinstance(value, dict) and isinstance(value.get("file"), str) and _REF_KEYS.issuperset(value)


def size_of(value: JsonValue, workspace: Path) -> int | None:
    """How many units `value` can be halved into; None when it has none (numbers, objects).

    Units are the elements of a list, the lines of a text, the lines, records or bytes of a file. A list with one file
    has that file's units. `halve` works exactly when this is 2 or more.

    Raises:
        InputError: If a file cannot be read, or a slice is not within it.
    """
    match value:
        case str():
            return value.count("\n") + (not value.endswith("\n") and value != "")
        case [single]:
            return FileSlice.open(ref, workspace).size if (ref := file_ref(single)) else 1
        case list():
            return len(value)
        case _:
            return FileSlice.open(ref, workspace).size if (ref := file_ref(value)) else None


def halve(value: JsonValue, workspace: Path) -> tuple[JsonValue, JsonValue]:
    """Split `value` into two that together are the whole, in order; the first is the larger by at most one unit.

    Files become references to slices. Bytes of a text file are cut at the line border nearest to the middle, or between
    characters, so those halves may differ more.

    Raises:
        NotSplittableError: If it has fewer than two units.
        InputError: If a file cannot be read, or a slice is not within it.
    """
    match value:
        case str():
            lines = value.split("\n")
            lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
            cut = (len(lines) + 1) // 2
            parts: tuple[JsonValue, JsonValue] = ("".join(lines[:cut]), "".join(lines[cut:]))
            count = len(lines)
        case [single] if ref := file_ref(single):
            left, right = FileSlice.open(ref, workspace).halves()
            return [left], [right]
        case list():
            cut = (len(value) + 1) // 2
            parts, count = (value[:cut], value[cut:]), len(value)
        case _:
            if ref := file_ref(value):
                return FileSlice.open(ref, workspace).halves()
            raise NotSplittableError(f"{type(value).__name__} {_short(value)} has no units to halve")
    if count < 2:
        raise NotSplittableError(f"{type(value).__name__} {_short(value)} has {count} unit(s); a split needs two")
    return parts


def materialise(value: JsonValue, workspace: Path, *, limit_bytes: int) -> JsonValue:
    """What a worker reads: references become their content, everything else is copied.

    Lines and bytes of a text become text; records become a list, those of a CSV file as objects by column; bytes of
    another file become `{base64: …}`.

    Args:
        value: An input.
        workspace: Root of the files.
        limit_bytes: Most that may be read: file bytes as they are, plain data as JSON.

    Raises:
        InputTooLargeError: If there is more.
        InputError: If a file cannot be read, or is not what its unit says.
    """
    return materialise_all({"": value}, workspace, limit_bytes=limit_bytes)[""]


def materialise_all(inputs: Mapping[str, JsonValue], workspace: Path, *, limit_bytes: int) -> dict[str, JsonValue]:
    """All inputs of a task as `materialise` gives them, with one limit for all.

    Raises:
        InputTooLargeError: If they are larger together.
        InputError: If a file cannot be read, or is not what its unit says.
    """
    if (plain := plain_inputs(inputs, limit_bytes=limit_bytes)) is not None:
        return plain
    opened = {name: _opened(value, workspace) for name, value in inputs.items()}
    parts = [part for value in opened.values() for part in (value if isinstance(value, list) else [value])]
    data = [part for part in parts if not isinstance(part, FileSlice)]
    size = sum(part.byte_length for part in parts if isinstance(part, FileSlice)) + (len(_json(data)) if data else 0)
    _check_size(size, limit_bytes)
    return {
        name: [_content(part) for part in value] if isinstance(value, list) else _content(value)
        for name, value in opened.items()
    }


def plain_inputs(inputs: Mapping[str, JsonValue], *, limit_bytes: int) -> dict[str, JsonValue] | None:
    """All inputs of a task as `materialise_all` gives them, without reading files; None where there is one to read.

    Raises:
        InputTooLargeError: If they are larger together.
    """
    if any(_is_ref(part) for value in inputs.values() for part in (value if isinstance(value, list) else (value,))):
        return None
    if _longest_json(inputs) > limit_bytes:
        parts = [part for value in inputs.values() for part in (value if isinstance(value, list) else [value])]
        _check_size(len(_json(parts)) if parts else 0, limit_bytes)
    # A worker may change what it is given; the assignment must stay as it is.
    copied: dict[str, JsonValue] = msgspec.to_builtins(dict(inputs))
    return copied


def _longest_json(inputs: Mapping[str, JsonValue]) -> float:
    """At least as many bytes as the inputs have as JSON; infinity where that is not quickly told."""
    try:
        # Spaces behind commas and colons at most double it, and NaN is written as null.
        return 3 * len(msgspec.json.encode(dict(inputs))) + 2
    except (TypeError, ValueError, RecursionError):
        return math.inf


def elements_of(value: JsonValue, content: JsonValue, workspace: Path) -> list[JsonValue] | None:
    """What a list of results has one result each for; None for an input that is one whole.

    Args:
        value: An input: a list has its elements, a file its lines or records.
        content: The same as `materialise` gives it.
        workspace: Root of the files.

    Raises:
        InputError: If a file cannot be read, or a slice is not within it.
    """
    if isinstance(value, list):
        return content if isinstance(content, list) else None
    ref = file_ref(value)
    if ref is None or FileSlice.open(ref, workspace).unit == "bytes":
        return None
    if isinstance(content, str):
        lines = content.split("\n")
        return [*lines] if lines[-1] else [*lines[:-1]]
    return content if isinstance(content, list) else None


def as_bytes(value: JsonValue, workspace: Path, *, limit_bytes: int) -> bytes:
    """An input as a program reads it: a text as UTF-8, a file's slice as it is in the file, everything else as JSON.

    Records of a CSV file have the header before them.

    Raises:
        InputTooLargeError: If there is more than `limit_bytes`.
        InputError: If a file cannot be read, or is not what its unit says.
    """
    if ref := file_ref(value):
        part = FileSlice.open(ref, workspace)
        _check_size(part.byte_length, limit_bytes)
        return part.raw()
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        _check_size(len(data), limit_bytes)
        return data
    return _json(materialise(value, workspace, limit_bytes=limit_bytes))


def _opened(value: JsonValue, workspace: Path) -> JsonValue | FileSlice | list[JsonValue | FileSlice]:
    """The value with its references replaced by open slices."""
    if isinstance(value, list):
        return [FileSlice.open(ref, workspace) if (ref := file_ref(item)) else item for item in value]
    return FileSlice.open(ref, workspace) if (ref := file_ref(value)) else value


def _content(part: JsonValue | FileSlice) -> JsonValue:
    # A worker may change what it is given; the assignment must stay as it is.
    return part.value() if isinstance(part, FileSlice) else copy.deepcopy(part)


def _check_size(size: int, limit_bytes: int) -> None:
    if size > limit_bytes:
        raise InputTooLargeError(f"the input has {size} bytes; a worker reads at most {limit_bytes} at once")


def _json(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _short(value: JsonValue) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
