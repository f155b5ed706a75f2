"""Checks what callers hand over: it must be text that any database holds and that reads back the same.

Both journals go through here, so they accept the same things. Payloads, summaries and meta are written as JSON here;
the data of transitions comes as JSON already and is not looked into. Nothing here touches a store.
"""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sol.errors import StoreError
from sol.journal.protocol import NewRecord, RecordError

MAX_RECORD_BYTES: Final = 16 * 1024 * 1024
"""The largest JSON text of one transition, payload, summary or meta, in bytes of UTF-8."""

MAX_DEPTH: Final = 200
"""The deepest nesting stored: far below where Python's own JSON reader gives up, so what is written can be read."""

_SHOWN = 60
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SIMPLE = frozenset({str, int, bool, type(None)})


def check_records(records: Sequence[NewRecord]) -> None:
    """Accept all records, or none.

    Raises:
        RecordError: If one cannot be stored; says which and why.
    """
    for number, record in enumerate(records, start=1):
        check_time(record.t, what=f"transition {number}")
        check_text(record.type, what=f"the type of transition {number}")
        check_text(record.node, what=f"the node of transition {number}")
        _check_bytes(record, number)


def encode(data: dict[str, Any], *, what: str) -> str:
    """Write a JSON object compactly.

    Raises:
        RecordError: If it is not JSON, holds NaN or a lone surrogate, or is too deep or too large; names the place.
    """
    if not isinstance(data, dict):
        raise RecordError(f"Cannot store {what}: it must be a dict, not {_shown(data)}.")
    if not (set(map(type, data)) <= {str} and set(map(type, data.values())) <= _SIMPLE):
        _check_tree(data, what)
    try:
        text = _ENCODER.encode(data)
    except ValueError as error:  # an integer with more digits than Python converts
        raise RecordError(f"Cannot store {what}: {error}.") from error
    check_text(text, what=what)
    return text


def decode(text: str, *, what: str) -> dict[str, Any]:
    """Read what `encode` wrote.

    Raises:
        StoreError: If the text was changed from outside and is no JSON object now.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise StoreError(f"The journal's {what} is damaged ({error}). Restore the store from a copy.") from error
    if not isinstance(data, dict):
        raise StoreError(f"The journal's {what} is damaged: {_shown(data)}. Restore the store from a copy.")
    return data


def check_text(text: str, *, what: str) -> str:
    """Return the text if it is a string that can be written as UTF-8 and is not too large.

    Raises:
        RecordError: Otherwise.
    """
    if not isinstance(text, str):
        raise RecordError(f"Cannot store {what}: it must be text, not {_shown(text)}.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 10) : error.end + 10]
        raise RecordError(
            f"Cannot store {what}: it holds a lone surrogate near {near!r}. Replace it before it is recorded."
        ) from error
    _check_size(size, what)
    return text


def check_time(t: float, *, what: str) -> float:
    """Return the time if it is a finite number.

    Raises:
        RecordError: Otherwise.
    """
    try:
        finite = math.isfinite(t)
    except (TypeError, OverflowError):
        finite = False
    if not finite:
        raise RecordError(f"Cannot store {what}: its time must be seconds since the epoch, not {_shown(t)}.")
    return float(t)


def _check_bytes(record: NewRecord, number: int) -> None:
    where = f"of transition {number} ({record.type!r} of node {record.node!r})"
    for name, value in (("data", record.data), ("then", record.then)):
        if not isinstance(value, bytes):
            raise RecordError(f"Cannot store {name} {where}: it must be bytes, not {_shown(value)}.")
        try:
            value.decode()
        except UnicodeDecodeError as error:
            raise RecordError(f"Cannot store {name} {where}: it is not UTF-8 ({error}). Encode it as UTF-8.") from error
    _check_size(len(record.data) + len(record.then), f"data {where}")


def _check_size(size: int, what: str) -> None:
    if size > MAX_RECORD_BYTES:
        raise RecordError(
            f"Cannot store {what}: it has {size:,} bytes and the limit is {MAX_RECORD_BYTES:,}. "
            "Store it as a file and record its path."
        )


def _check_tree(data: dict[str, Any], what: str) -> None:
    """Refuse what `json.dumps` writes though it reads back differently or not: NaN, odd keys, great depth."""
    open_ends: list[tuple[Any, tuple[str | int, ...]]] = [(data, ())]
    while open_ends:
        container, path = open_ends.pop()
        items: Iterable[tuple[Any, Any]]
        items = container.items() if isinstance(container, dict) else enumerate(container)
        is_dict = isinstance(container, dict)
        for key, value in items:
            if is_dict and not isinstance(key, str):
                raise _unstorable(what, path, f"has the key {_shown(key)}; keys must be text")
            if value is None or isinstance(value, str | int):
                continue
            if isinstance(value, dict | list | tuple):
                if len(path) + 2 > MAX_DEPTH:
                    raise _unstorable(what, path[:5], f"is nested more than {MAX_DEPTH} levels deep")
                open_ends.append((value, (*path, key)))
            elif not isinstance(value, float):
                raise _unstorable(what, (*path, key), f"is {_shown(value)}, which is not JSON")
            elif not math.isfinite(value):
                raise _unstorable(what, (*path, key), f"is {value}, which JSON cannot hold")


def _unstorable(what: str, path: Sequence[str | int], fault: str) -> RecordError:
    place = "".join(f"[{step!r}]" for step in path) or "it"
    return RecordError(f"Cannot store {what}: {place} {fault}. Replace it before it is recorded.")


def _shown(value: object) -> str:
    text = repr(value)
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return f"{text} ({type(value).__name__})"
