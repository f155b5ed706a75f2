"""JSON text read so that every reader would see the same value: nothing that others drop, round or reject."""

import json
import math
from collections.abc import Callable
from typing import Literal, NoReturn, TypeAlias

from pydantic import JsonValue

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
