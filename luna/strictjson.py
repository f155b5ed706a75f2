"""JSON text read so that every reader would see the same value: nothing that others drop, round or reject."""

import json
import math
from typing import NoReturn

from pydantic import JsonValue


def loads(text: str) -> JsonValue:
    """The one JSON value that `text` is.

    Raises:
        ValueError: If it is none, holds a key twice, NaN or a number too large for a float, or is nested too deeply.
    """
    try:
        value: JsonValue = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_float, object_pairs_hook=_without_duplicates
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _without_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return value
