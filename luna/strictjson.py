"""JSON that every reader sees as the same value: nothing that others drop, round or reject.

Text is read strictly here, and values are checked here before they are written.
"""

import json
import math
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NoReturn, TypeAlias

import msgspec
from pydantic import JsonValue

MAX_DEPTH: Final = 200
"""The deepest nesting that is written: far below where readers give up."""

_MAX_DIGITS = 4_300  # more are neither written nor read by Python, unless it is told to
_TOO_LARGE = 10**_MAX_DIGITS
_LARGE_BITS = _TOO_LARGE.bit_length() - 1
_SHOWN = 60
_STEPS_SHOWN = 5
_CONSTANTS = frozenset({bool, type(None)})
_CONTAINERS = frozenset({dict, list, tuple})
_NESTING = (dict, list, tuple)

RefusalKind: TypeAlias = Literal["invalid", "duplicate_keys"]


class RefusedError(ValueError):
    """JSON that other readers would take differently. Raised while decoding; the message says what is in it."""

    def __init__(self, message: str, kind: RefusalKind = "invalid") -> None:
        super().__init__(message, kind)
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[0])


def decoder(*, parse_int: Callable[[str], int] = int) -> json.JSONDecoder:
    """A decoder that raises `RefusedError` for a key that is there twice, NaN, and numbers too large for a float."""
    return json.JSONDecoder(
        object_pairs_hook=_without_duplicates,
        parse_int=parse_int,
        parse_float=_float,
        parse_constant=_refuse_constant,
    )


def loads(text: str) -> JsonValue:
    """The one JSON value that `text` is.

    Raises:
        ValueError: If it is none, holds a key twice, NaN or a number too large for a float, or is nested too deeply.
    """
    try:
        value: JsonValue = _DECODER.decode(text)
    except RecursionError:
        raise RefusedError("nested too deeply") from None
    return value


def require_json(value: object, *, what: str = "the value") -> None:
    """Check that `value` can be written as JSON and reads back the same; tuples read back as lists.

    NaN, infinity, integers of more than 4,300 digits, halves of surrogate pairs, keys that are no text, nesting deeper
    than 200 levels and whatever is no plain text, number, bool, None, list, tuple or dict are refused.

    Args:
        value: Anything.
        what: What it is, for the message, before the place.

    Raises:
        ValueError: Names the place and what is wrong there.
    """
    if not (isinstance(value, dict | list) and _survives(value)):
        _search(value, what)


def as_json(value: object, *, what: str = "the value") -> Any:  # noqa: ANN401 - JSON
    """The value itself if it reads back the same, else a copy with lists for tuples.

    Raises:
        ValueError: As `require_json`.
    """
    if isinstance(value, dict | list) and _survives(value):
        return value
    _search(value, what)
    return _listed(value)


def _listed(value: object) -> Any:  # noqa: ANN401 - JSON
    """The value with lists for tuples; it is not nested too deeply."""
    if isinstance(value, dict):
        return {key: _listed(inner) if isinstance(inner, _NESTING) else inner for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(inner) if isinstance(inner, _NESTING) else inner for inner in value]
    return value


def _survives(value: dict[object, object] | list[object]) -> bool:
    """Whether it surely does; for nearly all values, and without a loop in Python for small ones."""
    try:
        text = msgspec.json.encode(value)
        if msgspec.json.decode(text) != value:
            return False
    except (TypeError, ValueError, RecursionError):
        return False
    # Many brackets may mean deep nesting, or just many small parts.
    return text.count(b"[") + text.count(b"{") <= MAX_DEPTH or _is_shallow(value)


def _is_shallow(value: dict[object, object] | list[object]) -> bool:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, _NESTING)
        ]
        if not level:
            return True
    return False


def _search(value: object, what: str) -> None:
    """Go through all of it."""
    if fault := _fault(value):
        raise _unfit(what, (), fault)
    open_ends: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())] if isinstance(value, _NESTING) else []
    while open_ends:
        container, place = open_ends.pop()
        items: Iterable[tuple[str | int, object]]
        if type(container) is dict:
            for key in container:
                if type(key) is not str:
                    raise _unfit(what, place, f"has the key {_shown(key)}; keys must be text")
                if not _is_whole(key):
                    raise _unfit(what, place, f"has a key with half of a surrogate pair: {_shown(key)}")
            items = container.items()
        else:
            items = enumerate(container)
        if len(place) >= MAX_DEPTH:
            raise _unfit(what, place[:_STEPS_SHOWN], f"is nested more than {MAX_DEPTH} levels deep")
        for step, inner in items:
            if fault := _fault(inner):
                raise _unfit(what, (*place, step), fault)
            if isinstance(inner, _NESTING):
                open_ends.append((inner, (*place, step)))


def _fault(value: object) -> str:
    """What is wrong about a value, apart from what it contains; "" for nothing."""
    kind = type(value)
    if kind in _CONSTANTS or kind in _CONTAINERS:
        return ""
    if isinstance(value, str) and kind is str:
        return "" if _is_whole(value) else f"holds half of a surrogate pair: {_shown(value)}"
    if isinstance(value, int) and kind is int:
        fits = value.bit_length() <= _LARGE_BITS or -_TOO_LARGE < value < _TOO_LARGE
        return "" if fits else f"is an integer of more than {_MAX_DIGITS:,} digits"
    if isinstance(value, float) and kind is float:
        return "" if math.isfinite(value) else f"is {value}, which JSON cannot hold"
    return f"is a {kind.__name__}, which is not JSON"


def _is_whole(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unfit(what: str, place: tuple[str | int, ...], fault: str) -> ValueError:
    return ValueError(f"{what}{''.join(f'[{step!r}]' for step in place)} {fault}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedError(f"{name} is no JSON value")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise RefusedError(f"{text} is too large for a number")
    return number


def _without_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RefusedError(f"the key {twice!r} is there twice", "duplicate_keys")
    return value


_DECODER = decoder()
